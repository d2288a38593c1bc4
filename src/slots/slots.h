/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root's part of the native engine, done in advance: once per boot (berth-slots) or at setup.
 * Everything is idempotent: what is there and right stays, what is missing or wrong is made anew,
 * so an interrupted run is simply run again.
 *
 *   state_dir            root:root 0755
 *     image/current/     the image; a link to the version in use; its root file system in rootfs/
 *     slots/             root:<group> 0710: nobody else on the host looks into workspaces
 *       <n>/             root:root 0711
 *         lower/         read-only id-mapped mount of image/current/rootfs
 *         workspace/     the range's first id, 0755
 *         layer/         the same, 0700; upper/ and work/ in it
 *     server/            <user> 0700: the server's database and keys
 *     slots.status       what is enforced (conf/slots_status.h)
 *   runtime_dir          root:<group> 1770: the server makes its sockets here
 *     slots/             root:root 0755, a private mount of its own
 *       <n>.user         user namespace, owned by the server's user, map "0 base+n*65536 65536"
 *       <n>.net          network namespace of that user namespace
 *       disks            the disks that slots are on (slots/disks.h)
 *     resolv.conf        what sandboxes get as /etc/resolv.conf
 *
 * The server's user owns neither of these two directories: it cannot make root follow a link of its
 * own at the next boot.
 */
#ifndef BERTH_SLOTS_SLOTS_H
#define BERTH_SLOTS_SLOTS_H

#include "conf/conf.h"

enum { SLOTS_IDS = 65536 }; /* user and group ids of one slot */

/* Called now and then while something long goes on; `what` names it, done goes from 0 to total. */
struct slots_progress {
	void (*fn)(void *userdata, const char *what, uint32_t done, uint32_t total);
	void *userdata; /* fn may be NULL */
};

/* The directories alone, with their owners and modes; slots_up() makes them too. */
int slots_make_state(const struct conf *conf, struct err *err) MUST_CHECK;

/* Makes all slots of `conf` ready for use. Needs root. */
int slots_up(const struct conf *conf, const struct slots_progress *progress,
	     struct err *err) MUST_CHECK;

/*
 * Undoes slots_up(): mounts, namespaces, links, rules, cgroups. The workspaces stay. Goes on after
 * a failure, and reports the first.
 */
int slots_down(const struct conf *conf, struct err *err) MUST_CHECK;

/* From time to time: keeps the network as slots_up() made it (network_refresh()). */
int slots_refresh(const struct conf *conf, struct err *err) MUST_CHECK;

#endif
