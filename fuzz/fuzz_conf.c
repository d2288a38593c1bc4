/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration file of any bytes: what loads prints a file that loads to the same. */
#include "conf/conf.h"

#include <assert.h>
#include <stdio.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int load(const void *data, size_t size, struct conf *conf)
{
	auto_fd int fd = memfd_create("fuzz", MFD_CLOEXEC);
	char path[64];
	struct err err;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return conf_load(conf, path, NULL, NULL, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buf struct buf first = BUF_INIT(1 << 20), second = BUF_INIT(1 << 20);
	struct conf conf;

	if (size > 1 << 16 || load(data, size, &conf) < 0)
		return 0;
	assert(conf_print(&conf, &first) == 0);
	conf_done(&conf);

	/* A value of several lines may be too long for one. */
	if (load(first.p, first.len, &conf) < 0)
		return 0;
	assert(conf_print(&conf, &second) == 0);
	assert(view_eq(buf_view(&first), buf_view(&second)));
	conf_done(&conf);
	return 0;
}
