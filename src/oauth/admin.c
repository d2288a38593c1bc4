/* SPDX-License-Identifier: Apache-2.0 */
/* For the operator: who is registered, and ending sign-ins. */
#include "base/log.h"
#include "oauth/internal.h"
#include "json/json.h"

#include <sodium.h>

void oauth_short_id(const uint8_t client[STORE_HASH_BYTES], char ret[OAUTH_SHORT_ID_TEXT])
{
	(void)sodium_bin2hex(ret, OAUTH_SHORT_ID_TEXT, client, (OAUTH_SHORT_ID_TEXT - 1) / 2);
}

void oauth_count(struct oauth *oauth, struct oauth_counts *ret)
{
	struct err err;

	if (store_client_count(oauth->store, &oauth->counts.clients, &err) < 0 ||
	    store_family_count(oauth->store, &oauth->counts.families, &err) < 0)
		log_error("count sign-ins: %s", err.msg);
	oauth->counts.codes = decisions_count(oauth->decisions);
	*ret = oauth->counts;
}

static json_t *split_lines(const char *text)
{
	struct view rest = view_str(text), line;
	json_t *list = json_array();

	while (list && view_split(&rest, '\n', &line))
		if (json_array_append_new(list, json_text(line)) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static int add_client(const struct store_client *client, void *userdata)
{
	json_t *list = userdata;
	char id[OAUTH_SHORT_ID_TEXT];

	oauth_short_id(client->id, id);
	return json_array_append_new(
		list, json_pack("{s:s, s:s, s:o, s:I, s:I, s:i}", "id", id, "name", client->name,
				"redirect_uris", split_lines(client->redirect_uris), "created",
				(json_int_t)client->created, "last_used",
				(json_int_t)client->last_used, "sign_ins", (int)client->families));
}

/* Takes the list, filled or not. */
static int print_list(json_t *list, int filled, struct buf *out, struct err *err)
{
	auto_json json_t *owned = list;

	if (filled < 0)
		return err_sys(err, ENOMEM, "list what is registered");
	return json_print(out, owned, err);
}

int oauth_list_clients(struct oauth *oauth, struct buf *out, struct err *err)
{
	json_t *list = json_array();

	int filled = -1;

	if (list)
		filled = store_client_each(oauth->store, OAUTH_MAX_LISTED, add_client, list, err);
	return print_list(list, filled, out, err);
}

/* All that the query finds. */
static int end_all(struct oauth *oauth, struct store_family_query query, uint64_t *ended,
		   struct err *err)
{
	uint64_t n;

	do {
		if (oauth_end_some(oauth, query, "the operator ended it", &n, err) < 0)
			return -1;
		*ended += n;
	} while (n);
	return 0;
}

static int revoke_client(struct oauth *oauth, const char *key, uint64_t *ended, struct err *err)
{
	uint8_t id[STORE_HASH_BYTES], prefix[(OAUTH_SHORT_ID_TEXT - 1) / 2];
	size_t len = 0;
	int r = 0;

	if (sodium_hex2bin(prefix, sizeof(prefix), key, strlen(key), NULL, &len, NULL) == 0 &&
	    len == sizeof(prefix))
		r = store_client_find(oauth->store, view_of(prefix, len), id, err);
	if (r < 0)
		return -1;
	if (r == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no client %s", key);
	if (end_all(oauth,
		    (struct store_family_query){ .filter = STORE_FAMILY_OF_CLIENT,
						 .key = view_of(id, sizeof(id)) },
		    ended, err) < 0)
		return -1;
	return store_client_remove(oauth->store, id, err);
}

static int revoke_principal(struct oauth *oauth, const char *key, uint64_t *ended, struct err *err)
{
	struct store_family family;
	int r = store_family_by_principal(oauth->store, view_str(key), &family, err);

	if (r < 0)
		return -1;
	if (r == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no sign-in of %s", key);
	if (oauth_end_family(oauth, &family, "the operator ended it", err) < 0)
		return -1;
	*ended = 1;
	return 0;
}

int oauth_revoke(struct oauth *oauth, enum oauth_revoke_what what, const char *key,
		 uint64_t *ret_ended, struct err *err)
{
	uint64_t ended = 0;
	int r;

	if (what == OAUTH_REVOKE_PRINCIPAL) {
		r = revoke_principal(oauth, key, &ended, err);
	} else if (what == OAUTH_REVOKE_CLIENT) {
		r = revoke_client(oauth, key, &ended, err);
	} else {
		decisions_end_all(oauth->decisions, oauth_now(oauth));
		r = end_all(oauth, (struct store_family_query){ .filter = STORE_FAMILY_ALL },
			    &ended, err);
	}
	if (r < 0)
		return -1;
	*ret_ended = ended;
	return 0;
}
