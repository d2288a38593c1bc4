/* SPDX-License-Identifier: Apache-2.0 */
/* KEEPER_CREATE, COMMIT and ABORT: a file gets its name only when it is complete. */
#include "keeper/keeper_internal.h"

#include <fcntl.h>
#include <limits.h>

struct token *token_find(struct keeper *k, uint64_t token)
{
	for (size_t i = 0; token && i < ARRAY_SIZE(k->tokens); i++)
		if (k->tokens[i].token == token)
			return &k->tokens[i];
	return NULL;
}

void token_drop(struct token *t)
{
	int folder = t->temp.folder;

	temp_done(&t->temp);
	(void)close(folder);
	t->token = 0;
}

void token_drop_all(struct keeper *k)
{
	for (size_t i = 0; i < ARRAY_SIZE(k->tokens); i++)
		if (k->tokens[i].token)
			token_drop(&k->tokens[i]);
}

static struct token *token_free_slot(struct keeper *k)
{
	for (size_t i = 0; i < ARRAY_SIZE(k->tokens); i++)
		if (!k->tokens[i].token)
			return &k->tokens[i];
	return NULL;
}

static int fail_exists(const struct place *place, struct err *err)
{
	char shown[SHOW_MAX];

	return fail(err, EEXIST, "%s exists already", show_name(place_view(place), shown));
}

/* The place must be free, or a regular file or a link that may be replaced. */
static int check_target(struct keeper *k, const struct place *place, uint32_t flags,
			struct err *err)
{
	char shown[SHOW_MAX];
	struct stat st;

	if (!place_exists(place))
		return 0;
	if (flags & KEEPER_NOREPLACE)
		return fail_exists(place, err);
	auto_fd int fd = jail_open_at(k->workspace, place->path, O_PATH | O_NOFOLLOW);
	if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return fail(err, EISDIR, "%s is %s, not a regular file",
			    show_name(place_view(place), shown), jail_kind_of_mode(st.st_mode));
	return 0;
}

int verb_create(struct keeper *k, const struct keeper_request *request, int in_fd,
		struct answer *answer, struct err *err)
{
	struct token *t = token_free_slot(k);
	char shown[SHOW_MAX];
	const char *name;
	int fd, r;

	(void)in_fd;
	if (!t)
		return fail(err, EBUSY, "%d files are being uploaded already; wait for one to end",
			    KEEPER_MAX_TOKENS);
	if (jail_resolve(k->workspace, request->path, JAIL_MAY_MISS | JAIL_KEEP_LAST, &t->place,
			 err) < 0 ||
	    check_target(k, &t->place, request->flags, err) < 0)
		return -1;
	auto_fd int folder = -1;
	if (jail_open_parent(k->workspace, &t->place, &folder, &name, err) < 0)
		return -1;
	if (strlen(name) > NAME_MAX)
		return fail_errno(err, ENAMETOOLONG, "%s", show_name(request->path, shown));
	r = temp_create(k->self, folder, request->mode ? request->mode : 0644, &t->temp);
	if (r < 0)
		return fail_errno(err, -r, "create %s", show_name(request->path, shown));
	fd = fcntl(t->temp.fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0) {
		temp_done(&t->temp);
		return fail_errno(err, EMFILE, "create %s", show_name(request->path, shown));
	}
	(void)take_fd(folder);
	t->token = ++k->last_token;
	answer->fd = fd;
	answer->reply.number = t->token;
	return 0;
}

int token_commit(struct token *t, uint32_t flags, struct answer *answer, struct err *err)
{
	const char *slash = strrchr(t->place.path, '/');
	char shown[SHOW_MAX];
	struct stat st;
	int r;

	r = temp_commit(&t->temp, slash ? slash + 1 : t->place.path, flags);
	if (r == -EEXIST)
		return fail_exists(&t->place, err);
	if (r < 0) {
		(void)fail_errno(err, -r, "save %s", show_name(place_view(&t->place), shown));
		token_drop(t);
		return -1;
	}
	if (fstat(t->temp.fd, &st) == 0)
		answer_stat(answer, &st);
	token_drop(t);
	return 0;
}

int verb_abort(struct keeper *k, const struct keeper_request *request, int in_fd,
	       struct answer *answer, struct err *err)
{
	struct token *t = token_find(k, request->number);

	(void)in_fd;
	(void)answer;
	if (!t)
		return fail(err, ENOENT, "there is no such upload");
	token_drop(t);
	return 0;
}
