/* SPDX-License-Identifier: Apache-2.0 */
/*
 * berth serve: starts berth-spawner and berthd as the unprivileged user and keeps them running, for
 * hosts and hours without systemd. Either may end at any time: the other one notices by itself, and
 * the one that ended is started again.
 *
 * A listening socket that was passed by the protocol of sd_listen_fds(3) stays open here and is
 * passed on to each berthd: while one ends and the next begins, clients wait and are not refused.
 */
#include "base/instance.h"
#include "cli/cli.h"
#include "cli/delegation.h"
#include "cli/options.h"
#include "cli/refresh.h"
#include "sys/clock.h"

#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>

static const char help[] =
	"usage: berth serve [--config FILE] [--state DIR] [--listen ADDRESS:PORT] [--profile "
	"NAME]\n"
	"                   [--set SECTION.KEY=VALUE]... [--check]\n"
	"Serves until it gets SIGTERM or SIGINT. Started as root it gets a control group for its\n"
	"sandboxes and becomes the configured user first. --check prints the effective\n"
	"configuration and ends.\n";

#define QUICK_DEATH   (3 * USEC_PER_SEC)
#define PAUSE_MIN     (200 * USEC_PER_MSEC)
#define PAUSE_MAX     (10 * USEC_PER_SEC)
#define STOP_PATIENCE (10 * USEC_PER_SEC)

struct child {
	const char *name;
	struct options_argv argv;
	pid_t pid; /* 0: not running */
	usec started, start_at, pause;
	bool takes_sockets;
	bool gave_up; /* it ended by itself, with an error, right after its start */
};

struct supervisor {
	/* In the order of starting; stopped in reverse, so that open calls still have their
	 * sandboxes when the front door says goodbye. */
	struct child children[2];
	sigset_t signals, original;
	int n_sockets; /* passed to us: descriptors from SD_LISTEN_FDS_START on */
	bool ever_up;  /* both have run for longer than QUICK_DEATH */
};

/* ---- privileges ---- */

/* What no program of the server may ever gain, whatever it executes. Root of a slot's user
 * namespace is not concerned: entering one starts with a full set. */
static int drop_bounding_set(void)
{
	for (unsigned long cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return errno == EINVAL && cap > 0 ? 0 : -1;
	return 0;
}

/* The server's user owns the slots' user namespaces: their processes count as its own, too. */
static void unbind_processes(void)
{
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };

	(void)setrlimit(RLIMIT_NPROC, &none); /* the spawner warns where root may not */
}

static int become_user(const char *name, struct err *err)
{
	const struct passwd *user;

	if (geteuid() != 0)
		return 0;
	user = getpwnam(name);
	if (!user)
		return err_set(err, ERR_NOT_FOUND,
			       "there is no user %s: run berth setup first, or set server.user",
			       name);
	if (user->pw_uid == 0)
		return err_set(err, ERR_DENIED, "server.user is root; the server must not be");
	unbind_processes();
	if (drop_bounding_set() < 0)
		return err_sys(err, errno, "drop capabilities");
	if (initgroups(name, user->pw_gid) < 0 ||
	    setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0 ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0)
		return err_sys(err, errno, "become user %s", name);
	if (setresuid(0, 0, 0) == 0)
		return err_set(err, ERR_DENIED, "root could be taken back; refusing to serve");
	return 0;
}

/* ---- children ---- */

/* In the child. The variables of the parent name another process, so nobody else takes them. */
static int pass_sockets(const struct supervisor *s)
{
	char pid[24];

	for (int i = 0; i < s->n_sockets; i++)
		if (fcntl(SD_LISTEN_FDS_START + i, F_SETFD, 0) < 0)
			return -errno;
	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	return s->n_sockets && setenv("LISTEN_PID", pid, 1) < 0 ? -errno : 0;
}

static _Noreturn void exec_child(const struct supervisor *s, const struct child *c, pid_t parent)
{
	/* A supervisor that is killed takes both along. */
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(127);
	if (c->takes_sockets && pass_sockets(s) < 0)
		_exit(127);
	(void)sigprocmask(SIG_SETMASK, &s->original, NULL);
	(void)execv(c->argv.argv[0], c->argv.argv);
	(void)fprintf(stderr, "berth serve: start %s: %s\n", c->argv.argv[0], strerror(errno));
	_exit(127);
}

static void start(struct supervisor *s, struct child *c, usec now)
{
	pid_t self = getpid();
	pid_t pid = fork();

	if (pid == 0)
		exec_child(s, c, self);
	if (pid < 0) {
		c->start_at = now + PAUSE_MAX;
		return;
	}
	c->pid = pid;
	c->started = now;
}

static void say_end(const struct child *c, int status)
{
	if (WIFEXITED(status))
		(void)fprintf(stderr, "berth serve: %s ended (exit %d)\n", c->name,
			      WEXITSTATUS(status));
	else
		(void)fprintf(stderr, "berth serve: %s ended (signal %d)\n", c->name,
			      WTERMSIG(status));
}

static void reap(struct supervisor *s, usec now)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (size_t i = 0; i < ARRAY_SIZE(s->children); i++) {
			struct child *c = &s->children[i];

			if (c->pid != pid)
				continue;
			c->pid = 0;
			c->gave_up = now - c->started < QUICK_DEATH && WIFEXITED(status) &&
				     WEXITSTATUS(status) != 0;
			c->pause = now - c->started > PAUSE_MAX ? PAUSE_MIN : c->pause * 2;
			if (c->pause > PAUSE_MAX)
				c->pause = PAUSE_MAX;
			c->start_at = now + c->pause;
			say_end(c, status);
		}
}

/* Waits for a signal until `deadline`; 0 when it came first. */
static int wait_signal(const struct supervisor *s, usec deadline)
{
	usec now = clock_monotonic(&clock_system);
	usec left = deadline > now ? deadline - now : 0;
	struct timespec t = { .tv_sec = (time_t)(left / USEC_PER_SEC),
			      .tv_nsec = (long)(left % USEC_PER_SEC) * 1000 };
	int sig = deadline == USEC_INFINITY ? sigwaitinfo(&s->signals, NULL)
					    : sigtimedwait(&s->signals, NULL, &t);

	return sig > 0 ? sig : 0;
}

static void stop_child(struct supervisor *s, struct child *c)
{
	usec deadline = clock_monotonic(&clock_system) + STOP_PATIENCE;

	if (c->pid)
		(void)kill(c->pid, SIGTERM);
	while (c->pid && clock_monotonic(&clock_system) < deadline) {
		(void)wait_signal(s, deadline);
		reap(s, clock_monotonic(&clock_system));
	}
	if (c->pid) {
		(void)kill(c->pid, SIGKILL);
		(void)waitpid(c->pid, NULL, 0);
		c->pid = 0;
	}
}

/* A program that cannot even start will not do so the next time: its own words say why. One that
 * was killed is another matter. */
static bool failed_at_start(struct supervisor *s, usec now)
{
	bool all_up = true;

	for (size_t i = 0; i < ARRAY_SIZE(s->children); i++) {
		const struct child *c = &s->children[i];

		if (!s->ever_up && !c->pid && c->gave_up)
			return true;
		all_up = all_up && c->pid && now - c->started >= QUICK_DEATH;
	}
	s->ever_up = s->ever_up || all_up;
	return false;
}

static int supervise(struct supervisor *s)
{
	int status = CLI_OK, sig = 0;

	while (sig != SIGTERM && sig != SIGINT) {
		usec now = clock_monotonic(&clock_system), next = USEC_INFINITY;

		reap(s, now);
		if (failed_at_start(s, now)) {
			status = CLI_FAILED;
			break;
		}
		for (size_t i = 0; i < ARRAY_SIZE(s->children); i++) {
			struct child *c = &s->children[i];

			if (!c->pid && now >= c->start_at)
				start(s, c, now);
			if (!c->pid && c->start_at < next)
				next = c->start_at;
		}
		if (!s->ever_up && next == USEC_INFINITY)
			next = now + QUICK_DEATH;
		sig = wait_signal(s, next);
	}
	for (size_t i = ARRAY_SIZE(s->children); i-- > 0;)
		stop_child(s, &s->children[i]);
	return status;
}

/* ---- arguments ---- */

static int prepare_spawner(struct child *c, const struct conf *conf, struct err *err)
{
	auto_buf struct buf runtime = BUF_INIT(PATH_MAX), engine = BUF_INIT(PATH_MAX);
	char path[PATH_MAX], tag[INSTANCE_LEN + 1], cgroup[32], uid_base[16];

	/* What berth-slots made below each controller (slots/cgroups.h). */
	instance_tag(conf->state_dir, tag);
	(void)snprintf(cgroup, sizeof(cgroup), "berth-%s", tag);
	(void)snprintf(uid_base, sizeof(uid_base), "%" PRIu32, conf->uid_base);
	if (cli_program("berth-spawner", path, sizeof(path), err) < 0)
		return -1;
	if (conf_runtime_dir(conf, &runtime) < 0 || conf_engine(conf, &engine) < 0 ||
	    options_argv_add(&c->argv, path) < 0 || options_argv_add(&c->argv, "--runtime") < 0 ||
	    options_argv_add(&c->argv, buf_str(&runtime)) < 0 ||
	    options_argv_add(&c->argv, "--state") < 0 ||
	    options_argv_add(&c->argv, conf->state_dir) < 0 ||
	    options_argv_add(&c->argv, "--engine") < 0 ||
	    options_argv_add(&c->argv, buf_str(&engine)) < 0 ||
	    options_argv_add(&c->argv, "--cgroup") < 0 || options_argv_add(&c->argv, cgroup) < 0 ||
	    options_argv_add(&c->argv, "--uid-base") < 0 ||
	    options_argv_add(&c->argv, uid_base) < 0 ||
	    (!conf->no_new_privs && options_argv_add(&c->argv, "--new-privs") < 0))
		return err_sys(err, ENOMEM, "start berth-spawner");
	return 0;
}

static int prepare_berthd(struct child *c, const struct options *o, struct err *err)
{
	char path[PATH_MAX];

	if (cli_program("berthd", path, sizeof(path), err) < 0)
		return -1;
	return options_forward(o, path, &c->argv) < 0 ? err_sys(err, ENOMEM, "start berthd") : 0;
}

static int prepare(struct supervisor *s, const struct options *o, struct err *err)
{
	auto_conf struct conf conf = { 0 };

	if (options_conf(o, &conf, err) < 0)
		return -1;
	/* First: the program may be executed anew, with the sockets. */
	delegation_enter(o, &conf);
	s->n_sockets = sd_listen_fds(0);
	if (s->n_sockets < 0)
		return err_sys(err, -s->n_sockets, "take the passed sockets");

	for (size_t i = 0; i < ARRAY_SIZE(s->children); i++)
		s->children[i].pause = PAUSE_MIN / 2;
	s->children[0].name = "berth-spawner";
	s->children[1].name = "berthd";
	s->children[1].takes_sockets = true;
	if (prepare_spawner(&s->children[0], &conf, err) < 0 ||
	    prepare_berthd(&s->children[1], o, err) < 0 || refresh_start(o, &conf, err) < 0 ||
	    become_user(conf.user, err) < 0)
		return -1;
	(void)sigemptyset(&s->signals);
	(void)sigaddset(&s->signals, SIGTERM);
	(void)sigaddset(&s->signals, SIGINT);
	(void)sigaddset(&s->signals, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &s->signals, &s->original) < 0)
		return err_sys(err, errno, "block signals");
	return 0;
}

static int check_only(const struct options *o)
{
	auto_argv struct options_argv argv = { 0 };
	char path[PATH_MAX];
	struct err err;

	if (cli_program("berthd", path, sizeof(path), &err) < 0)
		return cli_fail("serve", &err);
	if (options_forward(o, path, &argv) < 0 || options_argv_add(&argv, "--check") < 0)
		return CLI_FAILED;
	(void)execv(path, argv.argv);
	(void)err_sys(&err, errno, "start %s", path);
	return cli_fail("serve", &err);
}

int cmd_serve(int argc, char **argv)
{
	bool check = false;
	const struct options_extra extra[] = { { .name = "check", .flag = &check }, { 0 } };
	struct supervisor s = { 0 };
	struct options o;
	struct err err;
	int status;

	if (options_read(&o, argc, argv, extra) < 0 || optind != argc)
		return cli_help(help, CLI_USAGE);
	if (o.help)
		return cli_help(help, CLI_OK);
	if (check)
		return check_only(&o);
	status = prepare(&s, &o, &err) < 0 ? cli_fail("serve", &err) : supervise(&s);
	for (size_t i = 0; i < ARRAY_SIZE(s.children); i++)
		options_argv_done(&s.children[i].argv);
	return status;
}
