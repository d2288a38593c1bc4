/* SPDX-License-Identifier: Apache-2.0 */
/* A store in a folder of its own, as fixture of cmocka tests. */
#ifndef BERTH_TESTS_STATE_FILE_H
#define BERTH_TESTS_STATE_FILE_H

#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

struct state_file {
	char dir[64];
	char path[96];
	struct store *store;
};

static inline void state_file_open(struct state_file *f)
{
	struct err err;

	if (store_open(f->path, &f->store, &err) < 0)
		fail_msg("%s", err.msg);
}

static inline void state_file_reopen(struct state_file *f)
{
	store_close(f->store);
	state_file_open(f);
}

static inline int state_file_set_up(void **state)
{
	struct state_file *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	(void)snprintf(f->dir, sizeof(f->dir), "/tmp/berth-test-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	(void)snprintf(f->path, sizeof(f->path), "%s/state.db", f->dir);
	state_file_open(f);
	*state = f;
	return 0;
}

static inline int state_file_tear_down(void **state)
{
	static const char *const suffixes[] = { "", ".lock", "-wal", "-shm" };
	struct state_file *f = *state;

	store_close(f->store);
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		char path[128];

		(void)snprintf(path, sizeof(path), "%s%s", f->path, suffixes[i]);
		(void)unlink(path);
	}
	(void)rmdir(f->dir);
	free(f);
	return 0;
}

#endif
