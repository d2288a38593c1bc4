/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between berthd and berth-spawner: checking and copying. */
#include "wire/spawner.h"

#include <stdio.h>
#include <string.h>

/* The layout is the protocol: no padding that could carry stray bytes. */
_Static_assert(sizeof(struct spawner_request) == 80, "spawner_request has a hole");
_Static_assert(sizeof(struct spawner_event) == 104 + SPAWNER_MAX_TEXT, "spawner_event has a hole");

void spawner_request_init(struct spawner_request *request, enum spawner_request_type type,
			  uint64_t id)
{
	*request = (struct spawner_request){ .version = SPAWNER_VERSION, .type = type, .id = id };
}

void spawner_event_init(struct spawner_event *event, enum spawner_event_type type, uint64_t id)
{
	*event = (struct spawner_event){ .version = SPAWNER_VERSION, .type = type, .id = id };
}

static bool is_printable(char c)
{
	return c >= ' ' && c <= '~';
}

void spawner_event_text(struct spawner_event *event, const char *text)
{
	size_t i;

	memset(event->text, 0, sizeof(event->text));
	for (i = 0; i + 1 < sizeof(event->text) && text[i]; i++)
		event->text[i] = is_printable(text[i]) ? text[i] : '?';
}

static bool limits_are_zero(const struct spawner_limits *l)
{
	return !l->memory_bytes && !l->shm_bytes && !l->tmp_bytes && !l->disk_bytes &&
	       !l->disk_operations && !l->cpu_permille && !l->pids;
}

static bool limits_are_valid(const struct spawner_limits *l)
{
	/* Below these a container cannot even start; above, the arithmetic of its consumers ends.
	 */
	const uint64_t min_memory = 16U << 20, max_bytes = UINT64_C(1) << 50;

	return l->memory_bytes >= min_memory && l->memory_bytes <= max_bytes &&
	       l->shm_bytes >= 4096 && l->shm_bytes <= max_bytes && l->tmp_bytes >= 4096 &&
	       l->tmp_bytes <= max_bytes && l->disk_bytes <= max_bytes &&
	       l->disk_operations <= UINT32_MAX && l->cpu_permille >= 10 &&
	       l->cpu_permille <= SPAWNER_MAX_CPU_PERMILLE && l->pids >= 4 &&
	       l->pids <= SPAWNER_MAX_PIDS;
}

static bool request_is_valid(const struct spawner_request *m)
{
	bool is_start = m->type == SPAWNER_START;

	if (m->version != SPAWNER_VERSION || m->id == 0)
		return false;
	if (m->slot >= SPAWNER_MAX_SLOTS || (m->flags & ~(uint32_t)SPAWNER_ALL_FLAGS))
		return false;
	if (!is_start && (m->flags || !limits_are_zero(&m->limits)))
		return false;
	if (m->type != SPAWNER_USAGE && m->tag)
		return false;

	switch (m->type) {
	case SPAWNER_START:
		return limits_are_valid(&m->limits);
	case SPAWNER_KEEPER:
	case SPAWNER_ROLL_BACK:
		return true;
	case SPAWNER_STOP:
	case SPAWNER_USAGE:
		return m->slot == 0;
	default:
		return false;
	}
}

int spawner_request_decode(const void *p, size_t len, struct spawner_request *ret)
{
	struct spawner_request m;

	if (len != sizeof(m))
		return -EPROTO;
	memcpy(&m, p, sizeof(m));
	if (!request_is_valid(&m))
		return -EPROTO;
	*ret = m;
	return 0;
}

static bool facts_are_valid(const struct spawner_facts *f)
{
	return f->namespaces < SPAWNER_NUM_NS && f->limiter < SPAWNER_NUM_LIMITERS &&
	       f->network < SPAWNER_NUM_NETWORKS && !(f->limited & ~(uint32_t)SPAWNER_ALL_LIMITS);
}

static bool text_is_valid(const char text[SPAWNER_MAX_TEXT])
{
	size_t len = strnlen(text, SPAWNER_MAX_TEXT);

	if (len == SPAWNER_MAX_TEXT)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_printable(text[i]))
			return false;
	return true;
}

const char *spawner_counter_key(enum spawner_counter counter)
{
	static const char *const keys[SPAWNER_NUM_COUNTERS] = { "oom_kill", "max" };

	return keys[counter];
}

/* Of a successful STARTED. */
static size_t count_fds(const struct spawner_event *m)
{
	size_t n = 1;

	for (size_t i = 0; i < SPAWNER_NUM_COUNTERS; i++)
		n += m->counters >> i & 1;
	return n;
}

static bool event_is_valid(const struct spawner_event *m, size_t n_fds)
{
	bool is_success = m->type == SPAWNER_STARTED && m->error == 0;

	if (m->version != SPAWNER_VERSION || !text_is_valid(m->text))
		return false;
	if ((m->type == SPAWNER_HELLO) != (m->id == 0))
		return false;
	if (m->counters >> SPAWNER_NUM_COUNTERS || (m->counters && !is_success))
		return false;
	if (n_fds != (is_success ? count_fds(m) : 0) || m->error > 4095)
		return false;

	switch (m->type) {
	case SPAWNER_HELLO:
		return facts_are_valid(&m->facts) && m->error == 0;
	case SPAWNER_STARTED:
	case SPAWNER_ENDED:
	case SPAWNER_COUNTERS:
	case SPAWNER_ROLLED_BACK:
		return true;
	default:
		return false;
	}
}

int spawner_event_decode(const void *p, size_t len, size_t n_fds, struct spawner_event *ret)
{
	struct spawner_event m;

	if (len != sizeof(m))
		return -EPROTO;
	memcpy(&m, p, sizeof(m));
	if (!event_is_valid(&m, n_fds))
		return -EPROTO;
	*ret = m;
	return 0;
}
