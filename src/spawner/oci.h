/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OCI engine: the same container, but its PID namespace, its root, its masks and privileges
 * are the work of an OCI runtime (crun, runc, runsc). What the runtime gets is made like the native
 * engine's: the slot's user and network namespaces, the mounted root, a config.json from the same
 * tables of masks, capabilities and limits.
 *
 * The runtime is as much confined as can be: root of the slot's user namespace, which is nobody
 * outside; PID 1 of a PID namespace around the container's, so that all ends when it is killed; and
 * its root is a tmpfs with the bundle and the host's programs and libraries, read-only. Its state
 * is kept there too, so nothing is ever left behind. It stays for as long as the container, whose
 * processes cannot see it.
 */
#ifndef BERTH_SPAWNER_OCI_H
#define BERTH_SPAWNER_OCI_H

#include "spawner/container.h"

enum { OCI_MAX_PATH = 4096, OCI_MAX_CONFIG = 16 * 1024 };

/* How to talk to a runtime. */
struct oci_dialect;

struct oci_runtime {
	char path[OCI_MAX_PATH];
	int fd; /* the program, O_PATH */
	const struct oci_dialect *dialect;
};

struct oci_plan {
	const struct container_plan *container;
	const struct oci_runtime *runtime;
	const char *init_path;
	struct view config; /* oci_config() */
	int said_fd;        /* becomes the runtime's stdout and stderr; at least CONTAINER_MIN_FD */
};

/*
 * Finds `name`, a path or a program in the usual folders, and tries whether it runs. Its arguments
 * are known by the name of the file; another one's are taken to be like runc's.
 */
int oci_find(const char *name, struct oci_runtime *ret, struct err *err) MUST_CHECK;
/* Whether root of a slot must be able to read berth-init: gVisor is its own kernel. */
bool oci_reads_init(const struct oci_runtime *runtime);
/* How many processes and threads of a container are the runtime's own. */
uint32_t oci_own_pids(const struct oci_runtime *runtime);

/* The text of config.json. -errno: no memory. */
int oci_config(const struct container_plan *plan, struct buf *out) MUST_CHECK;
/* The first thing that berth-init reads on its socket: `server_fd` is the other end. -errno. */
int oci_send_filter(const struct container_plan *plan, int server_fd) MUST_CHECK;

/* launch_plan.child; userdata is the struct oci_plan. */
void oci_child(const struct launch_plan *launch, void *userdata);

#endif
