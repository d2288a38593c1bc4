/* SPDX-License-Identifier: Apache-2.0 */
/* What programs in a sandbox print and the server reads: tags, matches, listings, imports. */
#include "tools/grep.h"
#include "tools/map_report.h"
#include "tools/placeholder.h"

#include "base/utf8.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_map(struct view listing, struct view imports)
{
	auto_of(map_files) struct map_files *m = map_files_new(VIEW(""));
	auto_of(map_index) struct map_index *index = NULL;
	auto_map_shape struct map_shape shape = { .n_folders = 0 };
	auto_buf struct buf out = BUF_INIT(MAP_MAX_REPORT);
	auto_free uint32_t *importers = NULL;
	struct map_scan scan = { .rest = imports };
	struct map_links links = { 0 };
	struct view record;

	while (m && view_split(&listing, '\0', &record))
		if (map_files_add(m, record, NULL) < 0)
			return;
	if (!m || map_shape_init(&shape) < 0)
		return;
	while (map_scan_line(&scan, m))
		continue;
	index = map_index_new(m);
	importers = calloc(m->n + 1, sizeof(*importers));
	if (!index || !importers)
		return;
	map_index_add(index, 0, m->n);
	links.importers = importers;
	map_links_add(&links, index, 0, m->n);
	if (map_shape_add(&shape, m, &links, 0, m->n) < 0)
		return;
	assert(shape.top.n <= MAP_TOP_FILES);
	if (map_report_shape(&out, m, &shape) == 0 && map_report_missing(&out, m, &links) == 0)
		assert(out.len <= MAP_MAX_REPORT);
}

static void check_symbols(struct view output)
{
	auto_symbols struct symbols symbols = { 0 };
	auto_buf struct buf out = BUF_INIT(MAP_MAX_REPORT);
	struct view rest = output, line;
	uint64_t n;

	while (view_split(&rest, '\n', &line))
		if (symbols_add(&symbols, line) < 0)
			return;
	symbols_finish(&symbols);
	(void)!map_report_outline(&out, &symbols);
	(void)!map_report_definitions(&out, &symbols, view_first(output, 8), &n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view all = view_of(data, size), listing, line;
	auto_buf struct buf out = BUF_INIT(MAP_MAX_REPORT);
	struct grep_counts counts;

	if (grep_format(&out, all, &counts) == 0) {
		assert(utf8_valid(buf_view(&out)));
		assert(counts.shown <= counts.matches);
	}
	check_symbols(all);
	(void)placeholder_find(all, &line);
	listing = view_first(all, view_find(all, '\x01'));
	check_map(listing, view_from(all, listing.len + 1));
	return 0;
}
