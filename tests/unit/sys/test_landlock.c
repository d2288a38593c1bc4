/* SPDX-License-Identifier: Apache-2.0 */
/* What is left to a process by a set of rules, tried in a child. */
#include "sys/landlock.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static char dir[64];

static const char *path_of(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int try_open(const char *name, int flags)
{
	return open(path_of(name), flags | O_CLOEXEC, 0600) < 0 ? errno : 0;
}

static int try_bind(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return bind(sock, (struct sockaddr *)&any, sizeof(any)) < 0 ? errno : 0;
}

/* Number of the line that went wrong, as an exit status. */
#define EXPECT(got, want)                                                                          \
	do {                                                                                       \
		if ((got) != (want))                                                               \
			_exit(__LINE__);                                                           \
	} while (0)

static void restrict_child(enum landlock_network network)
{
	char writable[128];
	const struct landlock_rule rules[] = {
		{ dir, LANDLOCK_READ },
		{ writable, LANDLOCK_WRITE },
		{ "/nowhere/at/all", LANDLOCK_READ | LANDLOCK_WRITE },
		{ NULL, 0 },
	};

	(void)snprintf(writable, sizeof(writable), "%s/writable", dir);
	EXPECT(landlock_restrict(rules, network), 0);
}

static void run(void (*child)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		child();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0)
		fail_msg("line %d", WEXITSTATUS(status));
}

static void files(void)
{
	restrict_child(LANDLOCK_NO_TCP);
	EXPECT(try_open("file", O_RDONLY), 0);
	EXPECT(try_open("file", O_WRONLY), EACCES);
	EXPECT(try_open("new", O_WRONLY | O_CREAT), EACCES);
	EXPECT(try_open("writable/new", O_RDWR | O_CREAT | O_TRUNC), 0);
	EXPECT(unlink(path_of("writable/new")), 0);
	EXPECT(mkdir(path_of("writable/folder"), 0700), -1);
	EXPECT(open("/etc/passwd", O_RDONLY | O_CLOEXEC), -1);
	EXPECT(execl("/bin/true", "true", (char *)NULL), -1);
	EXPECT(kill(getppid(), 0), landlock_version() >= 6 ? -1 : 0);
}

static void without_tcp(void)
{
	restrict_child(LANDLOCK_NO_TCP);
	EXPECT(try_bind(), landlock_version() >= 4 ? EACCES : 0);
}

static void with_tcp(void)
{
	restrict_child(LANDLOCK_ANY_TCP);
	EXPECT(try_bind(), 0);
	EXPECT(try_open("file", O_WRONLY), EACCES);
}

static void test_rules(void **state)
{
	(void)state;
	if (landlock_version() == 0)
		skip();
	run(files);
	run(without_tcp);
	run(with_tcp);
}

static int set_up(void **state)
{
	int fd;

	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/berth-test-XXXXXX");
	if (!mkdtemp(dir) || mkdir(path_of("writable"), 0700) < 0)
		return -1;
	fd = open(path_of("file"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
	(void)state;
	(void)unlink(path_of("file"));
	(void)rmdir(path_of("writable"));
	return rmdir(dir);
}

int main(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(test_rules) };

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
