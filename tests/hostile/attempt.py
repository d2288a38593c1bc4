"""Runs attempts inside a sandbox: an expression a line on stdin.

Prints for each its number and "refused ERRNO", "allowed VALUE" or "killed by SIGNAL". Expressions
see what is defined here.
"""
import ctypes
import errno
import fcntl
import mmap
import os
import platform
import signal
import socket
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

# Same everywhere since 424; a call that a machine does not have is -1, which is ENOSYS.
COMMON = dict(
    pidfd_send_signal=424, io_uring_setup=425, open_tree=428, move_mount=429, fsopen=430, fspick=433, pidfd_open=434,
    clone3=435, pidfd_getfd=438, process_madvise=440, mount_setattr=442, quotactl_fd=443, memfd_secret=447,
    statmount=457, listmount=458,
)
NUMBERS = {
    'x86_64': dict(
        clone=56, ptrace=101, syslog=103, setresuid=117, personality=135, vhangup=153, modify_ldt=154, pivot_root=155,
        acct=163, settimeofday=164, mount=165, umount2=166, swapon=167, swapoff=168, reboot=169, sethostname=170,
        setdomainname=171, iopl=172, ioperm=173, init_module=175, delete_module=176, quotactl=179, lookup_dcookie=212,
        clock_settime=227, kexec_load=246, add_key=248, request_key=249, keyctl=250, unshare=272, vmsplice=278,
        move_pages=279, perf_event_open=298, fanotify_init=300, name_to_handle_at=303, open_by_handle_at=304,
        clock_adjtime=305, setns=308, process_vm_readv=310, process_vm_writev=311, kcmp=312, finit_module=313,
        kexec_file_load=320, bpf=321, userfaultfd=323, io_setup=206),
    'aarch64': dict(
        clone=220, ptrace=117, syslog=116, setresuid=147, personality=92, vhangup=58, pivot_root=41, acct=89,
        settimeofday=170, mount=40, umount2=39, swapon=224, swapoff=225, reboot=142, sethostname=161, setdomainname=162,
        init_module=105, delete_module=106, quotactl=60, lookup_dcookie=18, clock_settime=112, kexec_load=104,
        add_key=217, request_key=218, keyctl=219, unshare=97, vmsplice=75, move_pages=239, perf_event_open=241,
        fanotify_init=262, name_to_handle_at=264, open_by_handle_at=265, clock_adjtime=266, setns=268,
        process_vm_readv=270, process_vm_writev=271, kcmp=272, finit_module=273, kexec_file_load=294, bpf=280,
        userfaultfd=282, io_setup=0),
}[platform.machine()]

NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
NEWUSER, NEWPID, NEWNET, NEWTIME = 0x10000000, 0x20000000, 0x40000000, 0x80


def checked(result):
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def call(name, *args):
    """A system call by name; integers are longs, bytes are pointers."""
    number = COMMON.get(name) or NUMBERS.get(name, -1)
    return raw(number, *args)


def raw(number, *args):
    ctypes.set_errno(0)
    return checked(libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args]))


def child(function, *args):
    """In a child, so that what it changes is gone afterwards."""
    pid = os.fork()
    if pid == 0:
        try:
            function(*args)
            os._exit(0)
        except OSError as error:
            os._exit(error.errno & 127)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        raise OSError(errno.EINTR, 'killed')
    code = os.waitstatus_to_exitcode(status)
    if code:
        raise OSError(code, os.strerror(code))
    return 0


def limit(resource, value):
    """setrlimit(2) itself: Python refuses some by its own rules."""
    return checked(libc.setrlimit(resource, struct.pack('qq', value, value)))


def read(path, size=64):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    data = os.read(fd, size)
    if not data:
        raise OSError(errno.ENODATA, 'nothing to read')
    return data


def write(path, data):
    fd = os.open(path, os.O_WRONLY)
    return os.write(fd, data)


def rewrite(path):
    """Writes back what is there, so that a success would harm nobody."""
    try:
        data = read(path, 4096)
    except OSError:
        data = b'0'
    return write(path, data)


def readlink(path):
    return os.readlink(path)


def device(kind, major, minor):
    path = '/tmp/device'
    if os.path.lexists(path):
        os.unlink(path)
    os.mknod(path, kind | 0o666, os.makedev(major, minor))
    return os.open(path, os.O_RDONLY)


def join(pid, name):
    return call('setns', os.open(f'/proc/{pid}/ns/{name}', os.O_RDONLY), 0)


def handle():
    """The "shocker": a file by its handle, past every directory."""
    data = ctypes.create_string_buffer(struct.pack('Ii', 128, 0) + bytes(128))
    mount_id = ctypes.c_int()
    call('name_to_handle_at', -100, b'/etc/hostname', data, ctypes.byref(mount_id), 0)
    return call('open_by_handle_at', os.open('/', os.O_RDONLY), data, 0)


def leave_chroot():
    """The classic way out of chroot(2): it must end in the sandbox's own root."""
    before = os.stat('/').st_ino
    os.makedirs('/tmp/jail', exist_ok=True)
    fd = os.open('/', os.O_RDONLY)
    os.chroot('/tmp/jail')
    os.fchdir(fd)
    for _ in range(64):
        os.chdir('..')
    os.chroot('.')
    if os.stat('/').st_ino == before:
        raise OSError(errno.EXDEV, 'still inside')


def netlink(protocol, kind, flags, payload):
    """One request and the errno of its answer."""
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
    s.settimeout(5)
    s.send(struct.pack('IHHII', 16 + len(payload), kind, flags | 5, 1, 0) + payload)
    code = -struct.unpack('i', s.recv(4096)[16:20])[0]
    if code:
        raise OSError(code, os.strerror(code))
    return 0


def push_input():
    """TIOCSTI into our own controlling terminal."""
    master = os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY)
    fcntl.ioctl(master, 0x40045431, struct.pack('i', 0))
    number = struct.unpack('I', fcntl.ioctl(master, 0x80045430, bytes(4)))[0]
    os.setsid()
    slave = os.open(f'/dev/pts/{number}', os.O_RDWR)
    fcntl.ioctl(slave, 0x540E, 0)
    fcntl.ioctl(slave, 0x5412, b'x')


def mapped(code):
    """Runs machine code."""
    area = mmap.mmap(-1, 4096, prot=7)
    area.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    return ctypes.CFUNCTYPE(ctypes.c_int)(address)()


def arm_program():
    """getpid() of 32-bit Arm: the program ends by SIGILL if that fails, and by SIGSEGV if not."""
    code = struct.pack('<6I', 0xE3A07014, 0xEF000000, 0xE3500000, 0xA3A01000, 0xA5911000, 0xE7F000F0)
    base, size = 0x10000, 52 + 32 + len(code)
    header = struct.pack('<16sHHIIIIIHHHHHH', b'\x7fELF\1\1\1', 2, 40, 1, base + 84, 52, 0, 0x5000000, 52, 32, 1, 0, 0, 0)
    return header + struct.pack('<8I', 1, 0, base, base, size, size, 5, 4096) + code


def run_program(content):
    """Its end, as os.waitstatus_to_exitcode() says it."""
    with open('/tmp/program', 'wb') as file:
        file.write(content)
    os.chmod('/tmp/program', 0o755)
    return os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn('/tmp/program', ['program'], {}), 0)[1])


def compat_call():
    """getpid() by the numbers of 32 bits, which a filter of 64 bits may not know."""
    if platform.machine() == 'x86_64':
        result = mapped(b'\xb8\x14\x00\x00\x00\xcd\x80\xc3')  # int 0x80
    else:
        result = -errno.ENOSYS if run_program(arm_program()) == -signal.SIGILL else 0
    if result < 0:
        raise OSError(-result, os.strerror(-result))


def splice_into(path):
    """The shape of Dirty Pipe: pages of a file in a pipe, then written to."""
    fd = os.open(path, os.O_RDONLY)
    before = os.pread(fd, 16, 0)
    r, w = os.pipe()
    os.write(w, bytes(65536))
    os.read(r, 65536)
    os.splice(fd, w, 1, offset_src=0)
    os.write(w, b'XXXX')
    if os.pread(fd, 16, 0) == before:
        raise OSError(errno.EROFS, 'unchanged')


def open_fds():
    """Descriptors that this process was started with, besides the three."""
    names = [fd for fd in os.listdir('/proc/self/fd') if int(fd) > 2]
    extra = [fd for fd in names if os.path.exists(f'/proc/self/fd/{fd}')]
    if not extra:
        raise OSError(errno.ENOENT, 'none')
    return extra


def answer(expression):
    try:
        return f'allowed {eval(expression)!r:.100}'
    except OSError as error:
        return f'refused {errno.errorcode.get(error.errno, error.errno)}'


def attempt(number, expression):
    """In a child: what it changes, or what kills it, is of no matter to the next one."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        print(number, answer(expression), flush=True)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        print(number, 'killed by', signal.Signals(os.WTERMSIG(status)).name)


if __name__ == '__main__':
    for number, expression in enumerate(sys.stdin):
        attempt(number, expression.strip())
