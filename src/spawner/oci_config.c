/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The config.json of a container. All text in it is ours, from tables of this program: nothing has
 * to be escaped. What is not in it the container has already: root, network, /tmp, /run, /sys and
 * the workspace, and the namespaces but two, which it shares with nobody but its runtime.
 */
#include "spawner/oci.h"

#include "spawner/mask.h"
#include "sys/io.h"
#include "wire/init.h"

#include <inttypes.h>

static const char head[] =
	"{\"ociVersion\":\"1.0.2\",\"root\":{\"path\":\"rootfs\"},\"mounts\":["
	"{\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\","
	"\"options\":[\"nosuid\",\"noexec\",\"nodev\"]},"
	"{\"destination\":\"/dev\",\"type\":\"bind\",\"source\":\"/dev\",\"options\":[\"rbind\"]},"
	"{\"destination\":\"" INIT_OCI_PATH "\",\"type\":\"bind\",\"source\":\"/berth-init\","
	"\"options\":[\"bind\",\"ro\",\"nosuid\",\"nodev\"]}],"
	"\"process\":{\"user\":{\"uid\":0,\"gid\":0},\"cwd\":\"/\","
	"\"args\":[\"" INIT_OCI_PATH "\",\"" INIT_OCI_ARG "\"],\"env\":[],";

static int add_list(struct buf *out, const char *const *list)
{
	int r = 0;

	for (; r == 0 && *list; list++)
		r = buf_addf(out, "\"%s\"%s", *list, list[1] ? "," : "");
	return r;
}

/* berth-init needs SYS_ADMIN to load the filter, and gives it up. */
static int add_caps(struct buf *out, const char *set, const char *end)
{
	int r = buf_addf(out, "\"%s\":[\"CAP_SYS_ADMIN\",", set);

	if (r == 0)
		r = add_list(out, confine_cap_names);
	return r < 0 ? r : buf_addf(out, "]%s", end);
}

static int add_rlimits(struct buf *out, const struct confine_plan *plan)
{
	int r = buf_add_str(out, "\"rlimits\":[");

	for (size_t i = 0; r == 0 && i < plan->n_rlimits; i++)
		r = buf_addf(out, "%s{\"type\":\"%s\",\"soft\":%" PRIu64 ",\"hard\":%" PRIu64 "}",
			     i ? "," : "", plan->rlimits[i].name,
			     (uint64_t)plan->rlimits[i].limit.rlim_cur,
			     (uint64_t)plan->rlimits[i].limit.rlim_max);
	return r < 0 ? r : buf_add_char(out, ']');
}

static int add_process(struct buf *out, const struct confine_plan *plan)
{
	int r = buf_addf(out, "\"noNewPrivileges\":%s,\"capabilities\":{",
			 plan->no_new_privs ? "true" : "false");

	if (r == 0)
		r = add_caps(out, "bounding", ",");
	if (r == 0)
		r = add_caps(out, "permitted", ",");
	if (r == 0)
		r = add_caps(out, "effective", "},");
	return r < 0 ? r : add_rlimits(out, plan);
}

static int add_masks(struct buf *out)
{
	int r = buf_add_str(out, "\"maskedPaths\":[");

	if (r == 0)
		r = add_list(out, mask_files);
	if (r == 0)
		r = buf_add_char(out, ',');
	if (r == 0)
		r = add_list(out, mask_dirs);
	if (r == 0)
		r = buf_add_str(out, "],\"readonlyPaths\":[");
	return r < 0 ? r : add_list(out, mask_read_only);
}

int oci_config(const struct container_plan *plan, struct buf *out)
{
	int r = buf_add_str(out, head);

	if (r == 0)
		r = add_process(out, &plan->confine);
	if (r == 0)
		r = buf_add_str(out, "},\"linux\":{\"namespaces\":[{\"type\":\"pid\"},"
				     "{\"type\":\"mount\"}],");
	if (r == 0)
		r = add_masks(out);
	return r < 0 ? r : buf_add_str(out, "]}}");
}

int oci_send_filter(const struct container_plan *plan, int server_fd)
{
	const struct filter *filter = plan->confine.filter;

	return io_send_fds(server_fd, filter->code, filter->len * sizeof(filter->code[0]), NULL, 0);
}
