/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this folder share.
 *
 *   place    a slot at run time: its container and its keeper, whoever's it is
 *   sandbox  a key that has a slot (or had one while it was held)
 *   wait     an acquisition that has not been answered
 *
 * The place is driven towards what is wanted of it (place_drive()): emptied, its container stopped,
 * its keeper opened, a container started; each engine callback drives it again. Answers and pool
 * hooks never run inside a caller's stack frame: they are queued and handled by one deferred event.
 */
#ifndef BERTH_SANDBOX_INTERNAL_H
#define BERTH_SANDBOX_INTERNAL_H

#include "base/list.h"
#include "base/map.h"
#include "pool/running.h"
#include "sandbox/label.h"
#include "sandbox/service.h"

/* REFUSED: its layer had no room for a start; it is tried again when the keeper has emptied it. */
enum box_state { BOX_NONE, BOX_STARTING, BOX_REFUSED, BOX_RUNNING, BOX_STOPPING };
enum files_state { FILES_NONE, FILES_OPENING, FILES_OPEN };
/* The storage rolls the workspace back if it can; then the keeper removes and verifies. */
enum empty_state { EMPTY_NOT, EMPTY_WANTED, EMPTY_ROLLING, EMPTY_ROLLED, EMPTY_ASKED };

/* What is known of a slot's use of the disk, where that is measured. */
struct place_disk {
	struct disk_use use;  /* as measured last */
	struct disk_use base; /* when its container started; while it is full the least since */
	enum disk_full full;
	usec next;     /* measurement; 0: at once, USEC_INFINITY: when it is touched */
	usec after;    /* no earlier, unless it is full */
	usec asked_at; /* one is under way since; 0: none */
	usec measured; /* when the last one began */
};

struct place {
	struct sandboxes *s;
	uint32_t slot;
	struct list dirty;     /* in sandboxes.dirty when it has to be driven */
	struct sandbox *owner; /* NULL: nobody's */
	bool evict;            /* the pool took it from its owner */
	bool prepare; /* it was granted from the queue: its container starts before the call comes
		       */
	uint32_t want_files, want_box; /* waits for them */
	enum box_state box_state;
	struct engine_box *box; /* RUNNING */
	usec box_started, box_used;
	bool stop_wanted;
	bool box_again; /* a start was refused for its full layer already */
	struct place_disk disk;
	enum files_state files_state;
	struct engine_files *files; /* OPEN */
	enum empty_state empty_state;
	uint32_t empty_losses; /* keepers lost while they emptied it */
};

struct sandbox_data {
	struct list item;
	const char *kind;
	enum sandbox_state_of of;
	void *state;
	void (*release)(void *state);
};

struct sandbox {
	struct sandboxes *s;
	char key[SANDBOX_MAX_KEY];
	char principal[POOL_MAX_NAME + 1];
	char label[SANDBOX_MAX_LABEL + 1];
	struct place *place;         /* NULL once the slot is another's */
	uint64_t created, last_used; /* seconds since 1970 */
	uint32_t holds, looks;
	struct pool_use use; /* while holds > 0 */
	bool has_use;
	bool box_unseen;            /* its container is fresh and no answer has said so yet */
	bool had_box;               /* it had one before */
	bool is_unseen;             /* the sandbox itself is new, and nobody was in it */
	bool recycled_idle;         /* its container was recycled for being idle */
	char lost_why[160];         /* its container ended by itself: what to say once */
	sandbox_reset_fn *reset_fn; /* while a reset is under way */
	void *reset_userdata;
	enum sandbox_reset reset_what;
	struct list data; /* struct sandbox_data */
	struct list transfers;
	uint32_t n_transfers;
};

enum wait_state {
	WAIT_FRESH,  /* not yet looked at */
	WAIT_QUEUE,  /* for a slot */
	WAIT_PLACE,  /* for the keeper or the container of its sandbox */
	WAIT_ANSWER, /* decided, to be delivered */
};

struct sandbox_wait {
	struct list item; /* in sandboxes.waits or .answers */
	struct sandboxes *s;
	enum wait_state state;
	char key[SANDBOX_MAX_KEY];
	char principal[POOL_MAX_NAME + 1];
	bool existing_only; /* by key: no slot is taken, no note consumed */
	bool is_look;       /* it will not hold the sandbox */
	enum sandbox_need need;
	usec max_wait;
	sandbox_acquired_fn *acquired;
	sandbox_progress_fn *progress;
	void *userdata;
	sd_event_source *timer;
	struct sandbox *sandbox; /* PLACE, and for READY; held, or looked at */
	enum sandbox_verdict verdict;
	char text[512];
	struct err err;
	uint32_t last_position;
};

struct sandboxes {
	sd_event *event; /* borrowed, as the next three */
	const struct clock *clock;
	struct engine *engine;
	struct store *store;
	struct sandboxes_config config;
	struct pool *pool;
	struct map *by_key;          /* struct sandbox */
	struct place *places;        /* config.pool.slots of them */
	struct running_box *boxes;   /* as many: room for place.c's table */
	struct disk_grower *growers; /* as many: room for disk.c's table */
	struct list waits;           /* not decided */
	struct list answers;         /* decided, to be delivered */
	struct list dirty;           /* struct place */
	sd_event_source *defer, *pool_timer, *tick, *disk_timer;
	usec disk_low_since; /* disk_guard()'s */
	uint32_t running;    /* boxes in any state but NONE */
	usec warm_pause_until;
	uint64_t boxes_started, boxes_failed, rolled_back;
	bool queue_changed; /* grants, lapses, positions: look at the waits for a slot */
	usec next_save;     /* of the last uses */
	bool is_unsaved;    /* the last change of who has or waits for a slot could not be saved */
};

/* ---- place.c ---- */

void place_drive(struct place *p);
/* Has it driven from the deferred event. */
void place_touch(struct place *p);
/* Whether one more container may start now, making room if need be: 0 yes, 1 one is ending (try
 * again when it has), -1 no, with the sentence for the caller in err. */
int place_make_room(struct sandboxes *s, struct err *err);
/* Starts and ends containers that wait in free slots. */
void place_keep_warm(struct sandboxes *s);
/* Ends a container that runs; its owner is told `why` with the next one, if not NULL. */
void place_end_box(struct place *p, const char *why);
/* Recycles containers that were idle for too long. */
void place_recycle_idle(struct sandboxes *s);
void place_init(struct place *p, struct sandboxes *s, uint32_t slot);

/* ---- disk.c ---- */

/* Has a look from time to time, if the kernel does not bound everything. 0, or -errno. */
int disk_start(struct sandboxes *s) MUST_CHECK;
/* Asks for the measurements that are due. */
void disk_watch(struct sandboxes *s);
/* Something may have changed: it is measured soon. */
void disk_touch(struct place *p);
/* It was full, and may not be any more: whoever comes waits for the measurement. */
bool disk_is_awaited(const struct place *p);
/* Less than the reserve is free on the file system of the slots; *ret_free is what is. */
bool disk_is_low(const struct sandboxes *s, uint64_t *ret_free);

/* ---- wait.c ---- */

/* Looks at every wait again that is not decided: something has changed. */
void waits_advance(struct sandboxes *s);
/* Runs the callbacks of the decided ones. */
void waits_deliver(struct sandboxes *s);
/* All that wait for this place fail with `err`; box: only those that want a container. */
void waits_fail_place(struct place *p, bool box_only, const struct err *err);
/* All of this principal fail with `err`. */
void waits_fail_principal(struct sandboxes *s, const char *principal, const struct err *err);
/* Drops them all without an answer. */
void waits_free(struct sandboxes *s);

/* ---- service.c ---- */

/* Whether nobody may be served because sandboxes could take all of the machine. */
bool sandboxes_lack_limits(const struct sandboxes *s);
/* Makes the deferred event run: dirty places, waits, warm containers, timers. */
void sandboxes_wake(struct sandboxes *s);
struct sandbox *sandboxes_find(const struct sandboxes *s, struct view key);

/* ---- owner.c: sandboxes and their places ---- */

/* It is being emptied and stays its owner's; also after a restart of the server meanwhile. */
bool sandbox_is_resetting(const struct sandbox *sandbox);
/* Before a wait for its place; sandbox_look_end() for each. */
void sandbox_look_begin(struct sandbox *sandbox);

/*
 * The sandbox of a key that has this slot, made if need be. ERR_DENIED if the key is another
 * principal's, which only a broken state can bring about.
 */
int sandbox_adopt(struct sandboxes *s, const char *key, const char *principal, uint32_t slot,
		  struct sandbox **ret, struct err *err) MUST_CHECK;
/* The place is its owner's no more; the sandbox ends with its last hold and look. */
void sandbox_evict(struct place *p);
void sandbox_free(struct sandbox *sandbox);
/* Its container ended by itself: what to say with the next one. */
void sandbox_box_ended(struct sandbox *sandbox, const char *why);
/* It has none (any more), however that came: ends a reset that waits for it. */
void sandbox_has_no_box(struct sandbox *sandbox);
/* The slot was emptied, or could not be. */
void sandbox_place_emptied(struct place *p, enum pool_emptied result);

/* ---- transfer.c ---- */

/* Ends all of them: what is open of the workspace is closed when this returns. */
void sandbox_cut_transfers(struct sandbox *sandbox);
/* Ends those that have taken too long. */
void sandboxes_cut_endless(struct sandboxes *s);

/* ---- persist.c: the pool's hooks ---- */

extern const struct pool_hooks persist_hooks; /* userdata to be set */
/* Gives the pool and the owners what the store knows. */
int persist_restore(struct sandboxes *s, struct err *err) MUST_CHECK;
/* Writes the last uses since the last time. */
void persist_save_uses(struct sandboxes *s);

/* ---- words.c ---- */

/* What to say once with the next answer. Consumes it. */
void sandbox_notes(struct sandbox *sandbox, bool is_new_box, enum pool_note note, char *out,
		   size_t size);
/* Adds what became of the earlier sandbox or place, as a line of its own. */
void queue_note(enum pool_note note, char *out, size_t size);
void queue_words(const struct pool_answer *answer, char *out, size_t size);
void duration_words(usec t, char *out, size_t size);
/* What a full slot holds of what it may: "/workspace holds 2355 of 2048 MiB". */
void disk_words(const struct place *p, char *out, size_t size);

#endif
