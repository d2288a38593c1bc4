/* SPDX-License-Identifier: Apache-2.0 */
/* The listening socket across restarts. */
#include "app/listener.h"

#include "base/log.h"

#include <systemd/sd-daemon.h>
#include <unistd.h>

/* The name under which berthd leaves it; a socket unit's has another one. */
#define LEFT "berth-listen"

static void free_names(char **names)
{
	for (char **name = names; name && *name; name++)
		free(*name);
	free(names);
}

/* Decides about the passed socket number `i`, given what was taken before it. */
static int consider(int fd, bool is_left, const char *address, uint16_t port, int *taken)
{
	if (is_left && (*taken >= 0 || !http_listens_at(fd, address, port))) {
		(void)close(fd);
		return 0;
	}
	if (*taken >= 0)
		return -EINVAL;
	*taken = fd;
	return 0;
}

int listener_take(const char *address, uint16_t port, int *ret, struct err *err)
{
	char **names = NULL;
	int n = sd_listen_fds_with_names(1, &names), taken = -1, r = 0;

	/* Those of a unit come first. */
	for (int i = 0; i < n && r == 0; i++)
		r = consider(SD_LISTEN_FDS_START + i, strcmp(names[i], LEFT) == 0, address, port,
			     &taken);
	free_names(names);
	if (n < 0)
		return err_sys(err, -n, "take the passed sockets");
	if (r < 0)
		return err_set(err, ERR_INVALID, "%d sockets were passed; only one can be used", n);
	*ret = taken;
	return 0;
}

void listener_leave(const struct http_server *http)
{
	int fd = http_server_listen_fd(http);
	int r;

	/* An earlier one, of another address, would be passed beside it. */
	r = sd_notify(0, "FDSTOREREMOVE=1\nFDNAME=" LEFT);
	if (r > 0)
		r = sd_pid_notify_with_fds(0, 0, "FDSTORE=1\nFDNAME=" LEFT, &fd, 1);
	if (r < 0)
		log_warning("the listening socket was not left with systemd: %s", strerror(-r));
}
