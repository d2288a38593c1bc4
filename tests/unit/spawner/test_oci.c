/* SPDX-License-Identifier: Apache-2.0 */
/* What an OCI runtime is told: the tables of the native engine, all of them. */
#include "spawner/mask.h"
#include "spawner/oci.h"
#include "sys/io.h"
#include "wire/init.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

static json_t *config(bool no_new_privs)
{
	auto_buf struct buf text = BUF_INIT(OCI_MAX_CONFIG);
	struct container_plan plan = { .confine = { .no_new_privs = no_new_privs } };
	json_t *all;

	confine_plan_rlimits(&plan.confine, 100);
	assert_int_equal(oci_config(&plan, &text), 0);
	all = json_loadb(text.p, text.len, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(all);
	return all;
}

/* The member at `path`, with "." between names. */
static const json_t *at(const json_t *value, const char *path)
{
	struct view rest = view_str(path), name;

	while (view_split(&rest, '.', &name)) {
		char key[64];

		assert_int_equal(view_copy(name, key, sizeof(key)), 0);
		value = json_object_get(value, key);
		if (!value)
			fail_msg("no %s in %s", key, path);
	}
	return value;
}

static size_t count(const char *const *list)
{
	size_t n = 0;

	while (list[n])
		n++;
	return n;
}

static bool has(const json_t *array, const char *text)
{
	for (size_t i = 0; i < json_array_size(array); i++)
		if (strcmp(json_string_value(json_array_get(array, i)), text) == 0)
			return true;
	return false;
}

static void test_process(void **state)
{
	static const char *const sets[] = { "process.capabilities.bounding",
					    "process.capabilities.permitted",
					    "process.capabilities.effective" };
	json_t *all = config(true), *other = config(false);

	(void)state;
	assert_true(json_is_true(at(all, "process.noNewPrivileges")));
	assert_true(json_is_false(at(other, "process.noNewPrivileges")));
	assert_true(has(at(all, "process.args"), INIT_OCI_PATH));
	assert_true(has(at(all, "process.args"), INIT_OCI_ARG));
	assert_int_equal(json_object_size(at(all, "process.capabilities")), ARRAY_SIZE(sets));
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		const json_t *set = at(all, sets[i]);

		/* And the one that berth-init gives up. */
		assert_int_equal(json_array_size(set), count(confine_cap_names) + 1);
		for (size_t j = 0; confine_cap_names[j]; j++)
			assert_true(has(set, confine_cap_names[j]));
		assert_true(has(set, "CAP_SYS_ADMIN"));
	}
	json_decref(all);
	json_decref(other);
}

static void test_rlimits(void **state)
{
	json_t *all = config(true);
	const json_t *limits = at(all, "process.rlimits");
	struct confine_plan plan = { 0 };

	(void)state;
	confine_plan_rlimits(&plan, 100);
	assert_int_equal(json_array_size(limits), plan.n_rlimits);
	for (size_t i = 0; i < plan.n_rlimits; i++) {
		const json_t *limit = json_array_get(limits, i);

		assert_string_equal(json_string_value(at(limit, "type")), plan.rlimits[i].name);
		assert_int_equal(json_integer_value(at(limit, "soft")),
				 plan.rlimits[i].limit.rlim_cur);
		assert_int_equal(json_integer_value(at(limit, "hard")),
				 plan.rlimits[i].limit.rlim_max);
	}
	json_decref(all);
}

static void test_masks(void **state)
{
	json_t *all = config(true);
	const json_t *masked = at(all, "linux.maskedPaths");
	const json_t *read_only = at(all, "linux.readonlyPaths");

	(void)state;
	assert_int_equal(json_array_size(masked), count(mask_files) + count(mask_dirs));
	for (size_t i = 0; mask_files[i]; i++)
		assert_true(has(masked, mask_files[i]));
	for (size_t i = 0; mask_dirs[i]; i++)
		assert_true(has(masked, mask_dirs[i]));
	assert_int_equal(json_array_size(read_only), count(mask_read_only));
	for (size_t i = 0; mask_read_only[i]; i++)
		assert_true(has(read_only, mask_read_only[i]));
	json_decref(all);
}

static void test_filter(void **state)
{
	static struct filter filter;
	struct container_plan plan = { .confine = { .filter = &filter } };
	char message[sizeof(filter.code) + 1];
	struct err err;
	int pair[2];

	(void)state;
	assert_int_equal(filter_build(&filter, &err), 0);
	assert_int_equal(io_seqpacket_pair(pair), 0);
	assert_int_equal(oci_send_filter(&plan, pair[0]), 0);
	assert_int_equal(recv(pair[1], message, sizeof(message), 0),
			 filter.len * sizeof(filter.code[0]));
	assert_memory_equal(message, filter.code, filter.len * sizeof(filter.code[0]));
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void test_find(void **state)
{
	static struct oci_runtime runtime;
	struct err err;

	(void)state;
	assert_int_equal(oci_find("no-such-runtime", &runtime, &err), -1);
	assert_non_null(strstr(err.msg, "no-such-runtime"));
	assert_int_equal(oci_find("/bin/false", &runtime, &err), -1);
	assert_non_null(strstr(err.msg, "/bin/false --version ends with status 1"));
	assert_int_equal(oci_find("/bin/true", &runtime, &err), 0);
	assert_string_equal(runtime.path, "/bin/true");
	assert_false(oci_reads_init(&runtime));
	(void)close(runtime.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process), cmocka_unit_test(test_rlimits),
		cmocka_unit_test(test_masks),   cmocka_unit_test(test_filter),
		cmocka_unit_test(test_find),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
