/* SPDX-License-Identifier: Apache-2.0 */
/* Fewer slots than are prepared: only when nobody has one of those that would go. */
#include "cli/admin_client.h"
#include "cli/setup.h"
#include "conf/slots_status.h"
#include "sys/io.h"

#include <fcntl.h>
#include <stdio.h>

/* How many slots are prepared; 0 when none ever were, or nobody can tell. */
static uint32_t prepared(const struct conf *conf)
{
	auto_buf struct buf text = BUF_INIT(SLOTS_STATUS_MAX);
	struct slots_status status;
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/" SLOTS_STATUS_FILE, conf->state_dir);

	if (n < 0 || (size_t)n >= sizeof(path) || io_read_file(AT_FDCWD, path, &text) < 0 ||
	    slots_status_parse(buf_view(&text), &status) < 0)
		return 0;
	return status.slots;
}

/* Files alone do not tell: a sandbox may have none yet. */
int setup_check_shrink(const struct options *o, const struct conf *conf, bool *ret_shrinks,
		       struct err *err)
{
	auto_json json_t *answer = NULL;
	json_int_t highest;

	*ret_shrinks = prepared(conf) > conf->slots;
	if (!*ret_shrinks)
		return 0;
	if (admin_ask(o, ADMIN_EITHER, json_pack("{s:s}", "command", "occupied"), &answer, err) < 0)
		return err_wrap(err, "ask which slots are occupied");
	highest = json_integer_value(json_object_get(answer, "highest"));
	if (highest >= (json_int_t)conf->slots)
		return err_set(err, ERR_BUSY,
			       "slot %lld is occupied by sandbox %s, so there cannot be fewer than "
			       "%lld slots: empty it first (berth empty)",
			       (long long)highest,
			       json_string_value(json_object_get(answer, "key")),
			       (long long)highest + 1);
	if (json_is_true(json_object_get(answer, "running")))
		return err_set(err, ERR_BUSY,
			       "the server is running and may give out any of its slots: stop it "
			       "before you remove some");
	return 0;
}
