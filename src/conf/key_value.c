/* SPDX-License-Identifier: Apache-2.0 */
/* A key's value: from text to its member of struct conf, and back. */
#include "base/parse.h"
#include "conf/keys.h"

#include <stdio.h>

static void *field_of(struct conf *conf, const struct conf_key *key)
{
	return (char *)conf + key->offset;
}

static const void *field_in(const struct conf *conf, const struct conf_key *key)
{
	return (const char *)conf + key->offset;
}

/* It would be lost, or mean another line, where the value is printed. */
static bool has_control(struct view value)
{
	for (size_t i = 0; i < value.len; i++) {
		unsigned char c = (unsigned char)value.p[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return true;
	}
	return false;
}

int conf_set_string(char **field, struct view value, struct err *err)
{
	char *copy;

	if (has_control(value))
		return err_set(err, ERR_INVALID, "a value may not hold control characters");
	copy = view_dup(value);
	if (!copy)
		return err_sys(err, ENOMEM, "read the configuration");
	free(*field);
	*field = copy;
	return 0;
}

static int name_index(const char *const *names, struct view value)
{
	for (int i = 0; names[i]; i++)
		if (view_is_nocase(value, names[i]))
			return i;
	return -1;
}

static int bad_name(const char *const *names, struct view value, struct err *err)
{
	char list[256] = "";

	for (size_t i = 0; names[i]; i++)
		(void)snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
			       i ? ", " : "", names[i]);
	return err_set(err, ERR_INVALID, "\"%.*s\" is none of %s", VIEW_ARG(value), list);
}

static int set_flags(uint32_t *field, const char *const *names, struct view value, struct err *err)
{
	uint32_t flags = 0;
	struct view part;

	while (view_split(&value, ',', &part)) {
		int i = name_index(names, view_trim(part));

		if (i < 0)
			return bad_name(names, view_trim(part), err);
		flags |= 1U << i;
	}
	*field = flags;
	return 0;
}

static int set_number(struct conf *conf, const struct conf_key *key, struct view value,
		      struct err *err)
{
	uint64_t v = 0;
	int r;

	if (key->kind == CONF_SIZE)
		r = parse_size(value, key->min, key->max, &v);
	else if (key->kind == CONF_SECONDS)
		r = parse_seconds(value, key->min, key->max, &v);
	else
		r = parse_u64(value, key->min, key->max, &v);
	if (r == -ERANGE)
		return err_set(err, ERR_INVALID, "%.*s is outside %llu to %llu", VIEW_ARG(value),
			       (unsigned long long)key->min, (unsigned long long)key->max);
	if (r < 0)
		return err_set(err, ERR_INVALID, "\"%.*s\" is not a %s", VIEW_ARG(value),
			       key->kind == CONF_SIZE      ? "size such as 512M or 2G"
			       : key->kind == CONF_SECONDS ? "time such as 300, 10m or 1h"
							   : "number");
	if (key->kind == CONF_SIZE)
		*(uint64_t *)field_of(conf, key) = v;
	else
		*(uint32_t *)field_of(conf, key) = (uint32_t)v;
	return 0;
}

/* What a file takes for a comment cannot be a value: it would not be read back as it was printed.
 */
static bool looks_like_comment(struct view value)
{
	for (size_t i = 0; i < value.len; i++)
		if (value.p[i] == ';' &&
		    (i == 0 || value.p[i - 1] == ' ' || value.p[i - 1] == '\t'))
			return true;
	return false;
}

int conf_key_set(struct conf *conf, const struct conf_key *key, struct view value, struct err *err)
{
	int i;

	value = view_trim(value);
	switch (key->kind) {
	case CONF_STRING:
		if (looks_like_comment(value))
			return err_set(
				err, ERR_INVALID,
				"a value may not begin with ';' nor hold one after a blank, which "
				"begins a comment");
		return conf_set_string(field_of(conf, key), value, err);
	case CONF_BOOL:
		if (parse_bool(value, field_of(conf, key)) < 0)
			return err_set(err, ERR_INVALID, "\"%.*s\" is neither yes nor no",
				       VIEW_ARG(value));
		return 0;
	case CONF_ENUM:
		i = name_index(key->names, value);
		if (i < 0)
			return bad_name(key->names, value, err);
		*(uint32_t *)field_of(conf, key) = (uint32_t)i;
		return 0;
	case CONF_FLAGS:
		return set_flags(field_of(conf, key), key->names, value, err);
	case CONF_U32:
	case CONF_SIZE:
	case CONF_SECONDS:
		break;
	}
	return set_number(conf, key, value, err);
}

char **conf_key_string(struct conf *conf, const struct conf_key *key)
{
	return field_of(conf, key);
}

static int print_flags(struct buf *out, const char *const *names, uint32_t flags)
{
	const char *sep = "";

	for (int i = 0; names[i]; i++)
		if (flags & 1U << i) {
			int r = buf_addf(out, "%s%s", sep, names[i]);

			if (r < 0)
				return r;
			sep = ", ";
		}
	return 0;
}

int conf_key_print(struct buf *out, const struct conf *conf, const struct conf_key *key)
{
	const void *field = field_in(conf, key);

	switch (key->kind) {
	case CONF_STRING:
		return buf_add_str(out, *(char *const *)field);
	case CONF_BOOL:
		return buf_add_str(out, *(const bool *)field ? "yes" : "no");
	case CONF_ENUM:
		return buf_add_str(out, key->names[*(const uint32_t *)field]);
	case CONF_FLAGS:
		return print_flags(out, key->names, *(const uint32_t *)field);
	case CONF_SIZE:
		return buf_addf(out, "%llu", (unsigned long long)*(const uint64_t *)field);
	case CONF_U32:
	case CONF_SECONDS:
		break;
	}
	return buf_addf(out, "%u", *(const uint32_t *)field);
}
