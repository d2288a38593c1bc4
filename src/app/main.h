/* SPDX-License-Identifier: Apache-2.0 */
/* The life of the process berthd, from its arguments to its exit status. */
#ifndef BERTH_APP_MAIN_H
#define BERTH_APP_MAIN_H

int app_main(int argc, char **argv);

#endif
