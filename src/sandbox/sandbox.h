/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes as tools and links see them: who owns which, in which slot, with or without a running
 * container; on top of pool (who gets a slot), engine (what runs in it) and store (what survives).
 *
 * A sandbox belongs to one principal and, where it may have several, one label. Everything that
 * works in it holds it: while held it is neither recycled nor emptied for being idle. All on the
 * loop thread.
 */
#ifndef BERTH_SANDBOX_SANDBOX_H
#define BERTH_SANDBOX_SANDBOX_H

#include "base/list.h"
#include "engine/engine.h"

struct sandboxes; /* the service; one per server */
struct sandbox;   /* one key's; valid while held */
struct sandbox_wait;

enum {
	SANDBOX_MAX_LABEL = 40,     /* characters of a normalised label kept in the key */
	SANDBOX_MAX_KEY = 48,       /* slug, '-', 6 hex digits, NUL */
	SANDBOX_MAX_NOTE = 1024,    /* bytes of notes for one answer */
	SANDBOX_MAX_TRANSFERS = 16, /* files on their way from and to one sandbox */
	SANDBOX_MAX_TRANSFER_HOURS = 24,
};

enum sandbox_need {
	SANDBOX_NEED_FILES,    /* the workspace, through its keeper */
	SANDBOX_NEED_BOX,      /* also a running container */
	SANDBOX_NEED_EXISTING, /* the workspace if there is one: takes no slot, else ERR_NOT_FOUND
				*/
};

/*
 * How an acquisition ended. `sandbox` is set (and held, until sandbox_release()) exactly for READY.
 * `text` is for the model: the reason and what to do, e.g. "position 3 of 12, about 4 minutes".
 */
enum sandbox_verdict {
	SANDBOX_READY,
	SANDBOX_QUEUED,  /* no slot free; the place in the queue is kept */
	SANDBOX_REFUSED, /* with err */
};
struct sandbox_answer {
	enum sandbox_verdict verdict;
	struct sandbox *sandbox;
	bool is_new_box;   /* this acquisition got a fresh container: the result says [new] */
	const char *notes; /* lines to show once, e.g. what a recycle took; "" if none */
	const char *text;  /* QUEUED, REFUSED */
	struct err err;    /* REFUSED */
};
typedef void sandbox_acquired_fn(void *userdata, const struct sandbox_answer *answer);
/* While it waits: a line for a progress message. May be NULL. */
typedef void sandbox_progress_fn(void *userdata, const char *message);

struct sandbox_request {
	const char *principal;
	struct view label; /* empty: the principal's only one */
	enum sandbox_need need;
	usec max_wait; /* how long to stay in the queue before QUEUED is answered */
	sandbox_acquired_fn *acquired;
	sandbox_progress_fn *progress;
	void *userdata;
};
/*
 * Asks for a sandbox; `acquired` runs once, later (never from inside this call). *ret can be given
 * to sandbox_wait_cancel() until then. ERR_INVALID for a bad label (nothing is called then).
 */
int sandbox_acquire(struct sandboxes *s, const struct sandbox_request *request,
		    struct sandbox_wait **ret, struct err *err) MUST_CHECK;
/* The callback will not run; a place in the queue is kept. */
void sandbox_wait_cancel(struct sandbox_wait *wait);

/*
 * Holds an existing sandbox by its key (links). ERR_NOT_FOUND if there is none, ERR_BUSY in the
 * answer while it is being emptied for its owner. Does not start a container and does not wait in
 * the queue; `acquired` runs once the keeper is there.
 */
int sandbox_acquire_key(struct sandboxes *s, struct view key, sandbox_acquired_fn *acquired,
			void *userdata, struct sandbox_wait **ret, struct err *err) MUST_CHECK;

void sandbox_release(struct sandbox *sandbox);
/* One more hold; release each. */
void sandbox_hold(struct sandbox *sandbox);

/*
 * The same for who only looks at it, which is no use: its last use stays what it was, a slot
 * granted from the queue is not claimed by it, and the sandbox may be emptied meanwhile. The
 * sandbox of the answer is not held; it is valid until sandbox_look_end().
 */
int sandbox_look(struct sandboxes *s, struct view key, sandbox_acquired_fn *acquired,
		 void *userdata, struct sandbox_wait **ret, struct err *err) MUST_CHECK;
void sandbox_look_end(struct sandbox *sandbox);

const char *sandbox_key(const struct sandbox *sandbox);
const char *sandbox_principal(const struct sandbox *sandbox);
uint32_t sandbox_slot(const struct sandbox *sandbox);
/* Since when its owner has had it, seconds since 1970; the same after a restart of the server. */
uint64_t sandbox_created(const struct sandbox *sandbox);
/* NULL when it has no running container (any more). */
struct engine_box *sandbox_box(const struct sandbox *sandbox);
struct engine_files *sandbox_files(const struct sandbox *sandbox);
/*
 * Takes `fd`, of a file that the sandbox's keeper opened, and has the keeper close it: whoever
 * closes a deleted file last waits until it is freed, and a tenant can make that take seconds.
 */
void sandbox_close_file(const struct sandbox *sandbox, int fd);

enum sandbox_state_of {
	SANDBOX_STATE_OF_OWNER, /* kept until the owner has the sandbox no more (job table) */
	SANDBOX_STATE_OF_FILES, /* goes with the files, at a reset of everything too (project map)
				 */
};
/*
 * State a tool keeps with a sandbox. Deleted with `release` when what it is of ends, or the server
 * does. `kind` is a static string compared by address.
 */
void *sandbox_state(const struct sandbox *sandbox, const char *kind);
/* -ENOMEM; `state` is the caller's then. */
int sandbox_set_state(struct sandbox *sandbox, const char *kind, enum sandbox_state_of of,
		      void *state, void (*release)(void *state)) MUST_CHECK;

/*
 * Whether more than its limit was measured in it: commands are then started with no_growth, and
 * nothing is written for it. Never where the kernel bounds it, which then says so itself.
 */
bool sandbox_is_full(const struct sandbox *sandbox);
/* The same for who would write: ERR_FULL, with what to do. */
int sandbox_check_room(const struct sandbox *sandbox, struct err *err) MUST_CHECK;
/* Why its last container was ended, "" if it was not: for who had a command in it. */
const char *sandbox_why_ended(const struct sandbox *sandbox);

/* ---- files on their way ---- */

/*
 * A file of the workspace that is open for as long as a client takes to send or receive it. A
 * deleted file goes on using the quota while it is open: so transfers are cut before their sandbox
 * is emptied, by whomever. And since they hold it, they are cut after SANDBOX_MAX_TRANSFER_HOURS.
 */
struct sandbox_transfer {
	/* Closes the file and lets the sandbox go; the transfer has ended by then. `why` is for who
	 * transfers. */
	void (*cut)(void *userdata, const struct err *why);
	void *userdata;
	struct sandbox *sandbox; /* NULL: not begun, or ended */
	usec since;
	struct list item;
};
/*
 * For the holder of `sandbox`, before it opens the file. ERR_BUSY, in words for who transfers, when
 * there are SANDBOX_MAX_TRANSFERS, and while the sandbox is being emptied.
 */
int sandbox_transfer_begin(struct sandbox *sandbox, struct sandbox_transfer *transfer,
			   struct err *err) MUST_CHECK;
/* Before the sandbox is released. Harmless for one that was not begun, or has ended. */
void sandbox_transfer_end(struct sandbox_transfer *transfer);

/* ---- the owner's wishes ---- */

enum sandbox_reset {
	SANDBOX_RESET_BOX,        /* recycle: packages and processes go, /workspace stays */
	SANDBOX_RESET_EVERYTHING, /* empty: the files go too; the slot stays its owner's */
};
/* err is NULL on success. Everything that ran in the sandbox has ended by then. */
typedef void sandbox_reset_fn(void *userdata, const struct err *err);
/*
 * For the holder of `sandbox`, whose hold goes on. `fn` runs once, later, even if the caller has
 * released by then. ERR_BUSY when a reset is under way already.
 */
int sandbox_reset(struct sandbox *sandbox, enum sandbox_reset what, sandbox_reset_fn *fn,
		  void *userdata, struct err *err) MUST_CHECK;

/* ---- telling ---- */

struct sandbox_view {
	const struct sandbox *sandbox;       /* itself */
	const char *key, *principal, *label; /* label: "" for a principal's only one */
	uint32_t slot;
	bool has_box;
	uint32_t holds;              /* calls, jobs and links under way */
	usec box_age;                /* since its container started; 0 without one */
	usec idle_for;               /* since the last use; 0 while in use */
	uint64_t created, last_used; /* seconds since 1970 */
};
/* Of one key; false if there is no such sandbox. */
bool sandboxes_get(struct sandboxes *s, struct view key, struct sandbox_view *ret);
/* Calls fn for each sandbox (of `principal`; NULL: of all). */
void sandboxes_each(struct sandboxes *s, const char *principal,
		    void (*fn)(void *userdata, const struct sandbox_view *view), void *userdata);

/* Where the principal stands in the queue, in words; false if it does not wait. */
bool sandboxes_queue_words(struct sandboxes *s, const char *principal, char *out, size_t size);
/* The engine is connected, and can limit what it must (sandboxes_config.require_limits). */
bool sandboxes_can_serve(const struct sandboxes *s);
/*
 * A newcomer can be served as well: the reserve of disk is free, and what had to be saved last was.
 */
bool sandboxes_have_room(const struct sandboxes *s);
/* What is enforced on this host. */
void sandboxes_engine_facts(const struct sandboxes *s, struct engine_facts *ret);
/* Whether disk space is measured here instead. */
bool sandboxes_measure_workspace(const struct sandboxes *s);
bool sandboxes_measure_layer(const struct sandboxes *s);

/*
 * Normalises a label into `out`: lower case, runs of other than a-z0-9 become '-', trimmed.
 * ERR_INVALID if nothing is left or it is longer than SANDBOX_MAX_LABEL.
 */
int sandbox_label_normalise(struct view label, char out[SANDBOX_MAX_LABEL + 1],
			    struct err *err) MUST_CHECK;

#endif
