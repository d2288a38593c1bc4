/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper's loop: requests from the socket, ends of children, replies. */
#include "keeper/edits.h"
#include "keeper/keeper_internal.h"
#include "sys/io.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>

void keeper_free(struct keeper *k)
{
	if (!k)
		return;
	job_cancel_all(k);
	token_drop_all(k);
	edits_free(k->edits);
	if (k->turns >= 0)
		(void)close(k->turns);
	free(k);
}

struct keeper *keeper_new(int socket_fd, int workspace_fd, int layer_fd, int self_fd)
{
	struct keeper *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->socket = socket_fd;
	k->workspace = workspace_fd;
	k->layer = layer_fd;
	k->self = self_fd;
	k->edits = edits_new();
	k->turns = memfd_create("turns", MFD_CLOEXEC);
	if (!k->edits || k->turns < 0) {
		keeper_free(k);
		return NULL;
	}
	return k;
}

void answer_done(struct answer *answer)
{
	buf_done(&answer->text);
	if (answer->fd >= 0)
		(void)close(answer->fd);
	answer->fd = -1;
}

int encode_answer(struct buf *out, uint64_t id, const struct answer *answer,
		  const struct err *failure)
{
	struct keeper_reply reply = { 0 };

	if (answer) {
		reply = answer->reply;
		reply.text = buf_view(&answer->text);
	}
	if (failure) {
		reply.error = failure->sys_errno;
		if (*failure->msg)
			reply.text = view_str(failure->msg);
	}
	return keeper_reply_encode(out, id, &reply);
}

int send_answer(struct keeper *k, uint64_t id, struct answer *answer, const struct err *failure,
		struct err *err)
{
	auto_buf struct buf message = BUF_INIT(KEEPER_MAX_MESSAGE);
	bool has_fd = answer && !failure && answer->fd >= 0;
	int r = encode_answer(&message, id, answer, failure);

	if (r == 0)
		r = io_send_fds(k->socket, message.p, message.len, has_fd ? &answer->fd : NULL,
				has_fd ? 1 : 0);
	return r < 0 ? fail_errno(err, -r, "send a reply") : 0;
}

static int start_commit(struct keeper *k, uint64_t id, const struct keeper_request *request,
			struct err *err)
{
	const struct token *t = token_find(k, request->number);

	if (!t)
		return fail(err, ENOENT, "there is no such upload");
	return job_start(k, JOB_COMMIT, id, request, NULL, err);
}

static int start_empty(struct keeper *k, uint64_t id, const struct keeper_request *request,
		       struct err *err)
{
	job_cancel_all(k);
	token_drop_all(k);
	edits_clear(k->edits);
	return job_start(k, JOB_EMPTY, id, request, NULL, err);
}

/* Whatever is passed is closed after the answer. */
static int verb_release(struct keeper *k, const struct keeper_request *request, int in_fd,
			struct answer *answer, struct err *err)
{
	(void)k;
	(void)request;
	(void)in_fd;
	(void)answer;
	(void)err;
	return 0;
}

/* Verbs that are answered at once, and those that run in a child (at once, or after VERB_LATER). */
static const struct {
	verb_fn *now, *later;
} verbs[KEEPER_NUM_VERBS] = {
	[KEEPER_OPEN] = { verb_open, NULL },
	[KEEPER_CREATE] = { verb_create, NULL },
	[KEEPER_ABORT] = { verb_abort, NULL },
	[KEEPER_STAT] = { verb_stat, NULL },
	[KEEPER_READ] = { verb_read, verb_read_later },
	[KEEPER_WRITE] = { verb_write, NULL },
	[KEEPER_EDIT] = { verb_edit, NULL },
	[KEEPER_UNDO] = { verb_undo, NULL },
	[KEEPER_LIST] = { NULL, verb_list },
	[KEEPER_USAGE] = { NULL, verb_usage },
	[KEEPER_DROP_LAYER] = { verb_drop_layer, verb_drop_layer_later },
	[KEEPER_ROOM] = { verb_room, NULL },
	[KEEPER_RELEASE] = { verb_release, NULL },
};

/* Starts a request that is answered later; 0 if it was. */
static int start_long(struct keeper *k, uint64_t id, const struct keeper_request *request,
		      struct err *err)
{
	if (request->verb == KEEPER_COMMIT)
		return start_commit(k, id, request, err);
	if (request->verb == KEEPER_EMPTY)
		return start_empty(k, id, request, err);
	return job_start(k, JOB_REPLY, id, request, verbs[request->verb].later, err);
}

static int handle(struct keeper *k, uint64_t id, const struct keeper_request *request, int in_fd,
		  struct err *err)
{
	auto_answer struct answer answer = { .text = BUF_INIT(KEEPER_MAX_TEXT), .fd = -1 };
	verb_fn *fn = verbs[request->verb].now;
	struct err failure = { 0 };
	int r = VERB_LATER;

	if (job_runs(k, JOB_EMPTY))
		r = fail(&failure, EBUSY, "the sandbox is being emptied; try again in a moment");
	else if (fn)
		r = fn(k, request, in_fd, &answer, &failure);
	if (r == VERB_LATER) {
		r = start_long(k, id, request, &failure);
		if (r == 0)
			return 0;
	}
	return send_answer(k, id, &answer, r < 0 ? &failure : NULL, err);
}

/* 1 at the end of the connection. */
static int receive(struct keeper *k, char *message, struct err *err)
{
	struct keeper_request request;
	size_t n_fds = 1;
	uint64_t id;
	auto_fd int in_fd = -1;
	ssize_t n = io_recv_fds(k->socket, message, KEEPER_MAX_MESSAGE, &in_fd, &n_fds);

	if (n == 0 || n == -ECONNRESET)
		return 1;
	if (n < 0)
		return fail_errno(err, (int)-n, "receive a request");
	if (keeper_request_decode(view_of(message, (size_t)n), &id, &request) < 0 ||
	    (n_fds == 1) != keeper_verb_takes_fd(request.verb))
		return fail(err, EBADMSG, "a malformed request");
	return handle(k, id, &request, in_fd, err);
}

static int serve_once(struct keeper *k, char *message, struct err *err)
{
	struct pollfd fds[1 + KEEPER_MAX_JOBS] = { { .fd = k->socket, .events = POLLIN } };

	for (size_t i = 0; i < KEEPER_MAX_JOBS; i++)
		fds[1 + i] = (struct pollfd){ .fd = k->jobs[i].pid ? k->jobs[i].pidfd : -1,
					      .events = POLLIN };
	if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
		return errno == EINTR ? 0 : fail_errno(err, errno, "poll");
	for (size_t i = 0; i < KEEPER_MAX_JOBS; i++)
		if (fds[1 + i].revents && job_ended(k, &k->jobs[i], err) < 0)
			return -1;
	return fds[0].revents ? receive(k, message, err) : 0;
}

int keeper_serve(struct keeper *k, struct err *err)
{
	auto_free char *message = malloc(KEEPER_MAX_MESSAGE);
	int r;

	if (!message)
		return fail_errno(err, ENOMEM, "start");
	job_sweep_trash(k);
	do
		r = serve_once(k, message, err);
	while (r == 0);
	return r < 0 ? -1 : 0;
}
