/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration: defaults, file, environment, overrides, what is refused, what is printed. */
#include "conf/conf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static char path[64];

static void write_conf(const char *text, size_t len)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* The error's text, or NULL; what was loaded is in *conf. */
static const char *load(struct conf *conf, const char *text, const char *const *env,
			const struct conf_override *overrides)
{
	static struct err err;

	if (text)
		write_conf(text, strlen(text));
	if (conf_load(conf, text ? path : NULL, env, overrides, &err) == 0)
		return NULL;
	assert_true(err.code == ERR_INVALID || err.code == ERR_NOT_FOUND);
	return err.msg;
}

static void loads(struct conf *conf, const char *text, const char *const *env,
		  const struct conf_override *overrides)
{
	const char *why = load(conf, text, env, overrides);

	if (why)
		fail_msg("%s: %s", text ? text : "(no file)", why);
}

static void test_profiles(void **state)
{
	static const struct {
		const char *file;
		const char *const env[2];
		const struct conf_override overrides[2];
		uint32_t slots, idle;
	} rows[] = {
		{ NULL, { NULL }, { { NULL, NULL } }, 100, 300 },
		{ "[server]\nprofile = public\n", { NULL }, { { NULL, NULL } }, 500, 600 },
		{ "[pool]\nslots = 7\n[server]\nprofile = public\n",
		  { NULL },
		  { { NULL, NULL } },
		  7,
		  600 },
		{ "[server]\nprofile = public\n",
		  { "BERTH_SERVER_PROFILE=personal" },
		  { { NULL, NULL } },
		  100,
		  300 },
		{ "[server]\nprofile = personal\n",
		  { "BERTH_SERVER_PROFILE=personal" },
		  { { "server.profile", "public" } },
		  500,
		  600 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_conf struct conf conf = { 0 };

		loads(&conf, rows[i].file, rows[i].env, rows[i].overrides);
		assert_int_equal(conf.slots, rows[i].slots);
		assert_int_equal(conf.idle, rows[i].idle);
		assert_int_equal(conf.empty_when_idle, rows[i].idle == 600);
		assert_int_equal(conf_limits_disk(&conf), rows[i].idle == 600);
	}
}

static void test_who_wins(void **state)
{
	static const char *const env[] = { "SANDBOX_IDLE=20", "BERTH_SANDBOX_IDLE=30",
					   "BERTHS_SANDBOX_IDLE=x", "OTHER=1", NULL };
	static const char *const foreign[] = { "SANDBOX_IDLE=20", "SANDBOX_PORT=9000",
					       "MCP_PUBLIC_BASE=https://x.example/", NULL };
	static const struct conf_override overrides[] = { { "sandbox.idle", "40" },
							  { NULL, NULL } };
	static const char file[] = "[sandbox]\nidle = 10\n";
	struct conf conf;

	(void)state;
	loads(&conf, file, NULL, NULL);
	assert_int_equal(conf.idle, 10);
	conf_done(&conf);
	loads(&conf, file, foreign, NULL);
	assert_int_equal(conf.idle, 20);
	assert_string_equal(conf.listen, "127.0.0.1:9000");
	assert_string_equal(conf.public_url, "https://x.example"); /* without the slash */
	conf_done(&conf);
	loads(&conf, file, env, NULL);
	assert_int_equal(conf.idle, 30);
	conf_done(&conf);
	loads(&conf, file, env, overrides);
	assert_int_equal(conf.idle, 40);
	conf_done(&conf);
}

static void test_values(void **state)
{
	struct conf conf;

	(void)state;
	loads(&conf,
	      "# a comment\n; another\n\n[server]\nlisten=[::1]:80\n"
	      "[sandbox]\nmemory = 1500M\nno_new_privs = off\npackages = has gcc, and more ; not "
	      "this\n"
	      "[auth]\nmethods = token , OAuth\n[network]\nmode = LAN\nallow_ranges = "
	      "192.0.2.0/24,\n"
	      "   198.51.100.1:443, ; why\n\t203.0.113.0/24\n",
	      NULL, NULL);
	assert_string_equal(conf.listen, "[::1]:80");
	assert_true(conf.memory == 1500ULL << 20);
	assert_false(conf.no_new_privs);
	assert_string_equal(conf.packages, "has gcc, and more");
	assert_int_equal(conf.auth, CONF_AUTH_TOKEN | CONF_AUTH_OAUTH);
	assert_int_equal(conf.network, CONF_NETWORK_LAN);
	assert_string_equal(conf.allow_ranges, "192.0.2.0/24, 198.51.100.1:443, 203.0.113.0/24");
	conf_done(&conf);
}

static void test_what_is_refused(void **state)
{
	static const struct {
		const char *text, *words; /* in the message, in this order, | between */
	} rows[] = {
		{ "[sandbox]\nidle = 10\nfoo = 1\n", ":3:|unknown key \"foo\" in [sandbox]" },
		{ "[nowhere]\nidle = 10\n", ":2:|\"idle\" in [nowhere]" },
		{ "idle = 10\n", ":1:|\"idle\" in []" },
		{ "[sandbox]\n\nidle\n", ":3:|key = value" },
		{ "[sandbox\nidle = 10\n", ":1:" },
		{ "[sandbox]\nidle = 10\nidle = 20\n", ":3:|idle|twice" },
		{ "[sandbox]\nidle = 10\n  20\n", ":3:|idle|one line" },
		{ "[sandbox]\nidle = soon\n", ":2:|idle|\"soon\" is not a time" },
		{ "[sandbox]\nidle = 9\n", ":2:|idle|outside 10 to" },
		{ "[sandbox]\nidle =\n", ":2:|idle|not a time" },
		{ "[sandbox]\nmemory = 1.5G\n", "memory|not a size" },
		{ "[sandbox]\nmemory = 99999999T\n", "memory|outside" },
		{ "[sandbox]\nmemory = 99999999999T\n", "memory|outside" },
		{ "[sandbox]\nno_new_privs = maybe\n", "neither yes nor no" },
		{ "[server]\nprofile = private\n",
		  "profile|\"private\" is none of personal, public" },
		{ "[network]\nmode = open\n", "none of internet, none, lan, allow" },
		{ "[auth]\nmethods = token, password\n", "\"password\" is none of none, token" },
		{ "[auth]\nmethods =\n", "methods is empty" },
		{ "[auth]\nmethods = none\n[server]\nlisten = 0.0.0.0:80\n",
		  "only for a loopback" },
		{ "[server]\nlisten = 127.0.0.1\n", "ADDRESS:PORT" },
		{ "[server]\nlisten = ::1:80\n", "ADDRESS:PORT" },
		{ "[server]\nlisten = 127.0.0.1:65536\n", "ADDRESS:PORT" },
		{ "[server]\npublic_url = https://berth.example.com\n", "placeholder" },
		{ "[server]\npublic_url = ftp://x.test\n", "https://" },
		{ "[server]\npublic_url = https://x.test/?a\n", "query" },
		{ "[server]\npublic_url = https://x.test:443\n", "public_url|leave it out" },
		{ "[server]\npublic_url = https://[::1]:443/a\n", "leave it out" },
		{ "[server]\npublic_url = http://x.test:80/\n", "leave it out" },
		{ "[sandbox]\ncommand_timeout = 901\n", "longer than sandbox.max_timeout" },
		{ "[sandbox]\ndisk_bandwidth = 64\n", "at least 1M, or 0" },
		{ "[sandbox]\nengine = docker\n", "none of native, oci" },
		{ "[sandbox]\nruntime = crun --debug\n", "sandbox.runtime|without blanks" },
		{ "[sandbox]\nruntime = ./crun\n", "absolute path" },
		{ "[sandbox]\nruntime =\n", "sandbox.runtime" },
		{ "[pool]\nuid_base = 2000000000\nslots = 5000\n", "2^31" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct view rest = view_str(rows[i].words), word;
		struct conf conf;
		const char *why = load(&conf, rows[i].text, NULL, NULL);

		if (!why)
			fail_msg("was accepted: %s", rows[i].text);
		while (view_split(&rest, '|', &word)) {
			char text[64];

			assert_int_equal(view_copy(word, text, sizeof(text)), 0);
			why = strstr(why, text);
			if (!why)
				fail_msg("no \"%s\" in the message for %s", text, rows[i].text);
		}
	}
}

static void test_engine(void **state)
{
	static const struct {
		const char *text, *engine;
	} rows[] = {
		{ "", "native" },
		{ "[sandbox]\nruntime = runc\n", "native" },
		{ "[sandbox]\nengine = oci\n", "oci:crun" },
		{ "[sandbox]\nengine = oci\nruntime = /opt/g/runsc\n", "oci:/opt/g/runsc" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf struct buf out = BUF_INIT(256);
		struct conf conf;

		loads(&conf, rows[i].text, NULL, NULL);
		assert_int_equal(conf_engine(&conf, &out), 0);
		assert_string_equal(buf_str(&out), rows[i].engine);
		conf_done(&conf);
	}
}

static void test_odd_files(void **state)
{
	static const char nul[] = "[sandbox]\npackages = a\0b\nidle = 30\n";
	char text[1000];
	struct conf conf;
	struct err err;
	int n;

	(void)state;
	assert_int_equal(conf_load(&conf, "/nowhere/berth.conf", NULL, NULL, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	write_conf(nul, sizeof(nul) - 1);
	assert_int_equal(conf_load(&conf, path, NULL, NULL, &err), -1);
	assert_non_null(strstr(err.msg, ":2:"));

	/* a line too long is said to be, not cut; in a comment it does not matter */
	n = snprintf(text, sizeof(text), "[network]\ndns = %0300d\n", 1);
	write_conf(text, (size_t)n);
	assert_int_equal(conf_load(&conf, path, NULL, NULL, &err), -1);
	assert_non_null(strstr(err.msg, ":2: longer than"));
	n = snprintf(text, sizeof(text), "# %0600d\n[network]\ndns = 192.0.2.1", 1);
	write_conf(text, (size_t)n);
	assert_int_equal(conf_load(&conf, path, NULL, NULL, &err), 0);
	assert_string_equal(conf.dns, "192.0.2.1");
	conf_done(&conf);
	write_conf("", 0);
	assert_int_equal(conf_load(&conf, path, NULL, NULL, &err), 0);
	conf_done(&conf);

	/* a file of an editor that ends lines with CR LF; a CR elsewhere is no blank */
	loads(&conf, "[network]\r\ndns = 192.0.2.1\r\n  192.0.2.2 ; both\r\n", NULL, NULL);
	assert_string_equal(conf.dns, "192.0.2.1 192.0.2.2");
	conf_done(&conf);
	assert_non_null(
		strstr(load(&conf, "[network]\ndns =\n 192.0.2.1\001\r\t; both\n", NULL, NULL),
		       ":3: dns: a value may not hold control characters"));
}

static void test_bad_environment(void **state)
{
	static const char *const env[] = { "BERTH_SANDBOX_IDLE=x", NULL };
	static const char *const misspelt[] = { "BERTH_SANDBOX_IDEL=30", NULL };
	static const char *const others[] = { "BERTH_TEST_CACHE=/x", "BERTHA=1", "BERTH_", NULL };
	static const struct conf_override unknown[] = { { "sandbox.foo", "1" }, { NULL, NULL } };
	static const struct conf_override bad[] = { { "sandbox.idle", "x" }, { NULL, NULL } };
	struct conf conf;

	(void)state;
	assert_non_null(strstr(load(&conf, NULL, env, NULL), "variable BERTH_SANDBOX_IDLE"));
	assert_non_null(strstr(load(&conf, NULL, misspelt, NULL), "BERTH_SANDBOX_IDEL: no such"));
	loads(&conf, "", others, NULL);
	conf_done(&conf);
	assert_non_null(strstr(load(&conf, NULL, NULL, unknown), "unknown setting sandbox.foo"));
	assert_non_null(strstr(load(&conf, NULL, NULL, bad), "sandbox.idle"));
}

/* What is printed loads again, to the same. */
static void test_printing(void **state)
{
	auto_buf struct buf first = BUF_INIT(65536), second = BUF_INIT(65536),
			    example = BUF_INIT(65536);
	struct conf conf;

	(void)state;
	loads(&conf,
	      "[server]\nprofile = public\n[auth]\nmethods = oauth, token\n[pool]\nslots=9\n", NULL,
	      NULL);
	assert_int_equal(conf_print(&conf, &first), 0);
	conf_done(&conf);
	loads(&conf, buf_str(&first), NULL, NULL);
	assert_int_equal(conf_print(&conf, &second), 0);
	conf_done(&conf);
	assert_string_equal(buf_str(&first), buf_str(&second));
	assert_non_null(strstr(buf_str(&first), "methods = token, oauth\n"));

	assert_int_equal(conf_print_example(&example), 0);
	loads(&conf, buf_str(&example), NULL, NULL);
	conf_done(&conf);
	for (struct view rest = buf_view(&example), line; view_split(&rest, '\n', &line);)
		assert_true(line.len == 0 || line.p[0] == '#' || line.p[0] == '[');
}

/* Every line of the example is a valid setting once its mark is taken away. */
static void test_example_lines(void **state)
{
	auto_buf struct buf example = BUF_INIT(65536), plain = BUF_INIT(65536);
	struct conf conf;

	(void)state;
	assert_int_equal(conf_print_example(&example), 0);
	for (struct view rest = buf_view(&example), line; view_split(&rest, '\n', &line);) {
		if (line.len > 1 && line.p[0] == '#' && line.p[1] != ' ')
			line = view_from(line, 1);
		assert_int_equal(buf_add_view(&plain, line), 0);
		assert_int_equal(buf_add_char(&plain, '\n'), 0);
	}
	loads(&conf, buf_str(&plain), NULL, NULL);
	assert_int_equal(conf.slots, 100);
	conf_done(&conf);
}

static void test_listen(void **state)
{
	static const struct {
		const char *in, *address;
		int port; /* -1: refused */
	} rows[] = {
		{ "127.0.0.1:8000", "127.0.0.1", 8000 },
		{ "[::1]:0", "::1", 0 },
		{ "host:65535", "host", 65535 },
		{ ":80", "", -1 },
		{ "[]:80", "", -1 },
		{ "127.0.0.1:", "", -1 },
		{ "127.0.0.1:+1", "", -1 },
		{ "::1:80", "", -1 },
		{ "", "", -1 },
		{ "0123456789012345678901234567890123:80", "", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char address[32] = "kept";
		uint16_t port = 7;
		struct err err;
		int r = conf_listen_split(rows[i].in, address, sizeof(address), &port, &err);

		assert_int_equal(r, rows[i].port < 0 ? -1 : 0);
		assert_string_equal(address, r < 0 ? "kept" : rows[i].address);
		assert_int_equal(port, r < 0 ? 7 : rows[i].port);
	}
}

static void test_names_and_places(void **state)
{
	auto_buf struct buf dir = BUF_INIT(256);
	struct conf conf;

	(void)state;
	assert_string_equal(conf_profile_name(CONF_PUBLIC), "public");
	assert_string_equal(conf_network_name(CONF_NETWORK_ALLOW), "allow");
	loads(&conf, "[server]\nstate_dir = /s\n", NULL, NULL);
	assert_int_equal(conf_runtime_dir(&conf, &dir), 0);
	assert_string_equal(buf_str(&dir), "/s/run");
	conf_done(&conf);
	buf_truncate(&dir, 0);
	loads(&conf, "[server]\nstate_dir = /s\nruntime_dir = /r\n", NULL, NULL);
	assert_int_equal(conf_runtime_dir(&conf, &dir), 0);
	assert_string_equal(buf_str(&dir), "/r");
	conf_done(&conf);
}

static int set_up(void **state)
{
	int fd;

	(void)state;
	(void)snprintf(path, sizeof(path), "/tmp/berth-test-XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_profiles),         cmocka_unit_test(test_who_wins),
		cmocka_unit_test(test_values),           cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_engine),           cmocka_unit_test(test_odd_files),
		cmocka_unit_test(test_bad_environment),  cmocka_unit_test(test_printing),
		cmocka_unit_test(test_example_lines),    cmocka_unit_test(test_listen),
		cmocka_unit_test(test_names_and_places),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
