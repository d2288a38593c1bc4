#!/usr/bin/env python3
"""The other side of the network tests.

world.py serve          answers on TCP ports 53, 80, 853 and UDP port 53 of every address, until killed
world.py try TARGET..   connects to each "tcp ADDRESS PORT" or "udp ADDRESS PORT" (one argument each)
                        and prints "ok", "refused" (at once) or "silent" (nothing within 2 s)
world.py many ADDRESS PORT N   opens N connections at once, prints how many were let through
world.py ask ADDRESS N         asks UDP port 53 from N ports at once, prints how many were answered
world.py flood ADDRESS PORT N  sends to a UDP port from N ports, and ends
world.py strangers N           sends to N link-local addresses that nobody has, and ends
world.py fetch ADDRESS PORT    reads 4 MiB from the port, prints the seconds it took
"""
import selectors
import socket
import sys
import time


def serve():
    sel = selectors.DefaultSelector()
    for port in (53, 80, 853):
        s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        s.bind(("::", port))
        s.listen(1000)
        sel.register(s, selectors.EVENT_READ, "listen")
    u = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    u.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    # An answer must come from the address that was asked.
    u.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
    u.bind(("::", 53))
    sel.register(u, selectors.EVENT_READ, "udp")
    print("ready", flush=True)
    while True:
        for key, _ in sel.select():
            if key.data == "listen":
                c, _ = key.fileobj.accept()
                sel.register(c, selectors.EVENT_READ, "stream")
            elif key.data == "udp":
                data, anc, _, peer = u.recvmsg(512, 256)
                info = [(l, t, d) for l, t, d in anc if t == socket.IPV6_PKTINFO]
                u.sendmsg([data], info, 0, peer)
            else:
                data = key.fileobj.recv(100)
                if data == b"big":
                    key.fileobj.setblocking(True)
                    try:
                        key.fileobj.sendall(b"x" * (4 << 20))
                    except OSError:
                        pass
                if not data or data == b"big":
                    sel.unregister(key.fileobj)
                    key.fileobj.close()
                else:
                    key.fileobj.send(data)


def attempt(kind, address, port):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    s = socket.socket(family, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM)
    s.settimeout(2)
    started = time.monotonic()
    try:
        s.connect((address, int(port)))
        s.send(b"hello")
        return "ok" if s.recv(100) == b"hello" else "garbage"
    except TimeoutError:
        return "silent"
    except OSError:
        return "refused" if time.monotonic() - started < 1 else "silent"
    finally:
        s.close()


def many(address, port, n):
    socks = []
    for _ in range(n):
        s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        s.settimeout(2)
        try:
            s.connect((address, port))
            socks.append(s)
        except OSError:
            s.close()
    return len(socks)


def ask(address, n):
    socks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(n)]
    answered = 0
    for s in socks:
        s.settimeout(2)
        try:
            s.connect((address, 53))
            s.send(b"hello")
            answered += s.recv(100) == b"hello"
        except OSError:
            pass
    return answered


def flood(address, port, n):
    for _ in range(n):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.sendto(b"hello", (address, port))
        s.close()


def strangers(n):
    link = socket.if_nametoindex("eth0")
    # What waits for a neighbour fills the socket's buffer: so one for each.
    socks = [socket.socket(socket.AF_INET6, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) for _ in range(n)]
    for i, s in enumerate(socks):
        try:
            s.sendto(b"hello", (f"fe80::a:{i:x}", 9, 0, link))
        except OSError:
            pass


def fetch(address, port):
    s = socket.create_connection((address, port), 30)
    started = time.monotonic()
    s.send(b"big")
    got = 0
    while chunk := s.recv(65536):
        got += len(chunk)
    assert got == 4 << 20, got
    return time.monotonic() - started


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    elif sys.argv[1] == "try":
        for target in sys.argv[2:]:
            print(attempt(*target.split()))
    elif sys.argv[1] == "many":
        print(many(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
    elif sys.argv[1] == "ask":
        print(ask(sys.argv[2], int(sys.argv[3])))
    elif sys.argv[1] == "flood":
        flood(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    elif sys.argv[1] == "strangers":
        strangers(int(sys.argv[2]))
    elif sys.argv[1] == "fetch":
        print(f"{fetch(sys.argv[2], int(sys.argv[3])):.1f}")
