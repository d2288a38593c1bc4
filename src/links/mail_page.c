/* SPDX-License-Identifier: Apache-2.0 */
/* /mail/…: a page on which somebody who waits in the queue leaves an e-mail address. */
#include "links/internal.h"

#include "base/address.h"
#include "http/page.h"
#include "http/url.h"

enum { MAX_FORM = 4096, WORDS = 256 };

/* Nothing to fill in: why, and what to do. */
static void show_problem(struct http_request *req, unsigned status, const char *title,
			 const char *message)
{
	const struct page_var vars[] = {
		{ "title", view_str(title), PAGE_TEXT },
		{ "message", view_str(message), PAGE_TEXT },
		{ "hint", VIEW(""), PAGE_TEXT },
		{ NULL, VIEW(""), PAGE_TEXT },
	};

	page_reply(req, status, "error.html", vars, NULL);
}

enum page_state { PAGE_ASKS, PAGE_ASKS_AGAIN, PAGE_THANKS };

/* `typed` is what was no address, to be corrected. */
static void show_page(const struct links *links, struct http_request *req, const struct link *link,
		      enum page_state state, struct view typed)
{
	char place[WORDS];
	bool waits = sandboxes_queue_words(links->config.sandboxes, link->key, place, WORDS);
	bool is_left = links_mail_state(links, link->key) == LINKS_MAIL_LEFT;
	const struct page_var vars[] = {
		{ "thanks", view_str(state == PAGE_THANKS ? "1" : ""), PAGE_TEXT },
		{ "place", view_str(waits ? place : ""), PAGE_TEXT },
		{ "left", view_str(is_left ? "1" : ""), PAGE_TEXT },
		{ "wrong", view_str(state == PAGE_ASKS_AGAIN ? "1" : ""), PAGE_TEXT },
		{ "typed", typed, PAGE_TEXT },
		{ NULL, VIEW(""), PAGE_TEXT },
	};

	page_reply(req, state == PAGE_ASKS_AGAIN ? 422 : 200, "mail.html", vars, NULL);
}

/* Nothing is told about what became of the address: it may be somebody else's. */
static void leave(const struct links *links, struct http_request *req, const struct link *link)
{
	auto_url_form struct url_form form = { .n = 0 };
	struct view address;

	if (url_form_parse(&form, http_request_body(req)) < 0) {
		show_problem(req, 400, "This form cannot be read", "Open the link again.");
		return;
	}
	address = view_trim(url_form_get(&form, "email"));
	if (!address_is_valid(address)) {
		show_page(links, req, link, PAGE_ASKS_AGAIN, address);
		return;
	}
	links->config.mail_leave(links->config.userdata, req, link->key, address);
	show_page(links, req, link, PAGE_THANKS, VIEW(""));
}

static void on_request(struct http_request *req, void *userdata)
{
	const struct links *links = userdata;
	auto_link struct link link = { 0 };
	struct err err;

	if (link_parse(links, LINK_MAIL, http_request_path(req), &link, &err) < 0) {
		show_problem(req, err.code == ERR_GONE ? 410 : 404, "This link does not work",
			     err_public(&err));
		return;
	}
	switch (links_mail_state(links, link.key)) {
	case LINKS_MAIL_NO_WAIT:
		show_problem(req, 410, "You are not waiting any more",
			     "Your sandbox is ready, or your place in the queue has lapsed. Go "
			     "back to your chat and use it: you will see which.");
		return;
	case LINKS_MAIL_NONE:
	case LINKS_MAIL_CLOSED:
		show_problem(req, 503, "No e-mails for now",
			     "As many as this server may send are under way. You keep your place "
			     "in the queue: look in from your chat now and then.");
		return;
	case LINKS_MAIL_OFFERED:
	case LINKS_MAIL_LEFT:
		break;
	}
	if (http_request_method(req) == HTTP_POST)
		leave(links, req, &link);
	else
		show_page(links, req, &link, PAGE_ASKS, VIEW(""));
}

int mail_page_add_routes(struct links *links, struct err *err)
{
	const struct http_route route = { .path = "/mail/",
					  .match = HTTP_MATCH_PREFIX,
					  .methods = HTTP_GET | HTTP_POST,
					  .max_body_bytes = MAX_FORM,
					  .handler = on_request,
					  .userdata = links };

	/* Without mail there are no such links. */
	return links->config.mail_state ? http_server_add_route(links->config.http, &route, err)
					: 0;
}
