/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between berthd and berth-init (PID 1 of a container), on the socket that init inherits
 * as fd 3. Everything that comes FROM init is hostile: it lives among the tenant's processes.
 *
 * To init, one SOCK_SEQPACKET message each:
 *   EXEC    head, then NUL-terminated strings: cwd, the arguments, the environment.
 *           Descriptors in this order, as the flags say: output (always), stdin, script.
 *   SIGNAL  head only
 * From init: a struct init_event, no descriptors. READY comes once, first. Each EXEC gets exactly
 * one of EXITED and NOT_STARTED.
 *
 * In a container made by an OCI runtime, init is the program INIT_OCI_PATH with INIT_OCI_ARG as its
 * argument. There the socket may also be fd 0, for runtimes that pass only the standard streams on,
 * and its very first message is the tenant's system call filter: an array of struct sock_filter, at
 * most INIT_MAX_FILTER of them.
 *
 * This file is also compiled into berth-init, which links nothing else: libc only.
 */
#ifndef BERTH_WIRE_INIT_H
#define BERTH_WIRE_INIT_H

#include "base/attr.h"

#include <stdint.h>

enum {
	INIT_VERSION = 1,
	INIT_SOCKET_FD = 3,              /* where init finds its socket */
	INIT_SCRIPT_FD = 3,              /* where a command finds its script */
	INIT_LAST_FD = INT32_MAX,        /* for close_range(): gVisor refuses anything above */
	INIT_MAX_ARGS_BYTES = 60 * 1024, /* of cwd, arguments and environment with their NULs */
	INIT_MAX_STRINGS = 512,          /* arguments and environment, each */
	INIT_MAX_CMDS = 64,              /* commands at once in one container */
	INIT_MAX_FDS = 3,
	INIT_MAX_FILTER = 1400, /* instructions; the kernel takes 4096 */
};

#define INIT_OCI_PATH "/run/berth-init"
#define INIT_OCI_ARG  "oci"

enum init_request_type { INIT_EXEC = 1, INIT_SIGNAL };
enum {
	INIT_HAS_STDIN = 1 << 0,
	INIT_HAS_SCRIPT = 1 << 1,
	INIT_OR_SH = 1 << 2, /* where the program is missing, /bin/sh takes its place and says so */
	INIT_NO_GROWTH = 1 << 3, /* it and what it starts can make no file larger */
	INIT_ALL_FLAGS = (1 << 4) - 1,
};

struct init_request_head {
	uint32_t version, type;
	uint32_t cmd; /* chosen by berthd, unique among the running ones */
	uint32_t sig; /* SIGNAL */
	uint32_t flags;
	uint32_t n_args, n_env;
	uint32_t bytes; /* that follow the head */
};

enum { INIT_MAX_REQUEST = sizeof(struct init_request_head) + INIT_MAX_ARGS_BYTES };

enum init_event_type { INIT_READY = 1, INIT_EXITED, INIT_NOT_STARTED };
enum init_stage { INIT_STAGE_FORK = 1, INIT_STAGE_CWD, INIT_STAGE_EXEC };

struct init_event {
	uint32_t version, type;
	uint32_t cmd;
	uint32_t status; /* EXITED: wait status; NOT_STARTED: errno */
	uint32_t stage;  /* NOT_STARTED: enum init_stage */
	uint32_t zero;
	uint64_t cpu_usec; /* EXITED */
};

/* A decoded request; strings point into the message. */
struct init_request {
	struct init_request_head head;
	const char *cwd;
	const char *args[INIT_MAX_STRINGS + 1]; /* NULL-terminated */
	const char *env[INIT_MAX_STRINGS + 1];
};

/* What an EXEC message says. */
struct init_exec {
	uint32_t cmd;
	uint32_t flags;
	const char *cwd;         /* absolute */
	const char *const *args; /* NULL-terminated, at least one */
	const char *const *env;  /* NULL-terminated, or NULL */
};

/* Builds it in `out` (INIT_MAX_REQUEST bytes). -E2BIG when it does not fit, -EINVAL. */
int init_exec_encode(char *out, size_t size, const struct init_exec *exec,
		     size_t *ret_len) MUST_CHECK;
void init_signal_encode(struct init_request_head *out, uint32_t cmd, int sig);

/* -EPROTO. `n_fds` must be what the flags say. *ret is undefined on failure. */
int init_request_decode(const char *p, size_t len, size_t n_fds,
			struct init_request *ret) MUST_CHECK;
/* -EPROTO, and *ret is untouched. */
int init_event_decode(const void *p, size_t len, size_t n_fds, struct init_event *ret) MUST_CHECK;

#endif
