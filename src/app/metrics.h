/* SPDX-License-Identifier: Apache-2.0 */
/* GET /metrics: the snapshot in Prometheus' text format (version 0.0.4). */
#ifndef BERTH_APP_METRICS_H
#define BERTH_APP_METRICS_H

#include "app/snapshot.h"

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* As buf_add(). */
int metrics_print(const struct snapshot *s, struct buf *out) MUST_CHECK;

#endif
