/* SPDX-License-Identifier: Apache-2.0 */
/* What a container's first process gives up. */
#include "spawner/confine.h"

#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* The same list as init/command.c's, and SYS_PTRACE for init itself. */
#define INIT_CAPS(do)                                                                              \
	do                                                                                         \
	(CHOWN) do(DAC_OVERRIDE) do(FOWNER) do(FSETID) do(KILL) do(SETGID) do(SETUID) do(          \
		SETPCAP) do(SETFCAP) do(NET_BIND_SERVICE) do(SYS_CHROOT) do(SYS_PTRACE)
#define CAP_BIT(name)  | UINT64_C(1) << CAP_##name
#define CAP_NAME(name) "CAP_" #name,

static const uint64_t init_caps = 0 INIT_CAPS(CAP_BIT);
const char *const confine_cap_names[] = { INIT_CAPS(CAP_NAME) NULL };

#define ADD_RLIMIT(plan, name, soft, hard)                                                         \
	add_rlimit(plan, RLIMIT_##name, "RLIMIT_" #name, soft, hard)

static void add_rlimit(struct confine_plan *plan, int resource, const char *name, rlim_t soft,
		       rlim_t hard)
{
	struct rlimit own;

	/* Raising a hard limit needs CAP_SYS_RESOURCE on the host, which nobody here has. */
	if (getrlimit((__rlimit_resource_t)resource, &own) == 0) {
		hard = hard < own.rlim_max ? hard : own.rlim_max;
		soft = soft < hard ? soft : hard;
	}
	plan->rlimits[plan->n_rlimits].resource = resource;
	plan->rlimits[plan->n_rlimits].name = name;
	plan->rlimits[plan->n_rlimits].limit = (struct rlimit){ soft, hard };
	plan->n_rlimits++;
}

void confine_plan_rlimits(struct confine_plan *plan, uint32_t pids)
{
	const rlim_t lockable = 8U << 20, queued_signals = 4096, message_queues = 819200;
	/* The slot's keeper counts for the same user. */
	const rlim_t keeper_share = 32;

	plan->n_rlimits = 0;
	ADD_RLIMIT(plan, NOFILE, 1024, 65536);
	ADD_RLIMIT(plan, NPROC, pids + keeper_share, pids + keeper_share);
	/* Not 0: with a piped core_pattern the kernel then still runs the host's handler, as root.
	 */
	ADD_RLIMIT(plan, CORE, 1, 1);
	ADD_RLIMIT(plan, MEMLOCK, lockable, lockable);
	ADD_RLIMIT(plan, RTPRIO, 0, 0);
	ADD_RLIMIT(plan, NICE, 0, 0);
	ADD_RLIMIT(plan, MSGQUEUE, message_queues, message_queues);
	ADD_RLIMIT(plan, SIGPENDING, queued_signals, queued_signals);
}

int confine_keyring(void)
{
	/* Keyrings are no namespace: without this the container would search the server's. */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
		return -errno;
	return 0;
}

int confine_rlimits(const struct confine_plan *plan)
{
	for (size_t i = 0; i < plan->n_rlimits; i++)
		if (setrlimit((__rlimit_resource_t)plan->rlimits[i].resource,
			      &plan->rlimits[i].limit) < 0)
			return -errno;
	return 0;
}

static int drop_bounding_set(void)
{
	for (unsigned long cap = 0; cap < 64; cap++) {
		if (init_caps >> cap & 1)
			continue;
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return errno == EINVAL && cap > CAP_AUDIT_READ ? 0 : -errno;
	}
	return 0;
}

static int keep_only_init_caps(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)init_caps, .permitted = (uint32_t)init_caps },
		{ .effective = (uint32_t)(init_caps >> 32),
		  .permitted = (uint32_t)(init_caps >> 32) },
	};

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

int confine_privileges(const struct confine_plan *plan)
{
	int r = drop_bounding_set();

	if (r < 0)
		return r;
	if (plan->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	/* A filter needs no_new_privs or CAP_SYS_ADMIN: so before the capabilities go. */
	r = filter_load(plan->filter);
	return r < 0 ? r : keep_only_init_caps();
}
