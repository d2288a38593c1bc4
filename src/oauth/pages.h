/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of sign-in: the button, what went wrong, and "done". Templates are in web/. */
#ifndef BERTH_OAUTH_PAGES_H
#define BERTH_OAUTH_PAGES_H

#include "http/http.h"

enum pages_problem {
	PAGES_BAD_METHOD,
	PAGES_BAD_REQUEST, /* the link from the app is broken */
	PAGES_UNKNOWN_CLIENT,
	PAGES_BAD_REDIRECT, /* it wants to send the visitor where it did not say before */
	PAGES_TOO_OLD,      /* the page, or its press, is over */
	PAGES_NO_COOKIE,
	PAGES_FOREIGN,  /* another site sent the form, or asked for a part of its own page */
	PAGES_NO_WORK,  /* proof of work is missing or wrong */
	PAGES_TOO_MANY, /* new sandboxes of this network */
	PAGES_HELD,     /* sandboxes in use by this network */
	PAGES_FULL,
	PAGES_TROUBLE, /* our fault */
	PAGES_NUM_PROBLEMS,
};

/* `extra` as in http_reply(). */
void pages_problem(struct http_request *req, unsigned status, enum pages_problem problem,
		   const struct http_header *extra);
/* 429 with Retry-After. */
void pages_refuse(struct http_request *req, enum pages_problem problem, usec wait);
/* 429: pages are asked for too fast. */
void pages_slow_down(struct http_request *req, usec wait);

/* The code was exchanged: nothing is left to do here. */
void pages_done(struct http_request *req);

struct pages_sign_in {
	const char *app;          /* what the app calls itself */
	const char *redirect_uri; /* acceptable */
	const char *sealed;
	uint32_t idle_s;
	bool keeps_files;
	uint32_t work_bits;        /* 0: no proof of work */
	bool wants_mail;           /* show the e-mail field */
	struct view mail;          /* what was typed, when it was no address */
	const char *cookie_header; /* value of Set-Cookie, or NULL */
};
void pages_sign_in(struct http_request *req, unsigned status, const struct pages_sign_in *page);

/* "10 minutes", "2 hours": rounded up. */
void pages_duration(uint64_t seconds, char *out, size_t size);

#endif
