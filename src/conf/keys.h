/* SPDX-License-Identifier: Apache-2.0 */
/* The table of keys, and a key's value as text and in struct conf. */
#ifndef BERTH_CONF_KEYS_H
#define BERTH_CONF_KEYS_H

#include "conf/conf.h"

enum {
	CONF_MAX_KEYS = 128,
	CONF_MAX_VALUE = 16384, /* bytes of a list over several lines */
};

enum conf_kind {
	CONF_STRING,
	CONF_U32,
	CONF_SIZE,
	CONF_SECONDS,
	CONF_BOOL,
	CONF_ENUM,
	CONF_FLAGS,
};

struct conf_key {
	const char *section, *name;
	enum conf_kind kind;
	size_t offset;            /* in struct conf */
	const char *value;        /* default */
	const char *public_value; /* default of the public profile where it differs */
	uint64_t min, max;
	const char *const *names;
	bool by_setup; /* berth setup applies it to the slots; a restart alone does not */
	const char *help;
};

/* In the order of the printed file; those of a section follow each other. */
extern const struct conf_key conf_keys[];
extern const size_t conf_n_keys;

/* NULL if there is none of these names. */
const struct conf_key *conf_key_find(const char *section, const char *name);

/* Reads the key's value into its member, which is untouched on failure. ERR_INVALID. */
int conf_key_set(struct conf *conf, const struct conf_key *key, struct view value,
		 struct err *err) MUST_CHECK;
/* The same for a copy of a text, of any form but without control characters. */
int conf_set_string(char **field, struct view value, struct err *err) MUST_CHECK;
/* The member of a CONF_STRING. */
char **conf_key_string(struct conf *conf, const struct conf_key *key);
/* As conf_key_set() reads it. As buf_add(). */
int conf_key_print(struct buf *out, const struct conf *conf, const struct conf_key *key) MUST_CHECK;

#endif
