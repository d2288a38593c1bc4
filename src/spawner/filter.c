/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls that a tenant may make, as a program for the kernel. */
#include "spawner/filter.h"

#include "base/parse.h"
#include "spawner/filter_table.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum {
	X32_BIT = 0x40000000,
	ANY = -1,
	NEWTIME = 0x80,       /* CLONE_NEWTIME: only unshare() can ask for it */
	SETDELEG = 1024 + 16, /* F_SETDELEG, since Linux 6.19 */
};

#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)
/* Which part of a 64-bit argument the kernel itself looks at for these calls. */
#define ARG_LOW(i) ((uint32_t)(offsetof(struct seccomp_data, args) + 8 * (size_t)(i)))
#define DENY(e)    (SECCOMP_RET_ERRNO | (uint32_t)(e))

static void emit(struct filter *f, uint16_t code, uint32_t k, size_t yes, size_t no)
{
	assert(f->len < INIT_MAX_FILTER && yes < 256 && no < 256);
	f->code[f->len++] = (struct sock_filter){ code, (uint8_t)yes, (uint8_t)no, k };
}

static void load(struct filter *f, uint32_t offset)
{
	emit(f, BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

static void give(struct filter *f, uint32_t result)
{
	emit(f, BPF_RET | BPF_K, result, 0, 0);
}

/* The next instruction runs if the loaded word is `k`, else it is skipped. */
static void if_equal(struct filter *f, uint32_t k)
{
	emit(f, BPF_JMP | BPF_JEQ | BPF_K, k, 0, 1);
}

static void if_any_bit(struct filter *f, uint32_t bits)
{
	emit(f, BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
}

/* The number of "name" or "name=number" on the filter's machine; negative: it has none. */
static int number_of(const struct filter *f, struct view word)
{
	size_t equals = view_find(word, '=');
	char name[64];
	uint32_t nr;

	if (equals < word.len)
		return parse_u32(view_from(word, equals + 1), 0, 4095, &nr) < 0 ? -1 : (int)nr;
	if (view_copy(word, name, sizeof(name)) < 0)
		return -1;
	return seccomp_syscall_resolve_name_arch(f->arch, name);
}

/*
 * Starts the block of one system call, which ends by itself in every path; end_block() makes other
 * calls jump over it.
 */
static unsigned short begin_block(struct filter *f, int nr)
{
	assert(nr >= 0);
	emit(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 0);
	return (unsigned short)(f->len - 1);
}

static void end_block(struct filter *f, unsigned short start)
{
	size_t skip = (size_t)(f->len - start - 1);

	assert(skip < 256);
	f->code[start].jf = (uint8_t)skip;
}

/* No nested user namespaces: most of the kernel's surface for an attacker is behind them. */
static void no_namespaces(struct filter *f, const char *call, uint32_t bits)
{
	unsigned short start = begin_block(f, number_of(f, view_str(call)));

	load(f, ARG_LOW(0));
	if_any_bit(f, bits);
	give(f, DENY(EPERM));
	give(f, SECCOMP_RET_ALLOW);
	end_block(f, start);
}

/*
 * Typing into somebody's terminal; and the project that a file counts for, which on some file
 * systems its owner may choose. Of btrfs's own requests only copies that share their blocks: the
 * owner of a workspace may make subvolumes in it, which its quota does not count, and may make it
 * read-only, so that nobody without privileges can empty it. For the same reason no encryption of
 * files: without its key an encrypted folder cannot be moved out of the way. The kernel looks at
 * the low half of the request only.
 */
static void ioctls(struct filter *f)
{
	static const uint32_t refused[] = {
		TIOCSTI,
		TIOCLINUX,
		(uint32_t)FS_IOC_FSSETXATTR,
		(uint32_t)FS_IOC_SET_ENCRYPTION_POLICY,
		(uint32_t)FS_IOC_GET_ENCRYPTION_PWSALT, /* makes one, on the disk */
		(uint32_t)FS_IOC_ADD_ENCRYPTION_KEY,
		(uint32_t)FS_IOC_REMOVE_ENCRYPTION_KEY,
		(uint32_t)FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS,
	};
	static const uint32_t of_btrfs[] = { (uint32_t)FICLONE, (uint32_t)FICLONERANGE,
					     (uint32_t)FIDEDUPERANGE };
	unsigned short start = begin_block(f, number_of(f, VIEW("ioctl")));

	load(f, ARG_LOW(1));
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		if_equal(f, refused[i]);
		give(f, DENY(EPERM));
	}
	for (size_t i = 0; i < ARRAY_SIZE(of_btrfs); i++) {
		if_equal(f, of_btrfs[i]);
		give(f, SECCOMP_RET_ALLOW);
	}
	emit(f, BPF_ALU | BPF_AND | BPF_K, _IOC_TYPEMASK << _IOC_TYPESHIFT, 0, 0);
	if_equal(f, BTRFS_IOCTL_MAGIC << _IOC_TYPESHIFT);
	give(f, DENY(EPERM));
	give(f, SECCOMP_RET_ALLOW);
	end_block(f, start);
}

/*
 * Who has a lease on a file makes everybody else who opens it wait, for 45 seconds: the search
 * tools, and programs of the host that read the workspaces. The kernel looks at the low half only.
 */
static void leases(struct filter *f)
{
	static const uint32_t refused[] = { F_SETLEASE, SETDELEG };
	unsigned short start = begin_block(f, number_of(f, VIEW("fcntl")));

	load(f, ARG_LOW(1));
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		if_equal(f, refused[i]);
		give(f, DENY(EPERM));
	}
	give(f, SECCOMP_RET_ALLOW);
	end_block(f, start);
}

/* Options of one level that are refused. */
static void options(struct filter *f, uint32_t level, const uint32_t *names, size_t n)
{
	unsigned short start = begin_block(f, (int)level);

	load(f, ARG_LOW(2));
	for (size_t i = 0; i < n; i++) {
		if_equal(f, names[i]);
		give(f, DENY(EPERM));
	}
	give(f, SECCOMP_RET_ALLOW);
	end_block(f, start);
}

/*
 * A sandbox has one interface to choose from. With a connection bound to loopback once it is open,
 * what ends it never leaves: the host would track it as open for days, at the cost of the slot's
 * next tenants.
 */
static void socket_options(struct filter *f)
{
	static const uint32_t of_socket[] = { SO_BINDTODEVICE, SO_BINDTOIFINDEX };
	static const uint32_t of_ip[] = { IP_UNICAST_IF }, of_ipv6[] = { IPV6_UNICAST_IF };
	unsigned short start = begin_block(f, number_of(f, VIEW("setsockopt")));

	load(f, ARG_LOW(1));
	options(f, SOL_SOCKET, of_socket, ARRAY_SIZE(of_socket));
	options(f, IPPROTO_IP, of_ip, ARRAY_SIZE(of_ip));
	options(f, IPPROTO_IPV6, of_ipv6, ARRAY_SIZE(of_ipv6));
	give(f, SECCOMP_RET_ALLOW);
	end_block(f, start);
}

/* Root of the sandbox may set the limits of its PID 1, and then nothing starts in it any more. */
static void limits_of_others(struct filter *f)
{
	unsigned short start = begin_block(f, number_of(f, VIEW("prlimit64")));

	load(f, ARG_LOW(0));
	if_equal(f, 1);
	give(f, DENY(EPERM));
	give(f, SECCOMP_RET_ALLOW);
	end_block(f, start);
}

/* One family, with the protocols that are allowed (ANY-ended) and the errno for others. */
static void family(struct filter *f, uint32_t domain, const int *protocols, int refusal)
{
	unsigned short start;

	load(f, ARG_LOW(0));
	start = begin_block(f, (int)domain);
	load(f, ARG_LOW(2));
	for (; *protocols != ANY; protocols++) {
		if_equal(f, (uint32_t)*protocols);
		give(f, SECCOMP_RET_ALLOW);
	}
	give(f, DENY(refusal));
	end_block(f, start);
}

/* Only AF_UNIX has pairs worth having, but the kernel makes two sockets of any family first. */
static void socket_pairs(struct filter *f)
{
	unsigned short start = begin_block(f, number_of(f, VIEW("socketpair")));

	load(f, ARG_LOW(0));
	if_equal(f, AF_UNIX);
	give(f, SECCOMP_RET_ALLOW);
	give(f, DENY(EAFNOSUPPORT));
	end_block(f, start);
}

/*
 * What is not listed may make the kernel load a module that hardly anybody needs, at the wish of a
 * tenant: for a family, for a protocol, or for a type that stands for a protocol of its own.
 */
static void sockets(struct filter *f)
{
	static const int good_inet[] = { IPPROTO_IP,  IPPROTO_ICMP,   IPPROTO_TCP,
					 IPPROTO_UDP, IPPROTO_ICMPV6, ANY };
	static const int good_netlink[] = { NETLINK_ROUTE, NETLINK_SOCK_DIAG,
					    NETLINK_KOBJECT_UEVENT, ANY };
	const uint32_t rare_types = 0x0c; /* all above SOCK_RAW; above these bits are flags */
	unsigned short start = begin_block(f, number_of(f, VIEW("socket"))), unix_start;

	load(f, ARG_LOW(0));
	unix_start = begin_block(f, AF_UNIX);
	give(f, SECCOMP_RET_ALLOW);
	end_block(f, unix_start);
	load(f, ARG_LOW(1));
	if_any_bit(f, rare_types);
	give(f, DENY(ESOCKTNOSUPPORT));
	family(f, AF_INET, good_inet, EPROTONOSUPPORT);
	family(f, AF_INET6, good_inet, EPROTONOSUPPORT);
	family(f, AF_NETLINK, good_netlink, EAFNOSUPPORT);
	give(f, DENY(EAFNOSUPPORT));
	end_block(f, start);
}

static void personalities(struct filter *f)
{
	static const uint32_t allowed[] = { PER_LINUX, PER_LINUX32, UNAME26, PER_LINUX32 | UNAME26,
					    UINT32_MAX };
	unsigned short start = begin_block(f, number_of(f, VIEW("personality")));

	load(f, ARG_LOW(0));
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		if_equal(f, allowed[i]);
		give(f, SECCOMP_RET_ALLOW);
	}
	give(f, DENY(EPERM));
	end_block(f, start);
}

static void add_list(struct filter *f, const char *names, uint32_t result)
{
	struct view rest = view_str(names), word;

	while (view_split(&rest, ' ', &word)) {
		int nr = number_of(f, word);

		if (nr < 0)
			continue;
		if_equal(f, (uint32_t)nr);
		give(f, result);
	}
}

int filter_build_for(uint32_t arch, struct filter *ret, struct err *err)
{
	if (arch != SCMP_ARCH_X86_64 && arch != SCMP_ARCH_AARCH64)
		return err_set(err, ERR_SYSTEM,
			       "the system call filter knows x86-64 and arm64, not this machine");
	ret->arch = arch;
	ret->len = 0;

	/* Another architecture's calls have other numbers: none of them. */
	load(ret, offsetof(struct seccomp_data, arch));
	emit(ret, BPF_JMP | BPF_JEQ | BPF_K, arch, 1, 0);
	give(ret, DENY(ENOSYS));
	load(ret, offsetof(struct seccomp_data, nr));
	if (arch == SCMP_ARCH_X86_64) {
		emit(ret, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
		give(ret, DENY(ENOSYS));
	}
	no_namespaces(ret, "clone", NAMESPACES);
	no_namespaces(ret, "unshare", NAMESPACES | NEWTIME);
	ioctls(ret);
	leases(ret);
	limits_of_others(ret);
	socket_options(ret);
	sockets(ret);
	socket_pairs(ret);
	personalities(ret);
	add_list(ret, filter_allowed, SECCOMP_RET_ALLOW);
	add_list(ret, filter_refused, DENY(EPERM));
	give(ret, DENY(ENOSYS));
	return 0;
}

int filter_build(struct filter *ret, struct err *err)
{
	return filter_build_for(seccomp_arch_native(), ret, err);
}

int filter_load(const struct filter *filter)
{
	struct sock_fprog program = { .len = filter->len,
				      .filter = (struct sock_filter *)(uintptr_t)filter->code };

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}
