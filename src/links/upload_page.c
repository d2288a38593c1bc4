/* SPDX-License-Identifier: Apache-2.0 */
/* The upload page and the answers to uploads. */
#include "links/upload_internal.h"

#include "base/log.h"
#include "base/show.h"
#include "http/html.h"
#include "http/page.h"

#include <stdio.h>

enum { MAX_LIST = 128 * 1024 };

static void expiry_words(const struct upload *u, char *out, size_t size)
{
	uint64_t now = clock_wall_seconds(u->links->config.clock);
	uint64_t left = u->link.expiry > now ? u->link.expiry - now : 0;

	(void)snprintf(out, size, "%llu minutes", (unsigned long long)((left + 59) / 60));
}

/* "in all 2 GiB, 1 GiB of it free"; the use is unknown when it could not be counted. */
static void room_words(const struct upload *u, uint64_t used, char *out, size_t size)
{
	uint64_t quota = u->links->config.quota;
	char all[SHOW_SIZE_MAX], free_room[SHOW_SIZE_MAX];

	(void)show_size(quota, all);
	if (used == UINT64_MAX) {
		(void)snprintf(out, size, "The sandbox holds %s in all.", all);
		return;
	}
	(void)show_size(used < quota ? quota - used : 0, free_room);
	(void)snprintf(out, size, "%s of %s are free.", free_room, all);
}

static void reply(struct upload *u, unsigned status, struct view list, uint64_t used)
{
	char room[128], each[SHOW_SIZE_MAX] = "", expiry[64], bytes[32];
	struct page_var vars[] = {
		{ "folder", buf_view(&u->link.path), PAGE_TEXT },
		{ "results", list, PAGE_HTML },
		{ "room", VIEW_INIT(""), PAGE_TEXT },
		{ "each", VIEW_INIT(""), PAGE_TEXT },
		{ "max", VIEW_INIT(""), PAGE_TEXT },
		{ "expiry", VIEW_INIT(""), PAGE_TEXT },
		{ NULL, VIEW_INIT(""), PAGE_TEXT },
	};
	uint64_t max = u->links->config.upload_max;

	room_words(u, used, room, sizeof(room));
	expiry_words(u, expiry, sizeof(expiry));
	(void)snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)max);
	if (max)
		(void)show_size(max, each);
	vars[2].value = view_str(room);
	vars[3].value = view_str(each);
	vars[4].value = view_str(bytes);
	vars[5].value = view_str(expiry);
	page_reply(u->req, status, "upload.html", vars, NULL);
}

void upload_reply_page(struct upload *u, uint64_t used_bytes)
{
	reply(u, 200, VIEW(""), used_bytes);
}

static int add_result(struct buf *list, const struct upload_result *result)
{
	char size[SHOW_SIZE_MAX];
	int r = buf_add_str(list, result->code == ERR_NONE ? "<li class=\"done\"><strong>"
							   : "<li class=\"failed\"><strong>");

	(void)show_size(result->bytes, size);
	if (r == 0)
		r = html_escape(list, view_str(result->name));
	if (r == 0)
		r = buf_add_str(list, "</strong> ");
	if (r == 0)
		r = html_escape(list, view_str(result->code == ERR_NONE ? size : result->why));
	return r == 0 ? buf_add_str(list, "</li>\n") : r;
}

static int add_left_out(struct buf *list, const struct upload *u)
{
	int r = buf_add_str(list, "<li class=\"failed\"><strong>");

	if (r == 0)
		r = html_escape(list, buf_view(&u->left_out));
	return r == 0 ? buf_addf(list,
				 "</strong> %zu of the files were left out: one form brings %d at "
				 "most. Send them with another.</li>\n",
				 u->n_left_out, (int)UPLOAD_MAX_FILES)
		      : r;
}

void upload_reply_results(struct upload *u, uint64_t used_bytes)
{
	auto_buf struct buf list = BUF_INIT(MAX_LIST);
	unsigned status = 200;

	for (size_t i = 0; i < u->n_results; i++) {
		if (u->results[i].code != ERR_NONE)
			status = u->results[i].code == ERR_EXISTS ? 409 : 422;
		if (add_result(&list, &u->results[i]) < 0)
			break;
	}
	if (u->n_left_out) {
		status = 422;
		if (add_left_out(&list, u) < 0)
			log_warning("the files that were left out could not be told");
	}
	if (u->n_results == 0 &&
	    buf_add_str(&list, "<li class=\"failed\">No file was chosen.</li>") < 0)
		buf_truncate(&list, 0);
	reply(u, status, buf_view(&list), used_bytes);
}

void upload_reply_put(struct upload *u)
{
	const struct upload_result *result = &u->results[0];

	if (result->code == ERR_NONE)
		http_reply_text(u->req, 201, "%s: %llu bytes written\n", result->name,
				(unsigned long long)result->bytes);
	else if (result->code == ERR_EXISTS)
		http_reply_text(u->req, 409, "%s: %s; add ?replace=1 to the link to replace it\n",
				result->name, result->why);
	else
		http_reply_text(u->req, result->code == ERR_FULL ? 507 : 422, "%s: %s\n",
				result->name, result->why);
}
