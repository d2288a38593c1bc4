/* SPDX-License-Identifier: Apache-2.0 */
/* Microseconds, the one unit of time. Which clock a value is from is said where it is used. */
#ifndef BERTH_BASE_USEC_H
#define BERTH_BASE_USEC_H

#include <stdint.h>

typedef uint64_t usec;

#define USEC_PER_SEC  ((usec)1000000)
#define USEC_PER_MSEC ((usec)1000)
/* Never; unknown. */
#define USEC_INFINITY UINT64_MAX

#endif
