/* SPDX-License-Identifier: Apache-2.0 */
/* The text of the host's nftables table. */
#include "slots/rules.h"

#define REJECT "goto refuse"

/* A failed append changes nothing, so the first failure can be kept and the rest skipped. */
struct text {
	struct buf *out;
	int r;
};

static void put(struct text *t, const char *fmt, ...) PRINTF(2, 3);

static void put(struct text *t, const char *fmt, ...)
{
	va_list ap;

	if (t->r < 0)
		return;
	va_start(ap, fmt);
	t->r = buf_vaddf(t->out, fmt, ap);
	va_end(ap);
}

static void put_address(struct text *t, const struct address *a)
{
	if (t->r == 0)
		t->r = address_print(a, t->out);
}

static void put_range(struct text *t, const struct range *r)
{
	put_address(t, &r->address);
	put(t, "/%u", r->prefix);
}

static const char *family_word(int family)
{
	return family == AF_INET ? "ip" : "ip6";
}

/* ---- sets ---- */

/* Which address belongs to which interface. */
static void put_slots(struct text *t, const struct rules *rules, int family)
{
	put(t, "\tset slots%c {\n\t\ttype ifname . %s\n\t\telements = {",
	    family == AF_INET ? '4' : '6', family == AF_INET ? "ipv4_addr" : "ipv6_addr");
	for (uint32_t n = 0; n < rules->slots; n++) {
		struct address a = network_slot(rules->net, family, n);
		char name[NETWORK_NAME];

		network_link_name(rules->net, n, name);
		put(t, "%s \"%s\" . ", n ? "," : "", name);
		put_address(t, &a);
	}
	put(t, " }\n\t}\n");
}

static void put_list(struct text *t, const char *const *list, const char **sep)
{
	for (; *list; list++) {
		put(t, "%s %s", *sep, *list);
		*sep = ",";
	}
}

static void put_refused(struct text *t, const struct network *net)
{
	bool lan = net->mode == CONF_NETWORK_LAN;
	const char *sep = "";

	put(t, "\tset refused4 {\n\t\ttype ipv4_addr\n\t\tflags interval\n\t\tauto-merge\n"
	       "\t\telements = {");
	put_list(t, refused_v4, &sep);
	if (!lan)
		put_list(t, private_v4, &sep);
	/* Slots are never reached by address either, wherever their block lies. */
	put(t, ", ");
	put_range(t, &net->piece4);
	put(t, " }\n\t}\n");

	sep = "";
	put(t, "\tset refused6 {\n\t\ttype ipv6_addr\n\t\tflags interval\n\t\tauto-merge\n"
	       "\t\telements = {");
	put_list(t, refused_v6, &sep);
	put_list(t, lan ? metadata_v6 : private_v6, &sep);
	if (net->has_v6) {
		put(t, ", ");
		put_range(t, &net->piece6);
	}
	put(t, " }\n\t}\n");
}

static void put_hosts_set(struct text *t, const struct rules *rules, int family)
{
	const char *sep = "";

	put(t, "\tset hosts%c {\n\t\ttype %s\n\t\tflags timeout\n\t\ttimeout %us\n",
	    family == AF_INET ? '4' : '6', family == AF_INET ? "ipv4_addr" : "ipv6_addr",
	    (unsigned)RULES_HOST_SECONDS);
	for (size_t i = 0; i < rules->n_hosts; i++)
		if (rules->hosts[i].family == family) {
			put(t, "%s", *sep ? sep : "\t\telements = { ");
			put_address(t, &rules->hosts[i]);
			sep = ", ";
		}
	put(t, "%s\t}\n", *sep ? " }\n" : "");
}

/* What is counted or measured for each slot. */
static void put_counters(struct text *t, const char *name)
{
	put(t, "\tset %s {\n\t\ttype ifname\n\t\tsize 8192\n\t\tflags dynamic\n\t}\n", name);
}

static void put_sets(struct text *t, const struct rules *rules)
{
	put_slots(t, rules, AF_INET);
	if (rules->net->has_v6)
		put_slots(t, rules, AF_INET6);
	put_refused(t, rules->net);
	if (rules->net->mode == CONF_NETWORK_ALLOW) {
		put_hosts_set(t, rules, AF_INET);
		put_hosts_set(t, rules, AF_INET6);
	}
	if (rules->connections) {
		put_counters(t, "open_granted");
		put_counters(t, "open_tcp");
		put_counters(t, "open_other");
	}
	if (rules->bandwidth_mbit) {
		put_counters(t, "sent");
		put_counters(t, "received");
	}
}

/* ---- chains ---- */

static void put_own_address(struct text *t, const struct network *net)
{
	put(t, "\t\tmeta nfproto ipv4 iifname . ip saddr != @slots4 drop\n");
	if (net->has_v6)
		put(t, "\t\tmeta nfproto ipv6 ip6 saddr != fe80::/10 "
		       "iifname . ip6 saddr != @slots6 drop\n");
	else
		put(t, "\t\tmeta nfproto ipv6 drop\n");
}

static void put_count(struct text *t, const char *what, const char *set, uint32_t max)
{
	if (max)
		put(t, "\t\t%sadd @%s { iifname ct count over %u } " REJECT "\n", what, set, max);
}

/*
 * Three counts, since what has no end of its own, such as UDP, is open for as long as the far end
 * sends, even after the container that opened it: the next tenant of the slot must still get its
 * names looked up and its TCP connections through.
 */
static void put_accepting(struct text *t, const struct rules *rules)
{
	uint32_t max = rules->connections;

	put(t, "\tchain granted {\n");
	put_count(t, "", "open_granted", max);
	put(t, "\t\taccept\n\t}\n\tchain reached {\n");
	put_count(t, "meta l4proto tcp ", "open_tcp", max);
	put_count(t, "meta l4proto != tcp ", "open_other", (max + 3) / 4);
	put(t, "\t\taccept\n\t}\n");
}

static void put_permitted(struct text *t, const struct rules *rules)
{
	const struct resolvers *dns = &rules->net->resolvers;

	put(t, "\tchain permitted {\n");
	for (size_t i = 0; !dns->loopback && i < dns->n; i++) {
		put(t, "\t\t%s daddr ", family_word(dns->list[i].family));
		put_address(t, &dns->list[i]);
		put(t, " meta l4proto { tcp, udp } th dport 53 goto granted\n");
	}
	for (size_t i = 0; i < rules->n_allowed; i++) {
		const struct range *r = &rules->allowed[i];

		put(t, "\t\t%s daddr ", family_word(r->address.family));
		put_range(t, r);
		if (r->port)
			put(t, " meta l4proto { tcp, udp } th dport %u", (unsigned)r->port);
		put(t, " goto granted\n");
	}
	put(t, "\t}\n");
}

static void put_bandwidth(struct text *t, const struct rules *rules, const char *set,
			  const char *key)
{
	/* A mbit is 125 kbyte; a tenth of a second may come at once. */
	uint32_t rate = rules->bandwidth_mbit * 125;

	if (rules->bandwidth_mbit)
		put(t,
		    "\t\tupdate @%s { %s limit rate over %u kbytes/second burst %u kbytes } "
		    "drop\n",
		    set, key, rate, rate / 10 > 16 ? rate / 10 : 16);
}

static void put_from_sandbox(struct text *t, const struct rules *rules)
{
	put(t, "\tchain from_sandbox {\n");
	put_own_address(t, rules->net);
	put_bandwidth(t, rules, "sent", "iifname");
	put(t, "\t\tct state established,related accept\n\t\tct state invalid drop\n");
	/* The resolvers may well be in a refused range. */
	put(t, "\t\toifname \"bv*\" " REJECT "\n"
	       "\t\tjump permitted\n"
	       "\t\tip daddr @refused4 " REJECT "\n"
	       "\t\tip6 daddr @refused6 " REJECT "\n"
	       "\t\tmeta l4proto { tcp, udp } th dport { 53, 853 } " REJECT "\n");
	if (rules->net->mode == CONF_NETWORK_ALLOW)
		put(t, "\t\tip daddr @hosts4 goto reached\n\t\tip6 daddr @hosts6 goto reached\n"
		       "\t\t" REJECT "\n");
	else
		put(t, "\t\tgoto reached\n");
	put(t, "\t}\n");
}

/*
 * A TCP connection is reset: the kernel sends only one ICMP message a second to the same address,
 * and a model's second attempt would hang until its time-out.
 */
static void put_refuse(struct text *t)
{
	put(t, "\tchain refuse {\n\t\tmeta l4proto tcp reject with tcp reset\n"
	       "\t\treject with icmpx admin-prohibited\n\t}\n");
}

static void put_filter(struct text *t, const struct rules *rules)
{
	const char *prefix = rules->net->link_prefix;

	put(t, "\tchain to_sandbox {\n");
	put_bandwidth(t, rules, "received", "oifname");
	put(t, "\t\tct state established,related accept\n"
	       "\t\tiifname \"bv*\" " REJECT "\n\t\tdrop\n\t}\n");

	put(t, "\tchain to_host {\n");
	put_own_address(t, rules->net);
	put_bandwidth(t, rules, "sent", "iifname");
	put(t, "\t\tct state established,related accept\n");
	if (rules->net->has_v6)
		put(t, "\t\tip6 hoplimit 255 icmpv6 type { nd-neighbor-solicit, "
		       "nd-neighbor-advert } accept\n");
	if (rules->net->resolvers.loopback)
		put(t, "\t\tip daddr 127.0.0.0/8 ct status dnat meta l4proto { tcp, udp } "
		       "th dport 53 goto granted\n");
	put(t, "\t\tjump permitted\n\t\t" REJECT "\n\t}\n");

	put(t,
	    "\tchain forward {\n"
	    "\t\ttype filter hook forward priority filter; policy accept;\n"
	    "\t\tiifname \"%s*\" jump from_sandbox\n\t\toifname \"%s*\" jump to_sandbox\n\t}\n",
	    prefix, prefix);
	put(t,
	    "\tchain input {\n"
	    "\t\ttype filter hook input priority filter; policy accept;\n"
	    "\t\tiifname \"%s*\" jump to_host\n\t}\n",
	    prefix);
}

/* A resolver on the host's loopback believes that the host itself asks. */
static void put_local_resolver(struct text *t, const struct network *net)
{
	struct address gateway = network_gateway(net, AF_INET);

	if (!net->resolvers.loopback || net->resolvers.list[0].family != AF_INET)
		return;
	put(t,
	    "\tchain prerouting {\n"
	    "\t\ttype nat hook prerouting priority dstnat; policy accept;\n"
	    "\t\tiifname \"%s*\" ip daddr ",
	    net->link_prefix);
	put_address(t, &gateway);
	put(t, " meta l4proto { tcp, udp } th dport 53 dnat ip to ");
	put_address(t, &net->resolvers.list[0]);
	put(t,
	    "\n\t}\n\tchain local_source {\n"
	    "\t\ttype nat hook input priority 100; policy accept;\n"
	    "\t\tiifname \"%s*\" ip daddr 127.0.0.0/8 ct status dnat snat ip to 127.0.0.1\n"
	    "\t}\n",
	    net->link_prefix);
}

static void put_nat(struct text *t, const struct network *net)
{
	put(t, "\tchain postrouting {\n"
	       "\t\ttype nat hook postrouting priority srcnat; policy accept;\n"
	       "\t\toifname != \"bv*\" ip saddr ");
	put_range(t, &net->piece4);
	put(t, " masquerade\n");
	if (net->has_v6 && (net->piece6.address.bytes[0] & 0xfe) == 0xfc) {
		/* A unique local block needs it; a public one is routed to this host. */
		put(t, "\t\toifname != \"bv*\" ip6 saddr ");
		put_range(t, &net->piece6);
		put(t, " masquerade\n");
	}
	put(t, "\t}\n");
	put_local_resolver(t, net);
}

int rules_print(const struct rules *rules, struct buf *out)
{
	struct text t = { out, 0 };
	const char *table = rules->net->table;

	/* Added first, so that the removal finds it: together they replace the table. */
	put(&t, "table inet %s\ndelete table inet %s\ntable inet %s {\n", table, table, table);
	put_sets(&t, rules);
	put_refuse(&t);
	put_accepting(&t, rules);
	put_permitted(&t, rules);
	put_from_sandbox(&t, rules);
	put_filter(&t, rules);
	put_nat(&t, rules->net);
	put(&t, "}\n");
	return t.r;
}

int rules_print_hosts(const struct rules *rules, struct buf *out)
{
	struct text t = { out, 0 };

	/* An element that is there keeps its old time-out, so it is made anew. */
	for (size_t i = 0; i < rules->n_hosts; i++)
		for (int step = 0; step < 3; step++) {
			put(&t, "%s element inet %s hosts%c { ", step == 1 ? "delete" : "add",
			    rules->net->table, rules->hosts[i].family == AF_INET ? '4' : '6');
			put_address(&t, &rules->hosts[i]);
			put(&t, " }\n");
		}
	return t.r;
}
