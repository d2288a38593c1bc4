/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between berthd and a slot's keeper: fixed heads, checked in both directions. */
#include "wire/keeper.h"

/* "BKQ1", "BKR1": a message that went to the wrong socket is told from one cut short. */
#define REQUEST_MAGIC 0x31514b42U
#define REPLY_MAGIC   0x31524b42U

enum { MAX_ERRNO = 4095 };

/* Both sides are one build on one machine: host byte order, no padding. */
struct request_head {
	uint32_t magic;
	uint32_t verb;
	uint64_t id;
	uint64_t number, offset, limit;
	uint32_t flags;
	uint32_t mode;
	uint32_t path_len;
	uint32_t path2_len;
};
_Static_assert(sizeof(struct request_head) == 56, "the request head has padding");

struct reply_head {
	uint32_t magic;
	uint32_t error;
	uint64_t id;
	uint64_t size, mtime_ns;
	uint64_t number, count;
	uint32_t mode;
	uint32_t text_len;
};
_Static_assert(sizeof(struct reply_head) == 56, "the reply head has padding");
_Static_assert(sizeof(struct reply_head) + KEEPER_MAX_TEXT <= KEEPER_MAX_MESSAGE,
	       "a reply's text does not fit a message");

static const struct {
	const char *name;
	bool takes_fd;
} verbs[] = {
	[KEEPER_OPEN] = { "open", false },
	[KEEPER_CREATE] = { "create", false },
	[KEEPER_COMMIT] = { "commit", false },
	[KEEPER_ABORT] = { "abort", false },
	[KEEPER_STAT] = { "stat", false },
	[KEEPER_READ] = { "read", false },
	[KEEPER_WRITE] = { "write", true },
	[KEEPER_EDIT] = { "edit", true },
	[KEEPER_UNDO] = { "undo", false },
	[KEEPER_LIST] = { "list", false },
	[KEEPER_USAGE] = { "usage", false },
	[KEEPER_EMPTY] = { "empty", false },
	[KEEPER_DROP_LAYER] = { "drop-layer", false },
	[KEEPER_ROOM] = { "room", false },
	[KEEPER_RELEASE] = { "release", true },
};
_Static_assert(ARRAY_SIZE(verbs) == KEEPER_NUM_VERBS, "a keeper verb is missing");

const char *keeper_verb_name(enum keeper_verb verb)
{
	return (unsigned int)verb < KEEPER_NUM_VERBS ? verbs[verb].name : "?";
}

bool keeper_verb_takes_fd(enum keeper_verb verb)
{
	return (unsigned int)verb < KEEPER_NUM_VERBS && verbs[verb].takes_fd;
}

static bool path_is_sane(struct view path)
{
	return path.len <= KEEPER_MAX_PATH && !memchr(path.p, '\0', path.len);
}

static bool request_is_sane(const struct keeper_request *r)
{
	return (unsigned int)r->verb < KEEPER_NUM_VERBS && !(r->flags & ~KEEPER_ALL_FLAGS) &&
	       r->mode <= 0777 && path_is_sane(r->path) && path_is_sane(r->path2);
}

static bool reply_is_sane(const struct keeper_reply *r)
{
	return r->error >= 0 && r->error <= MAX_ERRNO && r->text.len <= KEEPER_MAX_TEXT;
}

/* All of a message or none of it. */
static int add_message(struct buf *out, const void *head, size_t head_len, struct view a,
		       struct view b)
{
	size_t mark = out->len;
	int r = buf_add(out, head, head_len);

	if (r == 0)
		r = buf_add_view(out, a);
	if (r == 0)
		r = buf_add_view(out, b);
	if (r < 0)
		buf_truncate(out, mark);
	return r;
}

int keeper_request_encode(struct buf *out, uint64_t id, const struct keeper_request *request)
{
	struct keeper_request r = *request;

	/* A field that was never set is an empty one. */
	if (!r.path.p)
		r.path = VIEW("");
	if (!r.path2.p)
		r.path2 = VIEW("");
	if (!request_is_sane(&r))
		return -EINVAL;

	struct request_head head = {
		.magic = REQUEST_MAGIC,
		.verb = r.verb,
		.id = id,
		.number = r.number,
		.offset = r.offset,
		.limit = r.limit,
		.flags = r.flags,
		.mode = r.mode,
		.path_len = (uint32_t)r.path.len,
		.path2_len = (uint32_t)r.path2.len,
	};
	return add_message(out, &head, sizeof(head), r.path, r.path2);
}

int keeper_reply_encode(struct buf *out, uint64_t id, const struct keeper_reply *reply)
{
	struct view text = reply->text.p ? reply->text : VIEW("");

	if (!reply_is_sane(reply))
		return -EINVAL;

	struct reply_head head = {
		.magic = REPLY_MAGIC,
		.error = (uint32_t)reply->error,
		.id = id,
		.size = reply->size,
		.mtime_ns = reply->mtime_ns,
		.number = reply->number,
		.count = reply->count,
		.mode = reply->mode,
		.text_len = (uint32_t)text.len,
	};
	return add_message(out, &head, sizeof(head), text, VIEW(""));
}

int keeper_request_decode(struct view message, uint64_t *ret_id, struct keeper_request *ret)
{
	struct request_head head;
	size_t body;

	if (message.len < sizeof(head))
		return -EBADMSG;
	memcpy(&head, message.p, sizeof(head));
	body = message.len - sizeof(head);
	if (head.magic != REQUEST_MAGIC || head.verb >= KEEPER_NUM_VERBS ||
	    head.path_len > KEEPER_MAX_PATH || head.path2_len > KEEPER_MAX_PATH ||
	    body != (size_t)head.path_len + head.path2_len)
		return -EBADMSG;

	struct keeper_request r = {
		.verb = (enum keeper_verb)head.verb,
		.flags = head.flags,
		.number = head.number,
		.offset = head.offset,
		.limit = head.limit,
		.mode = head.mode,
		.path = view_of(message.p + sizeof(head), head.path_len),
		.path2 = view_of(message.p + sizeof(head) + head.path_len, head.path2_len),
	};
	if (!request_is_sane(&r))
		return -EBADMSG;

	*ret_id = head.id;
	*ret = r;
	return 0;
}

int keeper_reply_decode(struct view message, uint64_t *ret_id, struct keeper_reply *ret)
{
	struct reply_head head;

	if (message.len < sizeof(head))
		return -EBADMSG;
	memcpy(&head, message.p, sizeof(head));
	if (head.magic != REPLY_MAGIC || head.error > MAX_ERRNO ||
	    head.text_len > KEEPER_MAX_TEXT || message.len - sizeof(head) != head.text_len)
		return -EBADMSG;

	*ret_id = head.id;
	*ret = (struct keeper_reply){
		.error = (int)head.error,
		.size = head.size,
		.mtime_ns = head.mtime_ns,
		.number = head.number,
		.count = head.count,
		.mode = head.mode,
		.text = view_of(message.p + sizeof(head), head.text_len),
	};
	return 0;
}
