/* SPDX-License-Identifier: Apache-2.0 */
/* KEEPER_WRITE: a new file, whole or not at all. */
#include "keeper/edits.h"
#include "keeper/keeper_internal.h"
#include "keeper/lines.h"
#include "keeper/text.h"
#include "sys/io.h"

#include <fcntl.h>
#include <limits.h>

int content_read(int in_fd, struct buf *out, struct err *err)
{
	struct stat st;
	char *to;
	size_t size;
	ssize_t n;

	if (fstat(in_fd, &st) < 0)
		return fail_errno(err, errno, "read the content");
	if (st.st_size < 0 || (uint64_t)st.st_size > out->max)
		return fail(err, EFBIG, "the content is larger than %d MiB",
			    KEEPER_MAX_CONTENT >> 20);
	size = (size_t)st.st_size;
	to = buf_reserve(out, size);
	if (!to)
		return fail_errno(err, ENOMEM, "read the content");
	while (out->len < size) {
		n = pread(in_fd, to, size - out->len, (off_t)out->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail_errno(err, n < 0 ? errno : EIO, "read the content");
		buf_commit(out, (size_t)n);
		to += n;
	}
	return 0;
}

/* The name comes last; the folders were made. */
static int write_new(int self, int folder, const char *name, struct view content, mode_t mode,
		     struct stat *ret_st)
{
	auto_temp struct temp temp = { .fd = -1 };
	int r = temp_create(self, folder, mode, &temp);

	if (r < 0)
		return r;
	r = io_write_all(temp.fd, content.p, content.len);
	if (r == 0 && (fsync(temp.fd) < 0 || fstat(temp.fd, ret_st) < 0))
		r = -errno;
	return r < 0 ? r : temp_commit(&temp, name, KEEPER_NOREPLACE);
}

static int report(struct answer *answer, struct view path, struct view content, bool is_program)
{
	uint64_t lines = text_line_of(content, content.len) - 1;
	int r = buf_add_str(&answer->text, "Wrote ");

	if (content.len && content.p[content.len - 1] != '\n')
		lines++;
	if (r == 0)
		r = show_add(&answer->text, path);
	if (r == 0)
		r = buf_add_str(&answer->text, ": ");
	if (r == 0)
		r = add_count(&answer->text, lines, "line");
	if (r == 0)
		r = buf_add_str(&answer->text, ", ");
	if (r == 0)
		r = add_size(&answer->text, content.len);
	return r < 0 ? r
		     : buf_addf(&answer->text, ", mode %s.\n",
				is_program ? "0755 (executable, since it begins with #!)" : "0644");
}

static int fail_exists(struct view path, struct err *err)
{
	char shown[SHOW_MAX];

	return fail(err, EEXIST,
		    "%s exists already and was left alone. Change it with edit_file, or remove it "
		    "first (run_command) to write it anew",
		    show_name(path, shown));
}

int verb_write(struct keeper *k, const struct keeper_request *request, int in_fd,
	       struct answer *answer, struct err *err)
{
	auto_buf struct buf content = BUF_INIT(KEEPER_MAX_CONTENT);
	struct content_hash hash;
	char shown[SHOW_MAX];
	struct place place;
	const char *name;
	struct stat st;
	bool is_program;
	int r;

	if (content_read(in_fd, &content, err) < 0 ||
	    jail_resolve(k->workspace, request->path, JAIL_MAY_MISS, &place, err) < 0)
		return -1;
	if (place_exists(&place))
		return fail_exists(request->path, err);
	auto_fd int folder = -1;
	if (jail_open_parent(k->workspace, &place, &folder, &name, err) < 0)
		return -1;
	if (strlen(name) > NAME_MAX)
		return fail_errno(err, ENAMETOOLONG, "%s", show_name(request->path, shown));
	is_program = view_starts(buf_view(&content), VIEW("#!"));
	r = write_new(k->self, folder, name, buf_view(&content), is_program ? 0755 : 0644, &st);
	if (r == -EEXIST)
		return fail_exists(request->path, err);
	if (r < 0)
		return fail_errno(err, -r, "write %s", show_name(request->path, shown));

	content_hash(buf_view(&content), &hash);
	edits_saw(k->edits, place_view(&place), &hash);
	answer_stat(answer, &st);
	if (report(answer, request->path, buf_view(&content), is_program) < 0)
		return fail_errno(err, ENOMEM, "write %s", show_name(request->path, shown));
	return 0;
}
