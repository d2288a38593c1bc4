/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of the kernel in files of "key value" lines, such as memory.events of a control group.
 */
#ifndef BERTH_SYS_COUNTER_H
#define BERTH_SYS_COUNTER_H

#include <stdint.h>

/* The number after `key` and a space at the start of a line of `text`; UINT64_MAX if none is. */
uint64_t counter_find(const char *text, const char *key);
/* The same of an open file of at most 4 KiB, which is read anew from its start; UINT64_MAX also for
 * an fd of -1 and for a file that cannot be read. Three microseconds: fit for every command. */
uint64_t counter_read(int fd, const char *key);

#endif
