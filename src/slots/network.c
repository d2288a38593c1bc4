/* SPDX-License-Identifier: Apache-2.0 */
/* Links and rules of all slots, up and down. */
#include "slots/network.h"

#include "base/log.h"
#include "base/parse.h"
#include "slots/allow.h"
#include "slots/firewalls.h"
#include "slots/links.h"
#include "slots/rtnl.h"
#include "slots/rules.h"
#include "slots/sysctl.h"
#include "sys/io.h"

#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>

/* In runtime_dir/slots: what the links were made for. */
#define STAMP      "network"
#define RESOLVCONF "resolv.conf"

enum { RESOLVCONF_MAX = 1024, STAMP_MAX = 256 };

/* ---- resolv.conf ---- */

static int print_resolvconf(const struct network *net, struct buf *out)
{
	struct address gateway = network_gateway(net, AF_INET);
	int r = 0;

	for (size_t i = 0; r == 0 && i < net->resolvers.n; i++) {
		r = buf_add_str(out, "nameserver ");
		if (r == 0)
			r = address_print(
				net->resolvers.loopback ? &gateway : &net->resolvers.list[i], out);
		if (r == 0)
			r = buf_add_char(out, '\n');
	}
	return r;
}

static int write_resolvconf(const struct slots_plan *plan, const struct network *net,
			    struct err *err)
{
	auto_buf struct buf text = BUF_INIT(RESOLVCONF_MAX);
	int r = print_resolvconf(net, &text);

	io_remove_unfinished(plan->runtime_fd, RESOLVCONF);
	if (r == 0)
		r = io_write_file(plan->runtime_fd, RESOLVCONF, buf_view(&text), 0644);
	return r < 0 ? err_sys(err, -r, "write %s/" RESOLVCONF, plan->runtime_dir) : 0;
}

/* ---- rules ---- */

/* Counting connections is an option of the kernel; going on without it beats not serving. */
static int load_rules(struct rules *rules, struct network_facts *ret, struct err *err)
{
	auto_buf struct buf text = BUF_INIT(RULES_MAX);

	for (;;) {
		int r;

		buf_truncate(&text, 0);
		r = rules_print(rules, &text);
		if (r < 0)
			return err_sys(err, -r, "write the network rules");
		if (rules_load(buf_view(&text), err) == 0)
			break;
		if (!rules->connections && !rules->bandwidth_mbit)
			return -1;
		log_warning("connections and bandwidth of sandboxes are not limited: %s", err->msg);
		rules->connections = 0;
		rules->bandwidth_mbit = 0;
	}
	*ret = (struct network_facts){ rules->connections > 0, rules->bandwidth_mbit > 0 };
	return 0;
}

static int set_rules(const struct slots_plan *plan, const struct network *net,
		     struct network_facts *ret, struct err *err)
{
	struct range allowed[RANGES_MAX];
	struct address hosts[RULES_MAX_HOSTS];
	struct rules rules = {
		.net = net,
		.slots = plan->count,
		.allowed = allowed,
		.hosts = hosts,
		.connections = plan->conf->connections,
		.bandwidth_mbit = plan->conf->bandwidth_mbit,
	};

	if (range_list_parse(plan->conf->allow_ranges, allowed, &rules.n_allowed, err) < 0)
		return err_wrap(err, "network.allow_ranges");
	if (net->mode == CONF_NETWORK_ALLOW)
		rules.n_hosts = allow_resolve(plan->conf->allow_hosts, hosts, RULES_MAX_HOSTS);
	return load_rules(&rules, ret, err);
}

/* ---- links ---- */

static int drop_links(const struct network *net, uint32_t from, struct err *err)
{
	struct if_nameindex *all = if_nameindex();
	size_t prefix = strlen(net->link_prefix);
	auto_fd int sock = rtnl_open();
	int r = 0;

	if (!all || sock < 0) {
		if_freenameindex(all);
		return err_sys(err, errno, "list the network links");
	}
	for (const struct if_nameindex *i = all; r == 0 && i->if_name; i++) {
		uint32_t n;

		if (strncmp(i->if_name, net->link_prefix, prefix) != 0 ||
		    parse_u32(view_str(i->if_name + prefix), from, UINT32_MAX, &n) < 0)
			continue;
		r = rtnl_delete(sock, i->if_index);
		if (r == -ENODEV)
			r = 0; /* it went with its namespace meanwhile */
		if (r < 0)
			(void)err_sys(err, -r, "remove the link %s", i->if_name);
	}
	if_freenameindex(all);
	return r;
}

static int print_stamp(const struct network *net, struct buf *out)
{
	struct address g4 = network_gateway(net, AF_INET), g6 = network_gateway(net, AF_INET6);
	int r = address_print(&g4, out);

	if (r == 0)
		r = buf_addf(out, " mtu %u%s ", net->mtu, net->resolvers.loopback ? " local" : "");
	if (r == 0 && net->has_v6)
		r = address_print(&g6, out);
	return r;
}

/* Whether the links are for these addresses, and this way to a resolver on the host's loopback. */
static bool has_its_links(const struct network *net, int namespaces)
{
	auto_buf struct buf was = BUF_INIT(STAMP_MAX), want = BUF_INIT(STAMP_MAX);

	return io_read_file(namespaces, STAMP, &was) == 0 && print_stamp(net, &want) == 0 &&
	       view_eq(buf_view(&was), buf_view(&want));
}

/* Links made for other addresses are dropped; they are of no use to anybody. */
static int check_stamp(const struct network *net, int namespaces, struct err *err)
{
	auto_buf struct buf want = BUF_INIT(STAMP_MAX);
	int r = print_stamp(net, &want);

	if (r < 0)
		return err_sys(err, -r, "describe the network");
	if (has_its_links(net, namespaces))
		return 0;
	if (drop_links(net, 0, err) < 0)
		return -1;
	r = io_write_file(namespaces, STAMP, buf_view(&want), 0444);
	return r < 0 ? err_sys(err, -r, "write the stamp of the network") : 0;
}

static int make_links(const struct slots_plan *plan, const struct network *net, int namespaces,
		      struct err *err)
{
	struct links links;
	int r = 0;

	if (check_stamp(net, namespaces, err) < 0 || drop_links(net, plan->count, err) < 0 ||
	    links_init(&links, net, err) < 0)
		return -1;
	for (uint32_t n = 0; r == 0 && n < plan->count; n++) {
		r = links_make(&links, namespaces, n, err);
		plan_progress(plan, "network", n + 1);
	}
	links_done(&links);
	return r;
}

/* ---- firewalls beside ours ---- */

static void say_opened(const struct network *net)
{
	log_info("another firewall (iptables) drops what it is not told of: it takes packets of "
		 "%s* now, which our table filters",
		 net->link_prefix);
}

static void pass_firewalls(const struct network *net)
{
	struct firewall_block block;

	if (firewalls_open(net->link_prefix))
		say_opened(net);
	if (firewalls_find(net->link_prefix, &block))
		log_warning("packets of sandboxes will be lost: %s; %s", block.what, block.fix);
}

int network_up(const struct slots_plan *plan, int namespaces, struct network_facts *ret,
	       struct err *err)
{
	struct network net;

	if (network_plan(plan, &net, err) < 0)
		return -1;
	if (net.mode == CONF_NETWORK_NONE) {
		net.resolvers.n = 0;
		*ret = (struct network_facts){ false, false };
		firewalls_close(net.link_prefix);
		if (drop_links(&net, 0, err) < 0 || rules_remove(&net, err) < 0)
			return -1;
		return write_resolvconf(plan, &net, err);
	}
	if (net.resolvers.n == 0)
		log_warning("this host has no resolver that sandboxes could ask: set network.dns");
	/* The rules first: no packet passes without them. */
	if (set_rules(plan, &net, ret, err) < 0 || forwarding_on(namespaces, net.has_v6, err) < 0 ||
	    make_links(plan, &net, namespaces, err) < 0)
		return -1;
	pass_firewalls(&net);
	return write_resolvconf(plan, &net, err);
}

/* ---- what changes while it serves ---- */

/* A host that is without any for a while is no reason to take them away. */
static bool has_new_resolvers(const struct slots_plan *plan, const struct network *net)
{
	auto_buf struct buf was = BUF_INIT(RESOLVCONF_MAX), now = BUF_INIT(RESOLVCONF_MAX);

	return net->resolvers.n && print_resolvconf(net, &now) == 0 &&
	       io_read_file(plan->runtime_fd, RESOLVCONF, &was) == 0 &&
	       !view_eq(buf_view(&was), buf_view(&now));
}

static int renew_hosts(const struct slots_plan *plan, const struct network *net, struct err *err)
{
	auto_buf struct buf text = BUF_INIT(RULES_MAX);
	struct address hosts[RULES_MAX_HOSTS];
	struct rules rules = { .net = net, .hosts = hosts };
	int r;

	rules.n_hosts = allow_resolve(plan->conf->allow_hosts, hosts, RULES_MAX_HOSTS);
	r = rules_print_hosts(&rules, &text);
	if (r < 0)
		return err_sys(err, -r, "write the network rules");
	return rules_load(buf_view(&text), err);
}

static int renew_resolvers(const struct slots_plan *plan, const struct network *net,
			   struct err *err)
{
	struct network_facts facts;

	log_info("the host has other resolvers: sandboxes that start from now on ask those");
	if (set_rules(plan, net, &facts, err) < 0)
		return -1;
	return write_resolvconf(plan, net, err);
}

int network_refresh(const struct slots_plan *plan, struct err *err)
{
	struct network_facts facts;
	struct network net;

	auto_fd int namespaces = plan_open_namespaces(plan);
	if (plan->conf->network == CONF_NETWORK_NONE || namespaces < 0 ||
	    faccessat(namespaces, STAMP, F_OK, 0) < 0)
		return 0; /* no sandbox has a network */
	if (network_plan(plan, &net, err) < 0)
		return -1;
	/* Without them a sandbox reaches the host itself. First, whatever else there is to do. */
	if (!rules_are_loaded(&net)) {
		log_warning("the network rules of sandboxes were gone, as after `nft flush "
			    "ruleset`: they are made again");
		if (set_rules(plan, &net, &facts, err) < 0)
			return -1;
	}
	if (firewalls_open(net.link_prefix))
		say_opened(&net);
	if (!has_new_resolvers(plan, &net))
		return net.mode == CONF_NETWORK_ALLOW ? renew_hosts(plan, &net, err) : 0;
	if (!has_its_links(&net, namespaces))
		return err_set(err, ERR_INVALID,
			       "the host's network has changed: run berth setup (as root)");
	return renew_resolvers(plan, &net, err);
}

int network_down(struct slots_plan *plan, struct err *err)
{
	struct network net;

	if (network_plan(plan, &net, err) < 0 || drop_links(&net, 0, err) < 0 ||
	    rules_remove(&net, err) < 0)
		return -1;
	firewalls_close(net.link_prefix);
	(void)unlinkat(plan->runtime_fd, RESOLVCONF, 0);
	io_remove_unfinished(plan->runtime_fd, RESOLVCONF);

	auto_fd int namespaces = plan_open_namespaces(plan);
	if (namespaces < 0)
		return 0;
	(void)unlinkat(namespaces, STAMP, 0);
	return forwarding_off(namespaces, err);
}
