/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for what must not leave the process. */
#include "sys/locked.h"

#include <string.h>
#include <sys/mman.h>

int locked_new(size_t size, void **ret)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int r;

	if (p == MAP_FAILED)
		return -errno;
	if (mlock(p, size) < 0 || madvise(p, size, MADV_DONTDUMP) < 0 ||
	    madvise(p, size, MADV_WIPEONFORK) < 0) {
		r = -errno;
		(void)munmap(p, size);
		return r;
	}
	*ret = p;
	return 0;
}

void locked_free(void *p, size_t size)
{
	if (!p)
		return;
	explicit_bzero(p, size);
	(void)munmap(p, size);
}
