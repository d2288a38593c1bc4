/* SPDX-License-Identifier: Apache-2.0 */
/*
 * berth selftest: an operator's end-to-end check of a running server, over HTTP and through
 * whatever proxy stands in front. It uses sandboxes of its own and empties them afterwards; that
 * their slots are free again takes the operator.
 */
#include "cli/cli.h"
#include "cli/mcp_client.h"
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

enum { MAX_KEY = 128, MAX_URL = 8192 };

#define LEGACY    "2025-06-18"
#define LABEL_ONE "selftest-one"
#define LABEL_TWO "selftest-two"
#define CONTENT   "bytes of berth selftest"
#define QUIET_S   8                  /* of a call whose answer must start before it ends */
#define HELD_BACK (2 * USEC_PER_SEC) /* a stream that starts so shortly before its end was held */

struct selftest {
	struct mcp_client client;
	bool has_labels; /* the tools take a sandbox parameter */
	bool is_empty;   /* both sandboxes were emptied in the end */
	char key[MAX_KEY], other_key[MAX_KEY];
	char link[MAX_URL];
};

/* ---- calls ---- */

/* What an answer without a result says, and what an operator may have forgotten. */
static int no_result(const struct mcp_reply *reply, struct err *err)
{
	const char *advice = reply->status == 401   ? " (give a valid token with --token)"
			     : reply->status == 404 ? " (URL is the endpoint, with /mcp at the end)"
						    : "";

	return err_set(err, ERR_INVALID, "status %ld%s%s%s", reply->status, advice,
		       reply->error[0] ? ": " : "", reply->error);
}

static int call(struct selftest *t, const char *tool, const char *label, json_t *arguments,
		struct mcp_reply *ret, struct err *err)
{
	if (t->has_labels)
		(void)json_object_set_new(arguments, "sandbox", json_string(label));
	if (mcp_client_request(&t->client, LEGACY, "tools/call",
			       json_pack("{s:s, s:o}", "name", tool, "arguments", arguments), ret,
			       err) < 0)
		return -1;
	if (!ret->result) {
		(void)no_result(ret, err);
		return err_wrap(err, "%s", tool);
	}
	return 0;
}

static int run(struct selftest *t, const char *label, const char *command, struct mcp_reply *ret,
	       struct err *err)
{
	return call(t, "run_command", label, json_pack("{s:s}", "command", command), ret, err);
}

/* "[sandbox KEY] [new] …" of the first line. */
static int take_key(const struct mcp_reply *reply, char out[MAX_KEY], struct err *err)
{
	static const char start[] = "[sandbox ";
	const char *text = mcp_reply_text(reply);
	size_t len = strcspn(text, "]");

	if (strncmp(text, start, sizeof(start) - 1) != 0 || len >= MAX_KEY)
		return err_set(err, ERR_INVALID, "the result does not name its sandbox: %.80s",
			       text);
	(void)snprintf(out, MAX_KEY, "%.*s", (int)(len - (sizeof(start) - 1)),
		       text + sizeof(start) - 1);
	return 0;
}

static int expect_text(const struct mcp_reply *reply, const char *wanted, struct err *err)
{
	if (strstr(mcp_reply_text(reply), wanted))
		return 0;
	return err_set(err, ERR_INVALID, "expected \"%s\" in: %.200s", wanted,
		       mcp_reply_text(reply));
}

static bool is_error(const struct mcp_reply *reply)
{
	return json_is_true(json_object_get(reply->result, "isError"));
}

/* ---- checks: 0, -1 with err, or 1 with err when there was nothing to look at ---- */

static int handshake(struct selftest *t, const char *revision, struct err *err)
{
	auto_reply struct mcp_reply reply = { 0 };
	bool modern = !strcmp(revision, MCP_CLIENT_MODERN);
	json_t *params = modern ? json_object()
				: json_pack("{s:s, s:{}, s:{s:s, s:s}}", "protocolVersion",
					    revision, "capabilities", "clientInfo", "name",
					    "berth selftest", "version", BERTH_VERSION);
	const char *answer;

	if (mcp_client_request(&t->client, revision, modern ? "server/discover" : "initialize",
			       params, &reply, err) < 0)
		return -1;
	if (!reply.result)
		return no_result(&reply, err);
	answer = json_string_value(json_object_get(reply.result, "protocolVersion"));
	if (!modern && (!answer || strcmp(answer, revision) != 0))
		return err_set(err, ERR_INVALID, "the server answered with revision %s",
			       answer ? answer : "(none)");
	if (!json_is_string(json_object_get(reply.result, "instructions")))
		return err_set(err, ERR_INVALID, "no instructions for the model");
	return 0;
}

static int check_handshakes(struct selftest *t, struct err *err)
{
	static const char *const revisions[] = { "2024-11-05", "2025-03-26", "2025-06-18",
						 "2025-11-25", MCP_CLIENT_MODERN };

	for (size_t i = 0; i < ARRAY_SIZE(revisions); i++)
		if (handshake(t, revisions[i], err) < 0)
			return err_wrap(err, "%s", revisions[i]);
	return 0;
}

static int check_sign_in(struct selftest *t, struct err *err)
{
	auto_reply struct mcp_reply reply = { 0 };
	const char *token = t->client.token;
	int r;

	if (!token) {
		(void)err_set(err, ERR_NOT_FOUND, "not looked at: no token was given");
		return 1;
	}
	t->client.token = NULL;
	r = mcp_client_request(&t->client, LEGACY, "tools/list", json_object(), &reply, err);
	t->client.token = token;
	if (r == 0 && reply.status != 401)
		return err_set(err, ERR_INVALID, "without the token the status is %ld, not 401",
			       reply.status);
	return r;
}

static int check_tools(struct selftest *t, struct err *err)
{
	auto_reply struct mcp_reply reply = { 0 };
	const json_t *tool;
	bool found = false;
	size_t i;

	if (mcp_client_request(&t->client, LEGACY, "tools/list", json_object(), &reply, err) < 0)
		return -1;
	json_array_foreach(json_object_get(reply.result, "tools"), i, tool)
	{
		const char *name = json_string_value(json_object_get(tool, "name"));

		if (!name || strcmp(name, "run_command") != 0)
			continue;
		found = true;
		t->has_labels = json_object_get(
			json_object_get(json_object_get(tool, "inputSchema"), "properties"),
			"sandbox");
	}
	if (!reply.result)
		return no_result(&reply, err);
	return found ? 0 : err_set(err, ERR_NOT_FOUND, "there is no tool run_command");
}

static int check_command(struct selftest *t, struct err *err)
{
	auto_reply struct mcp_reply reply = { 0 };

	if (run(t, LABEL_ONE, "echo $((6*7)); touch /root/selftest-mark", &reply, err) < 0 ||
	    expect_text(&reply, "42", err) < 0 || expect_text(&reply, "[exit 0]", err) < 0)
		return -1;
	return take_key(&reply, t->key, err);
}

static int check_same_label(struct selftest *t, struct err *err)
{
	auto_reply struct mcp_reply same = { 0 }, spelled = { 0 };
	char key[MAX_KEY];

	if (run(t, LABEL_ONE, "ls /root/selftest-mark", &same, err) < 0 ||
	    expect_text(&same, "[exit 0]", err) < 0)
		return err_wrap(err, "same label, same container");
	if (!t->has_labels)
		return 0;
	if (run(t, "Selftest One", "ls /root/selftest-mark", &spelled, err) < 0 ||
	    expect_text(&spelled, "[exit 0]", err) < 0 || take_key(&spelled, key, err) < 0)
		return err_wrap(err, "another spelling of the label");
	return strcmp(key, t->key) == 0 ? 0
					: err_set(err, ERR_INVALID, "another spelling got %s", key);
}

static int check_other_label(struct selftest *t, struct err *err)
{
	auto_reply struct mcp_reply reply = { 0 };

	if (!t->has_labels) {
		(void)err_set(err, ERR_NOT_FOUND, "not looked at: there are no labels here");
		return 1;
	}
	if (run(t, LABEL_TWO, "test ! -e /root/selftest-mark", &reply, err) < 0 ||
	    expect_text(&reply, "[exit 0]", err) < 0 || take_key(&reply, t->other_key, err) < 0)
		return -1;
	return strcmp(t->other_key, t->key) != 0
		       ? 0
		       : err_set(err, ERR_INVALID, "two labels share the sandbox %s", t->key);
}

static int check_files(struct selftest *t, struct err *err)
{
	auto_reply struct mcp_reply fresh = { 0 }, written = { 0 }, read = { 0 };

	/* write_file takes new files only. */
	if (run(t, LABEL_ONE, "rm -f /workspace/selftest-written.txt", &fresh, err) < 0 ||
	    call(t, "write_file", LABEL_ONE,
		 json_pack("{s:s, s:s}", "path", "selftest-written.txt", "content", CONTENT),
		 &written, err) < 0)
		return -1;
	if (is_error(&written))
		return err_set(err, ERR_INVALID, "%.200s", mcp_reply_text(&written));
	if (call(t, "read_file", LABEL_ONE, json_pack("{s:s}", "path", "selftest-written.txt"),
		 &read, err) < 0)
		return -1;
	return expect_text(&read, CONTENT, err);
}

static int refused(struct selftest *t, const char *path, struct err *err)
{
	auto_reply struct mcp_reply reply = { 0 };

	if (call(t, "present_file", LABEL_ONE, json_pack("{s:s}", "path", path), &reply, err) < 0)
		return -1;
	if (!is_error(&reply))
		return err_set(err, ERR_DENIED, "%s was handed out: %.200s", path,
			       mcp_reply_text(&reply));
	return 0;
}

static int check_jail(struct selftest *t, struct err *err)
{
	static const char *const paths[] = { "../../../etc/passwd", "/etc/passwd", "selftest-link",
					     "selftest-dir/passwd" };
	auto_reply struct mcp_reply reply = { 0 };

	if (run(t, LABEL_ONE,
		"cd /workspace && ln -sf /etc/passwd selftest-link && ln -sfn /etc selftest-dir",
		&reply, err) < 0 ||
	    expect_text(&reply, "[exit 0]", err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (refused(t, paths[i], err) < 0)
			return -1;
	return 0;
}

/* The first URL of the text. */
static int take_link(const char *text, char out[MAX_URL], struct err *err)
{
	const char *http = strstr(text, "http");
	size_t len = http ? strcspn(http, " \t\r\n)>\"") : 0;

	if (!len || len >= MAX_URL)
		return err_set(err, ERR_INVALID, "the result has no link: %.200s", text);
	(void)snprintf(out, MAX_URL, "%.*s", (int)len, http);
	return 0;
}

static int check_link(struct selftest *t, struct err *err)
{
	auto_reply struct mcp_reply made = { 0 }, shown = { 0 }, fetched = { 0 };

	if (run(t, LABEL_ONE, "printf '" CONTENT "' >/workspace/selftest.txt", &made, err) < 0 ||
	    call(t, "present_file", LABEL_ONE, json_pack("{s:s}", "path", "selftest.txt"), &shown,
		 err) < 0 ||
	    take_link(mcp_reply_text(&shown), t->link, err) < 0 ||
	    mcp_client_get(&t->client, t->link, &fetched, err) < 0)
		return -1;
	if (fetched.status != 200 || !view_is(buf_view(&fetched.body), CONTENT))
		return err_set(
			err, ERR_INVALID,
			"the link answered with status %ld and %zu bytes: does the proxy pass "
			"/dl/ on, and is server.public_url right?",
			fetched.status, fetched.body.len);
	return 0;
}

/* The script of the page for uploads, where that page looks for it. */
static int check_upload_page(struct selftest *t, struct err *err)
{
	auto_reply struct mcp_reply asked = { 0 }, page = { 0 }, script = { 0 };
	char link[MAX_URL], url[MAX_URL + 32];
	const char *part;

	if (call(t, "request_upload", LABEL_ONE, json_object(), &asked, err) < 0 ||
	    take_link(mcp_reply_text(&asked), link, err) < 0 ||
	    mcp_client_get(&t->client, link, &page, err) < 0)
		return -1;
	part = strstr(link, "/up/");
	if (!part || page.status != 200)
		return err_set(err, ERR_INVALID,
			       "the page answered with status %ld: does the proxy pass /up/ on?",
			       page.status);
	(void)snprintf(url, sizeof(url), "%.*s/up/upload.js", (int)(part - link), link);
	if (mcp_client_get(&t->client, url, &script, err) < 0)
		return -1;
	if (script.status != 200)
		return err_set(err, ERR_INVALID,
			       "its script answered with status %ld: does the proxy pass all of "
			       "/up/ on?",
			       script.status);
	return 0;
}

/* Fetches the link with the part `n` after /dl/ (0: expiry, 1: signature) replaced. */
static int forged(struct selftest *t, int n, const char *replacement, struct err *err)
{
	auto_reply struct mcp_reply reply = { 0 };
	char url[MAX_URL + 128];
	const char *part = strstr(t->link, "/dl/"), *end;

	if (part)
		part += strlen("/dl/");
	for (; part && n > 0; n--) {
		part = strchr(part, '/');
		part = part ? part + 1 : NULL;
	}
	end = part ? strchr(part, '/') : NULL;
	if (!end)
		return err_set(err, ERR_INVALID, "the link is not one of /dl/");
	(void)snprintf(url, sizeof(url), "%.*s%s%s", (int)(part - t->link), t->link, replacement,
		       end);
	if (mcp_client_get(&t->client, url, &reply, err) < 0)
		return -1;
	if (reply.status != 404 && reply.status != 410)
		return err_set(err, ERR_DENIED, "status %ld", reply.status);
	return 0;
}

static int check_forged_links(struct selftest *t, struct err *err)
{
	static const struct {
		const char *what;
		int part;
		const char *replacement;
	} rows[] = {
		{ "expired", 0, "1000000000" },
		{ "prolonged", 0, "4000000000" },
		{ "signature of another", 1, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" },
	};

	if (!t->link[0])
		return err_set(err, ERR_INVALID, "there was no link to forge");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (forged(t, rows[i].part, rows[i].replacement, err) < 0)
			return err_wrap(err, "%s link", rows[i].what);
	return 0;
}

/* A proxy that buffers keeps a long call's signs of life to itself, and clients give up. */
static int check_streaming(struct selftest *t, struct err *err)
{
	auto_reply struct mcp_reply reply = { 0 };
	char command[64];

	(void)snprintf(command, sizeof(command), "sleep %d", QUIET_S);
	if (run(t, LABEL_ONE, command, &reply, err) < 0)
		return -1;
	if (!reply.is_stream)
		return err_set(err, ERR_INVALID, "a long call was not answered with a stream");
	if (reply.first_byte + HELD_BACK > reply.ended)
		return err_set(err, ERR_INVALID,
			       "the stream came in one piece at its end: the proxy buffers. nginx: "
			       "proxy_buffering off; Caddy: flush_interval -1");
	return 0;
}

/* Without labels the sandbox may hold its owner's files: only the selftest's own are removed. */
static int remove_own_files(struct selftest *t, struct err *err)
{
	auto_reply struct mcp_reply reply = { 0 };

	if (run(t, LABEL_ONE, "cd /workspace && rm -f selftest-* selftest.txt /root/selftest-mark",
		&reply, err) < 0)
		return -1;
	return expect_text(&reply, "[exit 0]", err);
}

static int check_cleanup(struct selftest *t, struct err *err)
{
	static const char *const labels[] = { LABEL_ONE, LABEL_TWO };

	if (!t->has_labels)
		return remove_own_files(t, err);
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		auto_reply struct mcp_reply reply = { 0 };

		if (call(t, "reset_sandbox", labels[i], json_pack("{s:s}", "what", "everything"),
			 &reply, err) < 0)
			return -1;
		if (is_error(&reply))
			return err_set(err, ERR_INVALID, "%.200s", mcp_reply_text(&reply));
	}
	t->is_empty = true;
	return 0;
}

/* ---- the subcommand ---- */

static const struct {
	const char *name;
	int (*fn)(struct selftest *t, struct err *err);
} checks[] = {
	{ "handshake in every revision", check_handshakes },
	{ "no entry without the token", check_sign_in },
	{ "tools are listed", check_tools },
	{ "a command runs", check_command },
	{ "same label, same container", check_same_label },
	{ "another label, another container", check_other_label },
	{ "a file is written and read back", check_files },
	{ "traversal and links out are refused", check_jail },
	{ "a link serves the bytes without a token", check_link },
	{ "the page for uploads has its script", check_upload_page },
	{ "expired and forged links are refused", check_forged_links },
	{ "nothing buffers long calls", check_streaming },
	{ "the sandboxes are left clean", check_cleanup },
};

/* `result` is what the check returned; err, unless that is 0, why. */
static void report(const char *name, int result, const struct err *err, json_t *list)
{
	bool color = isatty(STDOUT_FILENO) == 1;
	const char *mark = result < 0 ? "FAIL" : result > 0 ? "--  " : "ok  ";
	const char *start = result < 0 ? "\033[31m" : result > 0 ? "" : "\033[32m";
	const char *why = result ? err->msg : "";

	if (list) {
		(void)json_array_append_new(list, json_pack("{s:s, s:b, s:s}", "check", name, "ok",
							    result >= 0, "message", why));
		return;
	}
	(void)printf("%s%s%s %s%s%s\n", color ? start : "", mark, color ? "\033[0m" : "", name,
		     *why ? ": " : "", why);
	(void)fflush(stdout);
}

static const char help[] =
	"usage: berth selftest --url URL [--token TOKEN] [--ca FILE] [--json]\n"
	"Checks a running server from outside, through whatever proxy stands in front. URL is the\n"
	"endpoint as clients use it, e.g. https://host/mcp. Without --token the token is taken "
	"from\n"
	"the variable BERTH_TOKEN, if it is set. --ca names certificates to trust. Exits with 0 "
	"only if every check passed.\n"
	"Where there are labels it takes two sandboxes and leaves them empty; `berth empty KEY` "
	"frees\n"
	"their slots.\n";

int cmd_selftest(int argc, char **argv)
{
	const char *url = NULL, *token = getenv("BERTH_TOKEN"), *ca_file = NULL;
	const struct options_extra extra[] = { { .name = "url", .argument = &url },
					       { .name = "token", .argument = &token },
					       { .name = "ca", .argument = &ca_file },
					       { 0 } };
	struct selftest t = { .has_labels = true };
	auto_json json_t *list = NULL;
	int status = CLI_OK;
	struct options o;
	struct err err;

	if (options_read(&o, argc, argv, extra) < 0 || optind != argc || (!url && !o.help))
		return cli_help(help, CLI_USAGE);
	if (o.help)
		return cli_help(help, CLI_OK);
	if (mcp_client_init(&t.client, url, token, &err) < 0)
		return cli_fail("selftest", &err);
	t.client.ca_file = ca_file;
	list = o.json ? json_array() : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		int r = checks[i].fn(&t, &err);

		report(checks[i].name, r, &err, list);
		if (r < 0)
			status = CLI_FAILED;
	}
	if (t.is_empty)
		(void)fprintf(stderr,
			      "The sandboxes %s and %s are empty now; each keeps its slot until "
			      "berth empty KEY.\n",
			      t.key, t.other_key);
	if (list)
		(void)json_dumpf(list, stdout, JSON_INDENT(2));
	mcp_client_done(&t.client);
	return status;
}
