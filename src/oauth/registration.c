/* SPDX-License-Identifier: Apache-2.0 */
/* Client metadata: parsing and the id made from it. */
#include "oauth/registration.h"

#include "base/utf8.h"
#include "oauth/redirect.h"
#include "oauth/secret.h"

#include <sodium.h>
#include <stdio.h>

static const char bad_metadata[] = "invalid_client_metadata";
static const char bad_redirect[] = "invalid_redirect_uri";

void registration_done(struct registration *reg)
{
	json_decref(reg->document);
	reg->document = NULL;
}

/* Characters that hide or reorder text: a name is shown to the person who decides. */
static bool is_deceptive(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0x3164 || c == 0xfeff ||
	       (c >= 0xfff0 && c <= 0xfffb) || c >= 0xe0000;
}

/* Keeps what may be shown, cut at a character border. */
static void clean_name(struct view name, char out[OAUTH_MAX_NAME + 1])
{
	size_t len = 0;

	name = view_trim(name);
	while (name.len) {
		uint32_t c = 0;
		size_t n = utf8_char(name, &c);

		if (n == 0 || len + n > OAUTH_MAX_NAME)
			break;
		if (!is_deceptive(c)) {
			memcpy(out + len, name.p, n);
			len += n;
		}
		name = view_from(name, n);
	}
	out[len] = '\0';
}

static int read_name(const json_t *doc, struct registration *reg, struct err *err)
{
	struct view name = VIEW("");

	if (json_get_string(doc, "client_name", &name, err) < 0)
		return -1;
	clean_name(name, reg->name);
	if (!reg->name[0])
		(void)snprintf(reg->name, sizeof(reg->name), "An MCP client");
	return 0;
}

static int read_redirects(const json_t *doc, struct registration *reg, struct err *err)
{
	const json_t *list = json_object_get(doc, "redirect_uris"), *item;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) == 0)
		return err_set(err, ERR_INVALID,
			       "redirect_uris must be a list of at least one URI");
	if (json_array_size(list) > OAUTH_MAX_REDIRECTS)
		return err_set(err, ERR_INVALID, "redirect_uris has more than %d entries",
			       OAUTH_MAX_REDIRECTS);
	json_array_foreach(list, i, item)
	{
		struct view uri = view_of(json_string_value(item), json_string_length(item));
		struct redirect parsed;

		if (!json_is_string(item))
			return err_set(err, ERR_INVALID, "redirect_uris must hold strings only");
		if (redirect_parse(uri, &parsed) == 0)
			reg->redirects[reg->n_redirects++] = uri;
	}
	if (reg->n_redirects == 0)
		return err_set(err, ERR_INVALID,
			       "none of the redirect_uris is acceptable: use https, http on "
			       "localhost, 127.0.0.1 or [::1], or the scheme of an app");
	return 0;
}

/* If the list is there, it must hold `needed`; what else it holds is not our business. */
static int check_list(const json_t *doc, const char *name, const char *needed, struct err *err)
{
	const json_t *list = json_object_get(doc, name), *item;
	size_t i;

	if (!list || json_is_null(list))
		return 0;
	json_array_foreach(list, i, item)
	{
		if (json_is_string(item) &&
		    view_is(view_of(json_string_value(item), json_string_length(item)), needed))
			return 0;
	}
	return err_set(err, ERR_INVALID, "%s must include %s", name, needed);
}

static void read_kind(const json_t *doc, struct registration *reg)
{
	const char *kind = json_string_value(json_object_get(doc, "application_type"));

	if (kind && strcmp(kind, "native") == 0)
		reg->kind = REGISTRATION_NATIVE;
	else if (kind && strcmp(kind, "web") == 0)
		reg->kind = REGISTRATION_WEB;
}

static int read_document(struct registration *reg, const char **ret_error, struct err *err)
{
	*ret_error = bad_metadata;
	if (!json_is_object(reg->document))
		return err_set(err, ERR_INVALID, "the body must be a JSON object");
	if (check_list(reg->document, "grant_types", "authorization_code", err) < 0 ||
	    check_list(reg->document, "response_types", "code", err) < 0 ||
	    read_name(reg->document, reg, err) < 0)
		return -1;
	read_kind(reg->document, reg);
	*ret_error = bad_redirect;
	return read_redirects(reg->document, reg, err);
}

int registration_parse(struct view body, struct registration *ret, const char **ret_error,
		       struct err *err)
{
	auto_registration struct registration reg = { .document = json_parse(body, err) };

	*ret_error = bad_metadata;
	if (!reg.document)
		return -1;
	if (read_document(&reg, ret_error, err) < 0)
		return -1;
	*ret = reg;
	reg.document = NULL;
	return 0;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The redirect URIs without loopback ports, sorted, without repeats, a line each. */
static int add_sorted_redirects(struct buf *out, const struct registration *reg)
{
	char *lines[OAUTH_MAX_REDIRECTS] = { NULL };
	int r = 0;

	for (size_t i = 0; r == 0 && i < reg->n_redirects; i++) {
		auto_buf struct buf line = BUF_INIT(OAUTH_MAX_REDIRECT);

		r = redirect_canonical(&line, reg->redirects[i]);
		lines[i] = r == 0 ? buf_take(&line) : NULL;
	}
	if (r == 0)
		qsort(lines, reg->n_redirects, sizeof(lines[0]), compare_lines);
	for (size_t i = 0; r == 0 && i < reg->n_redirects; i++)
		if (i == 0 || strcmp(lines[i], lines[i - 1]) != 0)
			r = buf_addf(out, "%s\n", lines[i]);
	for (size_t i = 0; i < reg->n_redirects; i++)
		free(lines[i]);
	return r;
}

int registration_id(const struct registration *reg, const char *issuer,
		    char ret[REGISTRATION_ID_TEXT], struct err *err)
{
	auto_buf struct buf text = BUF_INIT(OAUTH_MAX_REGISTRATION + 1024);
	uint8_t hash[SECRET_HASH_BYTES];
	char hex[2 * 20 + 1];
	int r;

	/* No part can hold a newline, so different parts never give the same text. */
	r = buf_addf(&text, "berth client 1\n%s\n%s\n%d\n", issuer, reg->name, (int)reg->kind);
	if (r == 0)
		r = add_sorted_redirects(&text, reg);
	if (r < 0)
		return err_sys(err, -r, "make a client id");
	secret_hash(buf_view(&text), hash);
	(void)sodium_bin2hex(hex, sizeof(hex), hash, 20);
	(void)snprintf(ret, REGISTRATION_ID_TEXT, "sbc%s", hex);
	return 0;
}

bool registration_is_id(struct view id)
{
	if (id.len != REGISTRATION_ID_TEXT - 1 || !view_starts(id, VIEW("sbc")))
		return false;
	for (size_t i = 3; i < id.len; i++)
		if (!((id.p[i] >= '0' && id.p[i] <= '9') || (id.p[i] >= 'a' && id.p[i] <= 'f')))
			return false;
	return true;
}
