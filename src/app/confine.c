/* SPDX-License-Identifier: Apache-2.0 */
/* berthd without what it does not need. */
#include "app/confine.h"

#include "base/log.h"
#include "conf/conf.h"
#include "conf/slots_status.h"
#include "sys/landlock.h"

#include <linux/sockios.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define auto_seccomp CLEANUP(release)

static void release(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
}

/* clang-format off */

/*
 * What libmicrohttpd, SQLite, jansson, sd-event, libsodium and libc call while serving, whatever the
 * arguments. Everything else is answered as by a kernel that does not have it: a library that is
 * updated then falls back, and does not end the service.
 */
static const char allowed[] =
	/* event loop */
	"epoll_wait epoll_pwait epoll_pwait2 epoll_ctl epoll_create1 poll ppoll select pselect6 "
	"timerfd_create timerfd_settime timerfd_gettime signalfd4 eventfd2 clock_gettime "
	"clock_getres clock_nanosleep nanosleep gettimeofday time getrandom "
	/* descriptors and sockets; socket() is below */
	"read write readv writev close dup dup3 fcntl pipe2 accept accept4 connect shutdown "
	"recvfrom recvmsg sendto sendmsg sendfile getsockopt setsockopt getsockname getpeername "
	"memfd_create "
	/* files: the state, and what a keeper passed */
	"open openat stat lstat fstat newfstatat statx statfs fstatfs access faccessat "
	"faccessat2 readlink readlinkat getcwd lseek pread64 pwrite64 ftruncate fallocate fsync "
	"fdatasync fchmod fchown unlink unlinkat rename renameat renameat2 getdents64 umask "
	"fadvise64 "
	/* memory; mmap() and mprotect() are below */
	"brk munmap mremap madvise mlock mlock2 munlock "
	/* itself */
	"getpid gettid getppid getuid geteuid getgid getegid uname sysinfo getrusage getrlimit "
	"sched_yield sched_getaffinity futex set_robust_list rt_sigaction rt_sigprocmask "
	"rt_sigreturn rt_sigpending rt_sigtimedwait sigaltstack restart_syscall wait4 "
	"waitid exit exit_group";

/*
 * No library of the server has a use for these: whoever calls one has taken the process over, and it
 * ends there.
 */
static const char deadly[] =
	"execve execveat ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp mount "
	"umount2 move_mount open_tree fsopen fsconfig fsmount fspick mount_setattr pivot_root "
	"chroot setns unshare bpf perf_event_open userfaultfd io_uring_setup io_uring_enter "
	"io_uring_register keyctl add_key request_key kexec_load kexec_file_load init_module "
	"finit_module delete_module reboot swapon swapoff iopl ioperm modify_ldt personality "
	"open_by_handle_at setuid setgid setreuid setregid setresuid setresgid setgroups "
	"setfsuid setfsgid capset mknod mknodat quotactl acct syslog settimeofday clock_settime "
	"adjtimex clock_adjtime vmsplice sethostname setdomainname";

/* clang-format on */

/* Names that this machine does not have (arm64 has no open) are skipped; -EINVAL for a misspelt
 * one. */
static int add_list(scmp_filter_ctx filter, const char *names, uint32_t action)
{
	struct view rest = view_str(names), word;
	char name[32];
	int r = 0;

	while (r == 0 && view_split(&rest, ' ', &word)) {
		int nr = __NR_SCMP_ERROR;

		if (view_copy(word, name, sizeof(name)) == 0)
			nr = seccomp_syscall_resolve_name(name);
		if (nr == __NR_SCMP_ERROR)
			return -EINVAL;
		if (nr >= 0)
			r = seccomp_rule_add(filter, action, nr, 0);
	}
	return r;
}

/* Allowed by one argument; with another value they are refused. */
static int add_conditions(scmp_filter_ctx filter)
{
	const struct scmp_arg_cmp not_executable = SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	const struct scmp_arg_cmp is_local = SCMP_A0_32(SCMP_CMP_EQ, AF_UNIX);
	/* How much a client has sent that is not read yet, and how much it has not taken yet. */
	const struct scmp_arg_cmp is_unread = SCMP_A1_32(SCMP_CMP_EQ, FIONREAD);
	const struct scmp_arg_cmp is_untaken = SCMP_A1_32(SCMP_CMP_EQ, SIOCOUTQ);
	/* abort() */
	const struct scmp_arg_cmp is_self = SCMP_A0_32(SCMP_CMP_EQ, (uint32_t)getpid());
	/* Reading a limit; setting one needs the third argument. */
	const struct scmp_arg_cmp is_query = SCMP_A2_64(SCMP_CMP_EQ, 0);
	const struct {
		int nr;
		struct scmp_arg_cmp condition;
	} rules[] = {
		{ SCMP_SYS(mmap), not_executable },
		{ SCMP_SYS(mprotect), not_executable },
		/* The listener is open; new sockets go to the spawner and to systemd. */
		{ SCMP_SYS(socket), is_local },
		{ SCMP_SYS(socketpair), is_local },
		{ SCMP_SYS(ioctl), is_unread },
		{ SCMP_SYS(ioctl), is_untaken },
		{ SCMP_SYS(tgkill), is_self },
		{ SCMP_SYS(prlimit64), is_query },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		int r = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rules[i].nr, 1,
					       &rules[i].condition);

		if (r < 0)
			return r;
	}
	return 0;
}

int confine_filter(void)
{
	auto_seccomp scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int r;

	if (!filter)
		return -ENOMEM;
	/* A call by the numbers of another architecture is nobody's but an attacker's. */
	r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	/* The kernel's errors rather than the library's. */
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
	if (r == 0)
		r = add_list(filter, allowed, SCMP_ACT_ALLOW);
	if (r == 0)
		r = add_list(filter, deadly, SCMP_ACT_KILL_PROCESS);
	if (r == 0)
		r = add_conditions(filter);
	return r < 0 ? r : seccomp_load(filter);
}

static int reach_only_own_files(const struct conf *conf)
{
	auto_buf struct buf runtime = BUF_INIT(4096);
	auto_buf struct buf state = BUF_INIT(4096);
	int r = conf_runtime_dir(conf, &runtime);

	if (r == 0)
		r = buf_addf(&state, "%s/" SLOTS_SERVER_DIR, conf->state_dir);
	if (r < 0)
		return r;
	return landlock_restrict(
		(const struct landlock_rule[]){
			{ buf_str(&state), LANDLOCK_READ | LANDLOCK_WRITE },
			/* The administration socket is removed at the end. */
			{ buf_str(&runtime), LANDLOCK_WRITE },
			{ NULL, 0 },
		},
		LANDLOCK_NO_TCP);
}

/* Without one of the two walls only by the operator's word. */
static int missing(const struct conf *conf, const char *what, int error, struct err *err)
{
	if (!conf->allow_unconfined)
		return err_set(
			err, ERR_DENIED,
			"%s cannot be had on this kernel (%s), so berthd would serve strangers "
			"less confined than it should; berth doctor says more. "
			"server.allow_unconfined = yes serves without",
			what, strerror(error));
	log_warning("%s cannot be had on this kernel (%s): berthd is NOT confined by it", what,
		    strerror(error));
	return 0;
}

int confine(const struct conf *conf, struct confinement *ret, struct err *err)
{
	struct confinement got = { 0 };
	int r;

#if BERTH_SANITIZED
	log_warning("built with sanitizers: berthd is NOT confined");
	*ret = got;
	return 0;
#endif
	/* In this order: the filter does not let Landlock's calls through. */
	r = reach_only_own_files(conf);
	if (r < 0 && missing(conf, "Landlock", -r, err) < 0)
		return -1;
	got.landlock = r < 0 ? 0 : landlock_version();
	r = confine_filter();
	if (r < 0 && missing(conf, "the system call filter", -r, err) < 0)
		return -1;
	got.filter = r == 0;
	log_info("confined: system call filter %s, Landlock version %d", got.filter ? "on" : "OFF",
		 got.landlock);
	*ret = got;
	return 0;
}
