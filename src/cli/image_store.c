/* SPDX-License-Identifier: Apache-2.0 */
/* Where images live, and the switch to a new one. */
#include "cli/image_store.h"

#include "base/log.h"
#include "cli/tree.h"
#include "sys/clock.h"
#include "sys/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char draft_prefix[] = ".new-";

static int make_dir(const char *path, mode_t mode, struct err *err)
{
	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return err_sys(err, errno, "make %s", path);
	return 0;
}

static int open_images(const char *state_dir, int *ret_fd, struct err *err)
{
	auto_buf struct buf path = BUF_INIT(4096);
	auto_fd int fd = -1;

	if (make_dir(state_dir, 0755, err) < 0)
		return -1;
	if (buf_addf(&path, "%s/image", state_dir) < 0)
		return err_set(err, ERR_INVALID, "the path of the state directory is too long");
	if (make_dir(buf_str(&path), 0700, err) < 0)
		return -1;
	fd = open(buf_str(&path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, errno, "open %s", buf_str(&path));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
			       ? err_set(err, ERR_BUSY, "another image is being made in %s",
					 buf_str(&path))
			       : err_sys(err, errno, "lock %s", buf_str(&path));
	*ret_fd = take_fd(fd);
	return 0;
}

static int name_draft_by(struct image_draft *draft, const char *name, time_t when, struct err *err)
{
	char stamp[32];
	struct tm tm;

	if (!gmtime_r(&when, &tm) || !strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm))
		return err_set(err, ERR_BUG, "the clock cannot be read");
	if (snprintf(draft->id, sizeof(draft->id), "%s-%s", name, stamp) >= (int)sizeof(draft->id))
		return err_set(err, ERR_INVALID, "the image's name is too long");
	return 0;
}

/*
 * "standard-20240131-175905": sorts by age, and says what it is. The second of an image that is
 * there is taken: the lock keeps the next one free.
 */
static int name_draft(struct image_draft *draft, const char *name, struct err *err)
{
	time_t when = (time_t)clock_wall_seconds(&clock_system);

	/* It becomes a file name. */
	if (name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] || !*name)
		return err_set(err, ERR_INVALID, "\"%s\" is no name of an image", name);
	do {
		if (name_draft_by(draft, name, when++, err) < 0)
			return -1;
	} while (faccessat(draft->images_fd, draft->id, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
	return 0;
}

int image_draft_begin(struct image_draft *ret, const char *state_dir, const char *name,
		      struct err *err)
{
	auto_image_draft struct image_draft draft = { .images_fd = -1 };
	auto_buf struct buf path = BUF_INIT(4096);

	if (open_images(state_dir, &draft.images_fd, err) < 0 || name_draft(&draft, name, err) < 0)
		return -1;
	if (buf_addf(&path, "%s/image/%s%s", state_dir, draft_prefix, draft.id) < 0)
		return err_set(err, ERR_INVALID, "the path of the state directory is too long");
	if (mkdir(buf_str(&path), 0755) < 0)
		return err_sys(err, errno, "make %s", buf_str(&path));
	draft.path = buf_take(&path);
	*ret = draft;
	draft = (struct image_draft){ .images_fd = -1 };
	return 0;
}

static int switch_current(int images_fd, const char *id, struct err *err)
{
	static const char fresh[] = ".current-new";

	if (unlinkat(images_fd, fresh, 0) < 0 && errno != ENOENT)
		return err_sys(err, errno, "remove %s", fresh);
	if (symlinkat(id, images_fd, fresh) < 0)
		return err_sys(err, errno, "make the link %s", fresh);
	if (renameat(images_fd, fresh, images_fd, "current") < 0)
		return err_sys(err, errno, "make %s the current image", id);
	if (fsync(images_fd) < 0)
		return err_sys(err, errno, "write the image directory");
	return 0;
}

int image_draft_commit(struct image_draft *draft, struct view info, struct err *err)
{
	auto_fd int dir = open(draft->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char temporary[sizeof(draft_prefix) + IMAGE_ID_MAX];
	int r;

	if (dir < 0)
		return err_sys(err, errno, "open %s", draft->path);
	r = io_write_file(dir, "info", info, 0644);
	if (r < 0)
		return err_sys(err, -r, "write the image's info");
	/* The image must be on disk before anything says that it is there. */
	if (syncfs(dir) < 0)
		return err_sys(err, errno, "write the image");
	(void)snprintf(temporary, sizeof(temporary), "%s%s", draft_prefix, draft->id);
	if (renameat(draft->images_fd, temporary, draft->images_fd, draft->id) < 0)
		return err_sys(err, errno, "rename the image to %s", draft->id);
	free(take_ptr(draft->path));
	return switch_current(draft->images_fd, draft->id, err);
}

void image_draft_done(struct image_draft *draft)
{
	int r;

	if (draft->path) {
		r = tree_remove(draft->path);
		if (r < 0)
			log_warning("%s could not be removed: %s", draft->path, strerror(-r));
	}
	free(draft->path);
	cleanup_fd(&draft->images_fd);
	*draft = (struct image_draft){ .images_fd = -1 };
}
