/* SPDX-License-Identifier: Apache-2.0 */
/*
 * berth-init in a container that an OCI runtime made (wire/init.h). What no runtime does the same
 * way as the native engine is done here, before anything of the tenant runs: the system call filter
 * is the very program that the native engine loads, not one of the runtime's making.
 */
#ifndef BERTH_INIT_OCI_H
#define BERTH_INIT_OCI_H

#include "base/attr.h"

/*
 * Takes the socket to INIT_SOCKET_FD, hides the program, loads the filter, gives up CAP_SYS_ADMIN,
 * which that needed, and closes everything else. -1 after saying on stderr what went wrong: the
 * program must end.
 */
int oci_take_over(void) MUST_CHECK;

#endif
