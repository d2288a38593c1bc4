/* SPDX-License-Identifier: Apache-2.0 */
/* The server's user and its sandboxes' ids. */
#include "base/parse.h"
#include "cli/setup.h"
#include "slots/slots.h"
#include "sys/io.h"
#include "sys/run.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>

enum { SUBIDS_MAX = 1024 * 1024 };

struct ids {
	uint64_t first, count;
};

static int run(const char *const *argv, struct err *err)
{
	auto_buf struct buf output = BUF_INIT(256);
	int status = 0;
	int r = run_program(argv, &output, &status);

	if (r < 0)
		return err_sys(err, -r, "run %s", argv[0]);
	if (status != 0)
		return err_set(err, ERR_SYSTEM, "%s failed: %s", argv[0], buf_str(&output));
	return 0;
}

static int make_user(const struct conf *conf, struct err *err)
{
	const char *const argv[] = { "useradd",      "--system",
				     "--user-group", "--no-create-home",
				     "--home-dir",   conf->state_dir,
				     "--shell",      "/usr/sbin/nologin",
				     "--comment",    "Berth sandbox server",
				     conf->user,     NULL };

	if (getpwnam(conf->user))
		return 0;
	if (run(argv, err) < 0)
		return -1;
	setup_say("made the system user %s", conf->user);
	return 0;
}

/* ---- ids ---- */

/* "name:first:count" */
static bool read_line(struct view line, struct view *ret_name, struct ids *ret)
{
	struct view first, count;

	return view_split(&line, ':', ret_name) && view_split(&line, ':', &first) &&
	       view_split(&line, ':', &count) &&
	       parse_u64(first, 0, UINT32_MAX, &ret->first) == 0 &&
	       parse_u64(count, 1, UINT32_MAX, &ret->count) == 0;
}

static bool overlaps(const struct ids *a, const struct ids *b)
{
	return a->first < b->first + b->count && b->first < a->first + a->count;
}

/* Cuts off `want` what `own` covers of its beginning. */
static bool cut(struct ids *want, const struct ids *own)
{
	uint64_t end = want->first + want->count, covered = own->first + own->count;

	if (want->count == 0 || own->first > want->first || covered <= want->first)
		return false;
	want->first = covered < end ? covered : end;
	want->count = end - want->first;
	return true;
}

/*
 * Takes off `want` what the user has of it already in the text of /etc/subuid or subgid; true if
 * that was anything. ERR_BUSY if some of `all` is another user's.
 */
static int cut_own(struct view text, const struct conf *conf, const struct ids *all,
		   struct ids *want, bool *ret_any, struct err *err)
{
	struct view line, name;
	struct ids ids;

	*ret_any = false;
	while (view_split(&text, '\n', &line)) {
		if (!read_line(line, &name, &ids))
			continue;
		if (view_is(name, conf->user))
			*ret_any |= cut(want, &ids);
		else if (overlaps(&ids, all))
			return err_set(err, ERR_BUSY,
				       "some of the ids %" PRIu64 " to %" PRIu64
				       " are given to %.*s: set pool.uid_base to others",
				       all->first, all->first + all->count - 1, VIEW_ARG(name));
	}
	return 0;
}

static int reserve(const char *path, const char *option, const struct conf *conf,
		   const struct ids *all, struct err *err)
{
	auto_buf struct buf text = BUF_INIT(SUBIDS_MAX);
	const char *argv[] = { "usermod", option, NULL, conf->user, NULL };
	struct ids want = *all;
	char range[64];
	bool any = true;
	int r = io_read_file(AT_FDCWD, path, &text);

	if (r < 0 && r != -ENOENT)
		return err_sys(err, -r, "read %s", path);
	/* The lines come in any order, so once more as long as one helped. */
	while (any)
		if (cut_own(buf_view(&text), conf, all, &want, &any, err) < 0)
			return err_wrap(err, "%s", path);
	if (want.count == 0)
		return 0;
	(void)snprintf(range, sizeof(range), "%" PRIu64 "-%" PRIu64, want.first,
		       want.first + want.count - 1);
	argv[2] = range;
	if (run(argv, err) < 0)
		return -1;
	setup_say("reserved ids %s for %s in %s", range, conf->user, path);
	return 0;
}

int setup_user(const struct conf *conf, struct err *err)
{
	struct ids all = { conf->uid_base, (uint64_t)conf->slots * SLOTS_IDS };

	if (make_user(conf, err) < 0 ||
	    reserve("/etc/subuid", "--add-subuids", conf, &all, err) < 0)
		return -1;
	return reserve("/etc/subgid", "--add-subgids", conf, &all, err);
}
