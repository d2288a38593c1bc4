/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between berthd and berth-init: what decodes, and what must not. */
#include "wire/init.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char message[INIT_MAX_REQUEST];
static struct init_request request;

static size_t encode(uint32_t flags)
{
	static const char *const args[] = { "/bin/bash", "-lc", "", NULL };
	static const char *const env[] = { "A=b", NULL };
	const struct init_exec exec = { 9, flags, "/workspace", args, env };
	size_t len = 0;

	assert_int_equal(init_exec_encode(message, sizeof(message), &exec, &len), 0);
	return len;
}

static void test_exec_round_trip(void **state)
{
	size_t len = encode(INIT_HAS_STDIN | INIT_NO_GROWTH);

	(void)state;
	assert_int_equal(init_request_decode(message, len, 2, &request), 0);
	assert_int_equal(request.head.cmd, 9);
	assert_int_equal(request.head.flags, INIT_HAS_STDIN | INIT_NO_GROWTH);
	assert_string_equal(request.cwd, "/workspace");
	assert_string_equal(request.args[1], "-lc");
	assert_string_equal(request.args[2], "");
	assert_null(request.args[3]);
	assert_string_equal(request.env[0], "A=b");
	assert_null(request.env[1]);
}

static void test_exec_refused(void **state)
{
	size_t len = encode(INIT_HAS_SCRIPT);
	struct init_request_head *head = (struct init_request_head *)(void *)message;

	(void)state;
	assert_int_equal(init_request_decode(message, len, 1, &request), -EPROTO);
	assert_int_equal(init_request_decode(message, len, 3, &request), -EPROTO);
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(init_request_decode(message, cut, 2, &request), -EPROTO);

	head->n_args = 4; /* would swallow the environment and then run out */
	assert_int_equal(init_request_decode(message, len, 2, &request), -EPROTO);
	head->n_args = 0;
	assert_int_equal(init_request_decode(message, len, 2, &request), -EPROTO);
	head->n_args = UINT32_MAX;
	assert_int_equal(init_request_decode(message, len, 2, &request), -EPROTO);
	head->n_args = 2; /* leaves bytes over */
	assert_int_equal(init_request_decode(message, len, 2, &request), -EPROTO);

	len = encode(0);
	message[len - 1] = 'x'; /* no NUL at the end */
	assert_int_equal(init_request_decode(message, len, 1, &request), -EPROTO);
	len = encode(0);
	message[sizeof(*head)] = 'x'; /* a relative cwd */
	assert_int_equal(init_request_decode(message, len, 1, &request), -EPROTO);
}

static void test_encode_limits(void **state)
{
	char *big = malloc(INIT_MAX_ARGS_BYTES + 1);
	const char *args[] = { "x", big, NULL };
	struct init_exec exec = { .cmd = 1, .cwd = "/", .args = args };
	size_t len;

	(void)state;
	assert_non_null(big);
	memset(big, 'y', INIT_MAX_ARGS_BYTES);
	big[INIT_MAX_ARGS_BYTES] = '\0';
	assert_int_equal(init_exec_encode(message, sizeof(message), &exec, &len), -E2BIG);
	args[0] = NULL;
	assert_int_equal(init_exec_encode(message, sizeof(message), &exec, &len), -EINVAL);
	args[0] = "x";
	args[1] = NULL;
	exec.cwd = "";
	assert_int_equal(init_exec_encode(message, sizeof(message), &exec, &len), -EINVAL);
	free(big);
}

static void test_signal(void **state)
{
	struct init_request_head head;

	(void)state;
	init_signal_encode(&head, 4, 15);
	assert_int_equal(init_request_decode((char *)&head, sizeof(head), 0, &request), 0);
	assert_int_equal(request.head.sig, 15);
	assert_int_equal(init_request_decode((char *)&head, sizeof(head), 1, &request), -EPROTO);
	init_signal_encode(&head, 4, 0);
	assert_int_equal(init_request_decode((char *)&head, sizeof(head), 0, &request), -EPROTO);
	init_signal_encode(&head, 4, 65);
	assert_int_equal(init_request_decode((char *)&head, sizeof(head), 0, &request), -EPROTO);
}

static void test_events(void **state)
{
	static const struct {
		struct init_event event;
		int want;
	} rows[] = {
		{ { 1, INIT_READY, 0, 0, 0, 0, 0 }, 0 },
		{ { 2, INIT_READY, 0, 0, 0, 0, 0 }, -EPROTO },
		{ { 1, INIT_READY, 1, 0, 0, 0, 0 }, -EPROTO },
		{ { 1, INIT_EXITED, 1, 0x0300, 0, 0, 55 }, 0 },
		{ { 1, INIT_EXITED, 1, 9, 0, 0, 55 }, 0 },
		{ { 1, INIT_EXITED, 1, 0x137f, 0, 0, 55 }, -EPROTO }, /* stopped */
		{ { 1, INIT_EXITED, 1, 0xffff, 0, 0, 55 }, -EPROTO }, /* continued */
		{ { 1, INIT_EXITED, 1, 0x10000, 0, 0, 55 }, -EPROTO },
		{ { 1, INIT_EXITED, 1, 0, 1, 0, 55 }, -EPROTO },
		{ { 1, INIT_NOT_STARTED, 1, 2, INIT_STAGE_CWD, 0, 0 }, 0 },
		{ { 1, INIT_NOT_STARTED, 1, 0, INIT_STAGE_CWD, 0, 0 }, -EPROTO },
		{ { 1, INIT_NOT_STARTED, 1, 5000, INIT_STAGE_CWD, 0, 0 }, -EPROTO },
		{ { 1, INIT_NOT_STARTED, 1, 2, 0, 0, 0 }, -EPROTO },
		{ { 1, INIT_NOT_STARTED, 1, 2, 4, 0, 0 }, -EPROTO },
		{ { 1, 0, 0, 0, 0, 0, 0 }, -EPROTO },
		{ { 1, 4, 0, 0, 0, 0, 0 }, -EPROTO },
		{ { 1, INIT_READY, 0, 0, 0, 1, 0 }, -EPROTO },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct init_event out;

		assert_int_equal(init_event_decode(&rows[i].event, sizeof(rows[i].event), 0, &out),
				 rows[i].want);
		assert_int_equal(init_event_decode(&rows[i].event, sizeof(rows[i].event), 1, &out),
				 -EPROTO);
		assert_int_equal(
			init_event_decode(&rows[i].event, sizeof(rows[i].event) - 1, 0, &out),
			-EPROTO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exec_round_trip), cmocka_unit_test(test_exec_refused),
		cmocka_unit_test(test_encode_limits),   cmocka_unit_test(test_signal),
		cmocka_unit_test(test_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
