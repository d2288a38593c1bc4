/* SPDX-License-Identifier: Apache-2.0 */
/* berth-init: PID 1 of a container. */
#include "init/init.h"
#include "init/oci.h"
#include "wire/init.h"

#include <string.h>

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], INIT_OCI_ARG) == 0 && oci_take_over() < 0)
		return 1;
	return init_run();
}
