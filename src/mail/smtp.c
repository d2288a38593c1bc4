/* SPDX-License-Identifier: Apache-2.0 */
/* Hands one message to a relay with libcurl. */
#include "mail/smtp.h"

#include <curl/curl.h>
#include <stdio.h>

struct upload {
	struct view rest;
};

static size_t read_message(char *out, size_t size, size_t n, void *userdata)
{
	struct upload *u = userdata;
	struct view part = view_first(u->rest, size * n);

	memcpy(out, part.p, part.len);
	u->rest = view_from(u->rest, part.len);
	return part.len;
}

/* libcurl wants C strings; the frame's texts hold no NUL and fit. */
struct strings {
	char url[2 * MAIL_MAX_TEXT + 8];
	char ca_file[MAIL_MAX_TEXT + 1], user[MAIL_MAX_TEXT + 1], password[MAIL_MAX_TEXT + 1];
	char from[MAIL_MAX_TEXT + 3], to[MAIL_MAX_TEXT + 3];
};

static void fill_strings(const struct mail_frame *f, struct strings *s)
{
	struct view domain = view_from(f->from, view_find(f->from, '@') + 1);

	/* The path is the name given with EHLO: the sender's domain, not this machine's name. */
	(void)snprintf(s->url, sizeof(s->url), "%.*s/%.*s", VIEW_ARG(f->relay), VIEW_ARG(domain));
	(void)snprintf(s->ca_file, sizeof(s->ca_file), "%.*s", VIEW_ARG(f->ca_file));
	(void)snprintf(s->user, sizeof(s->user), "%.*s", VIEW_ARG(f->user));
	(void)snprintf(s->password, sizeof(s->password), "%.*s", VIEW_ARG(f->password));
	(void)snprintf(s->from, sizeof(s->from), "<%.*s>", VIEW_ARG(f->from));
	(void)snprintf(s->to, sizeof(s->to), "<%.*s>", VIEW_ARG(f->to));
}

static CURLcode set_transport(CURL *curl, const struct mail_frame *f, const struct strings *s)
{
	bool is_local = mail_relay_is_local(f->relay);
	CURLcode r = curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "smtp,smtps");

	if (r == CURLE_OK)
		r = curl_easy_setopt(curl, CURLOPT_URL, s->url);
	if (r == CURLE_OK)
		r = curl_easy_setopt(curl, CURLOPT_USE_SSL,
				     (long)(is_local ? CURLUSESSL_TRY : CURLUSESSL_ALL));
	if (r == CURLE_OK && is_local)
		r = curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
	if (r == CURLE_OK && is_local)
		r = curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
	if (r == CURLE_OK)
		r = curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (r == CURLE_OK && f->ca_file.len)
		r = curl_easy_setopt(curl, CURLOPT_CAINFO, s->ca_file);
	if (r == CURLE_OK)
		r = curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)SMTP_CONNECT_SECONDS);
	if (r == CURLE_OK)
		r = curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)SMTP_TOTAL_SECONDS);
	/* No proxy from the environment, no credentials from ~/.netrc. */
	if (r == CURLE_OK)
		r = curl_easy_setopt(curl, CURLOPT_PROXY, "");
	return r;
}

static CURLcode set_envelope(CURL *curl, const struct mail_frame *f, const struct strings *s,
			     struct curl_slist *to, struct upload *u)
{
	CURLcode r = CURLE_OK;

	if (f->user.len)
		r = curl_easy_setopt(curl, CURLOPT_USERNAME, s->user);
	if (r == CURLE_OK && f->user.len)
		r = curl_easy_setopt(curl, CURLOPT_PASSWORD, s->password);
	if (r == CURLE_OK)
		r = curl_easy_setopt(curl, CURLOPT_MAIL_FROM, s->from);
	if (r == CURLE_OK)
		r = curl_easy_setopt(curl, CURLOPT_MAIL_RCPT, to);
	if (r == CURLE_OK)
		r = curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
	if (r == CURLE_OK)
		r = curl_easy_setopt(curl, CURLOPT_READFUNCTION, read_message);
	if (r == CURLE_OK)
		r = curl_easy_setopt(curl, CURLOPT_READDATA, u);
	return r;
}

/* Only a relay's own "5xx" about this message is final; whatever an operator can repair is not. */
static enum mail_exit judge(CURL *curl, CURLcode r, char *why, size_t why_size)
{
	long code = 0;

	if (r == CURLE_OK) {
		(void)snprintf(why, why_size, "sent");
		return MAIL_EXIT_SENT;
	}
	(void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
	(void)snprintf(why, why_size, "%s (last answer of the relay: %ld)", curl_easy_strerror(r),
		       code);
	if ((r == CURLE_SEND_ERROR || r == CURLE_RECV_ERROR || r == CURLE_WEIRD_SERVER_REPLY ||
	     r == CURLE_UPLOAD_FAILED) &&
	    code >= 500 && code <= 599)
		return MAIL_EXIT_REFUSED;
	return MAIL_EXIT_TEMPORARY;
}

static enum mail_exit send_with(CURL *curl, const struct mail_frame *frame, struct view message,
				char *why, size_t why_size)
{
	struct upload upload = { message };
	struct curl_slist *to;
	struct strings s;
	enum mail_exit result = MAIL_EXIT_TEMPORARY;
	CURLcode r;

	fill_strings(frame, &s);
	to = curl_slist_append(NULL, s.to);
	if (to) {
		r = set_transport(curl, frame, &s);
		if (r == CURLE_OK)
			r = set_envelope(curl, frame, &s, to, &upload);
		if (r == CURLE_OK)
			r = curl_easy_perform(curl);
		result = judge(curl, r, why, why_size);
	}
	curl_slist_free_all(to);
	explicit_bzero(&s, sizeof(s));
	return result;
}

enum mail_exit smtp_send(const struct mail_frame *frame, struct view message, char *why,
			 size_t why_size)
{
	enum mail_exit result;
	CURL *curl = NULL;

	(void)snprintf(why, why_size, "out of memory");
	if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
		curl = curl_easy_init();
	if (!curl)
		return MAIL_EXIT_TEMPORARY;
	result = send_with(curl, frame, message, why, why_size);
	curl_easy_cleanup(curl);
	curl_global_cleanup();
	return result;
}
