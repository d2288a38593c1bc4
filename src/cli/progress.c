/* SPDX-License-Identifier: Apache-2.0 */
/* A progress bar for things that take long. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR_WIDTH = 32 };

void cli_progress_init(struct cli_progress *p)
{
	*p = (struct cli_progress){ .terminal = isatty(STDERR_FILENO) == 1 };
}

static void draw(const char *what, uint32_t done, uint32_t total)
{
	char bar[BAR_WIDTH + 1];
	size_t filled = (size_t)((uint64_t)done * BAR_WIDTH / total);

	memset(bar, ' ', BAR_WIDTH);
	memset(bar, '=', filled);
	bar[BAR_WIDTH] = '\0';
	(void)fprintf(stderr, "\r%-12s [%s] %u/%u", what, bar, done, total);
}

void cli_progress_show(void *userdata, const char *what, uint32_t done, uint32_t total)
{
	struct cli_progress *p = userdata;
	bool same = p->what && !strcmp(p->what, what);
	uint32_t permille = total ? (uint32_t)((uint64_t)done * 1000 / total) : 1000;

	if (total == 0 || (same && permille == p->shown && done != total))
		return;
	if (!same)
		cli_progress_end(p);
	p->what = what;
	p->shown = permille;
	if (p->terminal)
		draw(what, done, total);
	else if (done == total)
		(void)fprintf(stderr, "%s: %u\n", what, total);
}

void cli_progress_end(struct cli_progress *p)
{
	if (p->terminal && p->what)
		(void)fputc('\n', stderr);
	p->what = NULL;
}
