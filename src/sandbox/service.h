/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making, running and ending the service of sandboxes: for the application's wiring. What tools and
 * links use is in sandbox.h.
 */
#ifndef BERTH_SANDBOX_SERVICE_H
#define BERTH_SANDBOX_SERVICE_H

#include "pool/disk.h"
#include "pool/pool.h"
#include "sandbox/sandbox.h"
#include "store/store.h"

struct sandboxes_config {
	struct pool_config pool;
	struct engine_limits limits; /* of each container */
	bool no_new_privs;
	bool network;
	uint32_t max_running; /* containers at once; 0: as many as slots */
	uint32_t warm;        /* containers kept waiting in free slots */
	usec recycle_idle;    /* a container without use is recycled; 0: never (the pool empties) */
	bool require_limits;  /* refuse while memory, CPU or processes cannot be limited */
	uint64_t min_free;    /* bytes of free disk below which no container starts */
	/* What the kernel does not bound is measured, and containers are ended that take more. */
	struct disk_limits disk;
	const char *state_dir; /* borrowed; whose file system is looked at */
	/*
	 * What the application is asked and told; each may be NULL, none may call back into this.
	 * May a principal that holds no slot take one (address limits)? Has it left an e-mail
	 * address, so that its place in the queue is kept for longer?
	 */
	bool (*may_hold)(void *userdata, const char *principal);
	bool (*has_mail)(void *userdata, const char *principal);
	/* A queued principal's slot is there; its place lapsed. */
	void (*on_granted)(void *userdata, const char *principal);
	void (*on_lapsed)(void *userdata, const char *principal);
	void *userdata;
};

/*
 * Takes up what the store knows. `event`, `clock`, `engine`, `store` are borrowed and outlive it.
 */
int sandboxes_new(sd_event *event, const struct clock *clock, struct engine *engine,
		  struct store *store, const struct sandboxes_config *config,
		  struct sandboxes **ret, struct err *err) MUST_CHECK;
/* Writes last uses. Containers end with the engine. No callback runs any more. */
void sandboxes_free(struct sandboxes *s);

/* True while a slot that was granted to the principal from the queue waits for its first call. */
bool sandboxes_is_unclaimed(const struct sandboxes *s, const char *principal);

/* For /health, /metrics, the admin socket, oauth's limits. */
struct pool *sandboxes_pool(struct sandboxes *s);
uint32_t sandboxes_running(const struct sandboxes *s);
uint64_t sandboxes_boxes_started(const struct sandboxes *s);
/* Workspaces that were emptied by rolling them back, since the start; the others by removal. */
uint64_t sandboxes_rolled_back(const struct sandboxes *s);
uint64_t sandboxes_boxes_failed(const struct sandboxes *s);

/*
 * The operator's: recycle or empty by key. Recycling ends jobs and calls in it. Emptying gives the
 * slot back. ERR_NOT_FOUND.
 */
int sandboxes_recycle(struct sandboxes *s, struct view key, struct err *err) MUST_CHECK;
int sandboxes_empty(struct sandboxes *s, struct view key, struct err *err) MUST_CHECK;
/*
 * Nobody can act for this principal any more. Its calls that wait are refused, its place in the
 * queue is given up; what runs in its sandboxes ends at once, and where idle ones are emptied they
 * are emptied now.
 */
void sandboxes_end_principal(struct sandboxes *s, const char *principal);
/* Stops new grants (for maintenance), goes on. */
void sandboxes_drain(struct sandboxes *s);
void sandboxes_resume(struct sandboxes *s);

#endif
