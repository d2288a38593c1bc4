/* SPDX-License-Identifier: Apache-2.0 */
/* A small MCP client over HTTP. */
#include "cli/mcp_client.h"

#include <stdio.h>

#define META "io.modelcontextprotocol/"

enum { REQUEST_ID = 1, MAX_HEADER = 512 };

struct transfer {
	struct mcp_reply *reply;
	usec sent;
};

int mcp_client_init(struct mcp_client *ret, const char *url, const char *token, struct err *err)
{
	struct mcp_client client = { .url = url, .token = token };

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(client.curl = curl_easy_init()))
		return err_set(err, ERR_SYSTEM, "libcurl does not start");
	*ret = client;
	return 0;
}

void mcp_client_done(struct mcp_client *client)
{
	curl_easy_cleanup(client->curl);
	curl_global_cleanup();
}

void mcp_reply_done(struct mcp_reply *reply)
{
	buf_done(&reply->body);
	json_decref(reply->result);
	reply->result = NULL;
}

const char *mcp_reply_text(const struct mcp_reply *reply)
{
	const json_t *content = json_object_get(reply->result, "content");
	const char *text = json_string_value(json_object_get(json_array_get(content, 0), "text"));

	return text ? text : "";
}

/* ---- transfer ---- */

static size_t on_body(char *p, size_t size, size_t n, void *userdata)
{
	struct transfer *t = userdata;

	if (!t->reply->first_byte)
		t->reply->first_byte = clock_monotonic(&clock_system) - t->sent;
	/* Less than all ends the transfer with an error: the body is too long. */
	return buf_add(&t->reply->body, p, size * n) == 0 ? size * n : 0;
}

/* This machine itself, to which no proxy of the environment leads. */
static bool is_this_machine(const char *url)
{
	static const char *const hosts[] = { "localhost", "127.", "[::1]", "0.0.0.0", "[::]" };
	const char *host = strstr(url, "://");

	for (size_t i = 0; host && i < ARRAY_SIZE(hosts); i++)
		if (!strncmp(host + strlen("://"), hosts[i], strlen(hosts[i])))
			return true;
	return false;
}

static int perform(struct mcp_client *client, const char *url, struct mcp_reply *reply,
		   struct err *err)
{
	struct transfer t = { .reply = reply, .sent = clock_monotonic(&clock_system) };
	const char *type = NULL;
	CURLcode code;

	*reply = (struct mcp_reply){ .body = BUF_INIT(MCP_CLIENT_MAX_BODY) };
	(void)curl_easy_setopt(client->curl, CURLOPT_URL, url);
	(void)curl_easy_setopt(client->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	if (is_this_machine(url))
		(void)curl_easy_setopt(client->curl, CURLOPT_NOPROXY, "*");
	if (client->ca_file)
		(void)curl_easy_setopt(client->curl, CURLOPT_CAINFO, client->ca_file);
	(void)curl_easy_setopt(client->curl, CURLOPT_TIMEOUT, (long)MCP_CLIENT_TIMEOUT_S);
	(void)curl_easy_setopt(client->curl, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, &t);
	code = curl_easy_perform(client->curl);
	if (code != CURLE_OK)
		return err_set(err, ERR_SYSTEM, "%s: %s", url, curl_easy_strerror(code));
	reply->ended = clock_monotonic(&clock_system) - t.sent;
	(void)curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &reply->status);
	(void)curl_easy_getinfo(client->curl, CURLINFO_CONTENT_TYPE, &type);
	reply->is_stream = type && view_starts(view_str(type), VIEW("text/event-stream"));
	return 0;
}

/* ---- JSON-RPC ---- */

static void take_answer(struct mcp_reply *reply, const json_t *message)
{
	const char *error =
		json_string_value(json_object_get(json_object_get(message, "error"), "message"));

	if (json_integer_value(json_object_get(message, "id")) != REQUEST_ID)
		return;
	(void)snprintf(reply->error, sizeof(reply->error), "%s", error ? error : "");
	json_decref(reply->result);
	reply->result = json_incref(json_object_get(message, "result"));
}

/* A JSON body, or the events of a stream: each line that holds a message. */
static void find_answer(struct mcp_reply *reply)
{
	struct view rest = buf_view(&reply->body), line;

	while (view_split(&rest, '\n', &line)) {
		struct err ignored;
		json_t *message;

		if (view_starts(line, VIEW("data:")))
			line = view_trim(view_from(line, strlen("data:")));
		if (!view_starts(line, VIEW("{")))
			continue;
		message = json_parse(line, &ignored);
		if (message)
			take_answer(reply, message);
		json_decref(message);
	}
}

static json_t *make_request(const char *revision, const char *method, json_t *params)
{
	if (!strcmp(revision, MCP_CLIENT_MODERN))
		(void)json_object_set_new(
			params, "_meta",
			json_pack("{s:s, s:{}, s:{s:s, s:s}}", META "protocolVersion", revision,
				  META "clientCapabilities", META "clientInfo", "name",
				  "berth selftest", "version", BERTH_VERSION));
	return json_pack("{s:s, s:i, s:s, s:o}", "jsonrpc", "2.0", "id", REQUEST_ID, "method",
			 method, "params", params);
}

static int add_header(struct curl_slist **list, const char *name, const char *value)
{
	char line[MAX_HEADER];
	struct curl_slist *longer;

	if (snprintf(line, sizeof(line), "%s: %s", name, value) >= (int)sizeof(line))
		return -1;
	longer = curl_slist_append(*list, line);
	if (!longer)
		return -1;
	*list = longer;
	return 0;
}

static int add_headers(struct curl_slist **list, const struct mcp_client *client,
		       const char *revision, const char *method, const char *name)
{
	char bearer[MAX_HEADER];

	if (add_header(list, "Content-Type", "application/json") < 0 ||
	    add_header(list, "Accept", "application/json, text/event-stream") < 0)
		return -1;
	/* A legacy client names the revision only after initialize. */
	if (strcmp(method, "initialize") != 0 &&
	    add_header(list, "MCP-Protocol-Version", revision) < 0)
		return -1;
	if (!strcmp(revision, MCP_CLIENT_MODERN) &&
	    (add_header(list, "Mcp-Method", method) < 0 ||
	     (name && add_header(list, "Mcp-Name", name) < 0)))
		return -1;
	if (!client->token)
		return 0;
	if (snprintf(bearer, sizeof(bearer), "Bearer %s", client->token) >= (int)sizeof(bearer))
		return -1;
	return add_header(list, "Authorization", bearer);
}

int mcp_client_request(struct mcp_client *client, const char *revision, const char *method,
		       json_t *params, struct mcp_reply *ret, struct err *err)
{
	const char *name = json_string_value(json_object_get(params, "name"));
	auto_json json_t *request = make_request(revision, method, params);
	auto_buf struct buf text = BUF_INIT(1 << 20);
	struct curl_slist *headers = NULL;
	int r = -1;

	if (!request || json_print(&text, request, err) < 0)
		return request ? -1 : err_sys(err, ENOMEM, "make a request");
	if (add_headers(&headers, client, revision, method, name) < 0) {
		(void)err_set(err, ERR_INVALID, "the token is too long");
	} else {
		curl_easy_reset(client->curl);
		(void)curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, headers);
		(void)curl_easy_setopt(client->curl, CURLOPT_POSTFIELDSIZE, (long)text.len);
		(void)curl_easy_setopt(client->curl, CURLOPT_POSTFIELDS, buf_str(&text));
		r = perform(client, client->url, ret, err);
	}
	curl_slist_free_all(headers);
	if (r == 0)
		find_answer(ret);
	return r;
}

int mcp_client_get(struct mcp_client *client, const char *url, struct mcp_reply *ret,
		   struct err *err)
{
	curl_easy_reset(client->curl);
	return perform(client, url, ret, err);
}
