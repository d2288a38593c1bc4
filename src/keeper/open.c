/* SPDX-License-Identifier: Apache-2.0 */
/* KEEPER_OPEN and KEEPER_STAT: existing files, for links and tools. */
#include "keeper/keeper_internal.h"

#include <fcntl.h>

uint64_t mtime_ns(const struct stat *st)
{
	if (st->st_mtim.tv_sec < 0)
		return 0;
	return (uint64_t)st->st_mtim.tv_sec * 1000000000U + (uint64_t)st->st_mtim.tv_nsec;
}

void answer_stat(struct answer *answer, const struct stat *st)
{
	answer->reply.size = st->st_size > 0 ? (uint64_t)st->st_size : 0;
	answer->reply.mtime_ns = mtime_ns(st);
	answer->reply.mode = st->st_mode;
}

static enum jail_flags jail_flags_of(const struct keeper_request *request)
{
	return request->flags & KEEPER_NOFOLLOW ? JAIL_NOFOLLOW : JAIL_FOLLOW;
}

int verb_open(struct keeper *k, const struct keeper_request *request, int in_fd,
	      struct answer *answer, struct err *err)
{
	struct jail_file file;

	(void)in_fd;
	if (jail_open(k->workspace, request->path, jail_flags_of(request), O_RDONLY, &file, err) <
	    0)
		return -1;
	answer_stat(answer, &file.st);
	answer->fd = file.fd;
	return 0;
}

int verb_stat(struct keeper *k, const struct keeper_request *request, int in_fd,
	      struct answer *answer, struct err *err)
{
	struct jail_file file;

	(void)in_fd;
	if (jail_open(k->workspace, request->path, jail_flags_of(request), O_PATH, &file, err) < 0)
		return -1;
	(void)close(file.fd);
	answer_stat(answer, &file.st);
	if (buf_add_str(&answer->text, jail_kind_of_mode(file.st.st_mode)) < 0)
		return fail_errno(err, ENOMEM, "stat");
	return 0;
}
