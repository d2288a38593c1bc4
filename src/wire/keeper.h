/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What berthd asks of a slot's keeper. The keeper is "root" of the slot's user namespace and sees
 * nothing but the slot's workspace and layer; every path is resolved beneath the workspace
 * (openat2, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV).
 *
 * Paths are bytes without NUL, relative to the workspace; "" is the workspace itself. Callers strip
 * a leading "/workspace/" themselves (tools do it in one place).
 *
 * The keeper is started with three descriptors: the socket, the workspace and the layer. On the
 * socket (SOCK_SEQPACKET) a message is a fixed head followed by its byte fields in order, at most
 * KEEPER_MAX_MESSAGE bytes in all. Larger content travels in a memfd (`in_fd` below, exactly one
 * descriptor with the message, for the verbs keeper_verb_takes_fd() names). Each request carries an
 * id of the caller's choice, which its reply repeats; replies come in order but for long requests
 * (COMMIT, LIST, USAGE, EMPTY, a far READ, a DROP_LAYER that deletes). Neither side trusts the
 * other's lengths.
 *
 * The spawner starts the keeper as uid 0 of the slot's user namespace, with CAP_SYS_ADMIN, in new
 * mount, network, IPC, UTS and PID namespaces (so it is PID 1 of its own), killed when the spawner
 * dies. The fourth descriptor is its future root: a tmpfs that holds nothing but binds of the two
 * folders, /workspace and /layer, to which descriptors 4 and 5 belong. The program and its shared
 * libraries come from the host's tree, so the keeper itself, first thing in main(), takes the root
 * with jail_enter(KEEPER_ROOT_FD) of sys/jail.h, closes it and drops its capabilities.
 */
#ifndef BERTH_WIRE_KEEPER_H
#define BERTH_WIRE_KEEPER_H

#include "base/buf.h"

enum {
	KEEPER_SOCKET_FD = 3,
	KEEPER_WORKSPACE_FD = 4,
	KEEPER_LAYER_FD = 5,
	KEEPER_ROOT_FD = 6,
};

enum {
	KEEPER_MAX_MESSAGE = 160 * 1024,
	KEEPER_MAX_PATH = 4096,               /* a path or a pattern */
	KEEPER_MAX_TEXT = 128 * 1024,         /* of a reply's text */
	KEEPER_MAX_CONTENT = 8 * 1024 * 1024, /* of in_fd */
	KEEPER_MAX_TOKENS = 16,               /* files created and not yet committed */
};

/*
 * On failure every verb replies a positive errno and, in `text`, a sentence for the model that says
 * what is wrong and what to do. Beside each verb: what it takes, then what it replies.
 */
enum keeper_verb {
	/* path; NOFOLLOW: no symbolic link in any component.
	 * fd for reading a regular file, size, mtime_ns, mode. */
	KEEPER_OPEN,
	/* path, mode; NOREPLACE: EEXIST at once if the path exists. A symbolic link at the very
	 * path is what would be replaced; it is not followed. Makes missing folders and, in path's
	 * folder, a new file that has no name, or a temporary one.
	 * fd for writing, number = token. */
	KEEPER_CREATE,
	/* number = token; NOREPLACE. Syncs the file and gives it its name. The token is used up
	 * unless the error is EEXIST.
	 * size, mtime_ns, mode. */
	KEEPER_COMMIT,
	/* number = token. Removes the file. */
	KEEPER_ABORT,
	/* path; NOFOLLOW.
	 * size, mtime_ns, mode (with the file type's bits), text = kind in words. */
	KEEPER_STAT,
	/* path, offset = first line (0 and 1: the first), limit = lines (0: as many as fit).
	 * text = numbered lines, number = first line shown, count = lines shown, size, mtime_ns.
	 * Marks the version as seen. A folder is listed instead. */
	KEEPER_READ,
	/* path, in_fd = content. A new file; EEXIST if there is one. Executable if it begins "#!".
	 * text = what was done, size, mtime_ns, mode. */
	KEEPER_WRITE,
	/* path, in_fd = old text and new text, number = bytes of the old text; REPLACE_ALL.
	 * With LINES, only within `limit` lines from line `offset` (1-based) on; an empty old text
	 * means all of those lines.
	 * text = the changed lines, number = first changed line, count = replacements, size. */
	KEEPER_EDIT,
	/* path; ALL: every edit since the file was first touched, not the last only.
	 * text, number = first changed line, count = edits undone, size. */
	KEEPER_UNDO,
	/* path, path2 = glob ("": the folder itself, one level), limit = entries (0: default);
	 * ALL: enter also folders like .git and node_modules.
	 * text = one line an entry and what was left out, number = shown, count = matched. */
	KEEPER_LIST,
	/* size = bytes used in workspace and layer, number = those of the workspace alone,
	 * count = names of files, mtime_ns = newest change in the workspace.
	 * ALL: count = files of the layer too.
	 * EOVERFLOW: too deep to be measured to the end; the numbers are a lower bound. */
	KEEPER_USAGE,
	/* Deletes everything in the workspace and the layer, and forgets all edit state; replies
	 * when verified empty. Everything else is refused meanwhile, with EBUSY. */
	KEEPER_EMPTY,
	/* Sets the layer aside, makes it anew, and deletes the old one in the background.
	 * ALL, or where the quota has no room for that: replies when it is deleted. */
	KEEPER_DROP_LAYER,
	/* Tries whether a few bytes can still be written. EDQUOT or ENOSPC if not, with
	 * number = 0 for the workspace, 1 for the layer. */
	KEEPER_ROOM,
	/* in_fd = what OPEN gave. Closes it: who does that last frees a deleted file, and a tenant
	 * can make that take seconds. */
	KEEPER_RELEASE,
	KEEPER_NUM_VERBS,
};

enum {
	KEEPER_NOFOLLOW = 1 << 0,
	KEEPER_NOREPLACE = 1 << 1,
	KEEPER_REPLACE_ALL = 1 << 2,
	KEEPER_ALL = 1 << 3,
	KEEPER_LINES = 1 << 4,
	KEEPER_ALL_FLAGS = (1 << 5) - 1,
};

struct keeper_request {
	enum keeper_verb verb;
	uint32_t flags;
	uint64_t number, offset, limit; /* meaning by verb */
	uint32_t mode;                  /* permission bits for CREATE, 0: 0644 */
	struct view path;
	struct view path2; /* pattern, by verb */
};

struct keeper_reply {
	int error;               /* 0, or a positive errno */
	uint64_t size, mtime_ns; /* of a file; bytes and newest change for USAGE */
	uint64_t number, count;  /* meaning by verb */
	uint32_t mode;
	struct view text; /* the result, or on error a sentence for the model; bytes */
};

/* "open", "create", …; "?" for a verb that does not exist. */
const char *keeper_verb_name(enum keeper_verb verb);
/* Whether a request of this verb comes with in_fd. */
bool keeper_verb_takes_fd(enum keeper_verb verb);

/*
 * Append one whole message to `out`. -EINVAL for a message that the other side would refuse,
 * -ENOSPC and -ENOMEM as buf_add(); `out` is unchanged on failure.
 */
int keeper_request_encode(struct buf *out, uint64_t id,
			  const struct keeper_request *request) MUST_CHECK;
int keeper_reply_encode(struct buf *out, uint64_t id, const struct keeper_reply *reply) MUST_CHECK;

/*
 * Take a message apart; views borrow from `message`, which must be aligned to nothing in
 * particular. -EBADMSG for anything but exactly one well-formed message; *ret is then untouched.
 */
int keeper_request_decode(struct view message, uint64_t *ret_id,
			  struct keeper_request *ret) MUST_CHECK;
int keeper_reply_decode(struct view message, uint64_t *ret_id, struct keeper_reply *ret) MUST_CHECK;

#endif
