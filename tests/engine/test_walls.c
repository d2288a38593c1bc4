/* SPDX-License-Identifier: Apache-2.0 */
/* The container's walls, seen from inside: mounts, masks, system calls, capabilities, planted
 * links. */
#include "harness.h"

#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

static struct fixture fixture;
static struct harness h = { .fixture = &fixture };

static struct engine_box *start_with(const struct engine_box_spec *spec)
{
	struct err err = { 0 };
	struct engine_box *box = harness_box(&h, spec, &err);

	if (!box)
		fail_msg("start: %s", err.msg);
	return box;
}

static struct engine_box *start(void)
{
	struct engine_box_spec spec = harness_spec(0);

	return start_with(&spec);
}

/* `text` must print exactly `want`. */
static void expect(struct engine_box *box, const char *text, const char *want)
{
	const char *got = harness_output(&h, box, text);

	if (strcmp(got, want) != 0)
		fail_msg("%s\ngot:  %s\nwant: %s", text, got, want);
}

static void test_mounts(void **state)
{
	struct engine_box *box = start();

	(void)state;
	expect(box,
	       "grep ' / / ' /proc/self/mountinfo | grep -o "
	       "'lowerdir=[^,]*,upperdir=[^,]*,workdir=[^,]*'",
	       "lowerdir=lower,upperdir=layer/upper,workdir=layer/work\n");
	expect(box,
	       "awk '$5 != \"/workspace\"' /proc/self/mountinfo | grep -c 'berth-engine' || true",
	       "0\n");
	expect(box, "stat -f -c %T /proc /tmp /dev/mqueue | tr '\\n' ' '", "proc tmpfs mqueue ");
	expect(box, "stat -c '%n %t %T' /dev/null /dev/zero | tr '\\n' ' '",
	       "/dev/null 1 3 /dev/zero 1 5 ");
	expect(box, "ls /dev | tr '\\n' ' '",
	       "fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero ");
	expect(box,
	       "cp /bin/true /workspace/t; chmod u+s /workspace/t; findmnt -no OPTIONS /workspace "
	       "2>/dev/null | grep -o nosuid || grep ' /workspace ' /proc/self/mountinfo | grep -o "
	       "-m1 nosuid;"
	       "rm /workspace/t",
	       "nosuid\n");
	expect(box, "script -qc tty /dev/null 2>/dev/null | tr -d '\\r' || echo none",
	       "/dev/pts/0\n");
	harness_stop_box(&h, box);
}

static void test_masks(void **state)
{
	struct engine_box *box = start();

	(void)state;
	expect(box,
	       "for f in kcore kmsg keys timer_list cmdline iomem config.gz interrupts kallsyms; "
	       "do "
	       "[ ! -e /proc/$f ] || [ -z \"$(head -c 8 /proc/$f | tr -d '\\0')\" ] || echo $f; "
	       "done",
	       "");
	expect(box, "ls /sys/firmware /sys/kernel /proc/irq | grep -v : | grep . || true", "");
	expect(box,
	       "for f in kernel/core_pattern kernel/hostname user/max_user_namespaces "
	       "net/ipv4/ip_forward vm/overcommit_memory; do "
	       "(echo 1 >/proc/sys/$f) 2>/dev/null && echo $f; done; true",
	       "");
	expect(box, "cat /proc/sys/user/max_user_namespaces /proc/sys/net/ipv4/ping_group_range",
	       "0\n0\t65534\n");
	expect(box, "(echo b >/proc/sysrq-trigger) 2>&1 | grep -c enied || true", "0\n");
	harness_stop_box(&h, box);
}

/* What each call answers inside. The arguments are a Python tuple. */
static const struct {
	const char *name;
	long nr;
	const char *args, *want;
} calls[] = {
	{ "clone3", SYS_clone3, "(0, 0)", "ENOSYS" },
	{ "unshare user", SYS_unshare, "(0x10000000,)", "EPERM" },
	{ "unshare time", SYS_unshare, "(0x80,)", "EPERM" },
	{ "unshare files", SYS_unshare, "(0x400,)", "ok" },
	{ "mount", SYS_mount, "(0, 0, 0, 0, 0)", "EPERM" },
	{ "umount", SYS_umount2, "(0, 0)", "EPERM" },
	{ "pivot_root", SYS_pivot_root, "(0, 0)", "EPERM" },
	{ "fsopen", SYS_fsopen, "(0, 0)", "EPERM" },
	{ "setns", SYS_setns, "(0, 0)", "EPERM" },
	{ "io_uring_setup", SYS_io_uring_setup, "(1, 0)", "EPERM" },
	{ "bpf", SYS_bpf, "(0, 0, 0)", "EPERM" },
	{ "perf", SYS_perf_event_open, "(0, 0, -1, -1, 0)", "EPERM" },
	{ "userfaultfd", SYS_userfaultfd, "(0,)", "EPERM" },
	{ "keyctl", SYS_keyctl, "(0, -3, 0)", "EPERM" },
	{ "add_key", SYS_add_key, "(0, 0, 0, 0, 0)", "EPERM" },
	{ "kexec", SYS_kexec_load, "(0, 0, 0, 0)", "EPERM" },
	{ "init_module", SYS_init_module, "(0, 0, 0)", "EPERM" },
	{ "reboot", SYS_reboot, "(0, 0, 0, 0)", "EPERM" },
	{ "open_by_handle_at", SYS_open_by_handle_at, "(0, 0, 0)", "EPERM" },
	{ "pidfd_getfd", SYS_pidfd_getfd, "(0, 0, 0)", "EPERM" },
	{ "personality", SYS_personality, "(0x40000,)", "EPERM" },
	{ "personality query", SYS_personality, "(0xffffffff,)", "ok" },
	{ "tiocsti", SYS_ioctl, "(0, 0x5412, 0)", "EPERM" },
	{ "tiocsti high", SYS_ioctl, "(0, 0x100005412, 0)", "EPERM" },
	{ "unknown", 500, "()", "ENOSYS" },
	{ "sethostname", SYS_sethostname, "(0, 0)", "EPERM" },
	{ "memfd_secret", SYS_memfd_secret, "(0,)", "EPERM" },
	{ "vsock", SYS_socket, "(40, 1, 0)", "EAFNOSUPPORT" },
	{ "alg", SYS_socket, "(38, 5, 0)", "ESOCKTNOSUPPORT" },
	{ "packet", SYS_socket, "(17, 3, 0)", "EAFNOSUPPORT" },
	{ "xdp", SYS_socket, "(44, 3, 0)", "EAFNOSUPPORT" },
	{ "key", SYS_socket, "(15, 3, 2)", "EAFNOSUPPORT" },
	{ "audit", SYS_socket, "(16, 3, 9)", "EAFNOSUPPORT" },
	{ "xfrm", SYS_socket, "(16, 3, 6)", "EAFNOSUPPORT" },
	{ "route", SYS_socket, "(16, 3, 0)", "ok" },
	{ "sctp", SYS_socket, "(2, 1, 132)", "EPROTONOSUPPORT" },
	{ "mptcp", SYS_socket, "(10, 1, 262)", "EPROTONOSUPPORT" },
	{ "tcp", SYS_socket, "(2, 1, 0)", "ok" },
	{ "tcp6", SYS_socket, "(10, 1, 0)", "ok" },
	{ "unix", SYS_socket, "(1, 1, 0)", "ok" },
	{ "raw", SYS_socket, "(2, 3, 1)", "EPERM" },
#if defined(__x86_64__)
	{ "x32", 0x40000000 + SYS_getpid, "()", "ENOSYS" },
#endif
};

/* Prints those that answered otherwise. */
static void test_calls(void **state)
{
	static const char preamble[] =
		"python3 - <<'EOF'\n"
		"import ctypes, errno\n"
		"libc = ctypes.CDLL(None, use_errno=True)\n"
		"def check(name, nr, args, want):\n"
		"    ctypes.set_errno(0)\n"
		"    r = libc.syscall(nr, *[ctypes.c_long(a) for a in args])\n"
		"    got = 'ok' if r >= 0 else errno.errorcode[ctypes.get_errno()]\n"
		"    if got != want: print(name, got, 'not', want)\n";
	struct engine_box *box = start();
	auto_buf struct buf text = BUF_INIT(16384);

	(void)state;
	assert_int_equal(buf_add_str(&text, preamble), 0);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		assert_int_equal(buf_addf(&text, "check('%s', %ld, %s, '%s')\n", calls[i].name,
					  calls[i].nr, calls[i].args, calls[i].want),
				 0);
	assert_int_equal(buf_add_str(&text, "EOF\n"), 0);
	expect(box, buf_str(&text), "");
	harness_stop_box(&h, box);
}

static void test_privileges(void **state)
{
	struct engine_box_spec spec = harness_spec(0);
	struct engine_box *box = start();

	(void)state;
	/* CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID SETPCAP NET_BIND SYS_CHROOT SETFCAP
	 */
	expect(box,
	       "grep -E 'Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp:' /proc/self/status | "
	       "awk '{print $2}' | tr '\\n' ' '",
	       "0000000000000000 00000000800405fb 00000000800405fb 00000000800405fb "
	       "0000000000000000 1 2 ");
	expect(box,
	       "grep -E 'CapEff|NoNewPrivs|Seccomp:' /proc/1/status | awk '{print $2}' | tr '\\n' "
	       "' '",
	       "00000000800c05fb 1 2 ");
	expect(box,
	       "cat /proc/1/mem 2>&1 | grep -c denied; ls -l /proc/1/exe /proc/1/cwd 2>&1 | "
	       "grep -c denied; (echo >/proc/1/exe) 2>&1 | grep -ci -e denied -e busy",
	       "1\n2\n1\n");
	expect(box,
	       "python3 -c 'import ctypes; l = ctypes.CDLL(None, use_errno=True); "
	       "print(l.ptrace(16, 1, 0, 0), ctypes.get_errno())'",
	       "-1 1\n");
	/* Useful things of root that must work. */
	expect(box,
	       "chown 65534:65534 /root && chmod 600 /root && cat /root/.bashrc >/dev/null; "
	       "su nobody -s /bin/sh -c 'id -u'; mkdir /opt/x; chroot / true; echo ok",
	       "65534\nok\n");
	harness_stop_box(&h, box);

	spec.no_new_privs = false;
	box = start_with(&spec);
	expect(box,
	       "grep -E 'NoNewPrivs|Seccomp:' /proc/self/status | awk '{print $2}' | tr '\\n' ' '",
	       "0 2 ");
	harness_stop_box(&h, box);
}

/* What a tenant plants in its layer must not lead a later start anywhere. */
static void test_planted(void **state)
{
	struct engine_box_spec spec = harness_spec(0);
	struct engine_box *box = start();

	(void)state;
	(void)harness_output(
		&h, box,
		"mv /etc /etc2 && ln -s /workspace /etc; rm -f /workspace/resolv.conf; "
		"ln -s /etc2/passwd /workspace/resolv.conf; "
		"cp -r /etc2/apt /workspace/keep; mkdir /opt/dev");
	harness_stop_box(&h, box);
	spec.layer = ENGINE_LAYER_KEEP;
	box = start_with(&spec);
	/* Written inside, as a file, over the planted link and not through it. */
	expect(box,
	       "grep -c root: /etc2/passwd; stat -c %F /workspace/resolv.conf; rm -r /workspace/*",
	       "1\nregular file\n");
	harness_stop_box(&h, box);
	box = start(); /* fresh: all of it is gone */
	expect(box, "test -d /etc2 || stat -c %F /etc", "directory\n");
	harness_stop_box(&h, box);
}

/* Nobody else: other boxes' processes, sockets and System V objects are out of sight. */
static void test_neighbours(void **state)
{
	struct engine_box_spec other_spec = harness_spec(1);
	struct engine_box *box = start(), *other = start_with(&other_spec);

	(void)state;
	(void)harness_output(&h, box,
			     "python3 -c 'import socket,time,os\n"
			     "s=socket.socket(socket.AF_UNIX); s.bind(\"\\0secret\"); s.listen()\n"
			     "t=socket.socket(); t.bind((\"127.0.0.1\",8123)); t.listen()\n"
			     "open(\"/dev/shm/x\",\"w\").write(\"x\")\n"
			     "os.fork() or time.sleep(100)' >/dev/null 2>&1 & "
			     "until [ -e /dev/shm/x ]; do :; done");
	expect(other,
	       "ls /dev/shm; ps -e -o comm= | grep -c python || true; cat /proc/net/unix | grep -c "
	       "secret"
	       " || true; curl -s -m 2 http://127.0.0.1:8123 || echo refused",
	       "0\n0\nrefused\n");
	expect(other,
	       "cat /proc/sys/kernel/hostname; hostname -f; getent hosts localhost | head -1 | "
	       "grep -c localhost",
	       "sandbox\nsandbox\n1\n");
	harness_stop_box(&h, box);
	harness_stop_box(&h, other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_prestate_setup_teardown(fn, harness_set_up, harness_tear_down, &h)
		TEST(test_mounts),     TEST(test_masks),   TEST(test_calls),
		TEST(test_privileges), TEST(test_planted), TEST(test_neighbours),
	};

	if (!fixture_can_enter())
		return FIXTURE_SKIPPED;
	fixture_enter(&fixture, FIXTURE_POOL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
