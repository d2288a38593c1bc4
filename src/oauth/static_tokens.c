/* SPDX-License-Identifier: Apache-2.0 */
/* Static bearer tokens: made and listed for the operator. */
#include "oauth/internal.h"
#include "json/json.h"

enum { MIN_IMPORT = 32, MAX_IMPORT = 256 };

static bool is_name(const char *name)
{
	size_t len = strlen(name);

	return len >= 1 && len < STORE_BEARER_NAME_BYTES &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

static int add(struct oauth *oauth, const char *name, const char *owner, struct view token,
	       struct err *err)
{
	struct store_bearer bearer = { .created = oauth_seconds(oauth) };

	if (!is_name(name) || !is_name(owner))
		return err_set(err, ERR_INVALID,
			       "the name and the owner of a token are 1 to %d of a-z, 0-9 and -",
			       STORE_BEARER_NAME_BYTES - 1);
	memcpy(bearer.name, name, strlen(name));
	memcpy(bearer.owner, owner, strlen(owner));
	secret_hash(token, bearer.hash);
	return store_bearer_add(oauth->store, &bearer, err);
}

int oauth_token_create(struct oauth *oauth, const char *name, const char *owner,
		       char ret[OAUTH_TOKEN_TEXT_BYTES], struct err *err)
{
	char text[SECRET_ACCESS_TEXT];
	int r;

	secret_prefixed("sbt_", text);
	r = add(oauth, name, owner, view_str(text), err);
	if (r == 0)
		memcpy(ret, text, sizeof(text));
	secret_wipe(text, sizeof(text));
	return r;
}

int oauth_token_import(struct oauth *oauth, const char *name, const char *owner, struct view token,
		       struct err *err)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=";

	if (token.len < MIN_IMPORT || token.len > MAX_IMPORT)
		return err_set(err, ERR_INVALID, "a token has %d to %d characters", MIN_IMPORT,
			       MAX_IMPORT);
	for (size_t i = 0; i < token.len; i++)
		if (!memchr(allowed, token.p[i], sizeof(allowed) - 1))
			return err_set(err, ERR_INVALID,
				       "a token has only letters, digits and -._~+/=");
	return add(oauth, name, owner, token, err);
}

int oauth_token_remove(struct oauth *oauth, const char *name, struct err *err)
{
	return store_bearer_remove(oauth->store, view_str(name), err);
}

static int add_token(const struct store_bearer *bearer, void *userdata)
{
	json_t *list = userdata;

	return json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:I}", "name", bearer->name,
						     "owner", bearer->owner, "created",
						     (json_int_t)bearer->created, "last_used",
						     (json_int_t)bearer->last_used));
}

int oauth_token_list(struct oauth *oauth, struct buf *out, struct err *err)
{
	auto_json json_t *list = json_array();

	if (!list || store_bearer_each(oauth->store, add_token, list, err) < 0)
		return err_sys(err, ENOMEM, "list the tokens");
	return json_print(out, list, err);
}
