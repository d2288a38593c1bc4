/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration: loading from file, environment and options, and checking. */
#include "conf/conf.h"

#include "base/parse.h"
#include "conf/inifile.h"
#include "conf/keys.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>

enum { MAX_RUNTIME = 150, MIN_DISK_BANDWIDTH = 1 << 20 };

/* The variables of mcp-linux-sandbox's env file. SANDBOX_HOST and _PORT are the halves of listen.
 */
static const struct {
	const char *variable, *section, *name;
} foreign[] = {
	{ "MCP_PUBLIC_BASE", "server", "public_url" },
	{ "SANDBOX_IDLE", "sandbox", "idle" },
	{ "SANDBOX_MAX", "sandbox", "max_running" },
	{ "SANDBOX_MAX_TIMEOUT", "sandbox", "max_timeout" },
	{ "SANDBOX_MIN_FREE", "sandbox", "min_free" },
	{ "SANDBOX_LINK_TTL", "links", "ttl" },
	{ "SANDBOX_IMAGE_MAX", "links", "image_max" },
};

void conf_done(struct conf *conf)
{
	for (size_t i = 0; i < conf_n_keys; i++)
		if (conf_keys[i].kind == CONF_STRING) {
			char **field = conf_key_string(conf, &conf_keys[i]);

			free(*field);
			*field = NULL;
		}
}

/* ---- the file ---- */

struct file_pass {
	struct conf *conf;
	bool profile_only; /* the profile decides the other defaults, so it is read first */
	bool seen[CONF_MAX_KEYS];
};

/* An indented line: more of a list. */
static int continue_value(struct conf *conf, const struct conf_key *key, struct view more,
			  struct err *err)
{
	auto_buf struct buf whole = BUF_INIT(CONF_MAX_VALUE);
	char **field = conf_key_string(conf, key);

	if (key->kind != CONF_STRING)
		return err_set(err, ERR_INVALID, "is one line, this indented one does not belong");
	if (buf_addf(&whole, "%s%s%.*s", *field, **field ? " " : "", VIEW_ARG(more)) < 0)
		return err_set(err, ERR_INVALID, "is longer than %d bytes", CONF_MAX_VALUE);
	return conf_set_string(field, buf_view(&whole), err);
}

static int take_pair(struct file_pass *pass, const struct conf_key *key, enum inifile_line line,
		     struct view value, struct err *err)
{
	bool *seen = &pass->seen[key - conf_keys];

	if (line == INIFILE_CONTINUED && *seen)
		return continue_value(pass->conf, key, value, err);
	if (*seen)
		return err_set(err, ERR_INVALID, "is set twice");
	*seen = true;
	return conf_key_set(pass->conf, key, value, err);
}

static int on_pair(void *userdata, enum inifile_line line, const char *section, const char *name,
		   struct view value, struct err *err)
{
	struct file_pass *pass = userdata;
	const struct conf_key *key = conf_key_find(section, name);

	if (!key)
		return err_set(err, ERR_INVALID, "unknown key \"%s\" in [%s]", name, section);
	if (pass->profile_only != (key->offset == offsetof(struct conf, profile)))
		return 0;
	if (take_pair(pass, key, line, value, err) < 0)
		return err_wrap(err, "%s", name);
	return 0;
}

static int read_file(struct conf *conf, const char *path, bool profile_only, struct err *err)
{
	struct file_pass pass = { .conf = conf, .profile_only = profile_only };

	return inifile_read(path, on_pair, &pass, err);
}

/* ---- the environment ---- */

const char *conf_env_get(const char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; env && *env; env++)
		if (!strncmp(*env, name, len) && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

static int set_from_env(struct conf *conf, const struct conf_key *key, const char *variable,
			const char *value, struct err *err)
{
	if (!value)
		return 0;
	if (conf_key_set(conf, key, view_str(value), err) < 0)
		return err_wrap(err, "environment variable %s", variable);
	return 0;
}

enum { ENV_NAME_SIZE = 96 };

static void env_name(const struct conf_key *key, char out[ENV_NAME_SIZE])
{
	(void)snprintf(out, ENV_NAME_SIZE, "BERTH_%s_%s", key->section, key->name);
	for (char *p = out; *p; p++)
		*p = (char)toupper((unsigned char)*p);
}

/* A variable that names one of our sections, and no key of it, is a misspelt one. */
static int check_env_names(const char *const *env, struct err *err)
{
	for (; env && *env; env++) {
		struct view name = view_first(view_str(*env), view_find(view_str(*env), '='));
		bool is_ours = false, is_key = false;

		for (size_t i = 0; i < conf_n_keys && !is_key; i++) {
			size_t prefix = strlen("BERTH__") + strlen(conf_keys[i].section);
			char key[ENV_NAME_SIZE];

			env_name(&conf_keys[i], key);
			is_key = view_is(name, key);
			is_ours |= view_starts(name, view_of(key, prefix));
		}
		if (is_ours && !is_key)
			return err_set(err, ERR_INVALID, "environment variable %.*s: no such key",
				       VIEW_ARG(name));
	}
	return 0;
}

static int each_foreign(const char *const *env, conf_env_fn *fn, void *userdata, struct err *err)
{
	const char *host = conf_env_get(env, "SANDBOX_HOST"),
		   *port = conf_env_get(env, "SANDBOX_PORT");
	char listen[300];

	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
		const struct conf_env_setting setting = { foreign[i].variable, foreign[i].section,
							  foreign[i].name,
							  conf_env_get(env, foreign[i].variable) };

		if (setting.value && fn(userdata, &setting, err) < 0)
			return -1;
	}
	if (!host && !port)
		return 0;
	(void)snprintf(listen, sizeof(listen), "%s:%s", host ? host : "127.0.0.1",
		       port ? port : "8000");
	return fn(userdata,
		  &(struct conf_env_setting){ host ? "SANDBOX_HOST" : "SANDBOX_PORT", "server",
					      "listen", listen },
		  err);
}

int conf_env_each(const char *const *env, conf_env_fn *fn, void *userdata, struct err *err)
{
	char name[ENV_NAME_SIZE];

	if (check_env_names(env, err) < 0 || each_foreign(env, fn, userdata, err) < 0)
		return -1;
	for (size_t i = 0; i < conf_n_keys; i++) {
		env_name(&conf_keys[i], name);
		const struct conf_env_setting setting = { name, conf_keys[i].section,
							  conf_keys[i].name,
							  conf_env_get(env, name) };

		if (setting.value && fn(userdata, &setting, err) < 0)
			return -1;
	}
	return 0;
}

static int on_env_setting(void *userdata, const struct conf_env_setting *setting, struct err *err)
{
	return set_from_env(userdata, conf_key_find(setting->section, setting->name),
			    setting->variable, setting->value, err);
}

/* ---- loading ---- */

static int set_override(struct conf *conf, const struct conf_override *o, struct err *err)
{
	const char *dot = strchr(o->name, '.');
	char section[32];
	const struct conf_key *key;

	assert(dot);
	if (view_copy(view_of(o->name, (size_t)(dot - o->name)), section, sizeof(section)) < 0)
		return err_set(err, ERR_INVALID, "unknown setting %s", o->name);
	key = conf_key_find(section, dot + 1);
	if (!key)
		return err_set(err, ERR_INVALID, "unknown setting %s", o->name);
	if (conf_key_set(conf, key, view_str(o->value), err) < 0)
		return err_wrap(err, "%s", o->name);
	return 0;
}

/* The profile from override, environment or file, in this order: it decides the other defaults. */
static int find_profile(struct conf *conf, const char *path, const char *const *env,
			const struct conf_override *overrides, struct err *err)
{
	const struct conf_key *key = conf_key_find("server", "profile");
	const char *value = conf_env_get(env, "BERTH_SERVER_PROFILE");

	for (const struct conf_override *o = overrides; o && o->name; o++)
		if (!strcmp(o->name, "server.profile"))
			value = o->value;
	if (path && read_file(conf, path, true, err) < 0)
		return -1;
	return set_from_env(conf, key, "BERTH_SERVER_PROFILE", value, err);
}

static int set_defaults(struct conf *conf, enum conf_profile profile, struct err *err)
{
	for (size_t i = 0; i < conf_n_keys; i++) {
		const char *value = conf_keys[i].value;

		if (profile == CONF_PUBLIC && conf_keys[i].public_value)
			value = conf_keys[i].public_value;
		if (conf_keys[i].offset != offsetof(struct conf, profile) &&
		    conf_key_set(conf, &conf_keys[i], view_str(value), err) < 0)
			return err_wrap(err, "default of %s.%s", conf_keys[i].section,
					conf_keys[i].name);
	}
	return 0;
}

static bool is_placeholder(const char *url)
{
	static const char *const marks[] = { "example.com", "example.org", "your.host", "your-host",
					     "YOUR",        "CHANGE",      "<",         ">" };

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (strstr(url, marks[i]))
			return true;
	return false;
}

/* Browsers leave it out of the origin that they send, which is compared with the URL's. */
static bool has_default_port(const char *url)
{
	bool is_https = strncmp(url, "https://", 8) == 0;
	struct view host = view_str(url + (is_https ? 8 : 7));

	return view_ends(view_first(host, view_find(host, '/')),
			 is_https ? VIEW(":443") : VIEW(":80"));
}

static int check_url(struct conf *conf, struct err *err)
{
	size_t len = strlen(conf->public_url);

	if (len == 0)
		return 0;
	if (is_placeholder(conf->public_url))
		return err_set(
			err, ERR_INVALID,
			"server.public_url is still a placeholder (%s): set the address under "
			"which clients reach this server",
			conf->public_url);
	if (strncmp(conf->public_url, "https://", 8) != 0 &&
	    strncmp(conf->public_url, "http://", 7) != 0)
		return err_set(err, ERR_INVALID, "server.public_url must start with https://");
	if (has_default_port(conf->public_url))
		return err_set(err, ERR_INVALID,
			       "server.public_url names the port that its scheme has anyway (%s): "
			       "leave it out, as browsers do",
			       conf->public_url);
	if (strpbrk(conf->public_url, "?# \t\"\\"))
		return err_set(err, ERR_INVALID,
			       "server.public_url may not have a query, a fragment or blanks");
	while (len && conf->public_url[len - 1] == '/')
		conf->public_url[--len] = '\0';
	return 0;
}

/* It is an argument of the spawner, a word in a service unit and in /health. */
static int check_runtime(const char *runtime, struct err *err)
{
	size_t len = strlen(runtime);

	for (size_t i = 0; i < len; i++)
		if (runtime[i] <= ' ' || runtime[i] > '~')
			len = 0;
	if (len == 0 || len > MAX_RUNTIME || (strchr(runtime, '/') && runtime[0] != '/'))
		return err_set(err, ERR_INVALID,
			       "sandbox.runtime must be the name of an OCI runtime or an absolute "
			       "path, without blanks, not \"%s\"",
			       runtime);
	return 0;
}

static int check(struct conf *conf, struct err *err)
{
	char address[64];
	uint16_t port;

	if (check_url(conf, err) < 0 ||
	    conf_listen_split(conf->listen, address, sizeof(address), &port, err) < 0)
		return -1;
	if (conf->auth == 0)
		return err_set(err, ERR_INVALID, "auth.methods is empty");
	if ((conf->auth & CONF_AUTH_NONE) && strncmp(address, "127.", 4) != 0 &&
	    strcmp(address, "::1") != 0)
		return err_set(err, ERR_INVALID,
			       "auth.methods = none is only for a loopback address, not %s",
			       address);
	if (check_runtime(conf->runtime, err) < 0)
		return -1;
	if (conf->disk_bandwidth && conf->disk_bandwidth < MIN_DISK_BANDWIDTH)
		return err_set(err, ERR_INVALID,
			       "sandbox.disk_bandwidth is in bytes a second: at least 1M, or 0 for "
			       "no limit");
	if (conf->command_timeout > conf->max_timeout)
		return err_set(err, ERR_INVALID,
			       "sandbox.command_timeout is longer than sandbox.max_timeout");
	if ((uint64_t)conf->uid_base + (uint64_t)conf->slots * 65536 > INT32_MAX)
		return err_set(err, ERR_INVALID, "pool.uid_base and pool.slots reach beyond 2^31");
	return 0;
}

int conf_load(struct conf *ret, const char *path, const char *const *env,
	      const struct conf_override *overrides, struct err *err)
{
	struct conf conf = { .profile = CONF_PERSONAL };

	if (find_profile(&conf, path, env, overrides, err) < 0 ||
	    set_defaults(&conf, (enum conf_profile)conf.profile, err) < 0)
		goto fail;
	if (path && read_file(&conf, path, false, err) < 0)
		goto fail;
	if (conf_env_each(env, on_env_setting, &conf, err) < 0)
		goto fail;
	for (const struct conf_override *o = overrides; o && o->name; o++)
		if (set_override(&conf, o, err) < 0)
			goto fail;
	if (check(&conf, err) < 0)
		goto fail;
	*ret = conf;
	return 0;

fail:
	conf_done(&conf);
	return -1;
}

int conf_listen_split(const char *listen, char *ret_address, size_t size, uint16_t *ret_port,
		      struct err *err)
{
	struct view v = view_str(listen), address, digits;
	const char *colon = strrchr(listen, ':');
	uint32_t port;

	if (!colon)
		goto bad;
	address = view_first(v, (size_t)(colon - listen));
	digits = view_from(v, address.len + 1);
	if (address.len >= 2 && address.p[0] == '[' && address.p[address.len - 1] == ']')
		address = view_of(address.p + 1, address.len - 2);
	else if (view_find(address, ':') != address.len)
		goto bad;
	if (address.len == 0 || parse_u32(digits, 0, 65535, &port) < 0 ||
	    view_copy(address, ret_address, size) < 0)
		goto bad;
	*ret_port = (uint16_t)port;
	return 0;

bad:
	return err_set(err, ERR_INVALID,
		       "server.listen must be ADDRESS:PORT, such as 127.0.0.1:8000 or [::1]:8000, "
		       "not \"%s\"",
		       listen);
}

bool conf_limits_disk(const struct conf *conf)
{
	return conf->disk_bandwidth || conf->disk_operations;
}

int conf_engine(const struct conf *conf, struct buf *out)
{
	return conf->engine == CONF_OCI ? buf_addf(out, "oci:%s", conf->runtime)
					: buf_add_str(out, "native");
}

int conf_runtime_dir(const struct conf *conf, struct buf *out)
{
	if (conf->runtime_dir[0])
		return buf_add_str(out, conf->runtime_dir);
	return buf_addf(out, "%s/run", conf->state_dir);
}
