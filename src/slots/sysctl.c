/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel settings of the host and of the slots' links. */
#include "slots/sysctl.h"

#include "base/log.h"
#include "base/parse.h"
#include "sys/io.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>

enum { MARK_MAX = 256 * 1024 }; /* thousands of names of interfaces */

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define MARK_RA "accept_ra" /* holds the interfaces of keep_advertisements() */

/* A number of the host that must not be lower than `least`. */
struct host_setting {
	const char *path;
	const char *mark; /* holds what it was before us, if we raised it; or NULL */
	uint64_t least;
};

static const struct host_setting forwarding4 = { "/proc/sys/net/ipv4/ip_forward", "forwarding4",
						 1 };
static const struct host_setting forwarding6 = { "/proc/sys/net/ipv6/conf/all/forwarding",
						 "forwarding6", 1 };

/*
 * The kernel counts inotify instances and watches for the owner of the user namespaces, who is the
 * same for all slots, and open files for the whole host: one sandbox could take them all. Each is
 * also memory of the sandbox's control group, whose limit ends it first once these are high.
 * systemd sets the number of open files in the same way. They stay high until the next boot:
 * another server may need them.
 */
static const struct host_setting tables[] = {
	{ "/proc/sys/fs/inotify/max_user_instances", NULL, INT_MAX },
	{ "/proc/sys/fs/inotify/max_user_watches", NULL, INT_MAX },
	{ "/proc/sys/fs/file-max", NULL, INT64_MAX },
};

int sysctl_interface(const char *interface, const struct sysctl *settings)
{
	for (; settings->family; settings++) {
		char path[128];
		int r;

		(void)snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/%s/%s", settings->family,
			       interface, settings->key);
		r = io_put(AT_FDCWD, path, settings->value);
		if (r < 0 && !(r == -ENOENT && !strcmp(settings->family, "ipv6")))
			return r;
	}
	return 0;
}

/*
 * A mark is a file that says what to put back. It begins with the boot that it is of: the folder
 * may outlive that, and then others have set what we had set.
 */
static int write_mark(int dir, const char *name, struct view text)
{
	auto_buf struct buf mark = BUF_INIT(MARK_MAX);
	int r = io_read_file(AT_FDCWD, BOOT_ID, &mark);

	if (r == 0)
		r = buf_add_view(&mark, text);
	return r < 0 ? r : io_write_file(dir, name, buf_view(&mark), 0444);
}

/* Removes the mark; its text goes to `ret`. -ENOENT: there is none of this boot. */
static int take_mark(int dir, const char *name, struct buf *ret)
{
	auto_buf struct buf boot = BUF_INIT(64), mark = BUF_INIT(MARK_MAX);
	int r = io_read_file(dir, name, &mark);

	if (r == 0)
		r = io_read_file(AT_FDCWD, BOOT_ID, &boot);
	if (r < 0)
		return r;
	(void)unlinkat(dir, name, 0);
	if (!view_starts(buf_view(&mark), buf_view(&boot)))
		return -ENOENT;
	return buf_add_view(ret, view_from(buf_view(&mark), buf_view(&boot).len));
}

/* Sets accept_ra where it is `from`; true if it was. */
static bool change_ra(const char *interface, const char *from, const char *to)
{
	auto_buf struct buf value = BUF_INIT(16);
	char path[128];

	(void)snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/accept_ra", interface);
	return io_read_file(AT_FDCWD, path, &value) == 0 && view_is(buf_view(&value), from) &&
	       io_put(AT_FDCWD, path, to) == 0;
}

/*
 * A host that forwards IPv6 stops listening to router advertisements, and may lose its own default
 * route, unless accept_ra is 2.
 */
static void keep_advertisements(int dir)
{
	auto_buf struct buf changed = BUF_INIT(MARK_MAX / 2);
	struct if_nameindex *all = if_nameindex();

	for (const struct if_nameindex *i = all; i && i->if_name; i++)
		if (change_ra(i->if_name, "1\n", "2"))
			(void)!buf_addf(&changed, "%s\n", i->if_name);
	if (all)
		if_freenameindex(all);
	if (write_mark(dir, MARK_RA, buf_view(&changed)) < 0)
		log_warning("accept_ra of this host's interfaces stays 2 after --remove");
}

static void put_back_advertisements(int dir, bool keep)
{
	auto_buf struct buf changed = BUF_INIT(MARK_MAX);
	struct view rest, name;
	char copy[IFNAMSIZ];

	if (take_mark(dir, MARK_RA, &changed) < 0 || keep)
		return;
	rest = buf_view(&changed);
	while (view_split(&rest, '\n', &name))
		if (view_copy(name, copy, sizeof(copy)) == 0)
			(void)change_ra(copy, "2\n", "1");
}

/* Is it too low? Its present value, as text, is added to `was`. */
static bool is_low(const struct host_setting *setting, struct buf *was)
{
	struct view line;
	uint64_t value;

	if (io_read_file(AT_FDCWD, setting->path, was) < 0)
		return false;
	line = view_first(buf_view(was), view_find(buf_view(was), '\n'));
	return parse_u64(line, 0, UINT64_MAX, &value) == 0 && value < setting->least;
}

static int raise_setting(int dir, const struct host_setting *setting)
{
	auto_buf struct buf was = BUF_INIT(32);
	char text[24];
	int r = 0;

	if (!is_low(setting, &was))
		return 0;
	(void)snprintf(text, sizeof(text), "%" PRIu64, setting->least);
	if (setting->mark)
		r = write_mark(dir, setting->mark, buf_view(&was));
	if (r == 0)
		r = io_put(AT_FDCWD, setting->path, text);
	if (r < 0 && setting->mark)
		(void)unlinkat(dir, setting->mark, 0);
	return r;
}

static int put_back(int dir, const struct host_setting *setting, bool keep)
{
	auto_buf struct buf was = BUF_INIT(32);
	int r = take_mark(dir, setting->mark, &was);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return keep ? 0 : io_put(AT_FDCWD, setting->path, buf_str(&was));
}

int forwarding_on(int dir, bool v6, struct err *err)
{
	auto_buf struct buf was = BUF_INIT(32);
	int r = raise_setting(dir, &forwarding4);

	if (r < 0)
		return err_sys(err, -r, "set %s to 1", forwarding4.path);
	if (!v6 || !is_low(&forwarding6, &was))
		return 0;
	keep_advertisements(dir);
	r = raise_setting(dir, &forwarding6);
	return r < 0 ? err_sys(err, -r, "set %s to 1", forwarding6.path) : 0;
}

static bool others_need_it(void)
{
	struct if_nameindex *all = if_nameindex();
	bool need = !all;

	for (const struct if_nameindex *i = all; i && i->if_name; i++)
		if (!strncmp(i->if_name, "bv", 2))
			need = true;
	if (all)
		if_freenameindex(all);
	return need;
}

int forwarding_off(int dir, struct err *err)
{
	const struct host_setting *const both[] = { &forwarding4, &forwarding6 };
	bool keep = others_need_it();

	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		int r = put_back(dir, both[i], keep);

		if (r < 0)
			return err_sys(err, -r, "set %s back", both[i]->path);
	}
	put_back_advertisements(dir, keep);
	return 0;
}

void tables_up(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		int r = raise_setting(-1, &tables[i]);

		if (r < 0)
			log_warning("%s cannot be raised (%s): one sandbox can take what all share",
				    tables[i].path, strerror(-r));
	}
}
