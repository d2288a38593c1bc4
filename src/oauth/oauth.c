/* SPDX-License-Identifier: Apache-2.0 */
/* The life of the sign-in object. */
#include "oauth/oauth.h"

#include "base/log.h"
#include "oauth/internal.h"
#include "oauth/work.h"

#include <sodium.h>

_Static_assert(sizeof(((struct oauth_principal *)NULL)->id) >= STORE_PRINCIPAL_BYTES,
	       "a principal does not fit");
_Static_assert((int)OAUTH_TOKEN_TEXT_BYTES == (int)SECRET_ACCESS_TEXT, "size of a static token");

static bool is_loopback_url(struct view url)
{
	static const char *const starts[] = { "http://localhost", "http://127.0.0.1",
					      "http://[::1]" };

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		struct view start = view_str(starts[i]);

		if (view_starts(url, start) && (url.len == start.len || url.p[start.len] == ':'))
			return true;
	}
	return false;
}

/* The issuer is compared byte by byte by clients, so it must be one in the first place. */
static int check_url(const char *url, struct err *err)
{
	struct view v = view_str(url), rest;
	bool is_https = view_starts(v, VIEW("https://"));

	if (!is_https && !view_starts(v, VIEW("http://")))
		return err_set(err, ERR_INVALID, "public_url must begin with https:// (is \"%s\")",
			       url);
	rest = view_from(v, is_https ? 8 : 7);
	if (rest.len == 0 || v.len > 400)
		return err_set(err, ERR_INVALID, "public_url has no host, or is too long");
	for (size_t i = 0; i < rest.len; i++) {
		char c = rest.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || strchr(".-:[]", c)))
			return err_set(err, ERR_INVALID,
				       "sign-in needs a public_url of scheme and host only, in "
				       "lower case, without path and slash at the end (is \"%s\")",
				       url);
	}
	if (!is_https && !is_loopback_url(v))
		log_warning("public_url %s is not https: most clients will refuse to sign in", url);
	return 0;
}

static int check_config(const struct oauth_config *config, struct err *err)
{
	if (!config->modes)
		return err_set(err, ERR_INVALID, "no way to authenticate is configured");
	if (config->limits.proof_of_work_bits > WORK_MAX_BITS)
		return err_set(err, ERR_INVALID, "proof of work: at most %d bits", WORK_MAX_BITS);
	if (config->modes & OAUTH_MODE_SIGN_IN)
		return check_url(config->public_url, err);
	return 0;
}

static int on_sweep(sd_event_source *source, uint64_t now, void *userdata)
{
	int r = sd_event_source_set_time_relative(source, OAUTH_SWEEP_S * USEC_PER_SEC);

	(void)now;
	oauth_sweep(userdata);
	return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int start_sweeping(struct oauth *oauth, sd_event *event, struct err *err)
{
	int r = sd_event_add_time_relative(event, &oauth->sweep_timer, CLOCK_MONOTONIC,
					   OAUTH_SWEEP_S * USEC_PER_SEC, USEC_PER_SEC, on_sweep,
					   oauth);

	if (r < 0)
		return err_sys(err, -r, "start the timer of sign-in");
	oauth_sweep(oauth);
	return 0;
}

static int set_up(struct oauth *oauth, const struct oauth_config *config, struct err *err)
{
	if (sodium_init() < 0)
		return err_set(err, ERR_SYSTEM, "the random number generator is not available");
	randombytes_buf(oauth->form_key, sizeof(oauth->form_key));
	randombytes_buf(oauth->visitor_key, sizeof(oauth->visitor_key));
	oauth->issuer = view_dup(view_str(config->public_url));
	oauth->is_secure = config->public_url && strncmp(config->public_url, "https:", 6) == 0;
	oauth->decisions = decisions_new();
	oauth->replays = replays_new();
	if (!oauth->issuer || !oauth->decisions || !oauth->replays)
		return err_sys(err, ENOMEM, "set up sign-in");
	if (oauth_make_rates(oauth, err) < 0 || start_sweeping(oauth, config->event, err) < 0)
		return -1;
	if (!(config->modes & OAUTH_MODE_SIGN_IN))
		return 0;
	if (oauth_make_metadata(oauth, err) < 0)
		return -1;
	return oauth_add_routes(oauth, config->http, err);
}

int oauth_new(const struct oauth_config *config, struct oauth **ret, struct err *err)
{
	struct oauth *oauth;

	if (check_config(config, err) < 0)
		return -1;
	oauth = calloc(1, sizeof(*oauth));
	if (!oauth)
		return err_sys(err, ENOMEM, "set up sign-in");
	oauth->store = config->store;
	oauth->clock = config->clock;
	oauth->modes = config->modes;
	oauth->reuse = config->reuse;
	oauth->may_use_labels = config->may_use_labels;
	oauth->idle_s = config->idle_s;
	oauth->keeps_files = config->keeps_files;
	oauth->limits = config->limits;
	oauth->callbacks = config->callbacks;
	if (set_up(oauth, config, err) < 0) {
		oauth_free(oauth);
		return -1;
	}
	*ret = oauth;
	return 0;
}

void oauth_free(struct oauth *oauth)
{
	if (!oauth)
		return;
	sd_event_source_disable_unref(oauth->sweep_timer);
	decisions_free(oauth->decisions);
	replays_free(oauth->replays);
	for (size_t i = 0; i < OAUTH_NUM_RATES; i++)
		ratelimit_free(oauth->rates[i]);
	free(oauth->routes);
	free(oauth->issuer);
	free(oauth->resource_metadata);
	free(oauth->server_metadata);
	secret_wipe(oauth, sizeof(*oauth));
	free(oauth);
}
