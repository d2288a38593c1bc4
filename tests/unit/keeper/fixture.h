/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A keeper in a child process over two temporary folders, and one blocking question at a time.
 */
#ifndef BERTH_TESTS_KEEPER_FIXTURE_H
#define BERTH_TESTS_KEEPER_FIXTURE_H

#include "wire/keeper.h"

#include <sys/types.h>

struct fixture {
	char dir[64]; /* holds workspace/, layer/ and outside/ */
	int workspace, layer, outside;
	int socket;
	pid_t pid;
	char *message; /* the last reply's bytes */
	uint64_t last_id;
};

/* Words after a test program's name: "large" for large trees, else the path of berth-keeper, which
 * is then run, confined, instead of the keeper's functions in a child. */
void fixture_options(int argc, char **argv);
bool fixture_is_large(void);
/* Whether files that are being made have no name: the confined program needs root for that. */
bool fixture_hides_files(void);

/* Set-up and tear-down of one cmocka test; the keeper runs. */
int fixture_set_up(void **state);
int fixture_tear_down(void **state);
/* A new keeper over the same folders, after a test has killed and reaped the first. */
void fixture_restart(struct fixture *f);

/* Sends without waiting; returns the id. */
uint64_t ask_only(struct fixture *f, const struct keeper_request *request, int in_fd);
/* The next reply, whosever it is; the view is valid until the next one. *ret_fd may be NULL. */
uint64_t next_reply(struct fixture *f, struct keeper_reply *ret, int *ret_fd);
/* Sends and waits for the reply to it. Returns the reply's error. */
int ask(struct fixture *f, const struct keeper_request *request, int in_fd,
	struct keeper_reply *ret, int *ret_fd);
/* A memfd with `content`. */
int content_fd(struct view content);

/* A small generator, so that a failure can be repeated. */
uint32_t next_random(uint32_t *seed);

/* Files by plain paths below `dir`. */
void put_file(int dir, const char *path, struct view content);
void check_file(int dir, const char *path, struct view content);
int64_t count_entries(int dir);

#endif
