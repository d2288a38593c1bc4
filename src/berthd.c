/* SPDX-License-Identifier: Apache-2.0 */
/* berthd: the front door. */
#include "app/main.h"

int main(int argc, char **argv)
{
	return app_main(argc, argv);
}
