/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page's form carries the request itself, encrypted and authenticated with a key of this
 * process: showing a page costs no memory, nobody can flood it, and nobody can forge a form.
 */
#include "oauth/request.h"

#include <assert.h>
#include <sodium.h>

enum {
	FIXED = 8 + 1 + SECRET_HASH_BYTES + SECRET_HASH_BYTES + SECRET_CHALLENGE + 2,
	MAX_PLAIN = FIXED + OAUTH_MAX_REDIRECT + OAUTH_MAX_STATE,
	OVERHEAD = crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES,
	MAX_BOX = MAX_PLAIN + OVERHEAD,

	FLAG_STATE = 1,
	FLAG_OFFLINE = 2,
};
_Static_assert(sodium_base64_ENCODED_LEN(MAX_BOX, sodium_base64_VARIANT_URLSAFE_NO_PADDING) <=
		       REQUEST_MAX_SEALED,
	       "a sealed request is longer than promised");
_Static_assert(crypto_secretbox_KEYBYTES == REQUEST_KEY_BYTES, "key size");

static uint8_t *put(uint8_t *at, const void *p, size_t len)
{
	memcpy(at, p, len);
	return at + len;
}

static const uint8_t *get(const uint8_t *at, void *p, size_t len)
{
	memcpy(p, at, len);
	return at + len;
}

/* Never leaves this process, so the machine's byte order will do. */
static size_t pack(const struct request *r, uint8_t out[MAX_PLAIN])
{
	uint8_t flags =
		(uint8_t)((r->has_state ? FLAG_STATE : 0) | (r->offline ? FLAG_OFFLINE : 0));
	uint16_t redirect_len = (uint16_t)strlen(r->redirect_uri);
	uint8_t *at = out;

	at = put(at, &r->shown, sizeof(r->shown));
	at = put(at, &flags, 1);
	at = put(at, r->client, sizeof(r->client));
	at = put(at, r->cookie, sizeof(r->cookie));
	at = put(at, r->challenge, SECRET_CHALLENGE);
	at = put(at, &redirect_len, sizeof(redirect_len));
	assert(at == out + FIXED);
	at = put(at, r->redirect_uri, redirect_len);
	at = put(at, r->state, strlen(r->state));
	return (size_t)(at - out);
}

static void unpack(const uint8_t *in, size_t len, struct request *ret)
{
	struct request r = { .shown = 0 };
	const uint8_t *at = in;
	uint16_t redirect_len;
	uint8_t flags;

	at = get(at, &r.shown, sizeof(r.shown));
	at = get(at, &flags, 1);
	at = get(at, r.client, sizeof(r.client));
	at = get(at, r.cookie, sizeof(r.cookie));
	at = get(at, r.challenge, SECRET_CHALLENGE);
	at = get(at, &redirect_len, sizeof(redirect_len));
	/* Authenticated: only pack() wrote this. */
	assert(redirect_len < sizeof(r.redirect_uri) && len >= (size_t)FIXED + redirect_len &&
	       len - FIXED - redirect_len < sizeof(r.state));
	at = get(at, r.redirect_uri, redirect_len);
	(void)get(at, r.state, len - FIXED - redirect_len);
	r.has_state = flags & FLAG_STATE;
	r.offline = flags & FLAG_OFFLINE;
	*ret = r;
}

int request_seal(const struct request *request, const uint8_t key[REQUEST_KEY_BYTES],
		 struct buf *out, struct err *err)
{
	uint8_t plain[MAX_PLAIN], box[MAX_BOX];
	size_t len = pack(request, plain);
	char text[REQUEST_MAX_SEALED];
	int r;

	randombytes_buf(box, crypto_secretbox_NONCEBYTES);
	(void)crypto_secretbox_easy(box + crypto_secretbox_NONCEBYTES, plain, len, box, key);
	(void)sodium_bin2base64(text, sizeof(text), box, len + OVERHEAD,
				sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	r = buf_add_str(out, text);
	return r < 0 ? err_sys(err, -r, "seal a request") : 0;
}

int request_open(struct view sealed, const uint8_t key[REQUEST_KEY_BYTES], struct request *ret)
{
	uint8_t box[MAX_BOX], plain[MAX_PLAIN];
	size_t len = 0;

	if (sealed.len > REQUEST_MAX_SEALED ||
	    sodium_base642bin(box, sizeof(box), sealed.p, sealed.len, NULL, &len, NULL,
			      sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
	    len < FIXED + OVERHEAD ||
	    crypto_secretbox_open_easy(plain, box + crypto_secretbox_NONCEBYTES,
				       len - crypto_secretbox_NONCEBYTES, box, key) != 0)
		return -EINVAL;
	unpack(plain, len - OVERHEAD, ret);
	return 0;
}

void request_identity(const struct request *request, uint8_t ret[SECRET_HASH_BYTES])
{
	struct request same = *request;
	uint8_t plain[MAX_PLAIN];
	size_t len;

	same.shown = 0;
	len = pack(&same, plain);
	secret_hash(view_of(plain, len), ret);
}
