/* SPDX-License-Identifier: Apache-2.0 */
/* The service units. */
#include "cli/units.h"

#include "cli/cli.h"
#include "sys/io.h"
#include "sys/programs.h"
#include "sys/run.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

enum { MAX_UNIT = 64 << 10, MAX_OUTPUT = 8 << 10 };

#define UNIT_DIR "/etc/systemd/system"

/* In the order of starting. A service that only a timer starts is not enabled by itself. */
static const struct {
	const char *name;
	bool enabled;
} units[] = {
	{ "berth-slots.service", true }, { "berth-spawner.service", true },
	{ "berthd.service", true },      { "berth-gc.service", false },
	{ "berth-gc.timer", true },      { "berth-allow.service", false },
	{ "berth-allow.timer", true },
};

/* ---- filling in ---- */

static const char *value_of(const struct units_values *v, struct view name)
{
	const struct {
		const char *name, *value;
	} all[] = {
		{ "libexecdir", v->libexecdir },
		{ "bindir", v->bindir },
		{ "config", v->config },
		{ "engine", v->engine },
		{ "state_dir", v->state_dir },
		{ "runtime_dir", v->runtime_dir },
		{ "user", v->user },
		{ "spawner_options", v->spawner_options },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (view_is(name, all[i].name))
			return all[i].value;
	return NULL;
}

static int add_value(struct buf *out, const char *value, struct err *err)
{
	for (const char *p = value; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c <= ' ' || c == 0x7f || strchr("\"'\\;#", c))
			return err_set(err, ERR_INVALID,
				       "a service unit cannot hold the path %s: choose one without "
				       "blanks, quotes, \\, ; and #",
				       value);
		if (buf_add_str(out, c == '%' ? "%%" : (const char[]){ *p, '\0' }) < 0)
			return err_set(err, ERR_FULL, "a service unit is too long");
	}
	return 0;
}

/* "@system-service" of a unit is no name of ours: a name ends with "@" before anything else. */
static size_t name_length(struct view after_at)
{
	size_t n = 0;

	while (n < after_at.len &&
	       (after_at.p[n] == '_' || (after_at.p[n] >= 'a' && after_at.p[n] <= 'z')))
		n++;
	return n && n < after_at.len && after_at.p[n] == '@' ? n : 0;
}

int units_fill(struct view template, const struct units_values *values, struct buf *out,
	       struct err *err)
{
	while (template.len) {
		size_t plain = view_find(template, '@'), n;
		const char *value;

		if (buf_add_view(out, view_first(template, plain)) < 0)
			return err_set(err, ERR_FULL, "a service unit is too long");
		template = view_from(template, plain);
		if (!template.len)
			break;
		n = name_length(view_from(template, 1));
		if (!n) {
			if (buf_add_char(out, '@') < 0)
				return err_set(err, ERR_FULL, "a service unit is too long");
			template = view_from(template, 1);
			continue;
		}
		value = value_of(values, view_first(view_from(template, 1), n));
		if (!value)
			return err_set(err, ERR_INVALID, "unknown name @%.*s@ in a unit", (int)n,
				       template.p + 1);
		if (add_value(out, value, err) < 0)
			return -1;
		template = view_from(template, n + 2);
	}
	return 0;
}

/* ---- systemctl ---- */

static int systemctl(const char *const *argv, struct err *err)
{
	auto_buf struct buf output = BUF_INIT(MAX_OUTPUT);
	int status, r = run_program(argv, &output, &status);

	if (r < 0)
		return err_sys(err, -r, "run systemctl");
	if (status != 0)
		return err_set(err, ERR_SYSTEM, "systemctl %s %s: %.300s", argv[1],
			       argv[2] ? argv[2] : "", buf_str(&output));
	return 0;
}

static int systemctl_on(const char *verb, const char *option, const char *unit, struct err *err)
{
	const char *const argv[] = { "systemctl", verb, option, unit, NULL };

	return systemctl(argv, err);
}

static int reload(struct err *err)
{
	const char *const argv[] = { "systemctl", "daemon-reload", NULL };

	return systemctl(argv, err);
}

static bool systemd_runs(void)
{
	return access("/run/systemd/system", F_OK) == 0;
}

/* ---- files ---- */

static int template_path(const char *unit, char *out, size_t size, struct err *err)
{
	char packaging[PATH_MAX];

	if (cli_program("packaging", packaging, sizeof(packaging), err) < 0)
		return -1;
	if (snprintf(out, size, "%s/systemd/%s", packaging, unit) >= (int)size)
		return err_set(err, ERR_INVALID, "the path of the units is too long");
	return 0;
}

/* 1 if the unit was written, 0 if it is there already. */
static int write_unit(int dirfd, const char *unit, const struct units_values *values,
		      struct err *err)
{
	auto_buf struct buf template = BUF_INIT(MAX_UNIT), text = BUF_INIT(MAX_UNIT),
			    there = BUF_INIT(MAX_UNIT);
	char path[PATH_MAX];
	int r;

	if (template_path(unit, path, sizeof(path), err) < 0)
		return -1;
	r = io_read_file(AT_FDCWD, path, &template);
	if (r < 0)
		return err_sys(err, -r, "read %s", path);
	if (units_fill(buf_view(&template), values, &text, err) < 0)
		return err_wrap(err, "%s", unit);
	if (io_read_file(dirfd, unit, &there) == 0 && view_eq(buf_view(&there), buf_view(&text)))
		return 0;
	r = io_write_file(dirfd, unit, buf_view(&text), 0644);
	return r < 0 ? err_sys(err, -r, "write " UNIT_DIR "/%s", unit) : 1;
}

static int open_unit_dir(int *ret_fd, struct err *err)
{
	int fd = open(UNIT_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(err, errno, "open " UNIT_DIR);
	*ret_fd = fd;
	return 0;
}

/* Cuts the program's name off. */
static int program_dir(const char *program, char *out, size_t size, struct err *err)
{
	char *slash;

	if (cli_program(program, out, size, err) < 0)
		return -1;
	slash = strrchr(out, '/');
	if (slash)
		*slash = '\0';
	return 0;
}

static int start(bool changed, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (units[i].enabled &&
		    (systemctl_on("enable", "--quiet", units[i].name, err) < 0 ||
		     systemctl_on(changed ? "restart" : "start", "--quiet", units[i].name, err) <
			     0))
			return -1;
	return 0;
}

int units_install(const struct conf *conf, const char *config, struct err *err)
{
	auto_buf struct buf runtime = BUF_INIT(PATH_MAX), engine = BUF_INIT(PATH_MAX);
	char libexecdir[PATH_MAX], self[PATH_MAX];
	struct units_values values = { .libexecdir = libexecdir,
				       .bindir = self,
				       .config = config,
				       .state_dir = conf->state_dir,
				       .user = conf->user,
				       .spawner_options = conf->no_new_privs ? "" : "--new-privs" };
	auto_fd int dirfd = -1;
	bool changed = false;

	if (!systemd_runs())
		return err_set(err, ERR_NOT_FOUND,
			       "systemd does not run here: use `berth serve` instead");
	if (program_dir("berthd", libexecdir, sizeof(libexecdir), err) < 0 ||
	    open_unit_dir(&dirfd, err) < 0)
		return -1;
	if (program_own_dir(self, sizeof(self)) < 0)
		return err_set(err, ERR_SYSTEM, "it cannot be found out where this program is");
	if (conf_runtime_dir(conf, &runtime) < 0)
		return err_set(err, ERR_INVALID, "the path of the runtime directory is too long");
	if (conf_engine(conf, &engine) < 0)
		return err_set(err, ERR_INVALID, "the name of the OCI runtime is too long");
	values.runtime_dir = buf_str(&runtime);
	values.engine = buf_str(&engine);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		int r = write_unit(dirfd, units[i].name, &values, err);

		if (r < 0)
			return -1;
		changed = changed || r > 0;
	}
	return reload(err) < 0 ? -1 : start(changed, err);
}

int units_remove(struct err *err)
{
	auto_fd int dirfd = -1;

	if (!systemd_runs())
		return 0;
	if (open_unit_dir(&dirfd, err) < 0)
		return -1;
	for (size_t i = ARRAY_SIZE(units); i-- > 0;) {
		if (faccessat(dirfd, units[i].name, F_OK, 0) < 0)
			continue;
		if (systemctl_on("disable", "--now", units[i].name, err) < 0)
			return -1;
		if (unlinkat(dirfd, units[i].name, 0) < 0)
			return err_sys(err, errno, "remove " UNIT_DIR "/%s", units[i].name);
	}
	return reload(err);
}
