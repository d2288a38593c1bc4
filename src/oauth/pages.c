/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of sign-in. */
#include "oauth/pages.h"

#include "http/page.h"
#include "oauth/redirect.h"
#include "oauth/reply.h"

#include <inttypes.h>
#include <stdio.h>

/* Words that the reader can act on. */
static const struct {
	const char *title, *message, *hint;
} problems[PAGES_NUM_PROBLEMS] = {
	[PAGES_BAD_METHOD] = { "This page only shows and sends a form",
			       "The request used another method than GET and POST.", "" },
	[PAGES_BAD_REQUEST] = { "This link is broken",
				"The app sent you here with a request that cannot be read.",
				"Go back to the app and connect again. If that does not help, tell "
				"the people who make the app." },
	[PAGES_UNKNOWN_CLIENT] = { "This app is not known here",
				   "The app’s registration is not known here (any more).",
				   "Remove the connector in your app and add it again." },
	[PAGES_BAD_REDIRECT] = { "This link is not what the app registered",
				 "You would be sent to an address that the app did not name when "
				 "it "
				 "registered, so we stop here.",
				 "Remove the connector in your app and add it again. If you did "
				 "not "
				 "come from an app that you use, close this page." },
	[PAGES_TOO_OLD] = { "This page is too old",
			    "A sign-in has to be finished within a few minutes.",
			    "Go back to your app and start again." },
	[PAGES_NO_COOKIE] = { "Your browser did not keep the cookie",
			      "We set one short-lived cookie, to be sure that the button was "
			      "pressed "
			      "by you and not by another site. It did not come back.",
			      "Allow cookies for this site, then start again in your app." },
	[PAGES_FOREIGN] = { "This did not come from our page",
			    "Another site tried to press the button for you. Nothing was created.",
			    "If you want a sandbox, start from your app." },
	[PAGES_NO_WORK] = { "Your browser has to do a small computation",
			    "To keep robots out, this server asks browsers for a second of work "
			    "before it creates a sandbox. It was missing or wrong.",
			    "Turn on JavaScript for this site, or try again when less is going "
			    "on, then start again in your app." },
	[PAGES_TOO_MANY] = { "Enough new sandboxes for now",
			     "Your network has created as many sandboxes as one network may in an "
			     "hour. You may share it with others.",
			     "A sandbox that you already have keeps working." },
	[PAGES_HELD] = { "Your network has its share",
			 "As many sandboxes as one network may have are in use or waited for from "
			 "yours. You may share it with others.",
			 "Sandboxes that are not used are freed by themselves." },
	[PAGES_FULL] = { "No more sign-ins just now",
			 "This server has as many sign-ins as it can take.", "" },
	[PAGES_TROUBLE] = { "Something is wrong with this server",
			    "Nothing was created. It is not your fault.",
			    "Go back to your app and try again in a moment." },
};

static void show(struct http_request *req, unsigned status, enum pages_problem problem,
		 const char *hint, const struct http_header *extra)
{
	const struct page_var vars[] = {
		{ .name = "title", .value = view_str(problems[problem].title) },
		{ .name = "message", .value = view_str(problems[problem].message) },
		{ .name = "hint", .value = view_str(hint) },
		{ .name = NULL },
	};

	reply_note(req, status, problems[problem].title);
	page_reply(req, status, "error.html", vars, extra);
}

void pages_problem(struct http_request *req, unsigned status, enum pages_problem problem,
		   const struct http_header *extra)
{
	show(req, status, problem, problems[problem].hint, extra);
}

void pages_refuse(struct http_request *req, enum pages_problem problem, usec wait)
{
	char seconds[24], words[40], hint[240];
	const struct http_header extra[] = { { "Retry-After", seconds }, { NULL, NULL } };
	const char *own = problems[problem].hint;

	(void)snprintf(seconds, sizeof(seconds), "%" PRIu64, reply_retry_seconds(wait));
	pages_duration(reply_retry_seconds(wait), words, sizeof(words));
	(void)snprintf(hint, sizeof(hint), "%s%sYou can press the button again in %s.", own,
		       own[0] ? " " : "", words);
	show(req, 429, problem, hint, extra);
}

void pages_slow_down(struct http_request *req, usec wait)
{
	char seconds[24];
	const struct http_header extra[] = { { "Retry-After", seconds }, { NULL, NULL } };
	const struct page_var vars[] = {
		{ .name = "title", .value = VIEW_INIT("A little slower, please") },
		{ .name = "message",
		  .value = VIEW_INIT("Too many pages were asked for from your network.") },
		{ .name = "hint", .value = VIEW_INIT("Load the page again in a minute.") },
		{ .name = NULL },
	};

	(void)snprintf(seconds, sizeof(seconds), "%" PRIu64, reply_retry_seconds(wait));
	reply_note(req, 429, "too many pages");
	page_reply(req, 429, "error.html", vars, extra);
}

void pages_done(struct http_request *req)
{
	static const struct page_var vars[] = { { .name = NULL } };

	page_reply(req, 200, "done.html", vars, NULL);
}

void pages_duration(uint64_t seconds, char *out, size_t size)
{
	static const struct {
		uint64_t seconds;
		const char *name;
	} units[] = { { 86400, "day" }, { 3600, "hour" }, { 60, "minute" }, { 1, "second" } };
	size_t i = 0;
	uint64_t n;

	/* "90 minutes" rather than "2 hours": the unit must fit one and a half times. */
	while (i < ARRAY_SIZE(units) - 1 && seconds < 2 * units[i].seconds &&
	       seconds != units[i].seconds)
		i++;
	n = (seconds + units[i].seconds - 1) / units[i].seconds;
	(void)snprintf(out, size, "%" PRIu64 " %s%s", n, units[i].name, n == 1 ? "" : "s");
}

/* Where the visitor goes afterwards; only one of the three is not empty. */
struct target {
	struct view host, scheme, local;
};

static struct target describe_target(const char *redirect_uri)
{
	struct target t = { .host = VIEW(""), .scheme = VIEW(""), .local = VIEW("") };
	struct redirect r;

	if (redirect_parse(view_str(redirect_uri), &r) < 0)
		return t;
	if (r.kind == REDIRECT_WEB)
		t.host = r.host;
	else if (r.kind == REDIRECT_APP)
		t.scheme = r.scheme;
	else
		t.local = VIEW("1");
	return t;
}

void pages_sign_in(struct http_request *req, unsigned status, const struct pages_sign_in *page)
{
	const struct target target = describe_target(page->redirect_uri);
	const struct http_header extra[] = {
		{ page->cookie_header ? "Set-Cookie" : NULL, page->cookie_header },
		{ NULL, NULL },
	};
	char idle[40], bits[12] = "";

	pages_duration(page->idle_s, idle, sizeof(idle));
	if (page->work_bits)
		(void)snprintf(bits, sizeof(bits), "%" PRIu32, page->work_bits);

	const struct page_var vars[] = {
		{ .name = "app", .value = view_str(page->app) },
		{ .name = "host", .value = target.host },
		{ .name = "scheme", .value = target.scheme },
		{ .name = "local", .value = target.local },
		{ .name = "request", .value = view_str(page->sealed) },
		{ .name = "idle", .value = view_str(idle) },
		{ .name = "keeps", .value = page->keeps_files ? VIEW("1") : VIEW("") },
		{ .name = "work", .value = view_str(bits) },
		{ .name = "mail", .value = page->wants_mail ? VIEW("1") : VIEW("") },
		{ .name = "mail_typed", .value = page->mail },
		{ .name = "mail_wrong", .value = page->mail },
		{ .name = NULL },
	};

	page_reply(req, status, "sign-in.html", vars, extra);
}
