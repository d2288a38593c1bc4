/* SPDX-License-Identifier: Apache-2.0 */
/* What berthd writes into berth-mail's standard input. */
#include "mail/frame.h"

#include "base/address.h"
#include "base/parse.h"

static const char magic[] = "BMAIL1\n";
enum { MAGIC_BYTES = sizeof(magic) - 1, N_TEXTS = 7 };

static void texts_of(const struct mail_frame *frame, struct view out[N_TEXTS])
{
	const struct view texts[N_TEXTS] = { frame->relay,    frame->ca_file, frame->user,
					     frame->password, frame->from,    frame->to,
					     frame->url };

	memcpy(out, texts, sizeof(texts));
}

static struct mail_frame frame_of(const struct view t[N_TEXTS], uint16_t claim_minutes)
{
	return (struct mail_frame){ t[0], t[1], t[2], t[3], t[4], t[5], t[6], claim_minutes };
}

/* ---- checking ---- */

/* Visible ASCII without what ends or quotes anything. */
static bool is_plain(struct view v)
{
	for (size_t i = 0; i < v.len; i++)
		if (v.p[i] <= ' ' || v.p[i] >= 0x7f || strchr("\"<>\\", v.p[i]))
			return false;
	return true;
}

static bool has_control(struct view v)
{
	for (size_t i = 0; i < v.len; i++)
		if ((unsigned char)v.p[i] < ' ' || v.p[i] == 0x7f)
			return true;
	return false;
}

/* The part after the scheme; empty for any other scheme. */
static struct view relay_authority(struct view relay)
{
	if (view_starts(relay, VIEW("smtp://")))
		return view_from(relay, 7);
	if (view_starts(relay, VIEW("smtps://")))
		return view_from(relay, 8);
	return VIEW("");
}

/* Splits "host", "host:port", "[v6]", "[v6]:port"; false if it is none of these. */
static bool split_authority(struct view authority, struct view *ret_host)
{
	struct view rest;
	uint32_t port;
	size_t end;

	if (authority.len && authority.p[0] == '[')
		end = view_find(authority, ']') + 1;
	else
		end = view_find(authority, ':');
	if (end > authority.len || end == 0)
		return false;
	*ret_host = view_first(authority, end);
	rest = view_from(authority, end);
	return rest.len == 0 ||
	       (rest.p[0] == ':' && parse_u32(view_from(rest, 1), 1, 65535, &port) == 0);
}

static bool is_host(struct view host)
{
	const char *more = host.p[0] == '[' ? "[]:." : "-.";

	for (size_t i = 0; i < host.len; i++) {
		char c = host.p[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
		    (c == '\0' || !strchr(more, c)))
			return false;
	}
	return true;
}

static bool relay_is_valid(struct view relay)
{
	struct view host;

	return split_authority(relay_authority(relay), &host) && is_host(host);
}

/* A name such as 127.evil.example is no loopback address. */
static bool is_loopback_v4(struct view host)
{
	for (size_t i = 0; i < host.len; i++)
		if (host.p[i] != '.' && (host.p[i] < '0' || host.p[i] > '9'))
			return false;
	return view_starts(host, VIEW("127."));
}

bool mail_relay_is_local(struct view relay)
{
	struct view host;

	return split_authority(relay_authority(relay), &host) &&
	       (view_is_nocase(host, "localhost") || view_is(host, "[::1]") ||
		is_loopback_v4(host));
}

int mail_frame_check(const struct mail_frame *frame, struct err *err)
{
	struct view texts[N_TEXTS];

	texts_of(frame, texts);
	for (size_t i = 0; i < N_TEXTS; i++)
		if (texts[i].len > MAIL_MAX_TEXT || has_control(texts[i]))
			return err_set(err, ERR_INVALID,
				       "a text is longer than %d bytes or has control characters",
				       MAIL_MAX_TEXT);
	if (!relay_is_valid(frame->relay))
		return err_set(err, ERR_INVALID,
			       "mail.relay must be smtp://HOST[:PORT] or smtps://HOST[:PORT]");
	if (!address_is_valid(frame->from))
		return err_set(err, ERR_INVALID, "mail.from must be a plain address, a@b.example");
	if (!address_is_valid(frame->to))
		return err_set(err, ERR_INVALID, "the recipient is not a plain address");
	if (!is_plain(frame->url) || !(view_starts(frame->url, VIEW("https://")) ||
				       view_starts(frame->url, VIEW("http://"))))
		return err_set(err, ERR_INVALID, "the start page's address is not a plain URL");
	return 0;
}

/* ---- the bytes ---- */

static unsigned char *put_u16(unsigned char *at, size_t v)
{
	at[0] = (unsigned char)(v >> 8);
	at[1] = (unsigned char)v;
	return at + 2;
}

ssize_t mail_frame_write(const struct mail_frame *frame, void *out, size_t size)
{
	size_t len = MAGIC_BYTES + 2;
	struct view texts[N_TEXTS];
	unsigned char *at = out;

	texts_of(frame, texts);
	for (size_t i = 0; i < N_TEXTS; i++) {
		if (texts[i].len > MAIL_MAX_TEXT)
			return -EINVAL;
		len += 2 + texts[i].len;
	}
	if (len > size)
		return -ENOSPC;
	memcpy(at, magic, MAGIC_BYTES);
	at += MAGIC_BYTES;
	for (size_t i = 0; i < N_TEXTS; i++) {
		at = put_u16(at, texts[i].len);
		if (texts[i].len)
			memcpy(at, texts[i].p, texts[i].len);
		at += texts[i].len;
	}
	(void)put_u16(at, frame->claim_minutes);
	return (ssize_t)len;
}

static int take_u16(struct view *rest, size_t *ret)
{
	if (rest->len < 2)
		return -EINVAL;
	*ret = (size_t)(unsigned char)rest->p[0] << 8 | (unsigned char)rest->p[1];
	*rest = view_from(*rest, 2);
	return 0;
}

int mail_frame_read(struct view bytes, struct mail_frame *ret)
{
	struct view texts[N_TEXTS], rest;
	size_t n;

	if (!view_starts(bytes, view_of(magic, MAGIC_BYTES)))
		return -EINVAL;
	rest = view_from(bytes, MAGIC_BYTES);
	for (size_t i = 0; i < N_TEXTS; i++) {
		if (take_u16(&rest, &n) < 0 || n > MAIL_MAX_TEXT || n > rest.len)
			return -EINVAL;
		texts[i] = view_first(rest, n);
		rest = view_from(rest, n);
	}
	if (take_u16(&rest, &n) < 0 || rest.len != 0)
		return -EINVAL;
	*ret = frame_of(texts, (uint16_t)n);
	return 0;
}
