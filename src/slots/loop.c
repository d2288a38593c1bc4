/* SPDX-License-Identifier: Apache-2.0 */
/* Loop devices. */
#include "slots/loop.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { LOOP_MAJOR_NUMBER = 7, LOOP_TRIES = 16 };

/* Where no udev runs the node of a new device may be missing. */
static int open_device(const char *path, unsigned number)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT &&
	    mknod(path, S_IFBLK | 0600, makedev(LOOP_MAJOR_NUMBER, number)) == 0)
		fd = open(path, O_RDWR | O_CLOEXEC);
	return fd;
}

int loop_attach(int file, char path[LOOP_PATH_SIZE], int *ret_fd, struct err *err)
{
	/* Direct I/O: or everything would be cached twice. */
	struct loop_config config = {
		.fd = (uint32_t)file,
		.info = { .lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO },
	};
	auto_fd int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	if (control < 0)
		return err_sys(err, errno, "open /dev/loop-control");
	for (int i = 0; i < LOOP_TRIES; i++) {
		int number = ioctl(control, LOOP_CTL_GET_FREE);

		if (number < 0)
			return err_sys(err, errno, "find a free loop device");
		(void)snprintf(path, LOOP_PATH_SIZE, "/dev/loop%d", number);
		auto_fd int device = open_device(path, (unsigned)number);
		if (device < 0)
			return err_sys(err, errno, "open %s", path);
		if (ioctl(device, LOOP_CONFIGURE, &config) == 0) {
			*ret_fd = take_fd(device);
			return 0;
		}
		if (errno != EBUSY) /* somebody else was faster: the next one */
			return err_sys(err, errno, "set up %s", path);
	}
	return err_set(err, ERR_BUSY, "no loop device stayed free long enough");
}

int loop_grow(const char *path, struct err *err)
{
	auto_fd int device = open(path, O_RDWR | O_CLOEXEC);

	if (device < 0 || ioctl(device, LOOP_SET_CAPACITY, 0) < 0)
		return err_sys(err, errno, "grow %s", path);
	return 0;
}
