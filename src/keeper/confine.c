/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper gives up what it does not need. The filter is written out here rather than built by a
 * library: a keeper starts with each slot, and a list of numbers costs nothing.
 */
#include "keeper/keeper.h"

#include "keeper/fail.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define KEEPER_AUDIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define KEEPER_AUDIT_ARCH AUDIT_ARCH_AARCH64
#else
#error "the keeper's system call filter does not know this architecture"
#endif

enum {
	MAX_MEMORY = 512 << 20, /* address space of the keeper and of each child */
	/* What fork() of the C library asks for; no other clone is allowed. */
	FORK_FLAGS = CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | SIGCHLD,
};

/* Allowed whatever their arguments. */
static const int allowed[] = {
	SYS_read,          SYS_write,
	SYS_pread64,       SYS_pwrite64,
	SYS_lseek,         SYS_close,
	SYS_recvmsg,       SYS_sendmsg,
#ifdef SYS_poll
	SYS_poll,
#endif
	SYS_ppoll,         SYS_openat,
	SYS_openat2,       SYS_fstat,
	SYS_newfstatat,    SYS_statx,
	SYS_fstatfs,       SYS_getdents64,
	SYS_readlinkat,    SYS_unlinkat,
	SYS_linkat,        SYS_renameat,
	SYS_renameat2,     SYS_mkdirat,
	SYS_fchmod,        SYS_fchown,
	SYS_ftruncate,     SYS_fallocate,
	SYS_fsync,         SYS_fdatasync,
	SYS_utimensat,     SYS_fgetxattr,
	SYS_fsetxattr,     SYS_flistxattr,
	SYS_fremovexattr,  SYS_fcntl,
	SYS_munmap,        SYS_mremap,
	SYS_madvise,       SYS_brk,
	SYS_clock_gettime, SYS_getrandom,
	SYS_sysinfo, /* qsort() asks how much memory there is */
	SYS_getpid,        SYS_getppid,
	SYS_gettid,        SYS_geteuid,
	SYS_getegid,       SYS_set_robust_list,
	SYS_pidfd_open,    SYS_memfd_create,
	SYS_wait4,         SYS_kill,
	SYS_tgkill,        SYS_futex,
	SYS_ioprio_set,    SYS_prctl,
	SYS_rt_sigaction,  SYS_rt_sigprocmask,
	SYS_rt_sigreturn,  SYS_restart_syscall,
	SYS_exit,          SYS_exit_group,
};

/* Allowed where the argument `arg` is (IS) or has no bit of (WITHOUT) the value. */
static const struct rule {
	int nr;
	int arg;
	enum { IS, WITHOUT } test;
	uint32_t value;
} rules[] = {
	{ SYS_clone, 0, IS, FORK_FLAGS },
	{ SYS_mmap, 2, WITHOUT, 4 /* PROT_EXEC */ },
	{ SYS_mprotect, 2, WITHOUT, 4 /* PROT_EXEC */ },
	{ SYS_ioctl, 1, IS, (uint32_t)FS_IOC_GETFLAGS },
	{ SYS_ioctl, 1, IS, (uint32_t)FS_IOC_SETFLAGS },
};

/* Per allowed call a comparison and a return; per rule five; head and tail. */
enum { PROGRAM_MAX = ARRAY_SIZE(allowed) * 2 + ARRAY_SIZE(rules) * 5 + 8 };

struct program {
	struct sock_filter code[PROGRAM_MAX];
	unsigned short len;
};

static void emit(struct program *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	p->code[p->len++] = (struct sock_filter){ .code = code, .jt = jt, .jf = jf, .k = k };
}

static void emit_return(struct program *p, uint32_t action)
{
	emit(p, BPF_RET | BPF_K, action, 0, 0);
}

static void emit_load(struct program *p, size_t offset)
{
	emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void emit_rule(struct program *p, const struct rule *r)
{
	/* Both architectures are little endian: the low half comes first. */
	size_t low = offsetof(struct seccomp_data, args) + (size_t)r->arg * sizeof(uint64_t);

	emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)r->nr, 0, 4);
	emit_load(p, low);
	if (r->test == IS)
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, r->value, 0, 1);
	else
		emit(p, BPF_JMP | BPF_JSET | BPF_K, r->value, 1, 0);
	emit_return(p, SECCOMP_RET_ALLOW);
	emit_load(p, offsetof(struct seccomp_data, nr));
}

static int install_filter(struct err *err)
{
	struct program p = { .len = 0 };
	struct sock_fprog prog = { .filter = p.code };

	emit_load(&p, offsetof(struct seccomp_data, arch));
	emit(&p, BPF_JMP | BPF_JEQ | BPF_K, KEEPER_AUDIT_ARCH, 1, 0);
	emit_return(&p, SECCOMP_RET_KILL_PROCESS);
	emit_load(&p, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		emit(&p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed[i], 0, 1);
		emit_return(&p, SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		emit_rule(&p, &rules[i]);
	emit_return(&p, SECCOMP_RET_KILL_PROCESS);

	prog.len = p.len;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return fail_errno(err, errno, "install the system call filter");
	return 0;
}

/* What "root" of a user namespace needs to handle files of all its ids, and no more. */
static int drop_capabilities(struct err *err)
{
	const uint32_t keep = 1U << CAP_CHOWN | 1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH |
			      1U << CAP_FOWNER | 1U << CAP_FSETID | 1U << CAP_SETFCAP;
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (syscall(SYS_capget, &head, data) < 0)
		return fail_errno(err, errno, "read the capabilities");
	data[0].effective = data[0].permitted &= keep;
	data[1].effective = data[1].permitted = 0;
	data[0].inheritable = data[1].inheritable = 0;
	if (syscall(SYS_capset, &head, data) < 0)
		return fail_errno(err, errno, "drop capabilities");
	return 0;
}

static int limit(int resource, rlim_t value, struct err *err)
{
	struct rlimit now, want;

	if (getrlimit((__rlimit_resource_t)resource, &now) < 0)
		return fail_errno(err, errno, "read a resource limit");
	want.rlim_cur = value < now.rlim_max ? value : now.rlim_max;
	want.rlim_max = want.rlim_cur;
	if (setrlimit((__rlimit_resource_t)resource, &want) < 0)
		return fail_errno(err, errno, "set a resource limit");
	return 0;
}

int keeper_open_self(void)
{
	int fd = (int)syscall(SYS_open_tree, AT_FDCWD, "/proc/self/fd",
			      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	int r;

	if (fd == KEEPER_SELF_FD)
		return fd;
	if (fd < 0) {
		(void)close(KEEPER_SELF_FD);
		return -1;
	}
	r = dup3(fd, KEEPER_SELF_FD, O_CLOEXEC);
	(void)close(fd);
	return r;
}

int keeper_confine(struct err *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return fail_errno(err, errno, "confine the process");
	if (syscall(SYS_close_range, KEEPER_ROOT_FD, KEEPER_ROOT_FD, 0) < 0 ||
	    syscall(SYS_close_range, KEEPER_SELF_FD + 1, ~0U, 0) < 0)
		return fail_errno(err, errno, "close inherited descriptors");
	(void)umask(022);
	/* Measuring a tree takes one descriptor a level. */
	if (limit(RLIMIT_CORE, 0, err) < 0 || limit(RLIMIT_NOFILE, 8192, err) < 0)
		return -1;
#if !BERTH_SANITIZED
	if (limit(RLIMIT_AS, MAX_MEMORY, err) < 0)
		return -1;
#endif
	if (drop_capabilities(err) < 0)
		return -1;
	return install_filter(err);
}
