/* SPDX-License-Identifier: Apache-2.0 */
/* What a container must not see of the host's /proc and /sys. */
#include "spawner/mask.h"

#include "spawner/mounts.h"
#include "sys/io.h"

#include <fcntl.h>
#include <sys/stat.h>

/* Leaks about the host: its memory, its devices, its kernel's command line (clouds put secrets
 * there), its file systems and what neighbours keep on them. Writing is refused to mapped ids
 * anyway. */
const char *const mask_files[] = {
	"/proc/kcore",
	"/proc/keys",
	"/proc/key-users",
	"/proc/timer_list",
	"/proc/kmsg",
	"/proc/sysrq-trigger",
	"/proc/kallsyms",
	"/proc/latency_stats",
	"/proc/sched_debug",
	"/proc/timer_stats",
	"/proc/interrupts",
	"/proc/config.gz",
	"/proc/cmdline",
	"/proc/iomem",
	"/proc/ioports",
	"/proc/kpagecount",
	"/proc/kpageflags",
	"/proc/kpagecgroup",
	"/proc/slabinfo",
	"/proc/vmallocinfo",
	"/proc/softirqs",
	"/proc/diskstats",
	"/proc/partitions",
	"/proc/swaps",
	"/proc/mdstat",
	"/proc/locks",
	"/proc/modules",
	"/proc/version_signature",
	NULL,
};
const char *const mask_dirs[] = {
	"/proc/acpi",
	"/proc/scsi",
	"/proc/asound",
	"/proc/irq",
	"/proc/bus",
	"/proc/driver",
	"/proc/dynamic_debug",
	"/proc/fs",
	"/proc/spl",
	"/sys/firmware",
	"/sys/block",
	"/sys/fs/bpf",
	"/sys/fs/btrfs",
	"/sys/fs/ext4",
	"/sys/fs/xfs",
	"/sys/kernel",
	"/sys/devices/virtual/block",
	"/sys/devices/virtual/powercap",
	"/sys/devices/virtual/dmi",
	"/sys/hypervisor",
	"/sys/module",
	"/sys/power",
	NULL,
};
const char *const mask_read_only[] = { "/proc/sys", NULL };

int mask_write_sysctls(void)
{
	/* Conveniences: a kernel without them is no reason not to start. */
	(void)!io_put(AT_FDCWD, "/proc/sys/net/ipv4/ping_group_range", "0 65534");
	(void)!io_put(AT_FDCWD, "/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
	return io_put(AT_FDCWD, "/proc/sys/user/max_user_namespaces", "0");
}

/* A copy of `source` over `path`; fine if there is nothing to cover. */
static int cover(int source_dir, const char *source, const char *path, uint64_t attributes)
{
	int r;

	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	auto_fd int tree = mounts_clone(source_dir, source, attributes);
	if (tree < 0)
		return tree;
	r = mounts_attach(tree, AT_FDCWD, path);
	return r == -ENOENT ? 0 : r;
}

/* One empty file system for all: each would cost its own superblock. */
static int cover_dirs(void)
{
	static const struct mount_option options[] = {
		{ "source", "tmpfs" }, { "size", "4k" }, { "nr_inodes", "1" },
		{ "mode", "555" },     { NULL, NULL },
	};
	const uint64_t strict =
		MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	const char *first = NULL;

	for (size_t i = 0; mask_dirs[i]; i++) {
		int r;

		if (access(mask_dirs[i], F_OK) < 0)
			continue;
		if (!first) {
			auto_fd int empty = mounts_make("tmpfs", options, strict);

			r = empty < 0 ? empty : mounts_attach(empty, AT_FDCWD, mask_dirs[i]);
			first = mask_dirs[i];
		} else {
			r = cover(AT_FDCWD, first, mask_dirs[i], strict);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

int mask_all(void)
{
	int r = 0;

	for (size_t i = 0; r == 0 && mask_files[i]; i++)
		r = cover(AT_FDCWD, "/dev/null", mask_files[i], 0);
	if (r == 0)
		r = cover_dirs();
	for (size_t i = 0; r == 0 && mask_read_only[i]; i++)
		r = cover(AT_FDCWD, mask_read_only[i], mask_read_only[i],
			  MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
				  MOUNT_ATTR_NOEXEC);
	return r;
}
