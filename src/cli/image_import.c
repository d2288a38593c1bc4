/* SPDX-License-Identifier: Apache-2.0 */
/* Making an image from what somebody else built. */
#include "cli/image_import.h"

#include "base/buf.h"
#include "base/log.h"
#include "cli/oci.h"
#include "cli/place.h"
#include "cli/tree.h"
#include "cli/unpack.h"

#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <sys/stat.h>

/* Made if missing: the container's mounts go on these, and its commands start in them. */
static const struct {
	const char *name;
	mode_t mode;
} wanted_dirs[] = {
	{ "proc", 0555 }, { "sys", 0555 },  { "dev", 0755 },       { "run", 0755 },
	{ "etc", 0755 },  { "root", 0700 }, { "workspace", 0755 }, { "tmp", 01777 },
};

static int open_dir(const char *path, int *ret_fd, struct err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(err, errno, "open %s", path);
	*ret_fd = fd;
	return 0;
}

static int make_dir(const char *path, int *ret_fd, struct err *err)
{
	if (mkdir(path, 0755) < 0)
		return err_sys(err, errno, "make %s", path);
	return open_dir(path, ret_fd, err);
}

/* An archive of an image is unpacked first: its layers are named in a file that may come last. */
static int import_layout(int archive_fd, const char *rootfs, int root_fd, struct err *err)
{
	auto_buf struct buf layout = BUF_INIT(4096);
	auto_fd int layout_fd = -1;
	int r;

	if (buf_addf(&layout, "%s/../layout", rootfs) < 0)
		return err_set(err, ERR_INVALID, "the path of the image is too long");
	if (make_dir(buf_str(&layout), &layout_fd, err) < 0)
		return -1;
	if (unpack_tar(archive_fd, layout_fd, UNPACK_PLAIN, err) < 0 ||
	    oci_unpack(layout_fd, root_fd, err) < 0)
		return -1;
	r = tree_remove(buf_str(&layout));
	return r < 0 ? err_sys(err, -r, "remove %s", buf_str(&layout)) : 0;
}

static int import_archive(int fd, const char *rootfs, int root_fd, struct err *err)
{
	enum unpack_contents contents;

	if (unpack_look(fd, &contents, err) < 0)
		return -1;
	if (contents == UNPACK_IMAGE_LAYOUT)
		return import_layout(fd, rootfs, root_fd, err);
	return unpack_tar(fd, root_fd, UNPACK_PLAIN, err);
}

static bool has_program(int root_fd, const char *path)
{
	auto_fd int fd = place_open(root_fd, path, O_PATH);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111);
}

static int finish(int root_fd, struct err *err)
{
	if (!has_program(root_fd, "bin/bash") && !has_program(root_fd, "bin/sh"))
		return err_set(err, ERR_INVALID,
			       "this is no root file system: it has neither /bin/bash nor /bin/sh");
	if (!has_program(root_fd, "bin/bash"))
		log_warning("the image has no bash: commands run in /bin/sh");
	for (size_t i = 0; i < ARRAY_SIZE(wanted_dirs); i++) {
		if (mkdirat(root_fd, wanted_dirs[i].name, 0700) < 0) {
			if (errno == EEXIST)
				continue;
			return err_sys(err, errno, "make /%s", wanted_dirs[i].name);
		}
		if (fchmodat(root_fd, wanted_dirs[i].name, wanted_dirs[i].mode, 0) < 0)
			return err_sys(err, errno, "set the mode of /%s", wanted_dirs[i].name);
	}
	return fchmod(root_fd, 0755) < 0 ? err_sys(err, errno, "set the mode of the root") : 0;
}

int image_import(const char *source, const char *rootfs, struct err *err)
{
	auto_fd int root_fd = -1;
	auto_fd int fd = open(source, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	int r;

	/* Names in archives are bytes or UTF-8; in the C locale libarchive refuses the latter. */
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, errno, "open %s", source);
	if (make_dir(rootfs, &root_fd, err) < 0)
		return -1;
	if (S_ISREG(st.st_mode))
		r = import_archive(fd, rootfs, root_fd, err);
	else if (!S_ISDIR(st.st_mode))
		r = err_set(err, ERR_INVALID, "it is neither a file nor a directory");
	else if (oci_is_layout(fd))
		r = oci_unpack(fd, root_fd, err);
	else
		r = unpack_directory(source, root_fd, err);
	if (r < 0 || finish(root_fd, err) < 0)
		return err_wrap(err, "%s", source);
	return 0;
}
