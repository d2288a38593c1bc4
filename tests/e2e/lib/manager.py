#!/usr/bin/python3
"""What systemd does for a service that leaves a descriptor with it, in small: manager.py COMMAND..

Starts the command, keeps what it stores, and starts it again with that whenever it ends. on standard input is a signal's number for it; the end of the input ends all.
"""
import os
import select
import signal
import socket
import sys
import tempfile

for number in range(3, 16):  # kept free for those that are passed
    os.dup2(0, number, inheritable=False)
command = sys.argv[1:]
folder = tempfile.mkdtemp()
path = os.path.join(folder, "notify")
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notify.bind(path)
stored = {}


def start():
    pid = os.fork()
    if pid:
        return pid
    os.environ["NOTIFY_SOCKET"] = path
    fds = [(name, fd) for name, fds in stored.items() for fd in fds]
    for i, (_, fd) in enumerate(fds):
        os.dup2(fd, 3 + i)
    if fds:
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(fds)),
                          LISTEN_FDNAMES=":".join(name for name, _ in fds))
    os.execv(command[0], command)


def listen():
    text, fds, _, _ = socket.recv_fds(notify, 4096, 8)
    fields = dict(line.split("=", 1) for line in text.decode().splitlines())
    if "FDSTOREREMOVE" in fields:
        for fd in stored.pop(fields["FDNAME"], []):
            os.close(fd)
    if "FDSTORE" in fields:
        stored.setdefault(fields["FDNAME"], []).extend(fds)
        print("stored", fields["FDNAME"], flush=True)


pid = start()
while True:
    ready, _, _ = select.select([notify, sys.stdin], [], [], 0.02)
    if notify in ready:
        listen()
    if sys.stdin in ready:
        line = sys.stdin.readline()
        os.kill(pid, int(line) if line else signal.SIGTERM)
        if not line:
            os.waitpid(pid, 0)
            break
    if os.waitpid(pid, os.WNOHANG)[0]:
        pid = start()
os.unlink(path)
os.rmdir(folder)
