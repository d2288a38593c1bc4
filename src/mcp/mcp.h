/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Model Context Protocol over Streamable HTTP, all revisions at once, without sessions.
 * It knows nothing of sandboxes: tools are registered by name with a function, sign-in by a
 * callback.
 */
#ifndef BERTH_MCP_MCP_H
#define BERTH_MCP_MCP_H

#include "http/http.h"
#include "sys/clock.h"
#include "json/json.h"

/* Who calls. Filled by the authenticator, copied into the call. */
struct mcp_principal {
	char id[72]; /* stable, never secret: names the owner of sandboxes in store and logs */
	bool may_use_labels; /* several sandboxes: tools have the `sandbox` parameter */
};

/*
 * Decides whose request it is. Returns 0 and fills *ret; or -1 after having replied itself (401
 * with the challenge, 403, 429).
 */
typedef int mcp_authenticate_fn(struct http_request *req, struct mcp_principal *ret,
				void *userdata);

struct mcp_server;
struct mcp_call;

/* ---- tools ---- */

typedef void mcp_tool_fn(struct mcp_call *call, void *userdata);

struct mcp_tool {
	const char *name;
	const char *title;
	const char *description;
	/* JSON text of the input schema's "properties", and its "required" array (NULL: none). The
	 * `sandbox` property (shared text, see mcp_config) is added where the principal may use
	 * labels. A property with "x-mcp-header" is checked against that header. */
	const char *properties;
	const char *required;
	/* The whole input schema instead, for a tool that needs more than these two. */
	const char *input_schema;
	/* A client capability without which modern clients are refused; NULL: none. */
	const char *needs_capability;
	bool takes_sandbox;
	bool read_only;   /* annotations.readOnlyHint */
	bool destructive; /* annotations.destructiveHint */
	bool open_world;  /* annotations.openWorldHint */
	mcp_tool_fn *fn;
	void *userdata; /* borrowed */
};

struct mcp_config {
	const char *public_url; /* "https://host"; NULL: Host check by listen address only */
	const char
		*allowed_origins; /* comma separated, "*" allowed; beside public_url and our own */
	/* Comma separated, "*" allowed; beside public_url's, loopback names and IP addresses (a
	 * rebinding attack needs a name). */
	const char *allowed_hosts;
	const char *instructions;        /* for principals with one sandbox */
	const char *instructions_labels; /* for those that may use labels */
	const char *sandbox_property;    /* JSON text of the `sandbox` parameter's schema */
	size_t max_body_bytes;
	/* Refuse a request whose MCP-Protocol-Version header belongs to an older revision than its
	 * body. Off by default, since connectors do that; on behind a proxy that routes by it. */
	bool strict_version_header;
	/* 0: the defaults in mcp/limits.h. */
	usec stream_after;         /* a result that takes longer comes on an event stream */
	usec keepalive;            /* the longest silence on it */
	usec cancel_grace;         /* how long a legacy call outlives its connection */
	const struct clock *clock; /* borrowed; NULL: clock_system */
	mcp_authenticate_fn *authenticate;
	void *userdata;
};

/* Adds the routes of /mcp and /mcp/. Strings of `config` are borrowed for the server's life. */
int mcp_server_new(sd_event *event, struct http_server *http, const struct mcp_config *config,
		   struct mcp_server **ret, struct err *err) MUST_CHECK;
/* Tells the tools of open calls; their clients get no answer (see mcp_server_shut_down()). `http`
 * must not serve requests any more. */
void mcp_server_free(struct mcp_server *server);
/* Tools are listed in the order they are added. `tool` is borrowed, but for its schema's texts. */
int mcp_server_add_tool(struct mcp_server *server, const struct mcp_tool *tool,
			struct err *err) MUST_CHECK;
/* Ends every open call with a result that says the server restarts, then refuses new ones (503). */
void mcp_server_shut_down(struct mcp_server *server);
/* Calls under way. */
uint32_t mcp_server_calls(const struct mcp_server *server);
/* Since the start: calls, and those whose result was an error. */
uint64_t mcp_server_calls_made(const struct mcp_server *server);
uint64_t mcp_server_calls_failed(const struct mcp_server *server);

/* ---- one tools/call ---- */

/* The arguments object (borrowed; an empty object when the client sent none). Unknown members and
 * absent required ones were already refused with a result that names them. Strings may hold NUL:
 * read them with the getters of json.h, which refuse it. */
const json_t *mcp_call_arguments(const struct mcp_call *call);
const struct mcp_principal *mcp_call_principal(const struct mcp_call *call);
/* For sandbox_info: the HTTP request's headers, credentials redacted, as "name: value" lines. */
int mcp_call_describe_request(const struct mcp_call *call, struct buf *out) MUST_CHECK;
/* "name/version" of the client if the request says so, else its User-Agent, else "". */
const char *mcp_call_client(const struct mcp_call *call);
const char *mcp_call_tool(const struct mcp_call *call);

/* A progress notification if the client asked for them (value: milliseconds since the start);
 * rate-limited here: of several in a short time the last is sent. `message` is short text for a
 * person. */
void mcp_call_progress(struct mcp_call *call, const char *message);

/*
 * Runs once if the client cancelled or went away for good, or the server shuts down, before the
 * result was given; from then on the call must not be used. NULL removes it. Without a callback the
 * call stays valid until it is finished, and its result is dropped.
 */
void mcp_call_on_cancel(struct mcp_call *call, void (*fn)(void *userdata), void *userdata);

/*
 * The result: `text` (made valid UTF-8) and optionally one image. Ends the call. A text that would
 * make the whole message longer than MCP_MAX_RESULT is cut, an image that would is left out, and
 * the text says so.
 */
enum { MCP_MAX_IMAGE_BYTES = 700 * 1024 }; /* raw bytes that always fit beside a usual text */
enum mcp_outcome {
	MCP_OK,
	MCP_ERROR, /* isError: nothing was done, the text says what to do */
};
void mcp_call_finish(struct mcp_call *call, enum mcp_outcome outcome, struct view text);
void mcp_call_finishf(struct mcp_call *call, enum mcp_outcome outcome, const char *fmt, ...)
	PRINTF(3, 4);
/* image: raw bytes, base64-encoded here; mime is "image/png", "image/jpeg", "image/gif" or
 * "image/webp". */
void mcp_call_finish_image(struct mcp_call *call, struct view text, struct view image,
			   const char *mime);

#endif
