/* SPDX-License-Identifier: Apache-2.0 */
/* What the network of sandboxes needs. */
#include "cli/doctor.h"
#include "slots/firewalls.h"
#include "slots/rules.h"
#include "sys/io.h"
#include "sys/run.h"

#include <stdio.h>
#include <unistd.h>

static bool has_network(const struct doctor_host *host, struct doctor_result *ret)
{
	if (host->conf.network != CONF_NETWORK_NONE)
		return true;
	doctor_say(ret, DOCTOR_OK, "not needed: network.mode is none");
	return false;
}

void doctor_network(const struct doctor_host *host, struct doctor_result *ret)
{
	const char *mode = conf_network_name((enum conf_network)host->conf.network);

	if (host->has_slots && strcmp(host->slots.network, mode) != 0) {
		doctor_say(ret, DOCTOR_FAIL, "network.mode is %s, but the slots were made for %s",
			   mode, host->slots.network);
		doctor_fix(ret, "berth setup (as root)");
	} else if (host->has_slots && host->conf.network != CONF_NETWORK_NONE &&
		   ((host->conf.connections && !host->slots.connections_bounded) ||
		    (host->conf.bandwidth_mbit && !host->slots.bandwidth_bounded))) {
		doctor_say(ret, DOCTOR_WARN, "%s; %s of a sandbox not bounded", mode,
			   host->slots.connections_bounded ? "bandwidth" : "connections");
		doctor_fix(ret, "modprobe sch_tbf cls_matchall act_police nft_connlimit; "
				"berth setup (as root)");
	} else {
		doctor_say(ret, DOCTOR_OK, "%s", mode);
	}
}

/* True where they cannot be looked at. */
static bool has_rules(const struct doctor_host *host)
{
	char tag[INSTANCE_LEN + 1];
	struct network net;

	if (geteuid() != 0 || !host->has_slots || strcmp(host->slots.network, "none") == 0)
		return true;
	instance_tag(host->conf.state_dir, tag);
	network_set_names(&net, tag);
	return rules_are_loaded(&net);
}

void doctor_nft(const struct doctor_host *host, struct doctor_result *ret)
{
	const char *const argv[] = { "nft", "--version", NULL };
	int status = 0, r;

	if (!has_network(host, ret))
		return;
	r = run_program(argv, NULL, &status);
	if (r < 0 || status != 0) {
		doctor_say(ret, DOCTOR_FAIL, "the program nft is missing: no rules for sandboxes");
		doctor_fix(ret, "apt install nftables");
	} else if (!has_rules(host)) {
		doctor_say(ret, DOCTOR_FAIL,
			   "the rules for sandboxes are gone: they reach this host's services");
		doctor_fix(ret, "berth setup (as root); berth-refresh.timer does it every minute");
	} else {
		doctor_say(ret, DOCTOR_OK, "installed");
	}
}

void doctor_tun(const struct doctor_host *host, struct doctor_result *ret)
{
	if (!has_network(host, ret))
		return;
	if (access("/dev/net/tun", F_OK) == 0)
		doctor_say(ret, DOCTOR_OK, "there");
	else if (host->has_slots)
		doctor_say(ret, DOCTOR_OK, "missing; prepared slots do without");
	else {
		doctor_say(ret, DOCTOR_WARN, "missing: no network without prepared slots");
		doctor_fix(ret, "modprobe tun");
	}
}

void doctor_forwarding(const struct doctor_host *host, struct doctor_result *ret)
{
	uint64_t value = 0;

	if (!has_network(host, ret))
		return;
	if (doctor_sysctl("/proc/sys/net/ipv4/ip_forward", &value) && value == 1) {
		doctor_say(ret, DOCTOR_OK, "net.ipv4.ip_forward is 1");
		return;
	}
	/* berth-slots turns it on; somebody turned it off again. */
	doctor_say(ret, host->has_slots ? DOCTOR_FAIL : DOCTOR_WARN,
		   "net.ipv4.ip_forward is 0: packets of sandboxes go nowhere");
	doctor_fix(ret, host->has_slots ? "sysctl -w net.ipv4.ip_forward=1"
					: "berth setup (as root) turns it on");
}

void doctor_other_firewalls(const struct doctor_host *host, struct doctor_result *ret)
{
	struct firewall_block block;

	if (!has_network(host, ret))
		return;
	if (geteuid() != 0) {
		doctor_say(ret, DOCTOR_UNKNOWN, "their rules are for root to see");
	} else if (firewalls_find("bv", &block)) {
		doctor_say(ret, DOCTOR_WARN, "%s", block.what);
		doctor_fix(ret, "%s", block.fix);
	} else {
		doctor_say(ret, DOCTOR_OK, "let the packets of sandboxes pass");
	}
}
