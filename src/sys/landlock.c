/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's Landlock interface, with what is newer than the system's headers. */
#include "sys/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* As of version 6; an older kernel takes the beginning of it. */
struct ruleset {
	uint64_t fs, net, scoped;
};

/* Rights by the version that brought them. */
enum {
	FS_VERSION_1 = (1 << 13) - 1,
	FS_REFER = 1 << 13,     /* 2 */
	FS_TRUNCATE = 1 << 14,  /* 3 */
	FS_IOCTL_DEV = 1 << 15, /* 5 */
	NET_ALL = 3,            /* 4: bind and connect, TCP */
	SCOPED_ALL = 3,         /* 6: abstract sockets, signals */
};

enum {
	FS_READ = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
	FS_WRITE = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |
		   LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | FS_TRUNCATE,
	/* Of those, what a rule for a single file may say. */
	FS_OF_FILE = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE,
};

int landlock_version(void)
{
	long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return version > 0 ? (int)version : 0;
}

static struct ruleset all_of(int version)
{
	struct ruleset all = { .fs = FS_VERSION_1 };

	if (version >= 2)
		all.fs |= FS_REFER;
	if (version >= 3)
		all.fs |= FS_TRUNCATE;
	if (version >= 4)
		all.net = NET_ALL;
	if (version >= 5)
		all.fs |= FS_IOCTL_DEV;
	if (version >= 6)
		all.scoped = SCOPED_ALL;
	return all;
}

/* A kernel refuses a longer structure than it knows unless the rest is zero, which it is. */
static int make_ruleset(const struct ruleset *all)
{
	int fd = (int)syscall(SYS_landlock_create_ruleset, all, sizeof(*all), 0);

	return fd < 0 ? -errno : fd;
}

static int add_rule(int ruleset, const struct landlock_rule *rule, uint64_t handled)
{
	auto_fd int fd = open(rule->path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr beneath = { .parent_fd = fd };
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (rule->access & LANDLOCK_READ)
		beneath.allowed_access |= FS_READ;
	if (rule->access & LANDLOCK_WRITE)
		beneath.allowed_access |= FS_WRITE;
	if (!S_ISDIR(st.st_mode))
		beneath.allowed_access &= FS_OF_FILE;
	beneath.allowed_access &= handled;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) < 0)
		return -errno;
	return 0;
}

int landlock_restrict(const struct landlock_rule *rules, enum landlock_network network)
{
	struct ruleset all = all_of(landlock_version());

	if (network == LANDLOCK_ANY_TCP)
		all.net = 0;
	auto_fd int ruleset = make_ruleset(&all);
	if (ruleset < 0)
		return ruleset;
	for (; rules->path; rules++) {
		int r = add_rule(ruleset, rules, all.fs);

		if (r < 0)
			return r;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return -errno;
	return 0;
}
