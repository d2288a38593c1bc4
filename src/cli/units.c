/* SPDX-License-Identifier: Apache-2.0 */
/* The service units. */
#include "cli/units.h"

#include "cli/cli.h"
#include "sys/io.h"
#include "sys/programs.h"
#include "sys/run.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MAX_UNIT = 64 << 10, MAX_OUTPUT = 8 << 10 };

#define UNIT_DIR "/etc/systemd/system"
/* Of berth-slots.service: before the state directory. */
#define STATE_LINE "RequiresMountsFor="

/*
 * In the order of starting. A service that only a timer starts is not enabled by itself; the one
 * that refreshes starts with nftables, too. The first is written first and removed last: it tells
 * whose they are.
 */
static const struct {
	const char *name;
	bool enabled;
} units[] = {
	{ "berth-slots.service", true }, { "berth-spawner.service", true },
	{ "berthd.service", true },      { "berth-gc.service", false },
	{ "berth-gc.timer", true },      { "berth-refresh.service", true },
	{ "berth-refresh.timer", true },
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
		{ "uid_base", v->uid_base },
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

/* ---- whose they are ---- */

int units_state(struct view unit, struct buf *out)
{
	struct view line;

	while (view_split(&unit, '\n', &line)) {
		if (!view_starts(line, VIEW(STATE_LINE)))
			continue;
		line = view_from(line, strlen(STATE_LINE));
		for (size_t i = 0; i < line.len; i++) {
			if (line.p[i] == '%')
				i++;
			if (i < line.len && buf_add_char(out, line.p[i]) < 0)
				return -ENOSPC;
		}
		return 0;
	}
	return 0;
}

/* Appends nothing when there are no units. */
static int installed_state(int dirfd, struct buf *out, struct err *err)
{
	auto_buf struct buf unit = BUF_INIT(MAX_UNIT);
	int r = io_read_file(dirfd, units[0].name, &unit);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = units_state(buf_view(&unit), out);
	return r < 0 ? err_sys(err, -r, "read " UNIT_DIR "/%s", units[0].name) : 0;
}

static bool is_same_folder(const char *a, const char *b)
{
	struct stat x, y;

	if (!strcmp(a, b))
		return true;
	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
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

/* ---- this installation ---- */

struct installation {
	struct units_values values; /* borrowed from here and the configuration */
	char libexecdir[PATH_MAX], bindir[PATH_MAX], uid_base[16];
	struct buf runtime, engine;
};

static void installation_done(struct installation *in)
{
	buf_done(&in->runtime);
	buf_done(&in->engine);
}
#define auto_installation CLEANUP(installation_done)

static int installation_find(struct installation *in, const struct conf *conf, const char *config,
			     struct err *err)
{
	buf_init(&in->runtime, PATH_MAX);
	buf_init(&in->engine, PATH_MAX);
	if (program_dir("berthd", in->libexecdir, sizeof(in->libexecdir), err) < 0)
		return -1;
	if (program_own_dir(in->bindir, sizeof(in->bindir)) < 0)
		return err_set(err, ERR_SYSTEM, "it cannot be found out where this program is");
	if (conf_runtime_dir(conf, &in->runtime) < 0)
		return err_set(err, ERR_INVALID, "the path of the runtime directory is too long");
	if (conf_engine(conf, &in->engine) < 0)
		return err_set(err, ERR_INVALID, "the name of the OCI runtime is too long");
	(void)snprintf(in->uid_base, sizeof(in->uid_base), "%" PRIu32, conf->uid_base);
	in->values =
		(struct units_values){ .libexecdir = in->libexecdir,
				       .bindir = in->bindir,
				       .config = config,
				       .state_dir = conf->state_dir,
				       .runtime_dir = buf_str(&in->runtime),
				       .user = conf->user,
				       .spawner_options = conf->no_new_privs ? "" : "--new-privs",
				       .engine = buf_str(&in->engine),
				       .uid_base = in->uid_base };
	return 0;
}

/* What the units' ProtectHome=yes and PrivateTmp=yes hide from the programs. */
static int check_place(const char *path, struct err *err)
{
	static const char *const hidden[] = { "/home", "/root", "/run/user", "/tmp", "/var/tmp" };
	char *real = realpath(path, NULL);
	const char *place = real ? real : path;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(hidden); i++) {
		size_t len = strlen(hidden[i]);

		if (!strncmp(place, hidden[i], len) && (place[len] == '/' || !place[len]))
			r = err_set(err, ERR_INVALID,
				    "%s is below %s, which the service units do not see: choose "
				    "another place (state and programs in /var/lib/berth, say)",
				    path, hidden[i]);
	}
	free(real);
	return r;
}

int units_check(const struct conf *conf, const char *config, struct err *err)
{
	auto_installation struct installation in = { 0 };
	auto_buf struct buf state = BUF_INIT(PATH_MAX);
	auto_fd int dirfd = -1;

	if (!systemd_runs())
		return err_set(err, ERR_NOT_FOUND,
			       "systemd does not run here: use `berth serve` instead");
	if (open_unit_dir(&dirfd, err) < 0 || installed_state(dirfd, &state, err) < 0 ||
	    installation_find(&in, conf, config, err) < 0)
		return -1;
	if (state.len && !is_same_folder(buf_str(&state), conf->state_dir))
		return err_set(err, ERR_BUSY,
			       "the service units of this host are those of the server on %s: use "
			       "`berth serve` for this one, or remove the other (berth setup "
			       "--remove --state %s)",
			       buf_str(&state), buf_str(&state));
	const char *const places[] = { in.libexecdir, in.bindir, config, conf->state_dir,
				       in.values.runtime_dir };
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (check_place(places[i], err) < 0)
			return -1;
	return 0;
}

/* ---- installing and removing ---- */

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
	auto_installation struct installation in = { 0 };
	auto_fd int dirfd = -1;
	bool changed = false;

	if (open_unit_dir(&dirfd, err) < 0 || installation_find(&in, conf, config, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		int r = write_unit(dirfd, units[i].name, &in.values, err);

		if (r < 0)
			return -1;
		changed = changed || r > 0;
	}
	return reload(err) < 0 ? -1 : start(changed, err);
}

int units_remove(const struct conf *conf, struct buf *other, struct err *err)
{
	auto_buf struct buf state = BUF_INIT(PATH_MAX);
	auto_fd int dirfd = -1;

	if (!systemd_runs())
		return 0;
	if (open_unit_dir(&dirfd, err) < 0 || installed_state(dirfd, &state, err) < 0)
		return -1;
	if (!state.len)
		return 0;
	if (!is_same_folder(buf_str(&state), conf->state_dir))
		return buf_add_view(other, buf_view(&state)) < 0
			       ? err_sys(err, ENOMEM, "read units")
			       : 0;
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
