/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place to run real containers in: slots with their namespaces, image mounts and control groups,
 * made by root in a mount namespace of the test's own, then left to an unprivileged user. A root
 * process stays behind to clear everything away when the test ends, however it ends.
 */
#ifndef BERTH_TESTS_ENGINE_FIXTURE_H
#define BERTH_TESTS_ENGINE_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	FIXTURE_SLOTS = 4,
	FIXTURE_UID = 64707,      /* the server's user; exists nowhere */
	FIXTURE_BASE = 905969664, /* first id of slot 0 */
	FIXTURE_SLOT_IDS = 65536,
};

struct fixture {
	char dir[64];    /* holds state, run, bin */
	char cgroup[64]; /* name below each version 1 controller */
	bool has_cgroups;
};

enum { FIXTURE_SKIPPED = 77 }; /* exit status */

/* Whether the tests can run here; else says why not. */
bool fixture_can_enter(void);
/* Whether the slots' namespaces are kept, or have to be made with newuidmap for each start. */
enum fixture_pool { FIXTURE_POOL, FIXTURE_NO_POOL };

/* Needs root; afterwards this process is FIXTURE_UID. Ends the process when it fails. */
void fixture_enter(struct fixture *ret, enum fixture_pool pool);

/* The engine to test, by BERTH_TEST_ENGINE: "native" or "oci:crun". */
const char *fixture_engine(void);
/* Starts berth-spawner; its log goes to DIR/run/spawner.log. */
pid_t fixture_spawner(const struct fixture *fixture);
/* How many processes on this machine have an id of one of the slots. */
int fixture_count_processes(void);
/* How many control groups of boxes and keepers there are. */
int fixture_count_groups(const struct fixture *fixture);

#endif
