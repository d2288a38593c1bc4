/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Firewalls beside ours. A packet passes the host if no table drops it: what berth's accepts is
 * lost where another one drops all that it was not told of, as Docker, ufw and firewalld have
 * theirs do. The rules that are added to those of iptables take every packet of our links; what may
 * pass is decided in our table (slots/rules.h) all the same.
 */
#ifndef BERTH_SLOTS_FIREWALLS_H
#define BERTH_SLOTS_FIREWALLS_H

#include "base/buf.h"

struct firewall_block {
	char what[160]; /* "FORWARD of iptables drops what it is not told of" */
	char fix[256];  /* commands for the operator */
};

/*
 * Has the chains of iptables and ip6tables that drop by default take what comes from, and goes to,
 * links whose name begins with `links`. They forget it when they are loaded anew: by the host's
 * restart, by `ufw reload`. Returns whether anything was added.
 */
bool firewalls_open(const char *links);
/* Takes those rules out. */
void firewalls_close(const char *links);

/* Something that still drops packets of such links. False if nothing does, as far as can be seen.
 */
bool firewalls_find(const char *links, struct firewall_block *ret) MUST_CHECK;

/* ---- for tests ---- */

/* Of `iptables -S CHAIN`: whether what no rule takes is dropped or rejected. */
bool firewalls_iptables_drops(struct view rules);

struct firewall_chain {
	char family[8], table[64], name[64], hook[16];
};

/*
 * Takes the next chain at the hook forward or input whose policy is to drop out of the text of
 * `nft list chains`, to begin with *ret empty. False at its end.
 */
bool firewalls_next_dropping(struct view *rest, struct firewall_chain *ret);

#endif
