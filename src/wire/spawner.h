/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between berthd and berth-spawner: one fixed-size struct a direction, sent whole in one
 * SOCK_SEQPACKET message on one host, so in native byte order. Both sides validate: a message that
 * decodes is within its ranges, and fields that the type of a request does not use are zero. Those
 * that the type of an event does not use are to be ignored.
 *
 * berthd names what it starts by an id of its choice, unique on the connection. For each START or
 * KEEPER there is exactly one STARTED; if that says success (error 0) exactly one ENDED follows,
 * when nothing of it is left. A successful STARTED brings descriptors: the socket of berth-init or
 * berth-keeper, then one for each counter in its mask, by which berthd reads what the kernel has
 * refused to the container without asking anybody. The spawner speaks first (HELLO). A ROLL_BACK
 * has exactly one ROLLED_BACK. When the connection ends, everything started on it is killed.
 */
#ifndef BERTH_WIRE_SPAWNER_H
#define BERTH_WIRE_SPAWNER_H

#include "base/attr.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	SPAWNER_VERSION = 2,
	SPAWNER_MAX_SLOTS = 5000, /* as many as the pool has at most */
	SPAWNER_MAX_TEXT = 200,
	SPAWNER_MAX_PIDS = 4 * 1024 * 1024,
	SPAWNER_MAX_CPU_PERMILLE = 1024 * 1000,
};

enum spawner_request_type {
	SPAWNER_START = 1, /* a container in a slot */
	SPAWNER_KEEPER,    /* the keeper of a slot */
	SPAWNER_STOP,      /* kill what `id` names; no answer but its ENDED */
	SPAWNER_USAGE,     /* read the counters of container `id`; answered with `tag` */
	/* The slot's workspace to its empty snapshot; there must be no container in it. */
	SPAWNER_ROLL_BACK,
};

enum {
	SPAWNER_FRESH_LAYER = 1 << 0,
	SPAWNER_NO_NEW_PRIVS = 1 << 1,
	SPAWNER_NETWORK = 1 << 2, /* the slot's network; else loopback only */
	SPAWNER_ALL_FLAGS = (1 << 3) - 1,
};

struct spawner_limits {
	uint64_t memory_bytes, shm_bytes, tmp_bytes;
	/* A second, of reading and of writing each; 0: no limit. */
	uint64_t disk_bytes, disk_operations;
	uint32_t cpu_permille, pids;
};

struct spawner_request {
	uint32_t version, type;
	uint64_t id;  /* not 0 */
	uint64_t tag; /* USAGE: comes back in the answer */
	uint32_t slot, flags;
	struct spawner_limits limits; /* START */
};

enum spawner_event_type {
	SPAWNER_HELLO = 1,
	SPAWNER_STARTED,
	SPAWNER_ENDED,
	SPAWNER_COUNTERS,
	SPAWNER_ROLLED_BACK, /* done, or an error: ENOTSUP where the storage has no snapshots */
};

enum spawner_namespaces { SPAWNER_NS_NONE, SPAWNER_NS_POOL, SPAWNER_NS_UIDMAP, SPAWNER_NUM_NS };
enum spawner_limiter {
	SPAWNER_LIMITER_RLIMITS,
	SPAWNER_LIMITER_CGROUP1,
	SPAWNER_LIMITER_CGROUP2,
	SPAWNER_NUM_LIMITERS
};
enum spawner_network { SPAWNER_NET_NONE, SPAWNER_NET_VETH, SPAWNER_NUM_NETWORKS };
enum {
	SPAWNER_LIMITS_MEMORY = 1 << 0,
	SPAWNER_LIMITS_CPU = 1 << 1,
	SPAWNER_LIMITS_PIDS = 1 << 2,
	SPAWNER_LIMITS_IO = 1 << 3,
	SPAWNER_ALL_LIMITS = (1 << 4) - 1,
};

/* HELLO: what the spawner can enforce on this host. */
struct spawner_facts {
	uint32_t namespaces, limiter, network; /* enums above */
	uint32_t limited;                      /* SPAWNER_LIMITS_… */
};

/* COUNTERS: of the kernel, since the container started; UINT64_MAX where the host has none. */
struct spawner_usage {
	uint64_t memory_bytes, memory_peak_bytes, oom_kills;
	uint64_t pids, pids_refused;
	uint64_t cpu_usec, throttled_usec;
};

/* Files of "key value" lines that count refusals; the key is spawner_counter_key(). */
enum spawner_counter { SPAWNER_OOM_KILLS, SPAWNER_PIDS_REFUSED, SPAWNER_NUM_COUNTERS };
enum { SPAWNER_MAX_EVENT_FDS = 1 + SPAWNER_NUM_COUNTERS };

struct spawner_event {
	uint32_t version, type;
	uint64_t id;
	uint64_t tag;
	uint32_t error;    /* STARTED, COUNTERS, ROLLED_BACK: 0 or a positive errno */
	uint32_t counters; /* STARTED: bits 1 << enum spawner_counter */
	struct spawner_facts facts;
	struct spawner_usage usage;
	/* HELLO: the engine, "native" or "oci:crun"; with an error, and of ENDED: why. Printable
	 * ASCII, NUL-ended. */
	char text[SPAWNER_MAX_TEXT];
};

/* The fields of a request to zero, with version, type and id set. */
void spawner_request_init(struct spawner_request *request, enum spawner_request_type type,
			  uint64_t id);
void spawner_event_init(struct spawner_event *event, enum spawner_event_type type, uint64_t id);
/* Cuts to fit and replaces what is not printable. */
void spawner_event_text(struct spawner_event *event, const char *text);

/* The word before the number in a counter's file, the same in both versions of control groups. */
const char *spawner_counter_key(enum spawner_counter counter);

/* Checks `len` bytes at `p` and copies them out. -EPROTO, and *ret is untouched. */
int spawner_request_decode(const void *p, size_t len, struct spawner_request *ret) MUST_CHECK;
/* `n_fds` is how many descriptors came along: for a successful STARTED 1 and one for each counter,
 * else 0. */
int spawner_event_decode(const void *p, size_t len, size_t n_fds,
			 struct spawner_event *ret) MUST_CHECK;

#endif
