/* SPDX-License-Identifier: Apache-2.0 */
/* What the host's kernel has and allows. */
#include "cli/doctor.h"

#include "base/parse.h"
#include "cli/cli.h"
#include "sys/io.h"
#include "sys/landlock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Overlays over id-mapped layers are of 5.19; Debian 12 has 6.1. */
enum { KERNEL_MAJOR = 5, KERNEL_MINOR = 19, PROC_FILE_MAX = 64 * 1024 };

/* "6.1.0-rc2": 6, then 1; 0 where there is no number. */
static uint32_t next_number(struct view *rest)
{
	struct view part;
	size_t digits = 0;
	uint32_t value = 0;

	if (!view_split(rest, '.', &part))
		return 0;
	while (digits < part.len && part.p[digits] >= '0' && part.p[digits] <= '9')
		digits++;
	return parse_u32(view_first(part, digits), 0, UINT32_MAX, &value) == 0 ? value : 0;
}

void doctor_kernel(const struct doctor_host *host, struct doctor_result *ret)
{
	struct utsname name;
	uint32_t major, minor;
	struct view rest;

	(void)host;
	if (uname(&name) < 0) {
		doctor_say(ret, DOCTOR_FAIL, "its version is not to be had");
		return;
	}
	rest = view_str(name.release);
	major = next_number(&rest);
	minor = next_number(&rest);
	doctor_say(ret, DOCTOR_OK, "%s %s", name.release, name.machine);
	if (major > KERNEL_MAJOR || (major == KERNEL_MAJOR && minor >= KERNEL_MINOR))
		return;
	ret->verdict = DOCTOR_FAIL;
	doctor_fix(ret, "install a kernel of %d.%d or later (Debian 12 has 6.1)", KERNEL_MAJOR,
		   KERNEL_MINOR);
}

void doctor_user_namespaces(const struct doctor_host *host, struct doctor_result *ret)
{
	const uint64_t needed = (uint64_t)host->conf.slots + 8;
	uint64_t value;

	if (access("/proc/self/ns/user", F_OK) < 0) {
		doctor_say(ret, DOCTOR_FAIL, "this kernel was built without them");
		doctor_fix(ret, "use a kernel with CONFIG_USER_NS");
		return;
	}
	if (doctor_sysctl("/proc/sys/kernel/unprivileged_userns_clone", &value) && value == 0) {
		doctor_say(ret, DOCTOR_FAIL, "kernel.unprivileged_userns_clone is 0");
		doctor_fix(ret, "sysctl -w kernel.unprivileged_userns_clone=1");
		return;
	}
	if (doctor_sysctl("/proc/sys/user/max_user_namespaces", &value) && value < needed) {
		doctor_say(ret, DOCTOR_FAIL, "user.max_user_namespaces is %" PRIu64, value);
		doctor_fix(ret, "sysctl -w user.max_user_namespaces=%" PRIu64, needed);
		return;
	}
	doctor_say(ret, DOCTOR_OK, "available");
}

void doctor_apparmor(const struct doctor_host *host, struct doctor_result *ret)
{
	char packaging[PATH_MAX];
	uint64_t value;
	struct err err;

	(void)host;
	if (!doctor_sysctl("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", &value) ||
	    value == 0) {
		doctor_say(ret, DOCTOR_OK, "does not restrict user namespaces");
	} else if (access("/etc/apparmor.d/berth-spawner", F_OK) == 0) {
		doctor_say(ret, DOCTOR_OK, "restricts user namespaces; berth has its profile");
	} else {
		doctor_say(ret, DOCTOR_WARN,
			   "restricts user namespaces: only prepared slots will work");
		if (cli_program("packaging", packaging, sizeof(packaging), &err) < 0)
			(void)snprintf(packaging, sizeof(packaging), "packaging");
		doctor_fix(ret,
			   "install -m 644 %.200s/apparmor/berth-spawner /etc/apparmor.d/ && "
			   "apparmor_parser -r /etc/apparmor.d/berth-spawner",
			   packaging);
	}
}

void doctor_confinement(const struct doctor_host *host, struct doctor_result *ret)
{
	int version = landlock_version();

	if (version > 0) {
		doctor_say(ret, DOCTOR_OK, "Landlock version %d for the server itself", version);
		return;
	}
	doctor_say(ret, host->conf.allow_unconfined ? DOCTOR_WARN : DOCTOR_FAIL,
		   "no Landlock: the server's own files and network could not be restricted");
	doctor_fix(ret, "boot with landlock in the kernel's lsm= list (CONFIG_SECURITY_LANDLOCK), "
			"or server.allow_unconfined = yes");
}

static bool file_has_word(const char *path, const char *word)
{
	auto_buf struct buf text = BUF_INIT(PROC_FILE_MAX);
	struct view rest, line, part;

	if (io_read_file(AT_FDCWD, path, &text) < 0)
		return false;
	rest = buf_view(&text);
	while (view_split(&rest, '\n', &line))
		while (view_split(&line, ' ', &part))
			if (view_is(view_trim(part), word) || (view_starts(part, VIEW("nodev\t")) &&
							       view_is(view_from(part, 6), word)))
				return true;
	return false;
}

void doctor_overlay(const struct doctor_host *host, struct doctor_result *ret)
{
	(void)host;
	if (file_has_word("/proc/filesystems", "overlay")) {
		doctor_say(ret, DOCTOR_OK, "available");
		return;
	}
	doctor_say(ret, DOCTOR_FAIL, "the kernel does not have it loaded");
	doctor_fix(ret, "modprobe overlay");
}

#define CGROUP2_CONTROLLERS "/sys/fs/cgroup/cgroup.controllers"

bool doctor_cgroup2_has(const char *controller)
{
	return file_has_word(CGROUP2_CONTROLLERS, controller);
}

/* Which of the controllers that limit a sandbox are missing at the top of version 2. */
static bool missing_controllers(char *out, size_t size)
{
	static const char *const wanted[] = { "memory", "cpu", "pids" };
	bool any = false;

	*out = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		size_t used = strlen(out);

		if (doctor_cgroup2_has(wanted[i]))
			continue;
		(void)snprintf(out + used, size - used, " %s", wanted[i]);
		any = true;
	}
	return any;
}

void doctor_cgroups(const struct doctor_host *host, struct doctor_result *ret)
{
	bool unified = access(CGROUP2_CONTROLLERS, F_OK) == 0;
	char missing[64] = "";

	if (unified && missing_controllers(missing, sizeof(missing))) {
		doctor_say(ret, DOCTOR_WARN, "version 2 without:%s", missing);
		doctor_fix(ret, "boot without cgroup_disable= and systemd.unified_cgroup_hierarchy="
				" on the kernel's command line; on a Raspberry Pi, whose firmware "
				"adds the first, with cgroup_enable=memory in "
				"/boot/firmware/cmdline.txt");
	} else if (host->has_slots && strcmp(host->slots.cgroups, "none") != 0) {
		doctor_say(ret, DOCTOR_OK, "%s: made for the server by berth-slots",
			   host->slots.cgroups);
	} else if (unified && access("/run/systemd/system", F_OK) == 0) {
		doctor_say(ret, DOCTOR_OK,
			   "version 2; systemd delegates them to the units, and to berth serve");
	} else {
		doctor_say(ret, host->conf.allow_unlimited ? DOCTOR_WARN : DOCTOR_FAIL,
			   "none for the server: memory, CPU and processes of sandboxes would be "
			   "bounded by rlimits only");
		doctor_fix(ret, "berth setup (as root), or sandbox.allow_unlimited = yes");
	}
}

void doctor_core_pattern(const struct doctor_host *host, struct doctor_result *ret)
{
	auto_buf struct buf text = BUF_INIT(256);

	(void)host;
	if (io_read_file(AT_FDCWD, "/proc/sys/kernel/core_pattern", &text) < 0)
		doctor_say(ret, DOCTOR_UNKNOWN, "kernel.core_pattern cannot be read");
	else if (view_starts(buf_view(&text), VIEW("|")))
		/* RLIMIT_CORE of 1 keeps the kernel from running it: see spawner/confine.c. */
		doctor_say(ret, DOCTOR_OK,
			   "a host program collects them; berth keeps it from running for "
			   "sandboxes");
	else
		doctor_say(ret, DOCTOR_OK, "go to files; sandboxes write none");
}

/* A setting that sandboxes do not depend on, but are safer with. */
static void advise(struct doctor_result *ret, const char *name, const char *path, uint64_t least)
{
	uint64_t value;

	if (!doctor_sysctl(path, &value)) {
		doctor_say(ret, DOCTOR_OK, "this kernel has no %s", name);
		return;
	}
	doctor_say(ret, DOCTOR_OK, "%s is %" PRIu64, name, value);
	if (value >= least)
		return;
	ret->verdict = DOCTOR_WARN;
	doctor_fix(ret, "sysctl -w %s=%" PRIu64, name, least);
}

/* Each sandbox has a limit of its own; together they should not have all that the host has. */
void doctor_processes(const struct doctor_host *host, struct doctor_result *ret)
{
	const uint64_t pid_max_limit = 4 * 1024 * 1024, of_the_host = 4096;
	uint64_t least = (uint64_t)host->conf.slots * host->conf.processes + of_the_host;

	least = least < pid_max_limit ? least : pid_max_limit;
	advise(ret, "kernel.threads-max", "/proc/sys/kernel/threads-max", least);
	if (ret->verdict == DOCTOR_OK)
		advise(ret, "kernel.pid_max", "/proc/sys/kernel/pid_max", least);
}

/* Set-up raises these: see slots/sysctl.c. */
enum { ENOUGH_FOR_ALL = 1 << 20 };

void doctor_inotify(const struct doctor_host *host, struct doctor_result *ret)
{
	(void)host;
	advise(ret, "fs.inotify.max_user_instances", "/proc/sys/fs/inotify/max_user_instances",
	       ENOUGH_FOR_ALL);
	if (ret->verdict == DOCTOR_OK)
		advise(ret, "fs.inotify.max_user_watches", "/proc/sys/fs/inotify/max_user_watches",
		       ENOUGH_FOR_ALL);
}

void doctor_open_files(const struct doctor_host *host, struct doctor_result *ret)
{
	(void)host;
	advise(ret, "fs.file-max", "/proc/sys/fs/file-max", UINT64_C(1) << 32);
}

/* Refused to sandboxes by their own filter, too. */
void doctor_io_uring(const struct doctor_host *host, struct doctor_result *ret)
{
	(void)host;
	advise(ret, "kernel.io_uring_disabled", "/proc/sys/kernel/io_uring_disabled", 1);
}

void doctor_bpf(const struct doctor_host *host, struct doctor_result *ret)
{
	(void)host;
	advise(ret, "kernel.unprivileged_bpf_disabled",
	       "/proc/sys/kernel/unprivileged_bpf_disabled", 1);
}

void doctor_perf(const struct doctor_host *host, struct doctor_result *ret)
{
	(void)host;
	advise(ret, "kernel.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid", 2);
}

void doctor_tiocsti(const struct doctor_host *host, struct doctor_result *ret)
{
	uint64_t value;

	(void)host;
	if (!doctor_sysctl("/proc/sys/dev/tty/legacy_tiocsti", &value) || value == 0) {
		doctor_say(ret, DOCTOR_OK, "no legacy_tiocsti");
		return;
	}
	doctor_say(ret, DOCTOR_WARN, "dev.tty.legacy_tiocsti is 1");
	doctor_fix(ret, "sysctl -w dev.tty.legacy_tiocsti=0");
}
