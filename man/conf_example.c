/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the commented example configuration; used while building. */
#include "conf/conf.h"

#include <stdio.h>

enum { MAX_EXAMPLE = 64 << 10 };

int main(void)
{
	auto_buf struct buf text = BUF_INIT(MAX_EXAMPLE);

	if (conf_print_example(&text) < 0)
		return 1;
	return fputs(buf_str(&text), stdout) < 0;
}
