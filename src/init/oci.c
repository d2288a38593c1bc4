/* SPDX-License-Identifier: Apache-2.0 */
/* What an OCI runtime left to be done. */
#include "init/oci.h"

#include "wire/init.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static int fail(const char *what)
{
	(void)dprintf(STDERR_FILENO, "berth-init: %s: %s\n", what, strerror(errno));
	return -1;
}

static bool is_socket(int fd)
{
	int type;
	socklen_t size = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

static int find_socket(void)
{
	if (is_socket(INIT_SOCKET_FD))
		return 0;
	if (!is_socket(STDIN_FILENO) || dup2(STDIN_FILENO, INIT_SOCKET_FD) < 0)
		return fail("the runtime passed no socket");
	return 0;
}

/* Our program is on the host: neither it nor its path there shall be seen inside. */
static int hide_program(void)
{
	if (umount2(INIT_OCI_PATH, MNT_DETACH) < 0)
		return fail("unmount " INIT_OCI_PATH);
	/* The empty file below it: gVisor keeps that. */
	(void)unlink(INIT_OCI_PATH);
	return 0;
}

static int load_filter(void)
{
	static struct sock_filter code[INIT_MAX_FILTER];
	struct sock_fprog program = { .filter = code };
	ssize_t n = recv(INIT_SOCKET_FD, code, sizeof(code), MSG_TRUNC);

	if (n <= 0 || (size_t)n > sizeof(code) || (size_t)n % sizeof(code[0]) != 0)
		return fail("receive the filter");
	program.len = (unsigned short)((size_t)n / sizeof(code[0]));
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return fail("load the filter");
	return 0;
}

static int drop_sys_admin(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	const uint32_t bit = UINT32_C(1) << CAP_SYS_ADMIN;

	if (prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0) < 0 ||
	    syscall(SYS_capget, &head, data) < 0)
		return fail("drop CAP_SYS_ADMIN");
	data[0].effective &= ~bit;
	data[0].permitted &= ~bit;
	data[0].inheritable = data[1].inheritable = 0;
	return syscall(SYS_capset, &head, data) < 0 ? fail("drop CAP_SYS_ADMIN") : 0;
}

/* Last, for stderr goes. The runtime's own streams and whatever it forgot to close are no business
 * of this container. */
static int close_rest(void)
{
	int null;

	if (syscall(SYS_close_range, INIT_SOCKET_FD + 1, INIT_LAST_FD, 0) < 0)
		return fail("close descriptors");
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return fail("open /dev/null");
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (dup2(null, fd) < 0)
			return fail("replace the standard streams");
	return close(null);
}

int oci_take_over(void)
{
	if (find_socket() < 0 || hide_program() < 0 || load_filter() < 0 || drop_sys_admin() < 0)
		return -1;
	return close_rest();
}
