/* SPDX-License-Identifier: Apache-2.0 */
/* berth status: what the running server is doing. */
#include "base/show.h"
#include "cli/admin_client.h"
#include "cli/cli.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char help[] =
	"usage: berth status [--watch] [--disk] [--json] [--state DIR] [--config "
	"FILE]\n"
	"Shows pool, queue, sandboxes and what is enforced. --disk measures "
	"also what the files\n"
	"of each sandbox take. --watch draws it anew every two seconds, as much "
	"as the window holds.\n";

enum {
	WATCH_MS = 2000,
	MAX_ROWS = 200, /* where the window has no height */
	BAR = 40,       /* characters */
	MAX_WAITING = 10,
};

static json_int_t number(const json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

static const char *text(const json_t *object, const char *name)
{
	const char *s = json_string_value(json_object_get(object, name));

	return s ? s : "?";
}

/* "41 s", "12 min", "3 h", "9 d" */
static const char *age(json_int_t seconds, char out[32])
{
	static const struct {
		json_int_t seconds;
		const char *name;
	} units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
	size_t i = 0;

	while (i < ARRAY_SIZE(units) - 1 && seconds < 2 * units[i].seconds)
		i++;
	(void)snprintf(out, 32, "%lld %s", (long long)(seconds / units[i].seconds), units[i].name);
	return out;
}

/* ---- the head ---- */

/* One character a fortieth of the slots: # in use, = held, : being emptied or set aside, . free. */
static void show_bar(const json_t *pool)
{
	const json_int_t slots = number(pool, "slots"), held = number(pool, "held");
	const json_int_t in_use = number(pool, "in_use"), free_now = number(pool, "free");

	(void)fputs("      [", stdout);
	for (json_int_t i = 0; slots && i < BAR; i++) {
		json_int_t at = i * slots / BAR;

		(void)fputc(at < in_use             ? '#'
			    : at < held             ? '='
			    : at < slots - free_now ? ':'
						    : '.',
			    stdout);
	}
	(void)fputs("]\n", stdout);
}

static void show_queue(const json_t *pool)
{
	const json_t *wait = json_object_get(pool, "newcomer_wait_s");
	char words[32];

	(void)printf("queue %lld of %lld", (long long)number(pool, "queue"),
		     (long long)number(pool, "queue_max"));
	if (json_is_integer(wait) && json_integer_value(wait))
		(void)printf(", a newcomer waits about %s", age(json_integer_value(wait), words));
}

static void show_disk(const json_t *disk)
{
	char left[SHOW_SIZE_MAX], all[SHOW_SIZE_MAX];

	(void)printf("disk %s free of %s%s\n",
		     show_size((uint64_t)number(disk, "free_bytes"), left),
		     show_size((uint64_t)number(disk, "bytes"), all),
		     json_is_true(json_object_get(disk, "measured"))
			     ? "; what sandboxes take is measured, not enforced by the kernel"
			     : "");
}

/* Returns how many lines it took. */
static size_t show_head(const json_t *answer)
{
	const json_t *pool = json_object_get(answer, "pool"), *now = json_object_get(answer, "now");
	const json_t *engine = json_object_get(answer, "engine");
	char up[32];

	(void)printf("berth %s (%s) at %s, up %s\n", text(answer, "version"),
		     text(answer, "profile"), text(answer, "public_url"),
		     age(number(answer, "uptime_s"), up));
	(void)printf(
		"slots %lld: held %lld (in use %lld), free %lld (warm %lld), emptying %lld, set "
		"aside %lld%s\n",
		(long long)number(pool, "slots"), (long long)number(pool, "held"),
		(long long)number(pool, "in_use"), (long long)number(pool, "free"),
		(long long)number(pool, "warm"), (long long)number(pool, "emptying"),
		(long long)number(pool, "set_aside"),
		json_is_true(json_object_get(pool, "draining")) ? ", DRAINING" : "");
	show_bar(pool);
	(void)printf("emptied %lld slots, %lld of them by rollback\n",
		     (long long)number(pool, "emptied"), (long long)number(pool, "rolled_back"));
	show_queue(pool);
	(void)printf("   calls %lld   connections %lld   containers %lld\n",
		     (long long)number(now, "calls"), (long long)number(now, "connections"),
		     (long long)number(now, "containers"));
	(void)printf("engine %s%s, namespaces %s, limits %s, network %s\n", text(engine, "name"),
		     json_is_true(json_object_get(engine, "ready")) ? "" : " (NOT CONNECTED)",
		     text(engine, "namespaces"), text(engine, "limits"), text(engine, "network"));
	show_disk(json_object_get(answer, "disk"));
	return 7;
}

/* ---- rows ---- */

/* At most `max` lines; returns how many it took. */
static size_t show_waiting(const json_t *waiting, size_t max)
{
	const json_t *place;
	char quiet[32];
	size_t i;

	json_array_foreach(waiting, i, place)
	{
		if (i == max)
			break;
		(void)printf("  %3lld. waits  %-46s last call %s ago%s\n",
			     (long long)number(place, "position"), text(place, "principal"),
			     age(number(place, "quiet_s"), quiet),
			     json_is_true(json_object_get(place, "mail")) ? ", e-mail" : "");
	}
	return i;
}

/* What is not known is not shown. */
static void show_size_of(const json_t *s, const char *what, const char *name)
{
	char size[SHOW_SIZE_MAX];

	if (json_object_get(s, name))
		(void)printf("   %s %s", what, show_size((uint64_t)number(s, name), size));
}

/* `with_principal`: where strangers have them, whose it is. */
static void show_sandbox(const json_t *s, bool with_principal)
{
	char state[64] = "no container", words[32];

	if (json_is_true(json_object_get(s, "container")))
		(void)snprintf(state, sizeof(state), "container %s",
			       age(number(s, "container_age_s"), words));
	(void)printf("  %-36s slot %-5lld %-20s ", text(s, "key"), (long long)number(s, "slot"),
		     state);
	if (number(s, "uses"))
		(void)fputs("in use", stdout);
	else
		(void)printf("idle %s", age(number(s, "idle_s"), words));
	if (number(s, "jobs"))
		(void)printf("   jobs %lld", (long long)number(s, "jobs"));
	show_size_of(s, "memory", "memory_bytes");
	show_size_of(s, "workspace", "workspace_bytes");
	show_size_of(s, "outside", "layer_bytes");
	if (with_principal)
		(void)printf("   of %s", text(s, "principal"));
	(void)puts("");
}

/* Those in use first, then the ones used last. */
static int compare(const void *a, const void *b)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
	json_int_t uses = number(y, "uses") - number(x, "uses");
	json_int_t idle = number(x, "idle_s") - number(y, "idle_s");

	return uses ? (uses > 0) - (uses < 0) : (idle > 0) - (idle < 0);
}

static void show_sandboxes(const json_t *answer, size_t max)
{
	const json_t *sandboxes = json_object_get(answer, "sandboxes");
	const bool is_public = !strcmp(text(answer, "profile"), "public");
	size_t n = json_array_size(sandboxes);
	const json_t **rows = calloc(n ? n : 1, sizeof(*rows));

	if (!rows)
		return;
	for (size_t i = 0; i < n; i++)
		rows[i] = json_array_get(sandboxes, i);
	qsort(rows, n, sizeof(*rows), compare);
	for (size_t i = 0; i < n && i < max; i++)
		show_sandbox(rows[i], is_public);
	if (n > max)
		(void)printf("  … and %zu more (--json shows all)\n", n - max);
	free(rows);
}

/* Lines of the window, or MAX_ROWS when it is none. */
static size_t window_height(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0)
		return MAX_ROWS;
	return size.ws_row;
}

/* Fits `height` lines, with the line about more sandboxes and the one that the cursor is in. */
static void show(const json_t *answer, size_t height)
{
	size_t used = show_head(answer) + 2, left = height > used ? height - used : 0;

	left -= show_waiting(json_object_get(answer, "waiting"),
			     left / 2 < MAX_WAITING ? left / 2 : MAX_WAITING);
	show_sandboxes(answer, left);
}

/* ---- the subcommand ---- */

static int once(const struct options *o, bool disk, size_t height)
{
	auto_json json_t *answer = NULL;
	struct err err;

	if (admin_ask(o, ADMIN_RUNNING,
		      json_pack("{s:s, s:b}", "command", "status", "disk", disk ? 1 : 0), &answer,
		      &err) < 0)
		return cli_fail("status", &err);
	if (o->json) {
		(void)json_dumpf(answer, stdout, JSON_INDENT(2));
		(void)puts("");
	} else {
		show(answer, height);
	}
	return CLI_OK;
}

/* Until it is interrupted: a server that is started again is shown again. */
static int keep_watching(const struct options *o, bool disk)
{
	do {
		/* A line that is too long for the window is cut, not wrapped: rows are counted. */
		(void)fputs("\033[?7l\033[H\033[2J", stdout);
		(void)once(o, disk, window_height());
		(void)fputs("\033[?7h", stdout);
		(void)fflush(stdout);
	} while (poll(NULL, 0, WATCH_MS) == 0);
	return CLI_OK;
}

int cmd_status(int argc, char **argv)
{
	bool watch = false, disk = false;
	const struct options_extra extra[] = { { .name = "watch", .flag = &watch },
					       { .name = "disk", .flag = &disk },
					       { 0 } };
	struct options o;

	if (options_read(&o, argc, argv, extra) < 0 || optind != argc)
		return cli_help(help, CLI_USAGE);
	if (o.help)
		return cli_help(help, CLI_OK);
	return watch ? keep_watching(&o, disk) : once(&o, disk, MAX_ROWS);
}
