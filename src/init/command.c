/* SPDX-License-Identifier: Apache-2.0 */
/* The process that becomes a command. */
#include "init/command.h"

#include "init/leader.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { EXIT_NOT_STARTED = 127 };

#define CAP(name) (UINT64_C(1) << CAP_##name)

/*
 * What root of a container needs for apt, su, chown and low ports. Not NET_RAW (packets by hand),
 * MKNOD, SYS_PTRACE (one's own processes need none; init is protected by it), nor any of admin.
 */
static const uint64_t tenant_caps = CAP(CHOWN) | CAP(DAC_OVERRIDE) | CAP(FOWNER) | CAP(FSETID) |
				    CAP(KILL) | CAP(SETGID) | CAP(SETUID) | CAP(SETPCAP) |
				    CAP(SETFCAP) | CAP(NET_BIND_SERVICE) | CAP(SYS_CHROOT);

/* A sane place for programs that nobody watches: no pager, no editor, no questions, no colours. */
static const char *const base_env[] = {
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME=/root",
	"USER=root",
	"LOGNAME=root",
	"SHELL=/bin/bash",
	"LANG=C.UTF-8",
	"TERM=dumb",
	"PAGER=cat",
	"GIT_PAGER=cat",
	"GIT_EDITOR=true",
	"DEBIAN_FRONTEND=noninteractive",
};

static _Noreturn void fail(const struct command_plan *plan, enum init_stage stage)
{
	struct leader_report report = { .kind = LEADER_FAILED, .stage = stage, .value = errno };

	(void)send(plan->report_fd, &report, sizeof(report), MSG_NOSIGNAL);
	_exit(EXIT_NOT_STARTED);
}

static bool place_fds(const struct command_plan *plan)
{
	/* 0 is init's /dev/null when the command has no stdin. */
	if (plan->stdin_fd >= 0 && dup2(plan->stdin_fd, 0) < 0)
		return false;
	if (dup2(plan->output_fd, 1) < 0 || dup2(plan->output_fd, 2) < 0)
		return false;
	if (plan->script_fd >= 0 && dup2(plan->script_fd, INIT_SCRIPT_FD) < 0)
		return false;
	if (plan->script_fd < 0)
		(void)close(INIT_SCRIPT_FD);
	/* The rest is close-on-exec from birth; this is for what should not be there at all. */
	return syscall(SYS_close_range, INIT_SCRIPT_FD + 1, INIT_LAST_FD, CLOSE_RANGE_CLOEXEC) == 0;
}

static bool is_overridden(const char *entry, const char *const *by)
{
	size_t len = (size_t)(strchr(entry, '=') - entry) + 1;

	for (; *by; by++)
		if (strncmp(entry, *by, len) == 0)
			return true;
	return false;
}

static void make_env(const char *const *extra, const char **out)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(base_env); i++)
		if (!is_overridden(base_env[i], extra))
			out[n++] = base_env[i];
	for (; *extra; extra++)
		out[n++] = *extra;
	out[n] = NULL;
}

static void reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			(void)signal(sig, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * The kernel's victim when memory runs out is a command, not init. The file belongs to the host's
 * root as long as we are not dumpable. While we are, SYS_PTRACE, which tenants do not have, keeps
 * them away: so before it is dropped.
 */
static void be_oom_victim(void)
{
	int fd;

	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		(void)!write(fd, "500", 3);
		(void)close(fd);
	}
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static bool drop_caps(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	uint64_t keep;

	for (unsigned long cap = 0; cap < 64; cap++)
		if (!(tenant_caps >> cap & 1) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 &&
		    errno == EINVAL)
			break;
	if (syscall(SYS_capget, &head, data) < 0)
		return false;
	keep = tenant_caps & (data[0].permitted | (uint64_t)data[1].permitted << 32);
	data[0].effective = data[0].permitted = (uint32_t)keep;
	data[1].effective = data[1].permitted = (uint32_t)(keep >> 32);
	data[0].inheritable = data[1].inheritable = 0;
	return syscall(SYS_capset, &head, data) == 0;
}

/* A limit that nobody inside can raise again. */
static bool forbid_growth(void)
{
	static const struct rlimit none = { 0, 0 };

	return setrlimit(RLIMIT_FSIZE, &none) == 0;
}

static void run_sh(const struct init_request *request)
{
	static const char note[] = "[note] there is no bash: /bin/sh runs this\n";
	static const char *args[INIT_MAX_STRINGS + 1];

	memcpy(args, request->args, sizeof(args));
	args[0] = "/bin/sh";
	(void)!write(2, note, strlen(note));
	(void)execv(args[0], (char *const *)(uintptr_t)args);
}

void command_run(const struct command_plan *plan)
{
	static const char *env[INIT_MAX_STRINGS + ARRAY_SIZE(base_env) + 1];
	const struct init_request *request = plan->request;

	(void)setsid();
	reset_signals();
	(void)umask(S_IWGRP | S_IWOTH);
	be_oom_victim();
	if (!place_fds(plan))
		fail(plan, INIT_STAGE_FORK);
	if (chdir(request->cwd) < 0)
		fail(plan, INIT_STAGE_CWD);
	if (!drop_caps() || ((request->head.flags & INIT_NO_GROWTH) && !forbid_growth()))
		fail(plan, INIT_STAGE_EXEC);

	make_env(request->env, env);
	environ = (char **)(uintptr_t)env; /* execvp() looks in this PATH */
	(void)execvp(request->args[0], (char *const *)(uintptr_t)request->args);
	if (errno == ENOENT && (request->head.flags & INIT_OR_SH))
		run_sh(request);
	fail(plan, INIT_STAGE_EXEC);
}
