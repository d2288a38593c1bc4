/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs another program to its end, without a shell. For setup and command line tools: it blocks.
 */
#ifndef BERTH_SYS_RUN_H
#define BERTH_SYS_RUN_H

#include "base/buf.h"

/*
 * argv[0] is looked up in PATH. stdin is /dev/null; stdout and stderr go to `output`, as far as it
 * has room (NULL: they are dropped). *ret_status is the exit status, or 128 + signal. -ENOENT when
 * there is no such program.
 */
int run_program(const char *const *argv, struct buf *output, int *ret_status) MUST_CHECK;

#endif
