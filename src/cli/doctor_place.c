/* SPDX-License-Identifier: Apache-2.0 */
/* This installation: its user, programs, image, slots, disk, and whether it serves. */
#include "cli/admin_client.h"
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/mcp_client.h"
#include "slots/disks.h"
#include "sys/programs.h"
#include "sys/run.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

void doctor_user(const struct doctor_host *host, struct doctor_result *ret)
{
	const struct passwd *user = getpwnam(host->conf.user);

	if (!user) {
		doctor_say(ret, DOCTOR_FAIL, "there is no user %s", host->conf.user);
		doctor_fix(ret, "berth setup (as root)");
	} else if (user->pw_uid == 0) {
		doctor_say(ret, DOCTOR_FAIL, "server.user = %s is root", host->conf.user);
		doctor_fix(ret, "set server.user to an unprivileged user");
	} else {
		doctor_say(ret, DOCTOR_OK, "%s", host->conf.user);
	}
}

/* The wrong thing about one program, and how bad it is; or NULL. */
static const char *program_fault(const char *path, mode_t mode, enum doctor_verdict *ret)
{
	struct stat st;

	*ret = DOCTOR_FAIL;
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return "cannot be looked at";
	if (st.st_uid != 0)
		return "does not belong to root: others could replace it";
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return "can be written by others";
	if (st.st_mode & (S_ISUID | S_ISGID))
		return "is set-user-ID, which none of berth is";
	*ret = DOCTOR_WARN;
	return st.st_mode & 07777 & ~mode ? "allows more than it must" : NULL;
}

void doctor_programs(const struct doctor_host *host, struct doctor_result *ret)
{
	/* A sandbox should not read the program that its PID 1 is: 0711. Some runtimes must. */
	static const struct {
		const char *name;
		mode_t mode;
	} programs[] = { { "berthd", 0755 },
			 { "berth-spawner", 0755 },
			 { "berth-keeper", 0755 },
			 { "berth-slots", 0755 },
			 { "berth-init", 0711 } };
	enum doctor_verdict verdict;
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		const char *name = programs[i].name, *fault;
		mode_t mode = host->conf.engine == CONF_OCI ? 0755 : programs[i].mode;

		if (program_path(name, path, sizeof(path)) < 0) {
			doctor_say(ret, DOCTOR_FAIL, "%s is not installed", name);
			doctor_fix(ret, "install berth again");
			return;
		}
		fault = program_fault(path, mode, &verdict);
		if (fault) {
			doctor_say(ret, verdict, "%s %s", name, fault);
			doctor_fix(ret, "chown root: %s && chmod %04o %s", path, (unsigned)mode,
				   path);
			return;
		}
	}
	doctor_say(ret, DOCTOR_OK, "all there, owned by root");
}

void doctor_engine(const struct doctor_host *host, struct doctor_result *ret)
{
	const char *runtime = host->conf.runtime;
	auto_buf struct buf output = BUF_INIT(4096);
	char path[PATH_MAX];
	int status, r;

	if (host->conf.engine == CONF_NATIVE) {
		doctor_say(ret, DOCTOR_OK, "native");
		return;
	}
	r = program_find(runtime, path, sizeof(path));
	if (r < 0) {
		doctor_say(ret, DOCTOR_FAIL, "the OCI runtime %s: %s", runtime, strerror(-r));
		doctor_fix(ret, "install it, set sandbox.runtime to its path, or sandbox.engine = "
				"native");
		return;
	}
	r = run_program((const char *const[]){ path, "--version", NULL }, &output, &status);
	if (r < 0 || status != 0) {
		doctor_say(ret, DOCTOR_FAIL, "%.200s --version does not run", path);
		doctor_fix(ret, "install it again, or sandbox.engine = native");
		return;
	}
	doctor_say(ret, DOCTOR_OK, "oci: %.150s, %.*s", path,
		   (int)view_find(buf_view(&output), '\n'), buf_str(&output));
}

void doctor_image(const struct doctor_host *host, struct doctor_result *ret)
{
	char path[PATH_MAX];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/image/current/rootfs/bin/sh",
			 host->conf.state_dir);

	if (n < 0 || (size_t)n >= sizeof(path) || lstat(path, &st) < 0) {
		doctor_say(ret, errno == EACCES ? DOCTOR_UNKNOWN : DOCTOR_FAIL,
			   "none in %s/image/current", host->conf.state_dir);
		doctor_fix(ret, "berth image build (as root)");
		return;
	}
	doctor_say(ret, DOCTOR_OK, "there");
}

void doctor_slots(const struct doctor_host *host, struct doctor_result *ret)
{
	auto_buf struct buf path = BUF_INIT(PATH_MAX);
	char settings[CONF_SETUP_TAG] = "";
	struct stat st;

	(void)!conf_setup_tag(&host->conf, settings);
	if (!host->has_slots) {
		doctor_say(ret, DOCTOR_FAIL, "not prepared");
	} else if (host->slots.slots < host->conf.slots) {
		doctor_say(ret, DOCTOR_FAIL, "%u prepared, %u configured", host->slots.slots,
			   host->conf.slots);
	} else if (*host->slots.settings && strcmp(host->slots.settings, settings) != 0) {
		doctor_say(ret, DOCTOR_FAIL, "set up with other settings than the configuration's");
	} else if (conf_runtime_dir(&host->conf, &path) < 0 ||
		   buf_add_str(&path, "/slots/0.user") < 0 || stat(buf_str(&path), &st) < 0) {
		/* They are gone with every boot, which the unit berth-slots is for. */
		doctor_say(ret, errno == EACCES ? DOCTOR_UNKNOWN : DOCTOR_FAIL,
			   "prepared, but not since the last boot");
	} else {
		doctor_say(ret, DOCTOR_OK, "%u prepared", host->slots.slots);
		return;
	}
	doctor_fix(ret, "berth setup (as root)");
}

/* A mount's line in /proc/self/mountinfo names the folder by its path in its file system. Only
 * where that is a file system of its own, there is nothing to see. */
static const char *path_note(const struct slots_status *slots)
{
	bool is_own = !strcmp(slots->storage, "zfs") || !strcmp(slots->storage, "btrfs-image");

	return is_own ? "" : "; sandboxes see the path of their workspace on this host";
}

void doctor_storage(const struct doctor_host *host, struct doctor_result *ret)
{
	const struct slots_status *slots = &host->slots;

	if (!host->has_slots) {
		doctor_say(ret, DOCTOR_UNKNOWN, "known once slots are prepared");
	} else if (slots->workspace_bounded && slots->layer_bounded) {
		doctor_say(ret, DOCTOR_OK, "%s, quotas on workspace and layer%s", slots->storage,
			   path_note(slots));
	} else {
		doctor_say(ret, DOCTOR_WARN,
			   "%s: the size of %s%s%s is measured, not enforced by the kernel%s",
			   slots->storage, slots->workspace_bounded ? "" : "the workspace",
			   slots->workspace_bounded || slots->layer_bounded ? "" : " and ",
			   slots->layer_bounded ? "" : "the layer", path_note(slots));
		doctor_fix(ret, "put the state on ZFS, btrfs, or ext4 or xfs with prjquota; or "
				"pool.storage = btrfs, and berth setup (as root)");
	}
}

/* An overlay of a container keeps its marks in user.* attributes of its upper layer. */
static int try_attribute(const char *dir)
{
	auto_fd int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	return fsetxattr(fd, "user.overlay.opaque", "y", 1, 0) < 0 ? -errno : 0;
}

void doctor_overlay_place(const struct doctor_host *host, struct doctor_result *ret)
{
	char dir[PATH_MAX];
	struct statfs fs;
	int r, n = snprintf(dir, sizeof(dir), "%s/slots", host->conf.state_dir);

	if (n < 0 || (size_t)n >= sizeof(dir) || statfs(dir, &fs) < 0) {
		doctor_say(ret, DOCTOR_UNKNOWN, "%s cannot be looked at", dir);
		return;
	}
	r = try_attribute(dir);
	if (fs.f_type == OVERLAYFS_SUPER_MAGIC || fs.f_type == NFS_SUPER_MAGIC ||
	    r == -EOPNOTSUPP) {
		doctor_say(ret, DOCTOR_FAIL, "the file system of %s cannot be below an overlay",
			   dir);
		doctor_fix(ret, "put server.state_dir on ext4, xfs, btrfs, ZFS 2.2 or tmpfs; or "
				"pool.storage = btrfs");
	} else if (r < 0) {
		doctor_say(ret, DOCTOR_UNKNOWN, "%s is not this user's to try in", dir);
	} else {
		doctor_say(ret, DOCTOR_OK, "the file system of %s takes user attributes", dir);
	}
}

void doctor_disk(const struct doctor_host *host, struct doctor_result *ret)
{
	struct statvfs fs;
	uint64_t bytes;

	if (statvfs(host->conf.state_dir, &fs) < 0) {
		doctor_say(ret, DOCTOR_UNKNOWN, "%s cannot be looked at", host->conf.state_dir);
		return;
	}
	bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	doctor_say(ret, DOCTOR_OK, "%llu MiB free", (unsigned long long)(bytes >> 20));
	if (bytes >= host->conf.min_free)
		return;
	ret->verdict = DOCTOR_FAIL;
	doctor_fix(ret, "free some: below sandbox.min_free = %llu MiB no container starts",
		   (unsigned long long)(host->conf.min_free >> 20));
}

static int find_disks(const struct conf *conf, struct disks *ret, struct err *err)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/slots/0", conf->state_dir);

	if (n < 0 || (size_t)n >= sizeof(path))
		return err_set(err, ERR_INVALID, "server.state_dir is too long");
	auto_fd int slot = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return slot < 0 ? err_sys(err, errno, "open %s", path) : disks_find(slot, ret, err);
}

void doctor_disk_limits(const struct doctor_host *host, struct doctor_result *ret)
{
	struct disks disks;
	struct err err;

	if (!conf_limits_disk(&host->conf)) {
		doctor_say(ret, DOCTOR_OK,
			   "no limit is asked for (sandbox.disk_bandwidth and "
			   "sandbox.disk_operations)");
	} else if (!doctor_cgroup2_has("io")) {
		doctor_say(ret, DOCTOR_WARN,
			   "not limited: that takes control groups of version 2 "
			   "with the controller io");
		doctor_fix(ret, "boot with systemd.unified_cgroup_hierarchy=1, or ask for no "
				"limit: sandbox.disk_bandwidth = 0, sandbox.disk_operations = 0");
	} else if (find_disks(&host->conf, &disks, &err) == 0) {
		doctor_say(ret, DOCTOR_OK, "can be limited on every disk of the slots (%zu)",
			   disks.n);
	} else if (err.sys_errno == EACCES || !host->has_slots) {
		doctor_say(ret, DOCTOR_UNKNOWN, "%.200s", err.msg);
	} else {
		doctor_say(ret, DOCTOR_WARN, "not limited: %.200s", err.msg);
		doctor_fix(ret, "a server.state_dir on ext4, xfs or btrfs, without "
				"pool.zfs_dataset; or ask for no limit: sandbox.disk_bandwidth = "
				"0, sandbox.disk_operations = 0");
	}
}

void doctor_server(const struct doctor_host *host, struct doctor_result *ret)
{
	auto_json json_t *answer = NULL;
	const json_t *engine;
	struct err err;

	if (admin_ask(host->options, ADMIN_RUNNING, json_pack("{s:s}", "command", "status"),
		      &answer, &err) < 0) {
		/* Doctor is for before the start, too. */
		doctor_say(ret, DOCTOR_WARN, "%.200s", err.msg);
		doctor_fix(ret, "berth serve, or systemctl start berthd");
		return;
	}
	engine = json_object_get(answer, "engine");
	if (!json_is_true(json_object_get(engine, "ready"))) {
		doctor_say(ret, DOCTOR_FAIL, "runs, but has no spawner: nothing can be started");
		doctor_fix(ret, "look at its log: journalctl -u berth-spawner -u berthd");
		return;
	}
	doctor_say(ret, DOCTOR_OK, "runs; limits by %s",
		   json_string_value(json_object_get(engine, "limits")));
}

void doctor_health(const struct doctor_host *host, struct doctor_result *ret)
{
	struct mcp_client client = { 0 };
	struct mcp_reply reply = { 0 };
	char url[300];
	struct err err;

	(void)snprintf(url, sizeof(url), "http://%.200s/health", host->conf.listen);
	if (mcp_client_init(&client, url, NULL, &err) < 0) {
		doctor_say(ret, DOCTOR_UNKNOWN, "%.200s", err.msg);
		return;
	}
	if (mcp_client_get(&client, url, &reply, &err) < 0) {
		doctor_say(ret, DOCTOR_WARN, "%.200s", err.msg);
		doctor_fix(ret, "berth serve, or systemctl start berthd");
	} else if (reply.status != 200) {
		doctor_say(ret, DOCTOR_FAIL, "%s answers %ld", url, reply.status);
		doctor_fix(ret, "look at its log: journalctl -u berth-spawner -u berthd");
	} else {
		doctor_say(ret, DOCTOR_OK, "%s answers 200", url);
	}
	mcp_reply_done(&reply);
	mcp_client_done(&client);
}
