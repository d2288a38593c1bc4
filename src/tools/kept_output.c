/* SPDX-License-Identifier: Apache-2.0 */
/* The whole output of a command in a file of its sandbox. */
#include "tools/kept_output.h"

#include "sys/io.h"

#include <stdio.h>

#define OUTPUT_FOLDER ".berth/output"

struct kept_output {
	struct engine_files *files; /* borrowed */
	void (*opened)(void *userdata);
	void *userdata;
	int fd; /* -1: not there (yet) */
	uint64_t left;
	const char *gap;
	bool waiting;     /* a keeper request is under way */
	struct buf early; /* what was written meanwhile */
	bool there;       /* the file has its name */
	char path[160];   /* with /workspace/ in front */
};

static const char *keeper_path(const struct kept_output *k)
{
	return k->path + sizeof("/workspace/") - 1;
}

static void write_out(struct kept_output *k, struct view bytes)
{
	int r = k->fd >= 0 ? io_write_all(k->fd, bytes.p, bytes.len) : 0;

	if (r == -EDQUOT || r == -ENOSPC)
		k->gap = "the disk quota is reached";
	else if (r < 0)
		k->gap = "it could not be written";
}

static void fail(struct kept_output *k, const char *why)
{
	k->gap = why;
	k->waiting = false;
	buf_done(&k->early);
	k->opened(k->userdata);
}

static const char *why_not_made(const struct keeper_reply *reply)
{
	return reply && (reply->error == EDQUOT || reply->error == ENOSPC)
		       ? "the disk quota is reached"
		       : "it could not be made";
}

static void on_committed(void *userdata, const struct keeper_reply *reply, int fd)
{
	struct kept_output *k = userdata;

	if (fd >= 0)
		(void)close(fd);
	if (!reply || reply->error) {
		fail(k, why_not_made(reply));
		return;
	}
	k->there = true;
	k->waiting = false;
	write_out(k, buf_view(&k->early));
	buf_done(&k->early);
	k->opened(k->userdata);
}

static void on_created(void *userdata, const struct keeper_reply *reply, int fd)
{
	struct kept_output *k = userdata;
	struct keeper_request commit = { .verb = KEEPER_COMMIT, .flags = KEEPER_NOREPLACE };
	struct err err;

	if (!reply || reply->error || fd < 0) {
		if (fd >= 0)
			(void)close(fd);
		fail(k, why_not_made(reply));
		return;
	}
	k->fd = fd;
	/* Named at once, so that what a crash leaves behind can be found. */
	commit.number = reply->number;
	commit.path = view_str(keeper_path(k));
	if (engine_files_call(k->files, &commit, -1, on_committed, k, &err) < 0)
		fail(k, "it could not be made");
}

int kept_output_open(struct engine_files *files, const char *name, uint64_t max_bytes,
		     void (*opened)(void *userdata), void *userdata, struct kept_output **ret,
		     struct err *err)
{
	struct kept_output *k = calloc(1, sizeof(*k));
	struct keeper_request create = { .verb = KEEPER_CREATE, .mode = 0644 };

	if (!k)
		return err_sys(err, ENOMEM, "keep a command's output");
	*k = (struct kept_output){ .files = files,
				   .opened = opened,
				   .userdata = userdata,
				   .fd = -1,
				   .left = max_bytes,
				   .waiting = true };
	buf_init(&k->early, KEPT_OUTPUT_MAX_EARLY);
	(void)snprintf(k->path, sizeof(k->path), "/workspace/" OUTPUT_FOLDER "/%s", name);
	create.path = view_str(keeper_path(k));
	if (engine_files_call(files, &create, -1, on_created, k, err) < 0) {
		free(k);
		return -1;
	}
	*ret = k;
	return 0;
}

void kept_output_close(struct kept_output *k)
{
	if (k->waiting)
		engine_files_forget(k->files, k);
	k->waiting = false;
	buf_done(&k->early);
	if (k->fd >= 0)
		(void)close(take_fd(k->fd));
}

void kept_output_free(struct kept_output *k)
{
	if (!k)
		return;
	kept_output_close(k);
	free(k);
}

void kept_output_write(struct kept_output *k, struct view bytes)
{
	if (k->gap)
		return;
	if (bytes.len > k->left) {
		bytes = view_first(bytes, k->left);
		k->gap = "its size limit is reached";
	}
	k->left -= bytes.len;
	if (!k->waiting)
		write_out(k, bytes);
	else if (buf_add_view(&k->early, bytes) < 0)
		k->gap = "it could not be written";
}

const char *kept_output_path(const struct kept_output *k)
{
	return k->there ? k->path : NULL;
}

const char *kept_output_gap(const struct kept_output *k)
{
	return k->gap;
}
