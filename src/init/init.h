/* SPDX-License-Identifier: Apache-2.0 */
/*
 * berth-init: PID 1 of a container. It reaps, and starts commands on request (wire/init.h).
 *
 *   init ── leader ── command ── whatever it starts
 *
 * Each command has a leader that is a child subreaper: whatever the command starts, in whatever
 * session or process group, stays the leader's descendant and can be signalled, until the leader
 * goes because the command ended. What is left then goes on under init.
 *
 * The tenant is root in the same namespaces. Init and the leaders are not dumpable and keep
 * CAP_SYS_PTRACE, which commands lose, so their memory and descriptors are out of reach. A leader
 * can be killed (kill -9 -1); init then takes its command over. Init itself cannot.
 *
 * When the socket ends, init exits and the kernel kills the rest of the namespace.
 */
#ifndef BERTH_INIT_INIT_H
#define BERTH_INIT_INIT_H

/* The program's main; returns its exit status. */
int init_run(void);

#endif
