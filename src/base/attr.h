/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiler attributes and scope-exit cleanup. The only place for GNU extensions.
 */
#ifndef BERTH_BASE_ATTR_H
#define BERTH_BASE_ATTR_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define MUST_CHECK   __attribute__((warn_unused_result))
#define PRINTF(f, a) __attribute__((format(printf, f, a)))
#define CLEANUP(fn)  __attribute__((cleanup(fn)))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* The struct that embeds `member`; `ptr` points to the member. */
#define container_of(ptr, type, member)                                                            \
	((type *)(void *)((char *)(1 ? (ptr) : &((type *)0)->member) - offsetof(type, member)))

/* Run when the variable leaves scope; initialise it at its declaration, always. */
#define auto_free CLEANUP(cleanup_free)
#define auto_fd   CLEANUP(cleanup_fd)

/* auto_of(slot_lease) releases with slot_lease_free(), which must accept NULL. */
#define auto_of(type) CLEANUP(type##_cleanup)
#define DEFINE_CLEANUP(type)                                                                       \
	static inline void type##_cleanup(struct type **p)                                         \
	{                                                                                          \
		type##_free(*p);                                                                   \
	}

/* Hand ownership out of a scope: yields the value and disarms the cleanup. */
#define take_fd(fd)                                                                                \
	__extension__({                                                                            \
		int take_ = (fd);                                                                  \
		(fd) = -1;                                                                         \
		take_;                                                                             \
	})
#define take_ptr(ptr)                                                                              \
	__extension__({                                                                            \
		__typeof__(ptr) take_ = (ptr);                                                     \
		(ptr) = NULL;                                                                      \
		take_;                                                                             \
	})

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

/* Keeps errno, so a failing function can still report why it failed. */
static inline void cleanup_fd(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	errno = saved;
}

#endif
