/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs sandboxes. The interface is shaped for a virtual machine: opaque start, exec, files and
 * kill; callers never see a path, a pid or a namespace. The implementation is berth-spawner's
 * client, whether that makes containers itself or has an OCI runtime do it. All calls are made on
 * the loop thread and return at once; results come by callback, never from inside the call that
 * asked.
 *
 *   box    a running container in one slot
 *   cmd    a command in a box
 *   files  a slot's keeper: files of its workspace, also while no box runs; empties it
 */
#ifndef BERTH_ENGINE_ENGINE_H
#define BERTH_ENGINE_ENGINE_H

#include "base/buf.h"
#include "base/err.h"
#include "sys/clock.h"
#include "wire/init.h"
#include "wire/keeper.h"

#include <systemd/sd-event.h>

struct engine;
struct engine_box;
struct engine_cmd;
struct engine_files;

/* What the engine can enforce on this host: for /health, sandbox_info, start-up checks. */
struct engine_facts {
	const char *name;       /* "native", "oci:crun" */
	const char *namespaces; /* "pool", "newuidmap" */
	const char *limits;     /* "cgroup2", "cgroup1", "rlimits only" */
	const char *network;    /* "veth", "none" */
	bool memory_limited, cpu_limited, pids_limited, io_limited;
};

/* A start takes milliseconds; on a machine that is overloaded, seconds. */
#define ENGINE_START_PATIENCE (30 * USEC_PER_SEC)

struct engine_native_config {
	const char *spawner_socket; /* path; the engine reconnects when the spawner was restarted */
	/* What the spawner must say it starts containers by: "native", "oci:crun". One that says
	 * something else is not used. */
	const char *name;
	usec start_patience; /* with the start of a container; 0: ENGINE_START_PATIENCE */
};
int engine_native_new(sd_event *event, const struct engine_native_config *config,
		      struct engine **ret, struct err *err) MUST_CHECK;
void engine_free(struct engine *engine);
void engine_get_facts(const struct engine *engine, struct engine_facts *ret);
/* True while the spawner is connected. */
bool engine_is_ready(const struct engine *engine);
/* `fn` runs when readiness changes. All boxes and files have ended before it says false. */
void engine_on_change(struct engine *engine, void (*fn)(void *userdata), void *userdata);

/* ---- boxes ---- */

struct engine_limits {
	uint64_t memory_bytes;
	uint32_t cpu_permille; /* 2000: two CPUs */
	uint32_t pids;
	uint64_t shm_bytes; /* /dev/shm */
	uint64_t tmp_bytes; /* /tmp and /run each */
	/* A second, of reading and of writing each; 0: no limit. */
	uint64_t disk_bytes, disk_operations;
};

enum engine_layer {
	ENGINE_LAYER_FRESH, /* drop what an earlier container wrote outside /workspace */
	ENGINE_LAYER_KEEP,  /* go on with it */
};

struct engine_box_spec {
	uint32_t slot;
	struct engine_limits limits;
	enum engine_layer layer;
	bool no_new_privs;
	bool network; /* join the slot's network; else loopback only */
};

/* box is NULL on failure, and err says why. */
typedef void engine_started_fn(void *userdata, struct engine_box *box, const struct err *err);
int engine_start(struct engine *engine, const struct engine_box_spec *spec, engine_started_fn *fn,
		 void *userdata, struct err *err) MUST_CHECK;

/* `fn` runs once if the box ends by itself (PID 1 died, spawner lost). The box is gone then; its
 * commands' exit callbacks ran before. */
void engine_box_on_end(struct engine_box *box, void (*fn)(void *userdata, const char *why),
		       void *userdata);
/* Kills everything in it. `fn` runs when nothing of it is left; the box must not be used meanwhile.
 */
void engine_box_stop(struct engine_box *box, void (*fn)(void *userdata), void *userdata);

/* Counters of the kernel since the box started; UINT64_MAX where the host has none. */
struct engine_usage {
	uint64_t memory_bytes, memory_peak_bytes;
	uint64_t oom_kills;
	uint64_t pids, pids_refused;
	uint64_t cpu_usec, throttled_usec;
};
typedef void engine_usage_fn(void *userdata, const struct engine_usage *usage,
			     const struct err *err);
void engine_box_usage(struct engine_box *box, engine_usage_fn *fn, void *userdata);

/* ---- storage ---- */

/*
 * Brings the slot's workspace back to its empty state, where its storage can do that at once: `fn`
 * gets NULL, or why not (sys_errno ENOTSUP: it cannot, here). No box may be in the slot. It is a
 * short cut, not a promise: the keeper's EMPTY removes what is left, and verifies.
 */
typedef void engine_rolled_back_fn(void *userdata, const struct err *err);
int engine_roll_back(struct engine *engine, uint32_t slot, engine_rolled_back_fn *fn,
		     void *userdata, struct err *err) MUST_CHECK;

/* ---- commands ---- */

struct engine_cmd_spec {
	/* The program and its arguments, NULL-terminated; total bounded (INIT_MAX_ARGS_BYTES). A
	 * long command text does not go here but through `script_fd`. */
	const char *const *argv;
	bool or_sh; /* argv is a bash command that /bin/sh may run where there is no bash */
	const char *const
		*env;    /* "NAME=value", added to the sandbox's own environment; may be NULL */
	const char *cwd; /* absolute inside the box; checked before anything runs */
	bool no_growth;  /* it and what it starts can write or make larger no file */
	int stdin_fd;    /* borrowed; -1: /dev/null */
	int output_fd;   /* borrowed; stdout and stderr both */
	int script_fd;   /* borrowed; -1, or a memfd that the command finds as fd 3 */
};

enum engine_exit_kind {
	ENGINE_EXITED,      /* `value` is the exit status */
	ENGINE_SIGNALED,    /* `value` is the signal */
	ENGINE_NOT_STARTED, /* `value` is the errno; `stage` what failed */
	ENGINE_LOST,        /* the box ended under it */
};
enum engine_start_stage {
	ENGINE_STAGE_NONE,
	ENGINE_STAGE_CWD,
	ENGINE_STAGE_EXEC,
	ENGINE_STAGE_FORK
};

struct engine_exit {
	enum engine_exit_kind kind;
	enum engine_start_stage stage;
	int value;
	usec cpu_time; /* user and system time of the command, 0 if unknown */
	/* What the kernel refused to the whole box while the command ran: processes that it killed
	 * for want of memory, and processes that were not started. 0 if unknown. */
	uint64_t oom_kills, pids_refused;
};

/* Runs once, when the command itself has ended (its background children may live on). The cmd is
 * gone after it. */
typedef void engine_exit_fn(void *userdata, const struct engine_exit *exit);
int engine_exec(struct engine_box *box, const struct engine_cmd_spec *spec, engine_exit_fn *fn,
		void *userdata, struct engine_cmd **ret, struct err *err) MUST_CHECK;
/* Sends `sig` to the command and everything it started, whatever session or group it made. */
void engine_cmd_signal(struct engine_cmd *cmd, int sig);

/* ---- files ---- */

/* files is NULL on failure. One per slot at a time; starts the slot's keeper if none runs. */
typedef void engine_files_fn(void *userdata, struct engine_files *files, const struct err *err);
int engine_files_open(struct engine *engine, uint32_t slot, engine_files_fn *fn, void *userdata,
		      struct err *err) MUST_CHECK;
void engine_files_on_end(struct engine_files *files, void (*fn)(void *userdata), void *userdata);
/* Ends the keeper; outstanding calls get their callback with reply NULL first. */
void engine_files_close(struct engine_files *files);

/*
 * One request to the keeper (wire/keeper.h). `in_fd` is borrowed, or -1. `fn` (NULL: nobody) gets
 * the reply (NULL: the keeper was lost) and a descriptor that it must take (close) if it is not -1.
 * Requests of one slot are answered in order, except the long ones that wire/keeper.h names.
 */
typedef void engine_reply_fn(void *userdata, const struct keeper_reply *reply, int fd);
int engine_files_call(struct engine_files *files, const struct keeper_request *request, int in_fd,
		      engine_reply_fn *fn, void *userdata, struct err *err) MUST_CHECK;
/* The callback of a call under way will not run any more (its descriptor is closed here). */
void engine_files_forget(struct engine_files *files, void *userdata);

#endif
