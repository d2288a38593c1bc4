#!/usr/bin/python3
"""berth-mail against a real SMTP server (Debian's python3-aiosmtpd): relay.py BERTH-MAIL [resolver]

TLS from the first byte and by STARTTLS, authentication, what the relay refuses for now and for
good, relays that are not there or not who they should be, and frames that try to inject something.
"""
import logging
import os
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import warnings

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult

PROGRAM = sys.argv[1]
SENT, USAGE, REFUSED, TEMPORARY = 0, 64, 69, 75
USER, PASSWORD = "berth", "pass word"
failed = 0

# The server's own complaints about what is done to it here.
logging.disable()
warnings.simplefilter("ignore")


class Relay:
    """Keeps what arrives; answers RCPT and DATA as it is told."""

    def __init__(self):
        self.messages, self.rcpt_answer, self.data_answer = [], "250 ok", "250 ok"

    async def handle_RCPT(self, server, session, envelope, address, options):
        if self.rcpt_answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return self.rcpt_answer

    async def handle_DATA(self, server, session, envelope):
        if self.data_answer.startswith("250"):
            self.messages.append((session, envelope))
        return self.data_answer


def authenticate(server, session, envelope, mechanism, data):
    good = data.login == USER.encode() and data.password == PASSWORD.encode()
    return AuthResult(success=good)


class StartTls(Controller):
    def factory(self):
        return SMTP(self.handler, tls_context=self.context, require_starttls=True,
                    authenticator=authenticate, auth_required=True)


class FromTheStart(Controller):
    def factory(self):
        return SMTP(self.handler, authenticator=authenticate, auth_required=True,
                    auth_require_tls=False)


class Plain(Controller):
    def factory(self):
        return SMTP(self.handler)


def free_port(host):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as s:
        s.bind((host, 0))
        return s.getsockname()[1]


def serve(kind, host, context=None, wrap=False):
    handler = Relay()
    controller = kind(handler, hostname=host, port=free_port(host),
                      ssl_context=context if wrap else None)
    controller.context = context
    controller.start()
    return controller, handler


def own_address():
    """An address of this machine that is not loopback: TLS is not optional there."""
    addresses = subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split()
    return next(a for a in addresses if ":" not in a)


def make_certificate(folder, address):
    key, cert = os.path.join(folder, "key.pem"), os.path.join(folder, "cert.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key,
                    "-out", cert, "-days", "2", "-subj", "/CN=relay.example",
                    "-addext", "subjectAltName=IP:%s,IP:127.0.0.1,DNS:relay.example" % address],
                   check=True, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context, cert


def frame(**changes):
    texts = dict(relay="smtp://127.0.0.1:1", ca_file="", user="", password="",
                 sender="berth@relay.example", to="visitor@mail.example",
                 url="https://berth.example")
    texts.update(changes)
    out = b"BMAIL1\n"
    for name in ("relay", "ca_file", "user", "password", "sender", "to", "url"):
        data = texts[name].encode()
        out += struct.pack(">H", len(data)) + data
    return out + struct.pack(">H", 10)


def send(data):
    done = subprocess.run([PROGRAM], input=data, capture_output=True, timeout=90,
                          env={"http_proxy": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1"})
    assert b"visitor" not in done.stderr, "the address is in the log: %r" % done.stderr
    assert PASSWORD.encode() not in done.stderr, "the password is in the log"
    return done.returncode


def check(name, got, want):
    global failed
    if got == want:
        print("ok", name)
    else:
        failed += 1
        print("not ok", name, "# got %r, want %r" % (got, want))


def check_tls(folder):
    address = own_address()
    context, cert = make_certificate(folder, address)
    login = dict(user=USER, password=PASSWORD, ca_file=cert)

    relay, box = serve(StartTls, address, context)
    url = "smtp://%s:%d" % (address, relay.port)
    check("starttls", send(frame(relay=url, **login)), SENT)
    check("starttls: one message, encrypted, authenticated",
          [(bool(s.ssl), s.authenticated, e.rcpt_tos, e.mail_from) for s, e in box.messages],
          [(True, True, ["visitor@mail.example"], "berth@relay.example")])
    check("the name given with EHLO is the sender's domain", box.messages[0][0].host_name,
          "relay.example")
    check("starttls: unknown certificate",
          send(frame(relay=url, **dict(login, ca_file=""))), TEMPORARY)
    check("starttls: wrong password", send(frame(relay=url, **dict(login, password="x"))), TEMPORARY)
    check("starttls: no password", send(frame(relay=url, ca_file=cert)) != SENT, True)
    check("nothing else arrived", len(box.messages), 1)
    relay.stop()

    relay, box = serve(FromTheStart, address, context, wrap=True)
    url = "smtps://%s:%d" % (address, relay.port)
    check("smtps", send(frame(relay=url, **login)), SENT)
    check("smtps: arrived", len(box.messages), 1)
    relay.stop()

    relay, box = serve(Plain, address)
    url = "smtp://%s:%d" % (address, relay.port)
    check("a relay elsewhere without TLS", send(frame(relay=url)), TEMPORARY)
    check("gets nothing", len(box.messages), 0)
    relay.stop()

    other, cert_of_other = make_certificate(folder, "192.0.2.250")
    relay, box = serve(StartTls, address, other)
    url = "smtp://%s:%d" % (address, relay.port)
    check("a certificate for another host",
          send(frame(relay=url, **dict(login, ca_file=cert_of_other))), TEMPORARY)
    check("gets nothing either", len(box.messages), 0)
    relay.stop()


def check_answers():
    relay, box = serve(Plain, "127.0.0.1")
    url = "smtp://127.0.0.1:%d" % relay.port
    for when, answer, want in (
            ("rcpt", "550 no such user", REFUSED), ("rcpt", "450 greylisted", TEMPORARY),
            ("data", "554 spam", REFUSED), ("data", "451 later", TEMPORARY),
            ("data", "250 ok", SENT)):
        box.rcpt_answer = answer if when == "rcpt" else "250 ok"
        box.data_answer = answer if when == "data" else "250 ok"
        check("%s: %s" % (when, answer), send(frame(relay=url)), want)
    check("one was taken", len(box.messages), 1)
    content = box.messages[0][1].content.decode("ascii")
    headers, body = content.split("\r\n\r\n", 1)
    check("the headers", sorted(h.split(":")[0] for h in headers.split("\r\n")),
          ["Auto-Submitted", "Content-Type", "Date", "From", "MIME-Version", "Message-ID",
           "Subject", "To"])
    check("the text", "within 10 minutes" in body and "https://berth.example/" in body, True)

    for name, to in (("a header", "visitor@mail.example\r\nBcc: x@y.example"),
                     ("a bare newline", "visitor@mail.example\nBcc: x@y.example"),
                     ("a second recipient", "visitor@mail.example,x@y.example"),
                     ("an envelope", "visitor@mail.example> SIZE=1"),
                     ("a command", "visitor@mail.example>\r\nRCPT TO:<x@y.example"),
                     ("a source route", "@a.example:visitor@mail.example")):
        check("injecting " + name, send(frame(relay=url, to=to)), USAGE)
    check("injecting by the URL",
          send(frame(relay=url, url="https://a\r\n.\r\nMAIL FROM:<x@y.example>")), USAGE)
    check("no injection arrived", len(box.messages), 1)
    relay.stop()
    check("a relay that is down", send(frame(relay=url)), TEMPORARY)
    check("a relay without a name", send(frame(relay="smtp://relay.invalid")), TEMPORARY)


def resolve(server):
    """Every name has the address 127.0.0.1."""
    while True:
        query, client = server.recvfrom(512)
        question = query[12:query.index(b"\0", 12) + 5]
        is_a = question[-4:-2] == b"\0\1"
        answer = b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4\x7f\0\0\1" if is_a else b""
        server.sendto(query[:2] + struct.pack(">HHHHH", 0x8180, 1, is_a, 0, 0) + question + answer,
                      client)


def check_resolver():
    """In namespaces of its own: /etc/resolv.conf is a link, as resolvconf and NetworkManager make it."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir="/run") as settings:
        etc = os.path.join(folder, "etc")
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        subprocess.run(["cp", "-a", "/etc", etc], check=True)
        os.unlink(os.path.join(etc, "resolv.conf"))
        os.symlink(os.path.join(settings, "resolv.conf"), os.path.join(etc, "resolv.conf"))
        with open(os.path.join(settings, "resolv.conf"), "w") as f:
            f.write("nameserver 127.0.0.53\n")
        subprocess.run(["mount", "--bind", etc, "/etc"], check=True)
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind(("127.0.0.53", 53))
        threading.Thread(target=resolve, args=(server,), daemon=True).start()
        context, cert = make_certificate(folder, "127.0.0.1")
        relay, box = serve(StartTls, "127.0.0.1", context)
        login = dict(user=USER, password=PASSWORD, ca_file=cert)
        check("a relay by its name", send(frame(relay="smtp://relay.example:%d" % relay.port,
                                                **login)), SENT)
        check("a relay by its name: arrived", len(box.messages), 1)
        relay.stop()
        subprocess.run(["umount", "/etc"], check=True)


def check_frames():
    good = frame()
    for name, data in (("nothing", b""), ("noise", os.urandom(400)), ("half", good[:-9]),
                       ("more behind it", good + b"x"), ("too much", good + b"x" * 100000)):
        check("a frame: " + name, send(data), USAGE)


if sys.argv[2:] == ["resolver"]:
    check_resolver()
    sys.exit(1 if failed else 0)
with tempfile.TemporaryDirectory() as scratch:
    check_tls(scratch)
check_answers()
check_frames()
failed += subprocess.run(["unshare", "-mn", sys.executable, sys.argv[0], PROGRAM, "resolver"]).returncode
sys.exit(1 if failed else 0)
