/* SPDX-License-Identifier: Apache-2.0 */
/* The schema, one step a version. Only store.c uses this. */
#ifndef BERTH_STORE_SCHEMA_H
#define BERTH_STORE_SCHEMA_H

#include <stddef.h>

/* Step i brings user_version i to i + 1. A step that was released is never edited. */
extern const char *const store_schema[];
extern const size_t store_schema_steps;

#endif
