/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the server at one moment, as /health, /metrics and the start page tell it: plain
 * numbers and borrowed strings, filled by the wiring, so that the pages are pure functions.
 */
#ifndef BERTH_APP_SNAPSHOT_H
#define BERTH_APP_SNAPSHOT_H

#include "pool/pool.h"

struct snapshot {
	const char *version;
	const char *profile;    /* "personal", "public" */
	const char *public_url; /* without trailing slash */
	bool has_oauth;         /* visitors sign in themselves */
	bool needs_token;       /* nobody gets in without one */
	bool empties;           /* idle sandboxes, of their files too */
	bool can_serve;         /* the spawner is connected, and can limit what it must */
	bool has_room;          /* disk for one sandbox more, and the state can be saved */
	uint64_t uptime_seconds;

	struct pool_stats pool;
	uint32_t running; /* containers */
	uint32_t max_running;
	uint64_t boxes_started, boxes_failed, rolled_back;

	/* what the kernel enforces here */
	struct {
		const char *engine;     /* "native", "oci:crun" */
		const char *namespaces; /* "pool", "newuidmap" */
		const char *limits_by;  /* "cgroup2", "cgroup1", "rlimits only" */
		const char *storage;    /* "zfs", "btrfs", "btrfs-image", "dir" */
		const char *disk_by;    /* "kernel"; "measured": what has no quota is watched */
		const char *network;    /* "internet", "none", "lan", "allow" */
		const char *network_by; /* "veth", "none" */
		bool filter;            /* berthd's own system calls */
		int landlock;           /* berthd's own files and network: version, 0: not */
		bool workspace, layer, memory, cpu, processes, io, connections, bandwidth;
	} enforced;

	/* limits of a sandbox, for the start page */
	uint64_t memory_bytes, workspace_bytes;
	uint32_t cpu_percent, idle_seconds;

	/* since the start */
	uint32_t connections; /* open now */
	uint64_t http_requests, tool_calls, tool_errors;

	/* only for /metrics; 0 elsewhere */
	uint64_t mails_sent, mails_failed, mails_forgotten;
	uint32_t mails_waiting;
	uint64_t clients, sign_ins; /* rows now */
	uint64_t registrations, presses, presses_refused, refreshes, rate_limited, reuses;
	uint64_t peak_bytes;                   /* of berthd's memory */
	double cpu_seconds;                    /* of berthd */
	double longest_turn, longest_turn_cpu; /* of the event loop, seconds */
};

enum snapshot_status {
	SNAPSHOT_OK,          /* a newcomer gets a sandbox at once */
	SNAPSHOT_FULL,        /* a newcomer waits (or, without a queue, is refused) */
	SNAPSHOT_DRAINING,    /* a newcomer is refused: maintenance */
	SNAPSHOT_NO_ROOM,     /* a newcomer is refused: the disk is full */
	SNAPSHOT_UNAVAILABLE, /* nobody is served */
	SNAPSHOT_NUM_STATUSES,
};
enum snapshot_status snapshot_status(const struct snapshot *s);
/* "ok", "full", "draining", "no room", "unavailable" */
const char *snapshot_status_name(enum snapshot_status status);

#endif
