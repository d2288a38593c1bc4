/* SPDX-License-Identifier: Apache-2.0 */
/* The child that builds a container around itself and becomes berth-init. */
#include "spawner/container.h"

#include "spawner/child.h"
#include "spawner/dev.h"
#include "spawner/mask.h"
#include "spawner/mounts.h"
#include "spawner/sockets.h"
#include "spawner/tree.h"
#include "sys/jail.h"
#include "wire/init.h"

#include <fcntl.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static int loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	auto_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		return -errno;
	return 0;
}

void container_prepare_namespaces(const struct launch_plan *launch)
{
	launch_check(launch, LAUNCH_SYSCTL, mask_write_sysctls());
	launch_check(launch, LAUNCH_NETWORK,
		     sethostname("sandbox", strlen("sandbox")) < 0 ? -errno : 0);
	launch_check(launch, LAUNCH_NETWORK, loopback_up());
	if (launch->net_fd >= 0)
		sockets_end_all();
	launch_check(launch, LAUNCH_LIMITS, confine_keyring());
}

void container_child(const struct launch_plan *launch, void *userdata)
{
	const struct container_plan *plan = userdata;
	static char *const argv[] = { (char *)(uintptr_t) "berth-init", NULL };
	int root;

	launch_check(launch, LAUNCH_ROOT, mounts_make_private());
	/* Over the slot's folder, which as our working directory stays reachable below it. */
	root = tree_make(launch, plan, AT_FDCWD, ".");
	launch_check(launch, LAUNCH_MOUNT_PROC, tree_mount_proc(root));
	launch_check(launch, LAUNCH_MOUNT_DEV, dev_make(root, plan->shm_size));
	launch_check(launch, LAUNCH_ROOT, jail_enter(root));

	container_prepare_namespaces(launch);
	launch_check(launch, LAUNCH_MASK, mask_all());
	launch_check(launch, LAUNCH_LIMITS, confine_rlimits(&plan->confine));
	launch_check(launch, LAUNCH_PRIVILEGES, confine_privileges(&plan->confine));
	for (int fd = 0; fd <= 2; fd++)
		launch_check(launch, LAUNCH_EXEC, child_place_fd(plan->null_fd, fd));
	launch_check(launch, LAUNCH_EXEC, child_place_fd(plan->socket_fd, INIT_SOCKET_FD));
	child_exec(launch, plan->init_fd, INIT_SOCKET_FD + 1, argv);
}
