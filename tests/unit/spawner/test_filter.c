/* SPDX-License-Identifier: Apache-2.0 */
/* The system call filter, interpreted here: what it says for each call, on both architectures. */
#include "spawner/filter.h"

#include "base/buf.h"
#include "spawner/filter_table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cmocka.h>

#define DENY(e) (SECCOMP_RET_ERRNO | (uint32_t)(e))

static struct filter filter;

/* The few instructions that the filter is made of. */
static uint32_t decide(const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t pc = 0; pc < filter.len; pc++) {
		const struct sock_filter *i = &filter.code[pc];
		bool yes = false;

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(i->k % 4 == 0 && i->k < sizeof(*data));
			memcpy(&a, (const char *)data + i->k, sizeof(a));
			continue;
		case BPF_RET | BPF_K:
			return i->k;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			continue;
		case BPF_JMP | BPF_JEQ | BPF_K:
			yes = a == i->k;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			yes = a >= i->k;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			yes = a & i->k;
			break;
		default:
			fail_msg("instruction %x", i->code);
		}
		pc += yes ? i->jt : i->jf;
	}
	fail_msg("ran off the end");
	return 0;
}

static void expect_number(int nr, uint64_t a0, uint64_t a1, uint64_t a2, uint32_t want)
{
	struct seccomp_data data = { .nr = nr, .arch = filter.arch, .args = { a0, a1, a2 } };

	if (decide(&data) != want)
		fail_msg("call %d (%lx, %lx, %lx): %x, not %x", nr, (unsigned long)a0,
			 (unsigned long)a1, (unsigned long)a2, decide(&data), want);
}

static void expect(const char *name, uint64_t a0, uint64_t a1, uint64_t a2, uint32_t want)
{
	int nr = seccomp_syscall_resolve_name_arch(filter.arch, name);

	if (nr < 0)
		fail_msg("there is no %s", name);
	expect_number(nr, a0, a1, a2, want);
}

static void test_lists(void **state)
{
	static const char *const allowed[] = { "read",    "openat",  "execve",    "ptrace",
					       "futex",   "setuid",  "chroot",    "rseq",
					       "openat2", "seccomp", "exit_group" };
	static const char *const refused[] = { "mount",          "setns",  "bpf",
					       "keyctl",         "reboot", "fsopen",
					       "io_uring_setup", "swapon", "kexec_load" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++)
		expect(allowed[i], 0, 0, 0, SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		expect(refused[i], 0, 0, 0, DENY(EPERM));
	expect_number(454 /* futex_wake */, 0, 0, 0, SECCOMP_RET_ALLOW);
	expect_number(457 /* statmount */, 0, 0, 0, DENY(EPERM));
	expect_number(435 /* clone3 */, 0, 0, 0, DENY(ENOSYS));
	/* What a later kernel adds is not allowed before somebody has looked at it. */
	for (int nr = 471; nr < 1000; nr++)
		expect_number(nr, 0, 0, 0, DENY(ENOSYS));
	expect_number(-1, 0, 0, 0, DENY(ENOSYS));
}

static void test_arguments(void **state)
{
	static const uint64_t namespaces[] = { CLONE_NEWNS,    CLONE_NEWUSER, CLONE_NEWNET,
					       CLONE_NEWPID,   CLONE_NEWIPC,  CLONE_NEWUTS,
					       CLONE_NEWCGROUP };
	const uint64_t high = UINT64_C(1) << 32;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++) {
		expect("clone", namespaces[i] | SIGCHLD, 0, 0, DENY(EPERM));
		expect("unshare", namespaces[i], 0, 0, DENY(EPERM));
	}
	expect("clone", CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_THREAD, 0, 0, SECCOMP_RET_ALLOW);
	expect("unshare", 0x80, 0, 0, DENY(EPERM)); /* a time namespace */
	expect("ioctl", 0, TIOCGWINSZ, 0, SECCOMP_RET_ALLOW);
	expect("ioctl", 0, TIOCSTI, 0, DENY(EPERM));
	/* The kernel ignores the upper half, so must we. */
	expect("ioctl", 0, high | TIOCSTI, 0, DENY(EPERM));
	expect("ioctl", 0, BTRFS_IOC_SUBVOL_CREATE, 0, DENY(EPERM));
	expect("ioctl", 0, BTRFS_IOC_SNAP_CREATE_V2, 0, DENY(EPERM));
	expect("ioctl", 0, BTRFS_IOC_SUBVOL_SETFLAGS, 0, DENY(EPERM));
	expect("ioctl", 0, BTRFS_IOC_SET_RECEIVED_SUBVOL, 0, DENY(EPERM));
	expect("ioctl", 0, BTRFS_IOC_FS_INFO, 0, DENY(EPERM));
	expect("ioctl", 0, FICLONE, 0, SECCOMP_RET_ALLOW);
	expect("ioctl", 0, FICLONERANGE, 0, SECCOMP_RET_ALLOW);
	expect("ioctl", 0, FIDEDUPERANGE, 0, SECCOMP_RET_ALLOW);
	expect("ioctl", 0, FS_IOC_GETFLAGS, 0, SECCOMP_RET_ALLOW);
	expect("ioctl", 0, FS_IOC_FSSETXATTR, 0, DENY(EPERM));
	expect("ioctl", 0, FS_IOC_SET_ENCRYPTION_POLICY, 0, DENY(EPERM));
	expect("ioctl", 0, FS_IOC_GET_ENCRYPTION_PWSALT, 0, DENY(EPERM));
	expect("ioctl", 0, FS_IOC_ADD_ENCRYPTION_KEY, 0, DENY(EPERM));
	expect("ioctl", 0, FS_IOC_REMOVE_ENCRYPTION_KEY, 0, DENY(EPERM));
	expect("ioctl", 0, FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS, 0, DENY(EPERM));
	expect("ioctl", 0, FS_IOC_GET_ENCRYPTION_POLICY_EX, 0, SECCOMP_RET_ALLOW);
	expect("fcntl", 0, F_SETFL, 0, SECCOMP_RET_ALLOW);
	expect("fcntl", 0, F_OFD_SETLKW, 0, SECCOMP_RET_ALLOW);
	expect("fcntl", 0, F_SETLEASE, F_WRLCK, DENY(EPERM));
	expect("fcntl", 0, high | F_SETLEASE, F_RDLCK, DENY(EPERM));
	expect("fcntl", 0, 1040 /* F_SETDELEG */, 0, DENY(EPERM));
	expect("prlimit64", 0, 0, 0, SECCOMP_RET_ALLOW);
	expect("prlimit64", 2, 0, 0, SECCOMP_RET_ALLOW);
	expect("prlimit64", 1, 0, 0, DENY(EPERM));
	expect("prlimit64", high | 1, 0, 0, DENY(EPERM));
	expect("personality", 0, 0, 0, SECCOMP_RET_ALLOW);
	expect("personality", 0x0040000, 0, 0, DENY(EPERM));
}

static void test_sockets(void **state)
{
	(void)state;
	expect("socket", AF_UNIX, SOCK_STREAM, 0, SECCOMP_RET_ALLOW);
	expect("socket", AF_INET, SOCK_STREAM, 6, SECCOMP_RET_ALLOW);
	expect("socket", AF_INET6, SOCK_DGRAM, 17, SECCOMP_RET_ALLOW);
	expect("socket", AF_NETLINK, SOCK_RAW, 0, SECCOMP_RET_ALLOW);
	expect("socket", AF_NETLINK, SOCK_RAW, 12, DENY(EAFNOSUPPORT));
	expect("socket", AF_INET, SOCK_STREAM, 132, DENY(EPROTONOSUPPORT));
	expect("socket", AF_INET6, SOCK_STREAM, 262, DENY(EPROTONOSUPPORT));
	expect("socket", AF_INET, SOCK_DGRAM, 115, DENY(EPROTONOSUPPORT)); /* L2TP */
	expect("socket", AF_INET, SOCK_DGRAM, 1, SECCOMP_RET_ALLOW);       /* ping */
	expect("socket", AF_INET6, SOCK_DGRAM, 58, SECCOMP_RET_ALLOW);
	expect("socket", AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, SECCOMP_RET_ALLOW);
	expect("socket", AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, SECCOMP_RET_ALLOW);
	/* A type can stand for a protocol: SCTP, DCCP; and the last for a family, AF_PACKET. */
	expect("socket", AF_INET, SOCK_SEQPACKET, 0, DENY(ESOCKTNOSUPPORT));
	expect("socket", AF_INET6, SOCK_DCCP | SOCK_CLOEXEC, 0, DENY(ESOCKTNOSUPPORT));
	expect("socket", AF_INET, SOCK_PACKET, 3, DENY(ESOCKTNOSUPPORT));
	for (int family = 0; family < 64; family++)
		if (family != AF_UNIX && family != AF_INET && family != AF_INET6 &&
		    family != AF_NETLINK)
			expect("socket", (uint64_t)family, SOCK_RAW, 0, DENY(EAFNOSUPPORT));
	for (int family = 0; family < 64; family++)
		expect("socketpair", (uint64_t)family, SOCK_STREAM, 0,
		       family == AF_UNIX ? SECCOMP_RET_ALLOW : DENY(EAFNOSUPPORT));
	/* Which interface a socket uses is not its choice. */
	expect("setsockopt", 3, SOL_SOCKET, SO_BINDTODEVICE, DENY(EPERM));
	expect("setsockopt", 3, UINT64_C(1) << 32 | SOL_SOCKET, SO_BINDTODEVICE, DENY(EPERM));
	expect("setsockopt", 3, SOL_SOCKET, SO_BINDTOIFINDEX, DENY(EPERM));
	expect("setsockopt", 3, SOL_SOCKET, SO_REUSEADDR, SECCOMP_RET_ALLOW);
	expect("setsockopt", 3, IPPROTO_IP, IP_UNICAST_IF, DENY(EPERM));
	expect("setsockopt", 3, IPPROTO_IPV6, IPV6_UNICAST_IF, DENY(EPERM));
	expect("setsockopt", 3, IPPROTO_IPV6, IPV6_V6ONLY, SECCOMP_RET_ALLOW);
	expect("setsockopt", 3, IPPROTO_TCP, SO_BINDTODEVICE, SECCOMP_RET_ALLOW);
}

/* What has another number, or none, there. */
static void test_numbers(void **state)
{
	static const struct {
		int nr;
		uint32_t want;
	} x86_64[] = {
		{ 2 /* open */, SECCOMP_RET_ALLOW },	{ 57 /* fork */, SECCOMP_RET_ALLOW },
		{ 158 /* arch_prctl */, SECCOMP_RET_ALLOW }, { 165 /* mount */, DENY(EPERM) },
		{ 172 /* iopl */, DENY(EPERM) },	{ 308 /* setns */, DENY(EPERM) },
	}, arm64[] = {
		{ 56 /* openat */, SECCOMP_RET_ALLOW }, { 221 /* execve */, SECCOMP_RET_ALLOW },
		{ 117 /* ptrace */, SECCOMP_RET_ALLOW }, { 40 /* mount */, DENY(EPERM) },
		{ 268 /* setns */, DENY(EPERM) },	{ 280 /* bpf */, DENY(EPERM) },
		{ 244, DENY(ENOSYS) /* reserved for other machines */ },
	};
	bool is_x86 = filter.arch == SCMP_ARCH_X86_64;
	size_t n = is_x86 ? ARRAY_SIZE(x86_64) : ARRAY_SIZE(arm64);

	(void)state;
	for (size_t i = 0; i < n; i++)
		expect_number(is_x86 ? x86_64[i].nr : arm64[i].nr, 0, 0, 0,
			      is_x86 ? x86_64[i].want : arm64[i].want);
}

/* Each word of the lists is a call somewhere; most of them are one here. */
static void check_names(const char *names, size_t *ret_here)
{
	struct view rest = view_str(names), word;
	char name[64];

	while (view_split(&rest, ' ', &word)) {
		int nr;

		if (view_find(word, '=') < word.len) {
			++*ret_here;
			continue;
		}
		assert_int_equal(view_copy(word, name, sizeof(name)), 0);
		nr = seccomp_syscall_resolve_name_arch(filter.arch, name);
		if (nr == __NR_SCMP_ERROR)
			fail_msg("no machine has a call %s", name);
		if (nr >= 0)
			++*ret_here;
	}
}

static void test_names(void **state)
{
	size_t here = 0;

	(void)state;
	check_names(filter_allowed, &here);
	check_names(filter_refused, &here);
	assert_true(here > 280);
}

static void test_other_architectures(void **state)
{
	static const uint32_t others[] = { SCMP_ARCH_X86, SCMP_ARCH_X86_64, SCMP_ARCH_AARCH64,
					   SCMP_ARCH_ARM, SCMP_ARCH_PPC64LE };
	struct filter unbuilt;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct seccomp_data data = { .nr = 0, .arch = others[i] };

		if (others[i] != filter.arch)
			assert_int_equal(decide(&data), DENY(ENOSYS));
	}
	if (filter.arch == SCMP_ARCH_X86_64)
		expect_number(0x40000000, 0, 0, 0, DENY(ENOSYS));
	assert_int_equal(filter_build_for(SCMP_ARCH_PPC64LE, &unbuilt, &err), -1);
}

int main(void)
{
	static const uint32_t machines[] = { SCMP_ARCH_X86_64, SCMP_ARCH_AARCH64 };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),   cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_sockets), cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_names),   cmocka_unit_test(test_other_architectures),
	};
	int failed = 0;
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		if (filter_build_for(machines[i], &filter, &err) < 0)
			return 1;
		failed += cmocka_run_group_tests(tests, NULL, NULL);
	}
	return failed;
}
