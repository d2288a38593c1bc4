/* SPDX-License-Identifier: Apache-2.0 */
/* berth doctor: what this host enforces, what not, and the command that changes it. */
#include "cli/doctor.h"

#include "base/parse.h"
#include "cli/cli.h"
#include "sys/io.h"
#include "json/json.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static const char help[] =
	"usage: berth doctor [--json] [--state DIR] [--config FILE]\n"
	"Checks this host and installation, changes nothing, and prints what is enforced, what is\n"
	"not, and the command that puts it right. As root it sees more. Exits with 1 if something\n"
	"that is required fails.\n";

static const struct {
	const char *name;
	doctor_check_fn *run;
} checks[] = {
	{ "kernel", doctor_kernel },
	{ "user namespaces", doctor_user_namespaces },
	{ "AppArmor", doctor_apparmor },
	{ "confinement", doctor_confinement },
	{ "overlay", doctor_overlay },
	{ "control groups", doctor_cgroups },
	{ "server's user", doctor_user },
	{ "programs", doctor_programs },
	{ "engine", doctor_engine },
	{ "image", doctor_image },
	{ "slots", doctor_slots },
	{ "storage", doctor_storage },
	{ "overlay on the state", doctor_overlay_place },
	{ "free disk", doctor_disk },
	{ "disk bandwidth", doctor_disk_limits },
	{ "network", doctor_network },
	{ "nft", doctor_nft },
	{ "forwarding", doctor_forwarding },
	{ "other firewalls", doctor_other_firewalls },
	{ "/dev/net/tun", doctor_tun },
	{ "core dumps", doctor_core_pattern },
	{ "processes", doctor_processes },
	{ "inotify", doctor_inotify },
	{ "open files", doctor_open_files },
	{ "io_uring", doctor_io_uring },
	{ "unprivileged bpf", doctor_bpf },
	{ "perf events", doctor_perf },
	{ "TIOCSTI", doctor_tiocsti },
	{ "server", doctor_server },
	{ "/health", doctor_health },
};

static const char *const verdict_names[] = {
	[DOCTOR_OK] = "ok",
	[DOCTOR_UNKNOWN] = "unknown",
	[DOCTOR_WARN] = "warning",
	[DOCTOR_FAIL] = "FAIL",
};
_Static_assert(ARRAY_SIZE(verdict_names) == DOCTOR_NUM_VERDICTS, "a verdict has no name");

void doctor_say(struct doctor_result *ret, enum doctor_verdict verdict, const char *fmt, ...)
{
	va_list ap;

	ret->verdict = verdict;
	va_start(ap, fmt);
	(void)vsnprintf(ret->found, sizeof(ret->found), fmt, ap);
	va_end(ap);
}

void doctor_fix(struct doctor_result *ret, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(ret->fix, sizeof(ret->fix), fmt, ap);
	va_end(ap);
}

bool doctor_sysctl(const char *path, uint64_t *ret)
{
	auto_buf struct buf text = BUF_INIT(64);
	struct view value;

	if (io_read_file(AT_FDCWD, path, &text) < 0)
		return false;
	value = view_first(buf_view(&text), view_find(buf_view(&text), '\n'));
	/* Some are negative, which all of ours take for 0: nothing restricted. */
	if (view_starts(value, VIEW("-"))) {
		*ret = 0;
		return true;
	}
	return parse_u64(value, 0, UINT64_MAX, ret) == 0;
}

static void read_slots(struct doctor_host *host)
{
	auto_buf struct buf text = BUF_INIT(SLOTS_STATUS_MAX);
	auto_fd int dir = open(host->conf.state_dir, O_DIRECTORY | O_PATH | O_CLOEXEC);

	host->has_slots = dir >= 0 && io_read_file(dir, SLOTS_STATUS_FILE, &text) == 0 &&
			  slots_status_parse(buf_view(&text), &host->slots) == 0;
}

static void show(const char *name, const struct doctor_result *result)
{
	(void)printf("%-8s %-21s %s\n", verdict_names[result->verdict], name, result->found);
	if (result->fix[0])
		(void)printf("%-31s-> %s\n", "", result->fix);
}

static void add(json_t *list, const char *name, const struct doctor_result *result)
{
	(void)json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "check", name,
						    "verdict", verdict_names[result->verdict],
						    "found", result->found, "fix", result->fix));
}

static void show_json(json_t *list, const size_t *counts)
{
	auto_json json_t *all =
		json_pack("{s:b, s:I, s:O}", "ok", counts[DOCTOR_FAIL] == 0, "warnings",
			  (json_int_t)counts[DOCTOR_WARN], "checks", list);

	(void)json_dumpf(all, stdout, JSON_INDENT(2));
	(void)puts("");
}

static int examine(const struct doctor_host *host)
{
	auto_json json_t *list = json_array();
	size_t counts[DOCTOR_NUM_VERDICTS] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		struct doctor_result result = { .verdict = DOCTOR_OK };

		checks[i].run(host, &result);
		counts[result.verdict]++;
		if (host->options->json)
			add(list, checks[i].name, &result);
		else
			show(checks[i].name, &result);
	}
	if (host->options->json)
		show_json(list, counts);
	else
		(void)printf("\n%zu failed, %zu warnings%s\n", counts[DOCTOR_FAIL],
			     counts[DOCTOR_WARN],
			     counts[DOCTOR_UNKNOWN] ? "; as root more is to be seen" : "");
	return counts[DOCTOR_FAIL] ? CLI_FAILED : CLI_OK;
}

int cmd_doctor(int argc, char **argv)
{
	struct options o;
	struct doctor_host host = { .options = &o };
	struct err err;
	int status;

	if (options_read(&o, argc, argv, NULL) < 0 || optind != argc)
		return cli_help(help, CLI_USAGE);
	if (o.help)
		return cli_help(help, CLI_OK);
	if (options_conf(&o, &host.conf, &err) < 0) {
		conf_done(&host.conf);
		return cli_fail("doctor", &err);
	}
	read_slots(&host);
	status = examine(&host);
	conf_done(&host.conf);
	return status;
}
