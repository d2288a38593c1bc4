/* SPDX-License-Identifier: Apache-2.0 */
/* What berthd can still do once it is confined: each row in a child of its own, which tries it. */
#include "app/confine.h"

#include "conf/conf.h"
#include "mail/courier.h"
#include "sys/io.h"
#include "sys/landlock.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { KILLED = 1000 };

static char dir[64];
static int version; /* Landlock's */
static int before;  /* a file beside the state, opened for writing before the confinement */

static int result_of(long r)
{
	return r < 0 ? errno : 0;
}

/* ---- what is tried; 0 or errno ---- */

static int run_a_program(void)
{
	char *const argv[] = { (char *)(uintptr_t) "true", NULL };

	return result_of(execv("/bin/true", argv));
}

static int fork_now(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return result_of(pid);
}

static int trace(void)
{
	return result_of(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int mount_something(void)
{
	return result_of(mount("none", "/tmp", "tmpfs", 0, NULL));
}

static int make_namespace(void)
{
	return result_of(unshare(CLONE_NEWUSER));
}

static int load_bpf(void)
{
	return result_of(syscall(SYS_bpf, 0, NULL, 0));
}

static int look_at_keys(void)
{
	return result_of(syscall(SYS_keyctl, 0, 0, 0));
}

static int load_module(void)
{
	return result_of(syscall(SYS_finit_module, -1, "", 0));
}

static int become_somebody(void)
{
	return result_of(syscall(SYS_setresuid, 1, 1, 1));
}

static int use_io_uring(void)
{
	return result_of(syscall(SYS_io_uring_setup, 1, NULL));
}

static int kill_somebody(void)
{
	return result_of(kill(getppid(), 0));
}

static int map_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? errno : 0;
}

static int turn_data_into_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return EINVAL;
	return result_of(mprotect(p, 4096, PROT_READ | PROT_EXEC));
}

static int internet_socket(void)
{
	return result_of(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int packet_socket(void)
{
	return result_of(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
}

static int local_socket(void)
{
	return result_of(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

/* Three bytes on their way: what the sending end (0) or the receiving one (1) says of them. */
static int ask_socket(int end, unsigned long question)
{
	int pair[2], count = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
	    send(pair[0], "abc", 3, MSG_NOSIGNAL) != 3)
		return EINVAL;
	if (ioctl(pair[end], question, &count) < 0)
		return errno;
	return count > 0 ? 0 : EINVAL;
}

static int ask_untaken(void)
{
	return ask_socket(0, SIOCOUTQ);
}

static int ask_unread(void)
{
	return ask_socket(1, FIONREAD);
}

static int ask_interface(void)
{
	return ask_socket(0, SIOCGIFCONF);
}

static int raise_a_limit(void)
{
	const struct rlimit limit = { 1, 1 };

	return result_of(setrlimit(RLIMIT_NOFILE, &limit));
}

static int allocate(void)
{
	char *p = malloc(8 << 20);

	if (!p)
		return ENOMEM;
	memset(p, 1, 8 << 20);
	free(p);
	return 0;
}

static int open_at(const char *name, int flags)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return result_of(open(path, flags | O_CLOEXEC, 0600));
}

static int write_state(void)
{
	return open_at("server/berth.db", O_RDWR | O_CREAT | O_TRUNC);
}

static int read_state(void)
{
	return open_at("server", O_RDONLY | O_DIRECTORY);
}

static int write_beside_state(void)
{
	return open_at("other", O_WRONLY | O_CREAT);
}

static int read_beside_state(void)
{
	return open_at("outside", O_RDONLY);
}

static int read_passwd(void)
{
	return result_of(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
}

static int make_folder(void)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/server/folder", dir);
	return result_of(mkdir(path, 0700));
}

static int link_out_of_state(void)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/server/link", dir);
	return result_of(symlink("/etc/passwd", path));
}

static int use_what_is_open(void)
{
	return result_of(write(before, "x", 1));
}

/* `wanted` is 0, an errno, or KILLED. */
struct row {
	const char *name;
	int (*act)(void);
	int wanted;
};

static const struct row filter_rows[] = {
	{ "run a program", run_a_program, KILLED },
	{ "trace", trace, KILLED },
	{ "mount", mount_something, KILLED },
	{ "make a namespace", make_namespace, KILLED },
	{ "bpf", load_bpf, KILLED },
	{ "look at keys", look_at_keys, KILLED },
	{ "load a module", load_module, KILLED },
	{ "become somebody", become_somebody, KILLED },
	{ "io_uring", use_io_uring, KILLED },
	{ "fork", fork_now, ENOSYS },
	{ "kill somebody", kill_somebody, ENOSYS },
	{ "map code", map_code, ENOSYS },
	{ "turn data into code", turn_data_into_code, ENOSYS },
	{ "open an internet socket", internet_socket, ENOSYS },
	{ "open a packet socket", packet_socket, ENOSYS },
	{ "raise a limit", raise_a_limit, ENOSYS },
	{ "ask a socket about interfaces", ask_interface, ENOSYS },
	{ "ask a socket what is not taken", ask_untaken, 0 },
	{ "ask a socket what is not read", ask_unread, 0 },
	{ "open a local socket", local_socket, 0 },
	{ "allocate", allocate, 0 },
	{ "read the state", read_state, 0 },
	{ "write the state", write_state, 0 },
};

static const struct row landlock_rows[] = {
	{ "write the state", write_state, 0 },
	{ "read the state", read_state, 0 },
	{ "use what is open", use_what_is_open, 0 },
	{ "write beside the state", write_beside_state, EACCES },
	{ "read beside the state", read_beside_state, EACCES },
	{ "read /etc/passwd", read_passwd, EACCES },
	{ "make a folder in the state", make_folder, ENOSYS },
	{ "make a link in the state", link_out_of_state, ENOSYS },
	{ "open an internet socket", internet_socket, ENOSYS },
	{ "run a program", run_a_program, KILLED },
};

static int only_filter(void)
{
	return confine_filter();
}

static struct conf conf_of_test(bool allow_unconfined)
{
	return (struct conf){ .state_dir = dir,
			      .runtime_dir = (char *)(uintptr_t) "",
			      .allow_unconfined = allow_unconfined };
}

static int everything(void)
{
	struct conf conf = conf_of_test(false);
	struct confinement got;
	struct err err;

	if (confine(&conf, &got, &err) < 0)
		return -1;
	return got.filter && got.landlock == version ? 0 : -1;
}

static void try_rows(const struct row *rows, size_t n, int (*confine_self)(void))
{
	for (size_t i = 0; i < n; i++) {
		int status;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			_exit(confine_self() < 0 ? 254 : rows[i].act());
		assert_int_equal(waitpid(pid, &status, 0), pid);
		status = WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS ? KILLED
									   : WEXITSTATUS(status);
		if (status != rows[i].wanted)
			fail_msg("%s: %d, not %d", rows[i].name, status, rows[i].wanted);
	}
}

static void test_filter(void **state)
{
	(void)state;
	try_rows(filter_rows, ARRAY_SIZE(filter_rows), only_filter);
}

static void test_everything(void **state)
{
	(void)state;
	if (version == 0)
		skip();
	try_rows(landlock_rows, ARRAY_SIZE(landlock_rows), everything);
}

/* A connection that was accepted must not become one to somewhere else. */
static int reconnect(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(to);
	int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (sock < 0 || bind(sock, (struct sockaddr *)&to, len) < 0 || listen(sock, 1) < 0 ||
	    getsockname(sock, (struct sockaddr *)&to, &len) < 0)
		return EINVAL;
	auto_fd int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (everything() < 0)
		return 254;
	return result_of(connect(other, (struct sockaddr *)&to, len));
}

static int nothing(void)
{
	return 0;
}

static void test_network(void **state)
{
	const struct row row = { "connect", reconnect, EACCES };

	(void)state;
	if (version < 4)
		skip();
	try_rows(&row, 1, nothing);
}

/* The process that starts the mail program was forked before. */
static int send_mail(void)
{
	char program[128], text[256];
	struct courier_config config = { .program = program,
					 .relay = "smtp://127.0.0.1",
					 .ca_file = "",
					 .from = "berth@x.example",
					 .user = "",
					 .password_file = "",
					 .public_url = "https://x.example",
					 .claim_time = USEC_PER_SEC,
					 .outbox = { .per_hour = 1, .keep = 3600 * USEC_PER_SEC } };
	struct outbox_stats stats = { 0 };
	struct courier *courier;
	sd_event *event;
	struct err err;

	(void)snprintf(program, sizeof(program), "%s/program", dir);
	(void)snprintf(text, sizeof(text), "#!/bin/sh\ncat >%s/frame\n", dir);
	if (io_write_file(AT_FDCWD, program, view_str(text), 0700) < 0 ||
	    sd_event_new(&event) < 0 ||
	    courier_new(event, &clock_system, &config, &courier, &err) < 0 || everything() < 0)
		return 254;
	if (courier_leave(courier, "a", VIEW("visitor@y.example"), &err) < 0)
		return 253;
	courier_ready(courier, "a");
	for (int turn = 0; turn < 200 && stats.sent == 0; turn++) {
		(void)sd_event_run(event, 50 * USEC_PER_MSEC);
		courier_get_stats(courier, &stats);
	}
	courier_free(courier);
	return stats.sent == 1 ? 0 : 252;
}

static void test_mail(void **state)
{
	const struct row row = { "send mail", send_mail, 0 };

	(void)state;
	if (version == 0)
		skip();
	try_rows(&row, 1, nothing);
}

/* A filter in a filter: installing the second is refused, as on a kernel that cannot. */
static void test_fails_closed(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		struct conf strict = conf_of_test(false), loose = conf_of_test(true);
		struct confinement got;
		struct err err;

		if (confine_filter() < 0 || confine(&strict, &got, &err) == 0 ||
		    err.code != ERR_DENIED || !strstr(err.msg, "server.allow_unconfined"))
			_exit(1);
		if (confine(&loose, &got, &err) < 0 || got.filter || got.landlock)
			_exit(2);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int set_up(void **state)
{
	char path[128];

	(void)state;
	version = landlock_version();
	(void)snprintf(dir, sizeof(dir), "/tmp/berth-test-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/server", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/run", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/outside", dir);
	before = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(before >= 0);
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = { "server/berth.db", "outside", "program", "frame" };
	static const char *const folders[] = { "server", "run", "" };
	char path[128];

	(void)state;
	(void)close(before);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		(void)unlink(path);
	}
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, folders[i]);
		(void)rmdir(path);
	}
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filter),       cmocka_unit_test(test_everything),
		cmocka_unit_test(test_network),      cmocka_unit_test(test_mail),
		cmocka_unit_test(test_fails_closed),
	};

#if BERTH_SANITIZED
	/* A sanitizer's own calls would be refused. */
	return 77;
#endif
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
