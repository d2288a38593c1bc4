/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacking an archive of somebody else into a directory. */
#include "cli/unpack.h"

#include "base/show.h"
#include "cli/place.h"
#include "cli/tree.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

enum { BLOCK = 128 << 10 };

static const char whiteout[] = ".wh.", opaque[] = ".wh..wh..opq";

struct unpack {
	struct archive *in;
	int root_fd;        /* borrowed */
	size_t prefix;      /* bytes of each path that are not part of it */
	uint64_t n_entries; /* so far */
	uint64_t n_bytes;
};

static void archive_cleanup(struct archive **in)
{
	if (*in)
		(void)archive_read_free(*in);
}
#define auto_archive CLEANUP(archive_cleanup)

static int archive_failed(struct archive *in, struct err *err)
{
	const char *text = archive_error_string(in);

	return err_set(err, ERR_INVALID, "the archive cannot be read: %s",
		       text ? text : "it is damaged");
}

/* ---- one entry ---- */

static int write_at(int fd, const char *p, size_t len, int64_t at)
{
	while (len) {
		ssize_t n = pwrite(fd, p, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		len -= (size_t)n;
		at += n;
	}
	return 0;
}

static int copy_data(struct unpack *u, int fd, struct err *err)
{
	const void *block;
	size_t len;
	int64_t at;
	int r;

	while ((r = archive_read_data_block(u->in, &block, &len, &at)) == ARCHIVE_OK) {
		if (len > UNPACK_MAX_BYTES - u->n_bytes)
			return err_set(err, ERR_FULL, "the archive holds more than %llu GiB",
				       UNPACK_MAX_BYTES >> 30);
		u->n_bytes += len;
		r = write_at(fd, block, len, at);
		if (r < 0)
			return err_sys(err, -r, "write");
	}
	return r == ARCHIVE_EOF ? 0 : archive_failed(u->in, err);
}

/* Owner before mode: a change of owner takes the set-id bits off. */
static int set_owner_and_mode(struct archive_entry *entry, int fd, struct err *err)
{
	if (fchown(fd, (uid_t)archive_entry_uid(entry), (gid_t)archive_entry_gid(entry)) < 0)
		return err_sys(err, errno, "set the owner");
	if (fchmod(fd, archive_entry_perm(entry)) < 0)
		return err_sys(err, errno, "set the mode");
	return 0;
}

static int make_file(struct unpack *u, struct archive_entry *entry, const struct place *place,
		     struct err *err)
{
	const struct timespec times[2] = {
		{ .tv_nsec = UTIME_NOW },
		{ .tv_sec = archive_entry_mtime(entry) },
	};
	auto_fd int fd = -1;

	if (place_clear(place, err) < 0)
		return -1;
	fd = openat(place->dir_fd, place->name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(err, errno, "make the file");
	if (copy_data(u, fd, err) < 0)
		return -1;
	/* A hole at the end is no data. */
	if (archive_entry_size_is_set(entry) && ftruncate(fd, archive_entry_size(entry)) < 0)
		return err_sys(err, errno, "set the size");
	if (set_owner_and_mode(entry, fd, err) < 0)
		return -1;
	(void)futimens(fd, times);
	return 0;
}

static int make_directory(struct archive_entry *entry, const struct place *place, struct err *err)
{
	const char *name = *place->name ? place->name : ".";
	auto_fd int fd =
		openat(place->dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0) {
		if (place_clear(place, err) < 0)
			return -1;
		if (mkdirat(place->dir_fd, name, 0700) < 0)
			return err_sys(err, errno, "make the directory");
		fd = openat(place->dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return err_sys(err, errno, "open the directory");
	}
	return set_owner_and_mode(entry, fd, err);
}

static int make_symlink(struct archive_entry *entry, const struct place *place, struct err *err)
{
	const char *target = archive_entry_symlink(entry);

	if (!target || !*target)
		return err_set(err, ERR_INVALID, "a link without a target");
	if (place_clear(place, err) < 0)
		return -1;
	if (symlinkat(target, place->dir_fd, place->name) < 0 ||
	    fchownat(place->dir_fd, place->name, (uid_t)archive_entry_uid(entry),
		     (gid_t)archive_entry_gid(entry), AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, errno, "make the link");
	return 0;
}

static int make_hardlink(const struct unpack *u, struct archive_entry *entry,
			 const struct place *place, struct err *err)
{
	auto_place struct place target = { .dir_fd = -1 };

	if (place_find(u->root_fd, archive_entry_hardlink(entry) + u->prefix, &target, err) < 0 ||
	    place_clear(place, err) < 0)
		return -1;
	if (linkat(target.dir_fd, target.name, place->dir_fd, place->name, 0) < 0)
		return err_sys(err, errno, "make the hard link");
	return 0;
}

static int make_fifo(struct archive_entry *entry, const struct place *place, struct err *err)
{
	if (place_clear(place, err) < 0)
		return -1;
	if (mkfifoat(place->dir_fd, place->name, archive_entry_perm(entry)) < 0 ||
	    fchownat(place->dir_fd, place->name, (uid_t)archive_entry_uid(entry),
		     (gid_t)archive_entry_gid(entry), AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, errno, "make the pipe");
	return 0;
}

static int make(struct unpack *u, struct archive_entry *entry, struct err *err)
{
	auto_place struct place place = { .dir_fd = -1 };
	mode_t type = archive_entry_filetype(entry);

	if (archive_entry_uid(entry) < 0 || archive_entry_uid(entry) > UNPACK_MAX_OWNER ||
	    archive_entry_gid(entry) < 0 || archive_entry_gid(entry) > UNPACK_MAX_OWNER)
		return err_set(err, ERR_INVALID, "its owner is outside 0 to %d", UNPACK_MAX_OWNER);
	if (place_find(u->root_fd, archive_entry_pathname(entry) + u->prefix, &place, err) < 0)
		return -1;
	if (!*place.name && type != S_IFDIR)
		return err_set(err, ERR_INVALID, "the root is not a directory");
	if (archive_entry_hardlink(entry))
		return make_hardlink(u, entry, &place, err);
	switch (type) {
	case S_IFREG:
		return make_file(u, entry, &place, err);
	case S_IFDIR:
		return make_directory(entry, &place, err);
	case S_IFLNK:
		return make_symlink(entry, &place, err);
	case S_IFIFO:
		return make_fifo(entry, &place, err);
	default: /* devices and sockets have no place in an image */
		return 0;
	}
}

/* ---- whiteouts ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_whiteout(const char *path)
{
	return !strncmp(base_name(path), whiteout, sizeof(whiteout) - 1);
}

static int clear_directory(const struct place *place, struct err *err)
{
	char path[64];
	int r;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/.", place->dir_fd);
	r = tree_remove_contents(path);
	return r < 0 ? err_sys(err, -r, "empty a directory") : 0;
}

static int apply_whiteout(const struct unpack *u, const char *path, struct err *err)
{
	auto_place struct place place = { .dir_fd = -1 };
	const char *hidden;

	if (place_find(u->root_fd, path, &place, err) < 0)
		return -1;
	if (!strcmp(place.name, opaque))
		return clear_directory(&place, err);
	hidden = place.name + sizeof(whiteout) - 1;
	if (!*hidden || !strcmp(hidden, ".") || !strcmp(hidden, ".."))
		return err_set(err, ERR_INVALID, "it removes no name");
	memmove(place.name, hidden, strlen(hidden) + 1);
	return place_clear(&place, err);
}

/* ---- whole archives ---- */

static int next_entry(struct unpack *u, struct archive_entry *entry, struct err *err)
{
	int r = archive_read_next_header2(u->in, entry);

	if (r == ARCHIVE_EOF)
		return 0;
	if (r < ARCHIVE_WARN || !archive_entry_pathname(entry))
		return archive_failed(u->in, err);
	if (++u->n_entries > UNPACK_MAX_ENTRIES)
		return err_set(err, ERR_FULL, "the archive has more than %d entries",
			       UNPACK_MAX_ENTRIES);
	return 1;
}

static int entry_failed(struct archive_entry *entry, struct err *err)
{
	char shown[SHOW_MAX];

	return err_wrap(err, "%s", show_name(view_str(archive_entry_pathname(entry)), shown));
}

/* Whiteouts name what lower layers brought, wherever in the archive they stand: they come first. */
enum pass { PASS_WHITEOUTS, PASS_ENTRIES, PASS_ALL };

static int pass_over(struct unpack *u, enum pass pass, struct err *err)
{
	struct archive_entry *entry = archive_entry_new2(u->in);
	int r;

	if (!entry)
		return err_sys(err, ENOMEM, "read the archive");
	while ((r = next_entry(u, entry, err)) > 0) {
		bool hides = pass != PASS_ALL && is_whiteout(archive_entry_pathname(entry));

		if (pass == PASS_WHITEOUTS && hides)
			r = apply_whiteout(u, archive_entry_pathname(entry), err);
		else if (pass != PASS_WHITEOUTS && !hides)
			r = make(u, entry, err);
		if (r < 0) {
			(void)entry_failed(entry, err);
			break;
		}
	}
	archive_entry_free(entry);
	return r;
}

/* The formats are named: libarchive would otherwise run programs for the rarer compressions. */
static int open_tar(int archive_fd, struct archive **ret, struct err *err)
{
	auto_archive struct archive *in = archive_read_new();

	if (!in)
		return err_sys(err, ENOMEM, "read the archive");
	if (lseek(archive_fd, 0, SEEK_SET) < 0)
		return err_sys(err, errno, "read the archive");
	(void)archive_read_support_filter_gzip(in);
	(void)archive_read_support_filter_bzip2(in);
	(void)archive_read_support_filter_xz(in);
	(void)archive_read_support_filter_zstd(in);
	if (archive_read_support_format_tar(in) != ARCHIVE_OK ||
	    archive_read_open_fd(in, archive_fd, BLOCK) != ARCHIVE_OK)
		return archive_failed(in, err);
	*ret = take_ptr(in);
	return 0;
}

static int tar_pass(int archive_fd, int root_fd, enum pass pass, struct err *err)
{
	auto_archive struct archive *in = NULL;
	struct unpack u = { .root_fd = root_fd };

	if (open_tar(archive_fd, &in, err) < 0)
		return -1;
	u.in = in;
	return pass_over(&u, pass, err);
}

int unpack_tar(int archive_fd, int root_fd, enum unpack_kind kind, struct err *err)
{
	if (kind == UNPACK_PLAIN)
		return tar_pass(archive_fd, root_fd, PASS_ALL, err);
	if (tar_pass(archive_fd, root_fd, PASS_WHITEOUTS, err) < 0)
		return -1;
	return tar_pass(archive_fd, root_fd, PASS_ENTRIES, err);
}

int unpack_directory(const char *path, int root_fd, struct err *err)
{
	auto_archive struct archive *in = archive_read_disk_new();
	struct unpack u = { .in = in, .root_fd = root_fd, .prefix = strlen(path) };
	struct archive_entry *entry;
	int r;

	if (!in)
		return err_sys(err, ENOMEM, "read %s", path);
	(void)archive_read_disk_set_symlink_physical(in);
	(void)archive_read_disk_set_behavior(
		in, ARCHIVE_READDISK_NO_TRAVERSE_MOUNTS | ARCHIVE_READDISK_NO_XATTR |
			    ARCHIVE_READDISK_NO_ACL | ARCHIVE_READDISK_NO_FFLAGS);
	if (archive_read_disk_open(in, path) != ARCHIVE_OK)
		return archive_failed(in, err);
	entry = archive_entry_new2(in);
	if (!entry)
		return err_sys(err, ENOMEM, "read %s", path);
	while ((r = next_entry(&u, entry, err)) > 0) {
		if (make(&u, entry, err) < 0) {
			r = entry_failed(entry, err);
			break;
		}
		(void)archive_read_disk_descend(in);
	}
	archive_entry_free(entry);
	return r;
}

int unpack_look(int archive_fd, enum unpack_contents *ret, struct err *err)
{
	auto_archive struct archive *in = NULL;
	struct archive_entry *entry;
	int r;

	if (open_tar(archive_fd, &in, err) < 0)
		return -1;
	while ((r = archive_read_next_header(in, &entry)) == ARCHIVE_OK || r == ARCHIVE_WARN) {
		const char *path = archive_entry_pathname(entry);

		while (path && (path[0] == '/' || !strncmp(path, "./", 2)))
			path++;
		if (!path)
			return archive_failed(in, err);
		if (!strcmp(path, "manifest.json") || !strcmp(path, "oci-layout")) {
			*ret = UNPACK_IMAGE_LAYOUT;
			return 0;
		}
		if (!strncmp(path, "usr/", 4) || !strncmp(path, "etc/", 4))
			break;
	}
	if (r < ARCHIVE_WARN)
		return archive_failed(in, err);
	*ret = UNPACK_ROOTFS;
	return 0;
}
