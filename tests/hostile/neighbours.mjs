// What one sandbox tries on another one of the same server: `mine` runs in the victim, then
// `theirs` in the attacker. Names are such that nothing else on the host has them.
const python = (lines) => `python3 -c '${lines}'`;
const daemon = (command) => `setsid ${command} >/dev/null 2>&1 </dev/null & for i in $(seq 100); do [ -e /tmp/up ] && break; sleep 0.05; done`;

export const neighbours = [
  {
    name: 'their processes are not listed',
    mine: 'setsid sleep 98765 >/dev/null 2>&1 </dev/null & true',
    theirs: 'cat /proc/[0-9]*/cmdline | tr "\\0" " " | grep -c "slee[p] 98765"',
    expected: /^0$/m,
  },
  {
    name: 'their files are not there',
    mine: 'echo secret-4711 >/workspace/secret; echo secret-4711 >/tmp/secret; echo secret-4711 >/root/secret',
    theirs: 'cat /workspace/secret /tmp/secret /root/secret; grep -rs secret-471[1] /workspace /tmp /root /home /srv /opt /run | wc -l',
    expected: /^0$/m,
  },
  {
    name: 'what they change in the image is not changed for others',
    mine: 'echo "echo owned" >/etc/profile.d/owned.sh; cp /bin/true /bin/hostname; rm -f /etc/debian_version',
    theirs: 'ls /etc/profile.d/owned.sh; cat /etc/debian_version >/dev/null && echo intact',
    expected: /No such file[^]*^intact$/m,
  },
  {
    name: 'their abstract sockets are of another network',
    mine: daemon(python('import socket; s = socket.socket(socket.AF_UNIX); s.bind("\\0berth-hostile"); s.listen(); open("/tmp/up", "w"); s.accept()')),
    theirs: python('import socket; socket.socket(socket.AF_UNIX).connect("\\0berth-hostile")'),
    expected: /ConnectionRefusedError/,
  },
  {
    name: 'their ports on loopback',
    mine: `rm -f /tmp/up; ${daemon(python('import socket; s = socket.create_server(("127.0.0.1", 45678)); open("/tmp/up", "w"); s.accept()'))}`,
    theirs: python('import socket; socket.create_connection(("127.0.0.1", 45678), 3)'),
    expected: /ConnectionRefusedError/,
  },
  {
    name: 'their shared memory',
    mine: 'echo secret-4711 >/dev/shm/hostile',
    theirs: 'cat /dev/shm/hostile; ls -A /dev/shm | wc -l',
    expected: /^0$/m,
  },
  {
    name: 'their System V shared memory',
    mine: python('import ctypes; print(ctypes.CDLL(None).shmget(0x4711, 4096, 0o1666))'),
    theirs: python('import ctypes; print(ctypes.CDLL(None).shmget(0x4711, 4096, 0o666))'),
    expected: /^-1$/m,
  },
  {
    name: 'their message queues',
    mine: 'touch /dev/mqueue/hostile; true',
    theirs: 'ls -A /dev/mqueue | wc -l',
    expected: /^0$/m,
  },
  {
    name: 'their terminals',
    mine: `rm -f /tmp/up; ${daemon(python('import os, time; os.openpty(); open("/tmp/up", "w"); time.sleep(600)'))}`,
    theirs: 'ls /dev/pts | grep -c "^[0-9]"',
    expected: /^0$/m,
  },
  {
    name: 'the ids are others',
    mine: 'true',
    theirs: 'stat -c %u /proc/1; awk "{print \\$3}" /proc/self/uid_map',
    expected: /^0\n65536$/m,
  },
  {
    name: 'a signal to every number',
    mine: 'setsid sleep 98765 >/dev/null 2>&1 </dev/null & echo $! >/tmp/pid',
    theirs: python('import os\nfor pid in range(2, 40000):\n  try:\n    os.kill(pid, 9) if pid not in (os.getpid(), os.getppid()) else 0\n  except OSError: pass\nprint("done")'),
    expected: /^done$/m,
  },
  {
    name: '… has not reached it',
    mine: 'true',
    theirs: 'echo still here',
    expected: /^still here$/m,
  },
  // Kernel tables that are counted for the owner of all sandboxes, or for the whole host.
  {
    name: 'inotify instances that they hold',
    mine: `rm -f /tmp/up; ${daemon(python('import ctypes, time\nlibc = ctypes.CDLL(None)\nn = 0\nwhile n < 1000 and libc.inotify_init() >= 0: n += 1\nopen("/tmp/up", "w").write(str(n)); time.sleep(600)'))}; cat /tmp/up`,
    theirs: python('import ctypes; print("got one", ctypes.CDLL(None).inotify_init() >= 0)'),
    expected: /^got one True$/m,
  },
  {
    name: 'room in message queues that they took',
    needs: 'CAP_SYS_RESOURCE',
    mine: python('import ctypes\nlibc = ctypes.CDLL(None)\nn = 0\nwhile n < 100 and libc.mq_open(b"/hostile%d" % n, 0o102, 0o600, None) >= 0: n += 1\nprint("took", n)'),
    theirs: python('import ctypes; print("got one", ctypes.CDLL(None).mq_open(b"/mine", 0o102, 0o600, None) >= 0)'),
    expected: /^got one True$/m,
  },
  {
    name: 'signals that they queued',
    needs: 'CAP_SYS_RESOURCE',
    mine: `rm -f /tmp/up; ${daemon(python('import ctypes, os, signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, [40])\nlibc = ctypes.CDLL(None)\nn = 0\nwhile n < 100000 and libc.sigqueue(os.getpid(), 40, None) == 0: n += 1\nopen("/tmp/up", "w").write(str(n)); time.sleep(600)'))}; cat /tmp/up`,
    theirs: python('import ctypes, os, signal; signal.pthread_sigmask(signal.SIG_BLOCK, [40]); print("got one", ctypes.CDLL(None).sigqueue(os.getpid(), 40, None) == 0)'),
    expected: /^got one True$/m,
  },
  {
    name: 'the port of the server itself',
    mine: 'true',
    theirs: 'ip -o address 2>/dev/null | grep -vc " lo " ; curl -s -m 3 http://127.0.0.1:8000/health || echo unreachable',
    expected: /^unreachable$/m,
  },
];
