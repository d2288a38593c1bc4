/* SPDX-License-Identifier: Apache-2.0 */
/* What a handler sees of a request. */
#include "http/internal.h"

#include <assert.h>

/* ---- life ---- */

struct http_request *request_new(struct http_link *link, const char *target)
{
	size_t size = strlen(target) + 1;
	struct http_request *req = calloc(1, sizeof(*req) + size);

	if (!req)
		return NULL;
	req->server = link->server;
	req->conn = link->conn;
	req->link = link;
	list_init(&req->dead);
	memcpy(req->target, target, size);
	req->path_len = view_find(view_str(target), '?');
	return req;
}

void request_end(struct http_request *req)
{
	if (req->link)
		req->link->req = NULL;
	req->link = NULL;
	req->conn = NULL;
	req->gone = NULL;
	list_add_tail(&req->server->dead_requests, &req->dead);
	server_later(req->server, NULL);
}

void request_free(struct http_request *req)
{
	list_remove(&req->dead);
	if (req->release)
		req->release(req->data);
	share_drop_body(req);
	free(req);
}

void request_gone(struct http_request *req)
{
	http_gone_fn *gone = req->is_answered ? NULL : req->gone;
	void *userdata = req->gone_userdata;

	request_end(req);
	if (gone)
		gone(req, userdata);
}

/* ---- headers ---- */

struct walk {
	const char *name; /* NULL: every one */
	bool (*fn)(struct view name, struct view value, void *userdata);
	void *userdata;
};

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *name,
				 const char *value)
{
	struct walk *walk = cls;

	(void)kind;
	if (walk->name && !view_is_nocase(view_str(name), walk->name))
		return MHD_YES;
	return walk->fn(view_str(name), view_trim(view_str(value)), walk->userdata) ? MHD_YES
										    : MHD_NO;
}

static void each_header(const struct http_request *req, struct walk *walk)
{
	if (req->link)
		(void)MHD_get_connection_values(req->link->mhd, MHD_HEADER_KIND, on_header, walk);
}

static bool keep_first(struct view name, struct view value, void *userdata)
{
	(void)name;
	*(struct view *)userdata = value;
	return false;
}

static bool keep_last(struct view name, struct view value, void *userdata)
{
	(void)name;
	*(struct view *)userdata = value;
	return true;
}

static bool count_one(struct view name, struct view value, void *userdata)
{
	(void)name;
	(void)value;
	++*(unsigned *)userdata;
	return true;
}

struct view http_request_header(const struct http_request *req, const char *name)
{
	struct view value = { .p = NULL, .len = 0 };

	each_header(req, &(struct walk){ name, keep_first, &value });
	return value;
}

static struct view last_header(const struct http_request *req, const char *name)
{
	struct view value = { .p = NULL, .len = 0 };

	each_header(req, &(struct walk){ name, keep_last, &value });
	return value;
}

unsigned http_request_header_count(const struct http_request *req, const char *name)
{
	unsigned n = 0;

	each_header(req, &(struct walk){ name, count_one, &n });
	return n;
}

void http_request_each_header(const struct http_request *req,
			      bool (*fn)(struct view name, struct view value, void *userdata),
			      void *userdata)
{
	each_header(req, &(struct walk){ NULL, fn, userdata });
}

static bool look_for_close(struct view name, struct view value, void *userdata)
{
	struct view token;

	(void)name;
	while (view_split(&value, ',', &token))
		if (view_is_nocase(view_trim(token), "close"))
			*(bool *)userdata = true;
	return true;
}

bool request_must_close(const struct http_request *req)
{
	bool close = req->conn->must_close || req->server->is_quiesced;

	each_header(req, &(struct walk){ "Connection", look_for_close, &close });
	return close;
}

/* ---- the start ---- */

static enum http_method method_of(const char *name)
{
	static const struct {
		const char *name;
		enum http_method method;
	} known[] = {
		{ "GET", HTTP_GET },     { "HEAD", HTTP_HEAD },     { "POST", HTTP_POST },
		{ "PUT", HTTP_PUT },     { "DELETE", HTTP_DELETE }, { "OPTIONS", HTTP_OPTIONS },
		{ "PATCH", HTTP_PATCH },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(name, known[i].name) == 0)
			return known[i].method;
	return HTTP_OTHER;
}

/* Who is the client, and how does it speak to the proxy? */
static void find_client(struct http_request *req)
{
	static const char *const proxy_headers[] = { "X-Forwarded-For",  "X-Forwarded-Proto",
						     "X-Forwarded-Host", "Forwarded",
						     "X-Real-IP",        "Via" };
	const struct net_list *proxies = &req->server->proxies;
	const struct net_address *peer = &req->conn->peer;
	struct net_address client;

	/* A page whose name was rebound to loopback comes from a browser there: it names itself. */
	req->is_local =
		net_is_loopback(peer) && net_host_is_loopback(http_request_header(req, "Host"));
	for (size_t i = 0; i < ARRAY_SIZE(proxy_headers); i++)
		if (http_request_header_count(req, proxy_headers[i]))
			req->is_local = false;
	client = *peer;
	if (net_list_has(proxies, peer)) {
		/* Several fields of that name: only the last is sure to be the proxy's own. */
		net_forwarded_client(proxies, peer, last_header(req, "X-Forwarded-For"), &client);
		req->is_https = view_is_nocase(last_header(req, "X-Forwarded-Proto"), "https");
	}
	req->speaks_for_many = server_is_many(req->server, &client);
	net_address_text(&client, req->client);
	net_network_text(&client, req->network);
}

void request_start(struct http_request *req, const char *method)
{
	struct view name = view_first(view_str(method), HTTP_MAX_METHOD);

	req->is_started = true;
	req->method = method_of(method);
	memcpy(req->method_name, name.p, name.len);
	find_client(req);
	req->server->n_requests++;
	route_find(req);
}

/* ---- the rest ---- */

enum http_method http_request_method(const struct http_request *req)
{
	return req->method;
}

const char *http_request_method_name(const struct http_request *req)
{
	return req->method_name;
}

struct view http_request_path(const struct http_request *req)
{
	return view_of(req->target, req->path_len);
}

struct view http_request_query(const struct http_request *req)
{
	return view_from(view_str(req->target), req->path_len + 1);
}

struct view http_request_body(const struct http_request *req)
{
	return buf_view(&req->body);
}

uint64_t http_request_content_length(const struct http_request *req)
{
	return req->conn ? req->conn->body_length : 0;
}

const char *http_request_client(const struct http_request *req)
{
	return req->client;
}

const char *http_request_network(const struct http_request *req)
{
	return req->network;
}

bool http_request_is_https(const struct http_request *req)
{
	return req->is_https;
}

bool http_request_is_local(const struct http_request *req)
{
	return req->is_local;
}

void http_request_pause_body(struct http_request *req)
{
	if (req->conn)
		conn_pause_body(req->conn, true);
}

void http_request_resume_body(struct http_request *req)
{
	if (req->conn)
		conn_pause_body(req->conn, false);
}

void http_request_on_gone(struct http_request *req, http_gone_fn *fn, void *userdata)
{
	req->gone = fn;
	req->gone_userdata = userdata;
}

void http_request_set_data(struct http_request *req, void *data, void (*release)(void *))
{
	req->data = data;
	req->release = release;
}

void *http_request_data(const struct http_request *req)
{
	return req->data;
}
