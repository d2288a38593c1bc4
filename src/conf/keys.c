/* SPDX-License-Identifier: Apache-2.0 */
/* The table of keys. */
#include "conf/keys.h"

#include <assert.h>

static const char *const profile_names[] = { "personal", "public", NULL };
static const char *const storage_names[] = { "auto", "zfs", "btrfs", "dir", NULL };
static const char *const engine_names[] = { "native", "oci", NULL };
static const char *const network_names[] = { "internet", "none", "lan", "allow", NULL };
static const char *const auth_names[] = { "none", "token", "oauth", NULL }; /* bit 0, 1, 2 */
static const char *const reuse_names[] = { "revoke", "deny", NULL };

const struct conf_key conf_keys[] = {
	{ "server", "profile", CONF_ENUM, offsetof(struct conf, profile), "personal",
	  .names = profile_names,
	  .help = "personal: your own sandboxes behind a token; public: anonymous visitors, a pool "
		  "and a queue" },
	{ "server", "listen", CONF_STRING, offsetof(struct conf, listen), "127.0.0.1:8000",
	  .help = "address and port; a TLS proxy stands in front" },
	{ "server", "public_url", CONF_STRING, offsetof(struct conf, public_url), "",
	  .help = "https://host[/path] as clients reach it; used for links, OAuth issuer and "
		  "resource" },
	{ "server", "state_dir", CONF_STRING, offsetof(struct conf, state_dir), "/var/lib/berth",
	  .help = "state, image, slots" },
	{ "server", "runtime_dir", CONF_STRING, offsetof(struct conf, runtime_dir), "",
	  .help = "sockets and namespaces; empty: the folder run under state_dir" },
	{ "server", "user", CONF_STRING, offsetof(struct conf, user), "berth",
	  .help = "the unprivileged user the server runs as" },
	{ "server", "log_level", CONF_STRING, offsetof(struct conf, log_level), "info",
	  .help = "of berthd: error, warning, info or debug" },
	{ "server", "trusted_proxies", CONF_STRING, offsetof(struct conf, trusted_proxies),
	  "127.0.0.0/8, ::1/128", .help = "peers whose X-Forwarded-For is believed" },
	{ "server", "allowed_origins", CONF_STRING, offsetof(struct conf, allowed_origins), "",
	  .help = "browser origins allowed on /mcp beside the server's own and loopback; *: all. "
		  "Empty: all where visitors sign in at an https public_url, else no others" },
	{ "server", "allowed_hosts", CONF_STRING, offsetof(struct conf, allowed_hosts), "",
	  .help = "Host names accepted beside public_url's and loopback" },
	{ "server", "max_connections", CONF_U32, offsetof(struct conf, max_connections), "2000",
	  .min = 1, .max = 60000, .help = "open client connections" },
	{ "server", "max_body", CONF_SIZE, offsetof(struct conf, max_body), "4M",
	  .min = 64ULL << 10, .max = 64ULL << 20, .help = "largest body on POST /mcp" },
	{ "server", "allow_unconfined", CONF_BOOL, offsetof(struct conf, allow_unconfined), "no",
	  .help = "serve even where the kernel cannot confine the server itself" },
	{ "auth", "methods", CONF_FLAGS, offsetof(struct conf, auth), "token",
	  .public_value = "oauth", .names = auth_names,
	  .help = "token, oauth, none (loopback only), or several with commas" },
	{ "auth", "reuse", CONF_ENUM, offsetof(struct conf, reuse), "revoke", .names = reuse_names,
	  .help = "an old refresh token comes again. revoke: the sign-in ends, since it may be "
		  "stolen (RFC 9700); deny: only that request is refused" },
	{ "sandbox", "engine", CONF_ENUM, offsetof(struct conf, engine), "native",
	  .names = engine_names,
	  .help = "native: containers made by berth itself; oci: by an OCI runtime" },
	{ "sandbox", "runtime", CONF_STRING, offsetof(struct conf, runtime), "crun",
	  .help = "for engine = oci: crun, runc, runsc or the path of another one" },
	{ "sandbox", "memory", CONF_SIZE, offsetof(struct conf, memory), "1G", .min = 64ULL << 20,
	  .max = 1ULL << 40, .help = "memory of one sandbox, /tmp and /dev/shm included" },
	{ "sandbox", "cpu_percent", CONF_U32, offsetof(struct conf, cpu_percent), "200", .min = 5,
	  .max = 100000, .help = "100 is one CPU" },
	{ "sandbox", "processes", CONF_U32, offsetof(struct conf, processes), "256", .min = 16,
	  .max = 1000000, .help = "processes and threads of one sandbox" },
	{ "sandbox", "workspace", CONF_SIZE, offsetof(struct conf, workspace), "2G",
	  .min = 16ULL << 20, .max = 16ULL << 40, .by_setup = true, .help = "quota of /workspace" },
	{ "sandbox", "layer", CONF_SIZE, offsetof(struct conf, layer), "4G", .min = 64ULL << 20,
	  .max = 16ULL << 40, .by_setup = true,
	  .help = "what a container may write outside /workspace" },
	{ "sandbox", "shm", CONF_SIZE, offsetof(struct conf, shm), "512M", .min = 1ULL << 20,
	  .max = 1ULL << 40, .help = "size of /dev/shm" },
	{ "sandbox", "tmp", CONF_SIZE, offsetof(struct conf, tmp), "256M", .min = 1ULL << 20,
	  .max = 1ULL << 40, .help = "size of /tmp" },
	{ "sandbox", "disk_bandwidth", CONF_SIZE, offsetof(struct conf, disk_bandwidth), "0",
	  .public_value = "64M", .min = 0, .max = 1ULL << 40,
	  .help = "bytes a second that one sandbox reads from disk, and as many that it writes; "
		  "0: no limit" },
	{ "sandbox", "disk_operations", CONF_U32, offsetof(struct conf, disk_operations), "0",
	  .public_value = "2000", .min = 0, .max = 10000000,
	  .help = "operations a second, of reading and of writing each; 0: no limit" },
	{ "sandbox", "command_timeout", CONF_SECONDS, offsetof(struct conf, command_timeout), "120",
	  .min = 1, .max = 86400, .help = "a command's time-out when the call names none" },
	{ "sandbox", "max_timeout", CONF_SECONDS, offsetof(struct conf, max_timeout), "900",
	  .min = 1, .max = 86400, .help = "the longest time-out a call may ask for" },
	{ "sandbox", "call_limit", CONF_SECONDS, offsetof(struct conf, call_limit), "45", .min = 1,
	  .max = 3600, .help = "a call returns after this, the command goes on as a job" },
	{ "sandbox", "output_chars", CONF_U32, offsetof(struct conf, output_chars), "20000",
	  .min = 1000, .max = 200000, .help = "characters of output shown; the rest is in a file" },
	{ "sandbox", "output_file", CONF_SIZE, offsetof(struct conf, output_file), "32M",
	  .min = 64ULL << 10, .max = 10ULL << 30,
	  .help = "output of one command kept in the sandbox" },
	{ "sandbox", "idle", CONF_SECONDS, offsetof(struct conf, idle), "300",
	  .public_value = "600", .min = 10, .max = 31536000,
	  .help = "after this without a call a container is recycled (public: the sandbox is "
		  "emptied)" },
	{ "sandbox", "max_running", CONF_U32, offsetof(struct conf, max_running), "2",
	  .public_value = "0", .min = 0, .max = 5000,
	  .help = "containers at once; 0: as many as slots" },
	{ "sandbox", "warm", CONF_U32, offsetof(struct conf, warm), "1", .public_value = "4",
	  .min = 0, .max = 500, .help = "containers kept waiting in free slots" },
	{ "sandbox", "min_free", CONF_SIZE, offsetof(struct conf, min_free), "2G", .min = 0,
	  .max = 16ULL << 40, .help = "no container starts with less free disk than this" },
	{ "sandbox", "no_new_privs", CONF_BOOL, offsetof(struct conf, no_new_privs), "yes",
	  .help = "no: setuid programs work for users other than root inside" },
	{ "sandbox", "allow_unlimited", CONF_BOOL, offsetof(struct conf, allow_unlimited), "no",
	  .help = "serve even where memory, CPU and processes cannot be limited" },
	{ "sandbox", "packages", CONF_STRING, offsetof(struct conf, packages), "",
	  .help = "a sentence for the model on what the image holds" },
	{ "pool", "slots", CONF_U32, offsetof(struct conf, slots), "100", .public_value = "500",
	  .min = 1, .max = 5000, .help = "places prepared by berth setup" },
	{ "pool", "storage", CONF_ENUM, offsetof(struct conf, storage), "auto",
	  .names = storage_names, .by_setup = true, .help = "zfs, btrfs, dir, or auto" },
	{ "pool", "zfs_dataset", CONF_STRING, offsetof(struct conf, zfs_dataset), "",
	  .by_setup = true, .help = "parent dataset for zfs, e.g. tank/berth" },
	{ "pool", "image_file", CONF_SIZE, offsetof(struct conf, image_file), "0", .min = 0,
	  .max = 64ULL << 40,
	  .help = "size of the btrfs image file where one is made; 0: computed" },
	{ "pool", "uid_base", CONF_U32, offsetof(struct conf, uid_base), "1048576", .min = 524288,
	  .max = 2000000000, .by_setup = true, .help = "first of 65536 ids a slot" },
	{ "pool", "sandboxes_per_principal", CONF_U32,
	  offsetof(struct conf, sandboxes_per_principal), "0", .public_value = "1", .min = 0,
	  .max = 5000, .help = "1: one sandbox and no labels; 0: no limit but the slots" },
	{ "pool", "empty_when_idle", CONF_BOOL, offsetof(struct conf, empty_when_idle), "no",
	  .public_value = "yes", .help = "yes: an idle sandbox is emptied and its slot freed" },
	{ "pool", "queue_hold", CONF_SECONDS, offsetof(struct conf, queue_hold), "40", .min = 0,
	  .max = 300,
	  .help = "how long a call waits for a slot before it answers with its position" },
	{ "pool", "queue_patience", CONF_SECONDS, offsetof(struct conf, queue_patience), "1800",
	  .min = 60, .max = 604800, .help = "a place without any call is lost after this" },
	{ "pool", "queue_patience_mail", CONF_SECONDS, offsetof(struct conf, queue_patience_mail),
	  "86400", .min = 60, .max = 604800,
	  .help = "the same for visitors who left an e-mail address" },
	{ "pool", "claim_time", CONF_SECONDS, offsetof(struct conf, claim_time), "600", .min = 10,
	  .max = 86400, .help = "a granted slot that is not used goes on after this" },
	{ "pool", "queue_max", CONF_U32, offsetof(struct conf, queue_max), "5000", .min = 0,
	  .max = 1000000, .help = "places in the queue" },
	{ "network", "mode", CONF_ENUM, offsetof(struct conf, network), "internet",
	  .names = network_names, .by_setup = true, .help = "internet, none, lan or allow" },
	{ "network", "allow_hosts", CONF_STRING, offsetof(struct conf, allow_hosts), "",
	  .by_setup = true, .help = "for mode = allow: host names, commas between" },
	{ "network", "allow_ranges", CONF_STRING, offsetof(struct conf, allow_ranges), "",
	  .by_setup = true,
	  .help = "CIDR[:port], commas between: let through in every mode but none" },
	{ "network", "ipv4_block", CONF_STRING, offsetof(struct conf, ipv4_block), "10.213.0.0/16",
	  .by_setup = true, .help = "private block for the sandboxes' addresses" },
	{ "network", "ipv6_block", CONF_STRING, offsetof(struct conf, ipv6_block), "",
	  .by_setup = true, .help = "the same for IPv6, e.g. fd42:6265:7274::/48; empty: no IPv6" },
	{ "network", "dns", CONF_STRING, offsetof(struct conf, dns), "", .by_setup = true,
	  .help = "resolvers for the sandboxes; empty: the host's" },
	{ "network", "bandwidth_mbit", CONF_U32, offsetof(struct conf, bandwidth_mbit), "0",
	  .min = 0, .max = 1000000, .by_setup = true,
	  .help = "per sandbox and direction; 0: no limit" },
	{ "network", "connections", CONF_U32, offsetof(struct conf, connections), "2000", .min = 0,
	  .max = 1000000, .by_setup = true,
	  .help = "open TCP connections of one sandbox, and a quarter as many others; 0: any" },
	{ "links", "ttl", CONF_SECONDS, offsetof(struct conf, link_ttl), "600", .min = 10,
	  .max = 604800, .help = "how long a link is valid" },
	{ "links", "image_max", CONF_SIZE, offsetof(struct conf, image_max), "1536K", .min = 0,
	  .max = 8ULL << 20,
	  .help = "largest image attached to a result, which has room for one of 700K: a larger "
		  "one is scaled down. 0: none" },
	{ "links", "upload_max", CONF_SIZE, offsetof(struct conf, upload_max), "0", .min = 0,
	  .max = 16ULL << 40, .help = "largest uploaded file; 0: the workspace's quota decides" },
	{ "abuse", "new_per_hour", CONF_U32, offsetof(struct conf, new_per_hour), "20", .min = 0,
	  .max = 100000,
	  .help = "new sandboxes an hour for one address prefix (/24, /48); 0: no limit" },
	{ "abuse", "held_per_prefix", CONF_U32, offsetof(struct conf, held_per_prefix), "10",
	  .min = 0, .max = 100000,
	  .help = "slots, and places in the queue, held at once by one address prefix; 0: no "
		  "limit" },
	{ "abuse", "proof_of_work_bits", CONF_U32, offsetof(struct conf, proof_of_work_bits), "0",
	  .min = 0, .max = 24, .help = "work a browser does before the button counts; 0: none" },
	{ "abuse", "max_clients", CONF_U32, offsetof(struct conf, max_clients), "20000", .min = 100,
	  .max = 10000000, .help = "registered clients kept" },
	{ "mail", "relay", CONF_STRING, offsetof(struct conf, mail_relay), "",
	  .help = "smtp://host:587 or smtps://host; empty: no mail" },
	{ "mail", "ca_file", CONF_STRING, offsetof(struct conf, mail_ca_file), "",
	  .help = "certificates that may vouch for the relay; empty: the system's" },
	{ "mail", "from", CONF_STRING, offsetof(struct conf, mail_from), "",
	  .help = "sender address" },
	{ "mail", "user", CONF_STRING, offsetof(struct conf, mail_user), "",
	  .help = "user name at the relay" },
	{ "mail", "password_file", CONF_STRING, offsetof(struct conf, mail_password_file), "",
	  .help = "file that holds the password" },
	{ "mail", "per_hour", CONF_U32, offsetof(struct conf, mail_per_hour), "60", .min = 0,
	  .max = 100000, .help = "messages an hour" },
	{ "mail", "keep", CONF_SECONDS, offsetof(struct conf, mail_keep), "86400", .min = 60,
	  .max = 86400, .help = "an address is forgotten after this" },
	{ "gc", "age", CONF_SECONDS, offsetof(struct conf, gc_age), "604800", .min = 60,
	  .max = 315360000, .help = "berth gc: workspaces untouched for this long" },
};

const size_t conf_n_keys = ARRAY_SIZE(conf_keys);
static_assert(ARRAY_SIZE(conf_keys) <= CONF_MAX_KEYS, "too many keys");

const struct conf_key *conf_key_find(const char *section, const char *name)
{
	for (size_t i = 0; i < conf_n_keys; i++)
		if (!strcmp(conf_keys[i].section, section) && !strcmp(conf_keys[i].name, name))
			return &conf_keys[i];
	return NULL;
}

const char *conf_profile_name(enum conf_profile profile)
{
	return profile_names[profile];
}

const char *conf_network_name(enum conf_network mode)
{
	return network_names[mode];
}
