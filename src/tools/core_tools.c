/* SPDX-License-Identifier: Apache-2.0 */
/* The container's tools: their descriptions and registration. */
#include "tools/core_tools.h"

#include "conf/conf.h"

#include <string.h>

/* Bytes. */
enum { MAX_HOSTS_SHOWN = 500, MAX_PROPERTIES = 4096 };

static int run_command_properties(const struct conf *conf, struct buf *out)
{
	return buf_addf(
		out,
		"{\"command\":{\"type\":\"string\",\"description\":\"Shell command or script\"},"
		"\"timeout_seconds\":{\"type\":\"integer\",\"description\":\"End the command after "
		"this; default %u (in background %u), at most %u\"},"
		"\"cwd\":{\"type\":\"string\",\"description\":\"Folder to run in; default "
		"/workspace\"},"
		"\"stdin\":{\"type\":\"string\",\"description\":\"Text for its standard input\"},"
		"\"background\":{\"type\":\"boolean\",\"description\":\"Return after a second with "
		"a job number, e.g. for a server; without stdin here, job can send it some\"}}",
		conf->command_timeout, conf->max_timeout, conf->max_timeout);
}

static int job_properties(const struct conf *conf, struct buf *out)
{
	return buf_addf(
		out,
		"{\"job\":{\"type\":\"integer\",\"description\":\"Job number\"},"
		"\"action\":{\"type\":\"string\",\"enum\":[\"wait\",\"stdin\",\"stop\"],"
		"\"description\":\"Default wait\"},"
		"\"wait_seconds\":{\"type\":\"integer\",\"description\":\"How long to wait for the "
		"end; default %u, at most %u\"},"
		"\"stdin\":{\"type\":\"string\",\"description\":\"For action stdin, to a job in "
		"background; a last \\u0004 closes it\"}}",
		job_default_wait(conf), conf->call_limit);
}

static const struct core_tool {
	struct mcp_tool tool;
	/* Its properties where they name numbers of the configuration. */
	int (*properties)(const struct conf *conf, struct buf *out);
} tools[] = {
	{ { .name = "sandbox_info",
	    .title = "Sandbox info",
	    .description = "Your sandboxes, their limits and use, the queue, and this request's "
			   "headers. Takes no slot.",
	    .properties = "{}",
	    .required = "[]",
	    .takes_sandbox = true,
	    .read_only = true,
	    .fn = sandbox_info_tool },
	  NULL },
	{ { .name = "run_command",
	    .title = "Run command",
	    .description = "Run a shell command (bash -lc, as root, Debian Linux) in your private "
			   "sandbox and get stdout and stderr with the exit status. Each call is a "
			   "fresh shell: cd and variables do not carry over, files do. Stdin is "
			   "empty unless given. A command that takes longer than a call may last "
			   "goes on as a job: use the tool job.",
	    .required = "[\"command\"]",
	    .takes_sandbox = true,
	    .open_world = true,
	    .fn = run_command_tool },
	  run_command_properties },
	{ { .name = "job",
	    .title = "Job",
	    .description = "Go on with a command that run_command left running: wait for more "
			   "output or its end, send it input, or stop it with everything it "
			   "started.",
	    .required = "[\"job\"]",
	    .takes_sandbox = true,
	    .fn = job_tool },
	  job_properties },
	{ { .name = "reset_sandbox",
	    .title = "Reset sandbox",
	    .description = "Start afresh: container drops packages and processes and keeps "
			   "/workspace; everything deletes the files too.",
	    .properties = "{\"what\":{\"type\":\"string\",\"enum\":[\"container\",\"everything\"],"
			  "\"description\":\"container: packages and processes go, /workspace "
			  "stays; everything: the files go too\"}}",
	    .required = "[\"what\"]",
	    .takes_sandbox = true,
	    .destructive = true,
	    .fn = reset_sandbox_tool },
	  NULL },
};

const char core_tools_sandbox_property[] = "{\"type\":\"string\",\"description\":\"Label of this "
					   "conversation's sandbox. Pick a new short "
					   "one (like amber-otter) when the conversation begins "
					   "and use it for every call in it; never "
					   "one from another conversation\"}";

static int add_tool(struct mcp_server *server, struct tool_env *env, const struct core_tool *core,
		    struct err *err)
{
	auto_buf struct buf properties = BUF_INIT(MAX_PROPERTIES);
	struct mcp_tool tool = core->tool;

	if (core->properties) {
		int r = core->properties(env->conf, &properties);

		if (r < 0)
			return err_sys(err, -r, "describe the tool %s", tool.name);
		tool.properties = buf_str(&properties);
	}
	return tool_env_add(env, server, &tool, err);
}

int core_tools_add(struct mcp_server *server, struct tool_env *env, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (add_tool(server, env, &tools[i], err) < 0)
			return -1;
	return 0;
}

int core_tools_network(const struct conf *conf, struct buf *out)
{
	switch ((enum conf_network)conf->network) {
	case CONF_NETWORK_NONE:
		return buf_add_str(out, "It has no network.");
	case CONF_NETWORK_LAN:
		return buf_add_str(out, "It has internet access and reaches the local network.");
	case CONF_NETWORK_ALLOW:
		return buf_addf(
			out,
			"Its network reaches only hosts that the operator allowed (%.*s%s); "
			"a connection to any other is refused at once, and trying again "
			"does not help.",
			MAX_HOSTS_SHOWN, conf->allow_hosts,
			strlen(conf->allow_hosts) > MAX_HOSTS_SHOWN ? " …" : "");
	case CONF_NETWORK_INTERNET:
		break;
	}
	return buf_add_str(out, "It has internet access; private networks and other sandboxes are "
				"out of reach.");
}

int core_tools_instructions(const struct conf *conf, enum tool_audience audience, struct buf *out)
{
	int r = buf_addf(
		out,
		"Berth gives you a private, disposable Debian Linux sandbox; you are root in "
		"it. %s Install what you need with apt-get install -y (npm, too) or pip (in a "
		"venv). ",
		conf->packages[0] ? conf->packages
				  : "Python 3, git, curl and common tools are there.");

	if (r == 0)
		r = core_tools_network(conf, out);
	if (r == 0)
		r = buf_addf(
			out,
			conf->empty_when_idle
				? "\nFiles under /workspace stay while you use the sandbox. After "
				  "%u s without a call it is emptied: files, packages and "
				  "processes are gone. "
				: "\nFiles under /workspace survive; packages, processes and files "
				  "elsewhere are lost when the container is recycled after %u s "
				  "without a call. ",
			conf->idle);
	if (r == 0)
		r = buf_add_str(out, "A result marked [new] came from a fresh container.\n");
	if (r == 0)
		r = buf_addf(
			out,
			"Limits: %llu MiB memory, %u %% CPU, %u processes, %llu MiB in /workspace. "
			"A call returns after %u s at the latest; a longer command goes on as a "
			"job.\nGive the user files with present_file, which returns a download "
			"link; get files from the user with request_upload.\n",
			(unsigned long long)(conf->memory >> 20), conf->cpu_percent,
			conf->processes, (unsigned long long)(conf->workspace >> 20),
			conf->call_limit);
	if (r == 0 && audience == TOOL_AUDIENCE_LABELS)
		r = buf_add_str(
			out,
			"Pass a sandbox label with every call: at the start of a new "
			"conversation pick a NEW short label (for example amber-otter) and use "
			"that same label for every call in the conversation. Never reuse a label "
			"from an earlier conversation, and do not change it mid-conversation.\n");
	return r;
}
