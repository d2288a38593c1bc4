/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the keeper's files share: its state, the answer that a verb fills in, one function a verb.
 */
#ifndef BERTH_KEEPER_KEEPER_INTERNAL_H
#define BERTH_KEEPER_KEEPER_INTERNAL_H

#include "keeper/fail.h"
#include "keeper/jail.h"
#include "keeper/keeper.h"
#include "keeper/temp.h"

#include <sys/types.h>

enum {
	KEEPER_MAX_JOBS = 16,
	/* Requests of the tenant's at work at once that may take much memory; the others wait. */
	KEEPER_MAX_TURNS = 4,
};

struct edits;

/* A file created and not yet named; the slot is free while token is 0. */
struct token {
	uint64_t token;
	struct temp temp; /* its folder is owned by the token */
	struct place place;
};

/* A child at work on one request; the slot is free while pid is 0. */
struct job {
	pid_t pid;
	int pidfd;
	int reply; /* JOB_REPLY: a memory file into which the child writes its reply */
	uint64_t id;
	enum job_kind { JOB_REPLY, JOB_COMMIT, JOB_EMPTY, JOB_TRASH } kind;
	uint64_t token; /* of a COMMIT */
	uint32_t flags;
};

struct keeper {
	int socket, workspace, layer, self; /* borrowed */
	uint64_t last_token;
	struct token tokens[KEEPER_MAX_TOKENS];
	struct job jobs[KEEPER_MAX_JOBS];
	bool trash_again; /* more was set aside while a JOB_TRASH ran */
	struct edits *edits;
	int turns; /* a file of KEEPER_MAX_TURNS bytes, each to be locked by a child */
};

/*
 * What a verb answers. Verbs return 0 with `reply` (its text comes from `text`) and perhaps `fd`,
 * or -1 with *err (see fail.h); a sentence too long for it is in `text`, and err->msg empty.
 */
struct answer {
	struct keeper_reply reply;
	struct buf text;
	int fd; /* owned; -1 if none */
};

/*
 * One verb. `in_fd` is borrowed, -1 for verbs without content. A verb that finds that it would take
 * long returns VERB_LATER instead, having done nothing; it is then run again, in a child.
 */
enum { VERB_LATER = 1 };
typedef int verb_fn(struct keeper *k, const struct keeper_request *request, int in_fd,
		    struct answer *answer, struct err *err);

verb_fn verb_open, verb_stat, verb_create, verb_abort, verb_read, verb_read_later, verb_write,
	verb_edit, verb_undo, verb_list, verb_usage, verb_drop_layer, verb_drop_layer_later,
	verb_room;

/* size, mtime and mode of a reply. */
void answer_stat(struct answer *answer, const struct stat *st);
uint64_t mtime_ns(const struct stat *st);

/* Appends the memfd `in_fd` to `out` (of KEEPER_MAX_CONTENT bytes). */
int content_read(int in_fd, struct buf *out, struct err *err) MUST_CHECK;

/* ---- create.c ---- */

struct token *token_find(struct keeper *k, uint64_t token) MUST_CHECK;
/* Removes the file unless it was committed, and frees the slot. */
void token_drop(struct token *t);
void token_drop_all(struct keeper *k);
/* Gives the (already synced) file its name. EEXIST leaves the token usable. */
int token_commit(struct token *t, uint32_t flags, struct answer *answer,
		 struct err *err) MUST_CHECK;

/* ---- jobs.c ---- */

/*
 * Runs a request in a child. JOB_REPLY: `fn` runs there; the keeper sends its answer when the child
 * has ended, so that each request has exactly one, whenever the child is killed.
 * JOB_COMMIT: the child syncs the token's file. JOB_EMPTY: it empties the slot. JOB_TRASH: it
 * empties layer/trash.
 */
int job_start(struct keeper *k, enum job_kind kind, uint64_t id,
	      const struct keeper_request *request, verb_fn *fn, struct err *err) MUST_CHECK;
bool job_runs(const struct keeper *k, enum job_kind kind);
/* The child of `job` has ended: reaps it and answers what it left unanswered. */
int job_ended(struct keeper *k, struct job *job, struct err *err) MUST_CHECK;
/* Ends the sweep that job_sweep_trash() started, if it runs. */
void job_stop_sweep(struct keeper *k);
/* Ends every child; requests that they worked on fail with ECANCELED. */
void job_cancel_all(struct keeper *k);
/* Starts emptying layer/trash in the background unless that runs already. */
void job_sweep_trash(struct keeper *k);

/* ---- serve.c ---- */

/* Appends one reply as a message. As keeper_reply_encode(). */
int encode_answer(struct buf *out, uint64_t id, const struct answer *answer,
		  const struct err *failure) MUST_CHECK;
/* Sends one reply; on failure of the verb, `answer` may be NULL and `failure` says why. */
int send_answer(struct keeper *k, uint64_t id, struct answer *answer, const struct err *failure,
		struct err *err) MUST_CHECK;
void answer_done(struct answer *answer);
#define auto_answer CLEANUP(answer_done)

/* ---- empty.c ---- */

/*
 * Deletes everything in the folder `dir`, of any depth and with any names, using a constant number
 * of descriptors and never following a link, also where the quota is full; 0 once it is verified
 * empty, else -errno.
 */
int empty_folder(int dir) MUST_CHECK;
/* -EDQUOT or -ENOSPC. Some file systems have no room to rename either then, only to delete. */
bool is_no_room(int r);

/* ---- layer.c ---- */

/* Everything of the tenant: workspace, what is set on its folder, layer. 0 or -errno. */
int slot_empty(struct keeper *k) MUST_CHECK;
/* Deletes what is in layer/trash; 0 or -errno. */
int layer_sweep(int layer) MUST_CHECK;

#endif
