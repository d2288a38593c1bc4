/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks of `berth doctor`. Each one looks at one thing without changing it, and says what it
 * found and, unless that is right, the command that puts it right.
 */
#ifndef BERTH_CLI_DOCTOR_H
#define BERTH_CLI_DOCTOR_H

#include "cli/options.h"
#include "conf/slots_status.h"

enum doctor_verdict {
	DOCTOR_OK,
	DOCTOR_UNKNOWN, /* not to be seen by this user */
	DOCTOR_WARN,    /* works, with less than could be had */
	DOCTOR_FAIL,    /* required */
	DOCTOR_NUM_VERDICTS,
};

struct doctor_result {
	enum doctor_verdict verdict;
	char found[256];
	char fix[256]; /* a command or a sentence; "" when there is nothing to do */
};

struct doctor_host {
	const struct options *options; /* borrowed */
	struct conf conf;
	bool has_slots; /* berth-slots has run, and `slots` is what it wrote */
	struct slots_status slots;
};

typedef void doctor_check_fn(const struct doctor_host *host, struct doctor_result *ret);

/* Fill a result. Only doctor_fix() says what to do; without it there is nothing to do. */
void doctor_say(struct doctor_result *ret, enum doctor_verdict verdict, const char *fmt, ...)
	PRINTF(3, 4);
void doctor_fix(struct doctor_result *ret, const char *fmt, ...) PRINTF(2, 3);

/* Reads the number in a file of /proc/sys. False if there is no such setting. */
bool doctor_sysctl(const char *path, uint64_t *ret);
/* Whether this host has version 2 of control groups, with that controller. */
bool doctor_cgroup2_has(const char *controller);

/* ---- doctor_kernel.c: what the host's kernel has and allows ---- */

doctor_check_fn doctor_kernel;
doctor_check_fn doctor_user_namespaces;
doctor_check_fn doctor_apparmor;
doctor_check_fn doctor_confinement;
doctor_check_fn doctor_overlay;
doctor_check_fn doctor_cgroups;
doctor_check_fn doctor_core_pattern;
doctor_check_fn doctor_io_uring;
doctor_check_fn doctor_bpf;
doctor_check_fn doctor_processes;
doctor_check_fn doctor_inotify;
doctor_check_fn doctor_open_files;
doctor_check_fn doctor_perf;
doctor_check_fn doctor_tiocsti;

/* ---- doctor_network.c ---- */

doctor_check_fn doctor_network;
doctor_check_fn doctor_nft;
doctor_check_fn doctor_tun;
doctor_check_fn doctor_forwarding;
doctor_check_fn doctor_other_firewalls;

/* ---- doctor_place.c: this installation ---- */

doctor_check_fn doctor_user;
doctor_check_fn doctor_programs;
doctor_check_fn doctor_engine;
doctor_check_fn doctor_image;
doctor_check_fn doctor_slots;
doctor_check_fn doctor_storage;
doctor_check_fn doctor_overlay_place;
doctor_check_fn doctor_disk;
doctor_check_fn doctor_disk_limits;
doctor_check_fn doctor_server;
doctor_check_fn doctor_health;

#endif
