/* SPDX-License-Identifier: Apache-2.0 */
/* The tool sandbox_info: what there is, what is used, what is enforced. */
#include "tools/core_tools.h"

#include "base/log.h"
#include "conf/conf.h"
#include "tools/job.h"

#include <inttypes.h>
#include <stdio.h>

enum { MAX_TEXT = 64 * 1024 };

struct info {
	struct buf text;
	struct tool_call *call;
	struct pending *pending; /* while the engine counts */
};

/* Outlives the call, since a question to the engine cannot be taken back. */
struct pending {
	struct info *info; /* NULL once the call is gone */
};

static void add(struct info *info, const char *fmt, ...) PRINTF(2, 3);
static void add(struct info *info, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	/* A text that is full stays as it is: the limit is far above what a principal can have. */
	if (buf_vaddf(&info->text, fmt, ap) < 0)
		log_warning("sandbox_info: the text was cut");
	va_end(ap);
}

static void add_sandbox(void *userdata, const struct sandbox_view *view)
{
	struct info *info = userdata;
	/* This call holds its own. */
	uint32_t others = view->holds - (view->sandbox == tool_call_sandbox(info->call) ? 1 : 0);

	add(info, "  %s%s%s: ", view->key, view->label[0] ? ", label " : "", view->label);
	if (view->has_box)
		add(info, "container running for %llu s",
		    (unsigned long long)(view->box_age / USEC_PER_SEC));
	else
		add(info, "no container (the next command starts one)");
	if (others)
		add(info, ", other calls, jobs or transfers under way: %u\n", others);
	else
		add(info, "\n");
}

static const char *enforced(bool yes)
{
	return yes ? "" : " (NOT enforced on this host)";
}

static const char *measured(bool yes)
{
	return yes ? " (measured, not enforced by the kernel)" : "";
}

static void add_disk_limits(struct info *info, const struct conf *conf, bool is_enforced)
{
	if (!conf_limits_disk(conf))
		return;
	add(info, "  disk, reading and writing each:");
	if (conf->disk_bandwidth)
		add(info, " %llu MiB/s%s", (unsigned long long)(conf->disk_bandwidth >> 20),
		    conf->disk_operations ? "," : "");
	if (conf->disk_operations)
		add(info, " %u operations/s", conf->disk_operations);
	add(info, "%s\n", enforced(is_enforced));
}

static void add_limits(struct info *info)
{
	const struct conf *conf = tool_call_env(info->call)->conf;
	const struct sandboxes *sandboxes = tool_call_env(info->call)->sandboxes;
	struct engine_facts facts;

	sandboxes_engine_facts(sandboxes, &facts);
	add(info, "Limits of a sandbox (engine %s, limits by %s, network %s: %s):\n", facts.name,
	    facts.limits, conf_network_name((enum conf_network)conf->network), facts.network);
	add(info, "  memory %llu MiB%s, CPU %u %%%s, processes %u%s\n",
	    (unsigned long long)(conf->memory >> 20), enforced(facts.memory_limited),
	    conf->cpu_percent, enforced(facts.cpu_limited), conf->processes,
	    enforced(facts.pids_limited));
	add(info,
	    "  /workspace %llu MiB%s, elsewhere %llu MiB%s, /tmp %llu MiB, /dev/shm %llu MiB\n",
	    (unsigned long long)(conf->workspace >> 20),
	    measured(sandboxes_measure_workspace(sandboxes)),
	    (unsigned long long)(conf->layer >> 20), measured(sandboxes_measure_layer(sandboxes)),
	    (unsigned long long)(conf->tmp >> 20), (unsigned long long)(conf->shm >> 20));
	add_disk_limits(info, conf, facts.io_limited);
	add(info, "  network: ");
	if (core_tools_network(conf, &info->text) < 0)
		log_warning("sandbox_info: the network was cut");
	add(info, "\n");
	add(info,
	    "  command time-out %u s (at most %u), a call returns after %u s, idle after %u s, "
	    "links "
	    "valid %u s, output shown %u characters\n",
	    conf->command_timeout, conf->max_timeout, conf->call_limit, conf->idle, conf->link_ttl,
	    conf->output_chars);
}

static void add_request(struct info *info)
{
	add(info, "This request:\n");
	if (mcp_call_describe_request(tool_call_mcp(info->call), &info->text) < 0)
		log_warning("sandbox_info: the request's headers were cut");
}

static void finish(struct info *info)
{
	add_limits(info);
	add_request(info);
	tool_call_finish(info->call, NULL, buf_view(&info->text));
}

int core_tools_usage(const struct engine_usage *usage, struct buf *out)
{
	const struct {
		const char *what;
		uint64_t value, per;
		const char *unit;
	} counts[] = {
		{ "memory", usage->memory_bytes, 1 << 20, " MiB" },
		{ "processes", usage->pids, 1, "" },
		{ "CPU time", usage->cpu_usec, USEC_PER_SEC, " s" },
	};
	const char *before = "Use now: ";
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(counts); i++) {
		if (counts[i].value == UINT64_MAX)
			continue;
		r = buf_addf(out, "%s%s %" PRIu64 "%s", before, counts[i].what,
			     counts[i].value / counts[i].per, counts[i].unit);
		before = ", ";
	}
	return r == 0 && *before == ',' ? buf_add_char(out, '\n') : r;
}

static void on_usage(void *userdata, const struct engine_usage *usage, const struct err *err)
{
	struct pending *pending = userdata;
	struct info *info = pending->info;

	free(pending);
	if (!info)
		return;
	info->pending = NULL;
	if (!err && core_tools_usage(usage, &info->text) < 0)
		log_warning("sandbox_info: the text was cut");
	finish(info);
}

static void ask_box(struct info *info)
{
	struct engine_box *box = sandbox_box(tool_call_sandbox(info->call));
	struct pending *pending = box ? calloc(1, sizeof(*pending)) : NULL;

	if (!pending) {
		finish(info);
		return;
	}
	pending->info = info;
	info->pending = pending;
	engine_box_usage(box, on_usage, pending);
}

static void on_disk(struct tool_call *call, void *state, const struct keeper_reply *reply, int fd)
{
	struct info *info = state;

	(void)call;
	if (fd >= 0)
		(void)close(fd);
	if (reply->error == 0)
		add(info, "Files: %llu MiB in /workspace, %llu files and folders\n",
		    (unsigned long long)(reply->number >> 20), (unsigned long long)reply->count);
	ask_box(info);
}

static void ready(struct tool_call *call, void *state)
{
	struct keeper_request usage = { .verb = KEEPER_USAGE };
	const char *principal = mcp_call_principal(tool_call_mcp(call))->id;
	struct tool_env *env = tool_call_env(call);
	struct info *info = state;
	char queue[256];

	info->call = call;
	buf_init(&info->text, MAX_TEXT);
	add(info, "Your sandboxes:\n");
	sandboxes_each(env->sandboxes, principal, add_sandbox, info);
	if (sandboxes_queue_words(env->sandboxes, principal, queue, sizeof(queue)))
		add(info, "In the queue for a sandbox: %s\n", queue);
	if (!tool_call_sandbox(call)) {
		add(info,
		    "None is taken under this name; the first call that needs one takes it.\n");
		finish(info);
		return;
	}
	add(info, "Jobs running in it: %u\n", job_count_running(tool_call_sandbox(call)));
	tool_call_files(call, &usage, -1, on_disk);
}

static void done(void *state)
{
	struct info *info = state;

	if (info->pending)
		info->pending->info = NULL;
	buf_done(&info->text);
}

static const struct tool_begin begin = {
	.error_tag = "sandbox",
	.state_size = sizeof(struct info),
	.state_done = done,
	.ready = ready,
};

void sandbox_info_tool(struct mcp_call *call, void *userdata)
{
	tool_call_begin(call, userdata, SANDBOX_NEED_EXISTING, &begin);
}
