/* SPDX-License-Identifier: Apache-2.0 */
/* Firewalls beside ours. */
#include "slots/firewalls.h"

#include "sys/run.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 4 * 1024 * 1024 };

/* Runs it to its end; what it said replaces what was in `out` (NULL: nobody wants to know). */
static bool succeeds(const char *const *argv, struct buf *out)
{
	int status;

	if (out)
		buf_truncate(out, 0);
	return run_program(argv, out, &status) == 0 && status == 0;
}

/* ---- iptables: by its own program, whichever of the kernel's interfaces that one uses ---- */

static const char *const programs[] = { "iptables", "ip6tables" };

/* What passes the host, and what a sandbox asks the host itself: its resolver, its neighbours. */
static const struct {
	const char *chain, *direction;
} passes[] = { { "FORWARD", "-o" }, { "FORWARD", "-i" }, { "INPUT", "-i" } };

bool firewalls_iptables_drops(struct view rules)
{
	struct view line;

	while (view_split(&rules, '\n', &line)) {
		struct view word, rest = line;
		bool is_policy, is_rule;

		if (!view_split(&rest, ' ', &word))
			continue;
		is_policy = view_is(word, "-P");
		is_rule = view_is(word, "-A");
		/* A rule without a condition is a policy, too. */
		if (!view_split(&rest, ' ', &word) ||
		    (is_rule && !(view_split(&rest, ' ', &word) && view_is(word, "-j"))) ||
		    !(is_policy || is_rule) || !view_split(&rest, ' ', &word))
			continue;
		if (view_is(word, "DROP") || view_is(word, "REJECT"))
			return true;
	}
	return false;
}

/* False if there is no such program, or it may not look. */
static bool drops(const char *program, const char *chain, struct buf *rules)
{
	const char *const argv[] = { program, "--wait=10", "-S", chain, NULL };

	return succeeds(argv, rules) && firewalls_iptables_drops(buf_view(rules));
}

/* "-C" asks for the rule, "-I" puts it first, "-D" takes it out. */
static bool do_rule(const char *program, const char *action, size_t pass, const char *links)
{
	char interface[32];
	const char *const argv[] = {
		program, "--wait=10", action, passes[pass].chain, passes[pass].direction, interface,
		"-j",    "ACCEPT",    NULL
	};

	(void)snprintf(interface, sizeof(interface), "%s+", links);
	return succeeds(argv, NULL);
}

bool firewalls_open(const char *links)
{
	auto_buf struct buf rules = BUF_INIT(TEXT_MAX);
	bool any = false;

	for (size_t p = 0; p < ARRAY_SIZE(programs); p++)
		for (size_t i = 0; i < ARRAY_SIZE(passes); i++)
			if (drops(programs[p], passes[i].chain, &rules) &&
			    !do_rule(programs[p], "-C", i, links))
				any = do_rule(programs[p], "-I", i, links) || any;
	return any;
}

void firewalls_close(const char *links)
{
	for (size_t p = 0; p < ARRAY_SIZE(programs); p++)
		for (size_t i = 0; i < ARRAY_SIZE(passes); i++)
			while (do_rule(programs[p], "-C", i, links) &&
			       do_rule(programs[p], "-D", i, links))
				continue;
}

static bool find_in_iptables(const char *links, struct firewall_block *ret)
{
	auto_buf struct buf rules = BUF_INIT(TEXT_MAX);

	for (size_t p = 0; p < ARRAY_SIZE(programs); p++)
		for (size_t i = 0; i < ARRAY_SIZE(passes); i++) {
			char told[40];

			(void)snprintf(told, sizeof(told), "%s %s", passes[i].direction, links);
			if (!drops(programs[p], passes[i].chain, &rules) ||
			    strstr(buf_str(&rules), told))
				continue;
			(void)snprintf(ret->what, sizeof(ret->what),
				       "%s of %s drops what it is not told of, as Docker and ufw "
				       "have it",
				       passes[i].chain, programs[p]);
			(void)snprintf(
				ret->fix, sizeof(ret->fix),
				"berth setup (as root) has it take the packets of sandboxes, "
				"which berth's own table filters");
			return true;
		}
	return false;
}

/* ---- the tables of nft ---- */

/* The word after `word`. */
static struct view word_after(struct view line, const char *word)
{
	struct view it;

	while (view_split(&line, ' ', &it))
		if (view_is(it, word))
			return view_split(&line, ' ', &it) ? it : VIEW("");
	return VIEW("");
}

static bool is_dropping(struct view line, struct firewall_chain *ret)
{
	struct view hook = word_after(line, "hook");

	return (view_is(hook, "forward") || view_is(hook, "input")) &&
	       view_is(word_after(line, "policy"), "drop;") &&
	       view_copy(hook, ret->hook, sizeof(ret->hook)) == 0;
}

bool firewalls_next_dropping(struct view *rest, struct firewall_chain *ret)
{
	struct view line;

	while (view_split(rest, '\n', &line)) {
		struct view word, words = view_trim(line);

		if (view_starts(words, VIEW("type "))) {
			if (is_dropping(words, ret))
				return true;
		} else if (view_split(&words, ' ', &word) && view_is(word, "table")) {
			if (!view_split(&words, ' ', &word) ||
			    view_copy(word, ret->family, sizeof(ret->family)) < 0 ||
			    !view_split(&words, ' ', &word) ||
			    view_copy(word, ret->table, sizeof(ret->table)) < 0)
				*ret = (struct firewall_chain){ 0 };
		} else if (view_is(word, "chain")) {
			if (!view_split(&words, ' ', &word) ||
			    view_copy(word, ret->name, sizeof(ret->name)) < 0)
				ret->name[0] = '\0';
		}
	}
	return false;
}

/* Whether the rules name these links, or those of all servers. */
static bool has_links(struct buf *text, const char *links)
{
	char name[40];

	(void)snprintf(name, sizeof(name), "\"%s", links);
	return strstr(buf_str(text), name) || strstr(buf_str(text), "\"bv*\"");
}

/* Those of iptables are looked at by its own program. */
static bool is_of_iptables(const struct firewall_chain *chain)
{
	bool is_v4 = strcmp(chain->family, "ip") == 0;
	const char *const argv[] = { programs[is_v4 ? 0 : 1], "--version", NULL };

	return strcmp(chain->table, "filter") == 0 &&
	       (is_v4 || strcmp(chain->family, "ip6") == 0) && succeeds(argv, NULL);
}

static bool find_in_nft(const char *links, struct firewall_block *ret)
{
	static const char *const all[] = { "nft", "list", "chains", NULL };
	auto_buf struct buf chains = BUF_INIT(TEXT_MAX), rules = BUF_INIT(TEXT_MAX);
	struct firewall_chain chain = { 0 };
	struct view rest;

	if (!succeeds(all, &chains))
		return false;
	rest = buf_view(&chains);
	while (firewalls_next_dropping(&rest, &chain)) {
		const char *const one[] = { "nft",       "list",     "chain", chain.family,
					    chain.table, chain.name, NULL };
		bool both = strcmp(chain.hook, "forward") == 0;

		if (is_of_iptables(&chain) || !succeeds(one, &rules) || has_links(&rules, links))
			continue;
		(void)snprintf(ret->what, sizeof(ret->what),
			       "chain %.40s of table %s %.40s drops what it is not told of",
			       chain.name, chain.family, chain.table);
		(void)snprintf(ret->fix, sizeof(ret->fix),
			       "tell its configuration: iifname \"%s*\" accept%s%s%s (berth's own "
			       "table filters)",
			       links, both ? "; oifname \"" : "", both ? links : "",
			       both ? "*\" accept" : "");
		return true;
	}
	return false;
}

static bool find_firewalld(const char *links, struct firewall_block *ret)
{
	static const char *const table[] = { "nft", "list", "table", "inet", "firewalld", NULL };
	auto_buf struct buf rules = BUF_INIT(TEXT_MAX);

	if (!succeeds(table, &rules) || has_links(&rules, links))
		return false;
	(void)snprintf(ret->what, sizeof(ret->what), "firewalld rejects what it is not told of");
	(void)snprintf(
		ret->fix, sizeof(ret->fix),
		"firewall-cmd --permanent --zone=trusted --add-interface=%s+ && firewall-cmd "
		"--reload (berth's own table filters)",
		links);
	return true;
}

bool firewalls_find(const char *links, struct firewall_block *ret)
{
	return find_in_iptables(links, ret) || find_in_nft(links, ret) ||
	       find_firewalld(links, ret);
}
