/* SPDX-License-Identifier: Apache-2.0 */
/* Which messages are to be sent, and when. */
#include "mail/outbox.h"

#include "base/address.h"
#include "sys/locked.h"

#include <assert.h>
#include <sodium.h>

#define HOUR        (3600 * USEC_PER_SEC)
#define DAY         (24 * HOUR)
#define FIRST_PAUSE (60 * USEC_PER_SEC)

enum entry_state { ENTRY_NONE, ENTRY_WAITING, ENTRY_READY, ENTRY_SENDING };

struct entry {
	enum entry_state state;
	bool is_unwanted; /* while SENDING: forget it whatever the result */
	char principal[OUTBOX_MAX_PRINCIPAL + 1];
	uint16_t address_len;
	usec left_at;
	usec next_try; /* READY */
	usec pause;    /* before the next attempt */
};

/* An address that was left: enough to recognise it, not enough to read it. */
struct memory {
	unsigned char address[crypto_generichash_BYTES_MIN];
	unsigned char domain[crypto_generichash_BYTES_MIN];
	usec at; /* 0: none */
};

typedef char address_text[ADDRESS_MAX + 2]; /* even, without NUL */

struct outbox {
	struct outbox_config config;
	struct entry entries[OUTBOX_MAX_ADDRESSES];
	address_text *addresses; /* locked; of the entry with the same index */
	uint32_t n_entries;
	struct memory memories[OUTBOX_MAX_REMEMBERED]; /* a ring */
	uint32_t next_memory;
	unsigned char key[crypto_generichash_KEYBYTES];
	usec *sent_at;      /* a ring of per_hour starts; 0: none */
	uint32_t next_sent; /* the oldest of them */
	struct outbox_stats total;
};

int outbox_new(const struct outbox_config *config, struct outbox **ret, struct err *err)
{
	struct outbox *o = calloc(1, sizeof(*o));
	void *addresses;
	int r;

	if (!o || sodium_init() < 0) {
		free(o);
		return err_sys(err, ENOMEM, "make the outbox");
	}
	o->config = *config;
	randombytes_buf(o->key, sizeof(o->key));
	r = locked_new(OUTBOX_MAX_ADDRESSES * sizeof(*o->addresses), &addresses);
	if (r < 0) {
		free(o);
		return err_sys(err, -r,
			       "lock memory for e-mail addresses (LimitMEMLOCK must allow 512K)");
	}
	o->addresses = addresses;
	o->sent_at = calloc(config->per_hour ? config->per_hour : 1, sizeof(*o->sent_at));
	if (!o->sent_at) {
		outbox_free(o);
		return err_sys(err, ENOMEM, "make the outbox");
	}
	*ret = o;
	return 0;
}

void outbox_free(struct outbox *o)
{
	if (!o)
		return;
	locked_free(o->addresses, OUTBOX_MAX_ADDRESSES * sizeof(*o->addresses));
	free(o->sent_at);
	free(o);
}

static struct entry *find(struct outbox *o, const char *principal)
{
	for (size_t i = 0; i < OUTBOX_MAX_ADDRESSES; i++)
		if (o->entries[i].state != ENTRY_NONE &&
		    !strcmp(o->entries[i].principal, principal))
			return &o->entries[i];
	return NULL;
}

static size_t index_of(const struct outbox *o, const struct entry *e)
{
	return (size_t)(e - o->entries);
}

static void wipe(struct outbox *o, struct entry *e)
{
	explicit_bzero(o->addresses[index_of(o, e)], sizeof(address_text));
	*e = (struct entry){ .state = ENTRY_NONE };
	o->n_entries--;
}

/* ---- the hour ---- */

/* When the next message may start. */
static usec next_start(const struct outbox *o)
{
	usec oldest = o->sent_at[o->next_sent];

	return oldest ? oldest + HOUR : 0;
}

static void count_start(struct outbox *o, usec now)
{
	o->sent_at[o->next_sent] = now;
	o->next_sent = (o->next_sent + 1) % o->config.per_hour;
}

/* The last start did not count after all. Its place becomes the oldest, free one. */
static void uncount_start(struct outbox *o)
{
	o->next_sent = (o->next_sent + o->config.per_hour - 1) % o->config.per_hour;
	o->sent_at[o->next_sent] = 0;
}

bool outbox_is_open(const struct outbox *o, usec now)
{
	return o->config.per_hour && o->n_entries < OUTBOX_MAX_ADDRESSES && next_start(o) <= now;
}

/* ---- leaving an address ---- */

static void hash(const struct outbox *o, struct view text,
		 unsigned char out[crypto_generichash_BYTES_MIN])
{
	(void)crypto_generichash(out, crypto_generichash_BYTES_MIN, (const unsigned char *)text.p,
				 text.len, o->key, sizeof(o->key));
}

static uint32_t domain_limit(struct view domain)
{
	static const char *const large[] = { "gmail.com",   "googlemail.com", "outlook.com",
					     "hotmail.com", "live.com",       "yahoo.com",
					     "icloud.com",  "me.com",         "aol.com",
					     "gmx.de",      "gmx.net",        "web.de",
					     "t-online.de", "mail.ru",        "qq.com",
					     "163.com",     "proton.me",      "protonmail.com" };

	for (size_t i = 0; i < ARRAY_SIZE(large); i++)
		if (view_is_nocase(domain, large[i]))
			return OUTBOX_PER_LARGE_DOMAIN;
	return OUTBOX_PER_DOMAIN;
}

/* Refuses what was left too often, else remembers this one. */
static int remember(struct outbox *o, struct view address, usec now, struct err *err)
{
	struct view domain = view_from(address, view_find(address, '@') + 1);
	struct memory *slot = &o->memories[o->next_memory], fresh = { .at = now };
	char mailbox[ADDRESS_MAX + 1];
	uint32_t same_domain = 0;

	address_mailbox(address, mailbox);
	hash(o, view_str(mailbox), fresh.address);
	hash(o, view_str(strchr(mailbox, '@')), fresh.domain);
	explicit_bzero(mailbox, sizeof(mailbox));
	if (slot->at && now - slot->at < DAY)
		return err_set(err, ERR_FULL, "too many addresses were left today");
	for (size_t i = 0; i < OUTBOX_MAX_REMEMBERED; i++) {
		const struct memory *m = &o->memories[i];

		if (!m->at || now - m->at >= DAY)
			continue;
		if (memcmp(m->address, fresh.address, sizeof(fresh.address)) == 0)
			return err_set(err, ERR_BUSY, "this address was left today already");
		if (now - m->at < HOUR &&
		    memcmp(m->domain, fresh.domain, sizeof(fresh.domain)) == 0)
			same_domain++;
	}
	if (same_domain >= domain_limit(domain))
		return err_set(err, ERR_BUSY, "this domain was left too often in the last hour");
	*slot = fresh;
	o->next_memory = (o->next_memory + 1) % OUTBOX_MAX_REMEMBERED;
	return 0;
}

static struct entry *free_entry(struct outbox *o)
{
	for (size_t i = 0; i < OUTBOX_MAX_ADDRESSES; i++)
		if (o->entries[i].state == ENTRY_NONE)
			return &o->entries[i];
	return NULL;
}

int outbox_leave(struct outbox *o, const char *principal, struct view address, usec now,
		 struct err *err)
{
	struct entry *e;

	if (!address_is_valid(address) || strlen(principal) > OUTBOX_MAX_PRINCIPAL)
		return err_set(err, ERR_INVALID, "not an e-mail address that can be used here");
	if (!o->config.per_hour)
		return err_set(err, ERR_FULL, "no mail is sent from here");
	if (remember(o, address, now ? now : 1, err) < 0)
		return -1;
	outbox_forget(o, principal);
	e = free_entry(o);
	if (!e || find(o, principal))
		return err_set(err, ERR_FULL, "too many addresses are waiting");
	*e = (struct entry){ .state = ENTRY_WAITING, .left_at = now, .pause = FIRST_PAUSE };
	memcpy(e->principal, principal, strlen(principal) + 1);
	memcpy(o->addresses[index_of(o, e)], address.p, address.len);
	e->address_len = (uint16_t)address.len;
	o->n_entries++;
	return 0;
}

void outbox_forget(struct outbox *o, const char *principal)
{
	struct entry *e = find(o, principal);

	if (!e)
		return;
	if (e->state == ENTRY_SENDING)
		e->is_unwanted = true;
	else
		wipe(o, e);
}

bool outbox_has(struct outbox *outbox, const char *principal)
{
	return find(outbox, principal) != NULL;
}

void outbox_ready(struct outbox *o, const char *principal, usec now)
{
	struct entry *e = find(o, principal);

	if (!e || e->state != ENTRY_WAITING)
		return;
	e->state = ENTRY_READY;
	e->next_try = now;
}

/* ---- sending ---- */

void outbox_tick(struct outbox *o, usec now)
{
	for (size_t i = 0; i < OUTBOX_MAX_ADDRESSES; i++) {
		struct entry *e = &o->entries[i];

		if (e->state == ENTRY_NONE || e->state == ENTRY_SENDING ||
		    e->left_at + o->config.keep > now)
			continue;
		if (e->state == ENTRY_READY)
			o->total.forgotten++;
		wipe(o, e);
	}
}

/* The entry to try first, or OUTBOX_MAX_ADDRESSES; *ret_sending when one is under way. */
static size_t first_ready(const struct outbox *o, bool *ret_sending)
{
	size_t best = OUTBOX_MAX_ADDRESSES;

	*ret_sending = false;
	for (size_t i = 0; i < OUTBOX_MAX_ADDRESSES; i++) {
		const struct entry *e = &o->entries[i];

		if (e->state == ENTRY_SENDING)
			*ret_sending = true;
		if (e->state == ENTRY_READY &&
		    (best == OUTBOX_MAX_ADDRESSES || e->next_try < o->entries[best].next_try))
			best = i;
	}
	return best;
}

usec outbox_next_deadline(const struct outbox *o, usec now)
{
	bool is_sending;
	size_t ready = first_ready(o, &is_sending);
	usec next = USEC_INFINITY;

	for (size_t i = 0; i < OUTBOX_MAX_ADDRESSES; i++) {
		const struct entry *e = &o->entries[i];

		if (e->state != ENTRY_NONE && e->state != ENTRY_SENDING &&
		    e->left_at + o->config.keep < next)
			next = e->left_at + o->config.keep;
	}
	if (ready < OUTBOX_MAX_ADDRESSES && !is_sending) {
		usec start = o->entries[ready].next_try;

		if (start < next_start(o))
			start = next_start(o);

		if (start < next)
			next = start;
	}
	return next > now ? next : now;
}

bool outbox_next(struct outbox *o, usec now, struct outbox_job *ret)
{
	bool is_sending;
	struct entry *e;
	size_t i;

	outbox_tick(o, now);
	i = first_ready(o, &is_sending);
	if (i == OUTBOX_MAX_ADDRESSES || is_sending || next_start(o) > now)
		return false;
	e = &o->entries[i];
	if (e->next_try > now)
		return false;
	e->state = ENTRY_SENDING;
	count_start(o, now ? now : 1);
	*ret = (struct outbox_job){ (uint32_t)i, e->principal,
				    view_of(o->addresses[i], e->address_len) };
	return true;
}

void outbox_done(struct outbox *o, uint32_t number, enum outbox_result result, usec now)
{
	struct entry *e = &o->entries[number];

	assert(number < OUTBOX_MAX_ADDRESSES && e->state == ENTRY_SENDING);
	if (result == OUTBOX_TRY_AGAIN) {
		uncount_start(o);
		if (!e->is_unwanted) {
			e->state = ENTRY_READY;
			e->next_try = now + e->pause;
			e->pause = e->pause * 2 < HOUR ? e->pause * 2 : HOUR;
			return;
		}
	} else if (result == OUTBOX_SENT) {
		o->total.sent++;
	} else {
		o->total.refused++;
	}
	wipe(o, e);
}

void outbox_get_stats(const struct outbox *o, struct outbox_stats *ret)
{
	*ret = o->total;
	ret->waiting = o->n_entries;
}
