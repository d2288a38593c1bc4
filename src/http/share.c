/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one network, and all together, may have under way. Behind a proxy every connection comes
 * from one place, so requests are counted by whom the proxy names.
 */
#include "http/internal.h"

struct share {
	size_t requests;
	uint64_t body_bytes;
};

/* What the network of `req` has beside it. */
static struct share others_of(const struct http_request *req)
{
	struct share share = { 0 };
	struct list *it, *tmp;

	list_each(it, tmp, &req->server->conns)
	{
		const struct http_conn *conn = container_of(it, struct http_conn, by_server);
		const struct http_request *other = conn->stream ? conn->stream->req : conn->req;

		if (!other || other == req || strcmp(other->network, req->network) != 0)
			continue;
		share.requests++;
		share.body_bytes += other->body_counted;
	}
	return share;
}

bool share_takes_request(const struct http_request *req)
{
	size_t part = req->server->max_connections / HTTP_NETWORK_PART;

	return req->speaks_for_many || req->server->n_conns <= part ||
	       others_of(req).requests <= part;
}

/* A single one always fits: the operator may allow longer ones than the bounds. */
static bool fits(uint64_t own, uint64_t others, uint64_t max)
{
	return others == 0 || own + others <= max;
}

enum share_verdict share_count_body(struct http_request *req)
{
	struct http_server *server = req->server;
	uint64_t own = req->body.cap > HTTP_SMALL_BODY ? req->body.cap : 0;

	if (own == req->body_counted)
		return SHARE_FITS;
	server->body_bytes += own - req->body_counted;
	req->body_counted = own;
	if (!fits(own, server->body_bytes - own, HTTP_MAX_BODIES))
		return SHARE_ALL_FULL;
	if (!req->speaks_for_many &&
	    !fits(own, others_of(req).body_bytes, HTTP_MAX_BODIES / HTTP_NETWORK_PART))
		return SHARE_NETWORK_FULL;
	return SHARE_FITS;
}

void share_drop_body(struct http_request *req)
{
	req->server->body_bytes -= req->body_counted;
	req->body_counted = 0;
	buf_wipe(&req->body);
}
