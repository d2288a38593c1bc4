/* SPDX-License-Identifier: Apache-2.0 */
/* All steps in their order. */
#include "slots/slots.h"

#include "conf/slots_status.h"
#include "slots/cgroups.h"
#include "slots/disks.h"
#include "slots/image.h"
#include "slots/namespaces.h"
#include "slots/network.h"
#include "slots/plan.h"
#include "slots/storage.h"
#include "slots/sysctl.h"
#include "sys/io.h"

#include <stdio.h>

/* What each step found out that the kernel enforces. */
struct facts {
	struct storage_facts storage;
	struct network_facts network;
	enum cgroups_kind cgroups;
};

/* `settings`: which of them have been applied. */
static int write_status(const struct slots_plan *plan, const struct facts *facts,
			const char *settings, struct err *err)
{
	auto_buf struct buf text = BUF_INIT(SLOTS_STATUS_MAX);
	struct slots_status status = {
		.slots = plan->count,
		.workspace_bounded = facts->storage.workspace_bounded,
		.layer_bounded = facts->storage.layer_bounded,
		.connections_bounded = facts->network.connections_bounded,
		.bandwidth_bounded = facts->network.bandwidth_bounded,
	};
	int r;

	(void)snprintf(status.storage, sizeof(status.storage), "%s", facts->storage.name);
	(void)snprintf(status.network, sizeof(status.network), "%s",
		       conf_network_name((enum conf_network)plan->conf->network));
	(void)snprintf(status.settings, sizeof(status.settings), "%s", settings);
	(void)snprintf(status.cgroups, sizeof(status.cgroups), "%s",
		       cgroups_kind_name(facts->cgroups));
	r = slots_status_print(&status, &text);
	if (r == 0)
		r = io_write_file(plan->state_fd, SLOTS_STATUS_FILE, buf_view(&text), 0644);
	return r < 0 ? err_sys(err, -r, "write %s", SLOTS_STATUS_FILE) : 0;
}

int slots_make_state(const struct conf *conf, struct err *err)
{
	auto_plan struct slots_plan plan = { .state_fd = -1, .slots_fd = -1, .runtime_fd = -1 };

	return plan_init(&plan, conf, NULL, err);
}

int slots_up(const struct conf *conf, const struct slots_progress *progress, struct err *err)
{
	auto_plan struct slots_plan plan = { .state_fd = -1, .slots_fd = -1, .runtime_fd = -1 };
	struct facts facts = { .cgroups = CGROUPS_NONE };
	char settings[CONF_SETUP_TAG];
	int fd, r;

	tables_up();
	/* The status is written early too: it is how slots_down() knows the storage. */
	if (plan_init(&plan, conf, progress, err) < 0 ||
	    storage_up(&plan, &facts.storage, err) < 0 ||
	    write_status(&plan, &facts, "unfinished", err) < 0 ||
	    namespaces_up(&plan, &fd, err) < 0)
		return -1;
	auto_fd int namespaces = fd;
	if (disks_up(&plan, namespaces, err) < 0 || image_up(&plan, namespaces, err) < 0 ||
	    network_up(&plan, namespaces, &facts.network, err) < 0 ||
	    cgroups_up(&plan, &facts.cgroups, err) < 0)
		return -1;
	r = conf_setup_tag(conf, settings);
	if (r < 0)
		return err_sys(err, -r, "read the settings");
	return write_status(&plan, &facts, settings, err);
}

int slots_refresh(const struct conf *conf, struct err *err)
{
	auto_plan struct slots_plan plan = { .state_fd = -1, .slots_fd = -1, .runtime_fd = -1 };

	if (plan_init(&plan, conf, NULL, err) < 0)
		return -1;
	return network_refresh(&plan, err);
}

static int (*const steps_down[])(struct slots_plan *plan, struct err *err) = {
	cgroups_down, network_down,    image_down,
	disks_down,   namespaces_down, storage_down, /* last: the others hold on to it */
};

int slots_down(const struct conf *conf, struct err *err)
{
	auto_plan struct slots_plan plan = { .state_fd = -1, .slots_fd = -1, .runtime_fd = -1 };
	struct err ignored, *to = err;
	int r = 0;

	if (plan_init(&plan, conf, NULL, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(steps_down); i++)
		if (steps_down[i](&plan, to) < 0) {
			r = -1;
			to = &ignored; /* the first is reported */
		}
	return r;
}
