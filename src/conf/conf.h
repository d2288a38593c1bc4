/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration: built-in defaults, then the profile's, then /etc/berth/berth.conf (INI), then
 * the environment (BERTH_SECTION_KEY, and the variables of mcp-linux-sandbox). Unknown keys are
 * errors with file and line. Durations are seconds, sizes bytes, unless the name says otherwise.
 * Every key is documented in berth.conf(5); keys.c holds the one table of them.
 */
#ifndef BERTH_CONF_CONF_H
#define BERTH_CONF_CONF_H

#include "base/buf.h"
#include "base/err.h"

enum conf_profile { CONF_PERSONAL, CONF_PUBLIC };
enum conf_reuse { CONF_REUSE_REVOKE, CONF_REUSE_DENY };
enum conf_storage { CONF_STORAGE_AUTO, CONF_STORAGE_ZFS, CONF_STORAGE_BTRFS, CONF_STORAGE_DIR };
enum conf_engine { CONF_NATIVE, CONF_OCI };
enum conf_network {
	CONF_NETWORK_INTERNET,
	CONF_NETWORK_NONE,
	CONF_NETWORK_LAN,
	CONF_NETWORK_ALLOW
};
enum { CONF_AUTH_NONE = 1 << 0, CONF_AUTH_TOKEN = 1 << 1, CONF_AUTH_OAUTH = 1 << 2 };

/* Strings are owned by the struct and never NULL ("" when unset). */
struct conf {
	/* [server] */
	uint32_t profile; /* enum conf_profile */
	char *listen;     /* "127.0.0.1:8000", "[::1]:8000" */
	char *public_url; /* "https://host[/path]" without trailing slash; "" : http://listen */
	char *state_dir;
	char *runtime_dir; /* "": state_dir/run */
	char *user;        /* whom the server runs as */
	char *log_level;
	char *trusted_proxies; /* CIDR list */
	char *allowed_origins;
	char *allowed_hosts;
	uint32_t max_connections;
	uint64_t max_body;     /* of POST /mcp */
	bool allow_unconfined; /* go on where berthd cannot be confined */

	/* [auth] */
	uint32_t auth;  /* CONF_AUTH_… */
	uint32_t reuse; /* enum conf_reuse */

	/* [sandbox] */
	uint32_t engine;      /* enum conf_engine */
	char *runtime;        /* for oci: crun, runc, runsc or a path */
	uint64_t memory;      /* bytes */
	uint32_t cpu_percent; /* 200: two CPUs */
	uint32_t processes;
	uint64_t workspace; /* quota, bytes */
	uint64_t layer;     /* quota of the writable layer, bytes */
	uint64_t shm;
	uint64_t tmp;
	uint64_t disk_bandwidth;  /* bytes a second, of reading and of writing each; 0: no limit */
	uint32_t disk_operations; /* the same */
	uint32_t command_timeout, max_timeout, call_limit; /* seconds */
	uint32_t output_chars;
	uint64_t output_file; /* bytes of a command's output kept in the sandbox */
	uint32_t idle;        /* seconds: personal recycles, public empties */
	uint32_t max_running; /* containers at once; 0: as many as slots */
	uint32_t warm;        /* containers kept waiting in free slots */
	uint64_t min_free;    /* bytes of the host's disk below which no container starts */
	bool no_new_privs;
	bool allow_unlimited; /* go on without cgroup limits */
	char *packages;       /* note for the model: what the image has; "" : the built-in text */

	/* [pool] */
	uint32_t slots;
	uint32_t storage;    /* enum conf_storage */
	char *zfs_dataset;   /* parent dataset, e.g. "tank/berth" */
	uint64_t image_file; /* size of the btrfs image file, 0: computed */
	uint32_t uid_base;
	uint32_t sandboxes_per_principal; /* 1: no labels; 0: no limit but the slots */
	bool empty_when_idle; /* public: idle sandboxes are emptied and their slot freed */
	uint32_t queue_hold, queue_patience, queue_patience_mail, claim_time; /* seconds */
	uint32_t queue_max;

	/* [network] */
	uint32_t network;   /* enum conf_network */
	char *allow_hosts;  /* for `allow` */
	char *allow_ranges; /* CIDR[:port] list that is let through in any mode but none */
	char *ipv4_block, *ipv6_block; /* "" for ipv6: none */
	char *dns;                     /* resolvers; "": the host's */
	uint32_t bandwidth_mbit;       /* per sandbox and direction, 0: no limit */
	uint32_t connections;          /* per sandbox, 0: no limit */

	/* [links] */
	uint32_t link_ttl;
	uint64_t image_max;  /* bytes of an image that is attached */
	uint64_t upload_max; /* bytes of one uploaded file, 0: the workspace's quota */

	/* [abuse] */
	uint32_t new_per_hour;       /* sandboxes per address prefix */
	uint32_t held_per_prefix;    /* slots at once */
	uint32_t proof_of_work_bits; /* 0: off */
	uint32_t max_clients;        /* registered OAuth clients kept */

	/* [mail] */
	char *mail_relay; /* "smtp://host:587", "smtps://host"; "": no mail */
	char *mail_ca_file;
	char *mail_from;
	char *mail_user;
	char *mail_password_file;
	uint32_t mail_per_hour;
	uint32_t mail_keep; /* seconds an address is kept */

	/* [gc] */
	uint32_t gc_age; /* seconds */
};

/* Zeroed or filled by conf_load(). */
void conf_done(struct conf *conf);
#define auto_conf CLEANUP(conf_done)

/* One "section.key=value" that overrides file and environment (command line options). */
struct conf_override {
	const char *name; /* "server.listen" */
	const char *value;
};

/*
 * `path` may be NULL (no file) and must exist otherwise. `env` is the environment to read
 * (environ), or NULL. `overrides` ends with { NULL, NULL }, or is NULL. Fills all of *ret and
 * checks what can be checked without touching the system. ERR_INVALID names file, line and key.
 */
int conf_load(struct conf *ret, const char *path, const char *const *env,
	      const struct conf_override *overrides, struct err *err) MUST_CHECK;

/* The value of a variable in an environment, which may be NULL; NULL if it is not in it. */
const char *conf_env_get(const char *const *env, const char *name);

/* A setting that the environment makes. */
struct conf_env_setting {
	const char *variable, *section, *name, *value;
};
typedef int conf_env_fn(void *userdata, const struct conf_env_setting *setting, struct err *err);
/*
 * Calls `fn` for each of them until it returns -1; of two for one key the later goes first.
 * ERR_INVALID for a misspelt variable. Values are unchecked; strings are good during the call.
 */
int conf_env_each(const char *const *env, conf_env_fn *fn, void *userdata,
		  struct err *err) MUST_CHECK;

enum { CONF_SETUP_TAG = 9 };
/*
 * A word that changes with the settings that berth setup applies to the slots: how the server knows
 * that they are those of its own configuration. -ENOMEM.
 */
int conf_setup_tag(const struct conf *conf, char ret[CONF_SETUP_TAG]) MUST_CHECK;

/* The effective configuration as INI. No key holds a secret. */
int conf_print(const struct conf *conf, struct buf *out) MUST_CHECK;
/* The commented example: every key with its default and one line of text. */
int conf_print_example(struct buf *out) MUST_CHECK;

/* Splits "127.0.0.1:8000" or "[::1]:8000". ERR_INVALID. */
int conf_listen_split(const char *listen, char *ret_address, size_t size, uint16_t *ret_port,
		      struct err *err) MUST_CHECK;
const char *conf_profile_name(enum conf_profile profile);
const char *conf_network_name(enum conf_network mode);
/* Whether any limit of reading and writing disks is asked for. */
bool conf_limits_disk(const struct conf *conf);
/* What berth-spawner is told to use: "native", or "oci:" and the runtime. */
int conf_engine(const struct conf *conf, struct buf *out) MUST_CHECK;
/* state_dir/run if runtime_dir is unset. */
int conf_runtime_dir(const struct conf *conf, struct buf *out) MUST_CHECK;

#endif
