/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between berthd and berth-init: building and checking. */
#include "wire/init.h"

#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

enum { MAX_SIGNAL = 64, MAX_ERRNO = 4095 };

_Static_assert(sizeof(struct init_request_head) == 32, "init_request_head has a hole");
_Static_assert(sizeof(struct init_event) == 32, "init_event has a hole");

struct out {
	char *p;
	size_t len, size;
};

static int out_add(struct out *out, const char *s)
{
	size_t n = strlen(s) + 1;

	if (n > out->size - out->len)
		return -E2BIG;
	memcpy(out->p + out->len, s, n);
	out->len += n;
	return 0;
}

static int out_add_all(struct out *out, const char *const *strings, uint32_t *ret_count)
{
	uint32_t n = 0;

	for (; strings && strings[n]; n++) {
		int r = n < INIT_MAX_STRINGS ? out_add(out, strings[n]) : -E2BIG;

		if (r < 0)
			return r;
	}
	*ret_count = n;
	return 0;
}

int init_exec_encode(char *out, size_t size, const struct init_exec *exec, size_t *ret_len)
{
	struct init_request_head head = {
		.version = INIT_VERSION, .type = INIT_EXEC, .cmd = exec->cmd, .flags = exec->flags
	};
	struct out o = { .p = out, .len = sizeof(head), .size = size };
	int r;

	if (size < sizeof(head) || exec->cwd[0] != '/' || !exec->args[0])
		return -EINVAL;
	r = out_add(&o, exec->cwd);
	if (r == 0)
		r = out_add_all(&o, exec->args, &head.n_args);
	if (r == 0)
		r = out_add_all(&o, exec->env, &head.n_env);
	if (r < 0)
		return r;
	head.bytes = (uint32_t)(o.len - sizeof(head));
	memcpy(out, &head, sizeof(head));
	*ret_len = o.len;
	return 0;
}

void init_signal_encode(struct init_request_head *out, uint32_t cmd, int sig)
{
	*out = (struct init_request_head){
		.version = INIT_VERSION, .type = INIT_SIGNAL, .cmd = cmd, .sig = (uint32_t)sig
	};
}

static size_t fds_of(const struct init_request_head *h)
{
	if (h->type != INIT_EXEC)
		return 0;
	return 1U + !!(h->flags & INIT_HAS_STDIN) + !!(h->flags & INIT_HAS_SCRIPT);
}

static bool head_is_valid(const struct init_request_head *h, size_t len, size_t n_fds)
{
	if (h->version != INIT_VERSION || h->bytes != len - sizeof(*h) || n_fds != fds_of(h))
		return false;
	if (h->type == INIT_SIGNAL)
		return h->sig >= 1 && h->sig <= MAX_SIGNAL && !h->flags && !h->n_args &&
		       !h->n_env && !h->bytes;
	return h->type == INIT_EXEC && !h->sig && !(h->flags & ~(uint32_t)INIT_ALL_FLAGS) &&
	       h->n_args >= 1 && h->n_args <= INIT_MAX_STRINGS && h->n_env <= INIT_MAX_STRINGS &&
	       h->bytes <= INIT_MAX_ARGS_BYTES;
}

/* Cuts the next NUL-terminated string off [*at, end), or returns NULL. */
static const char *next_string(const char **at, const char *end)
{
	const char *s = *at;
	const char *nul = memchr(s, '\0', (size_t)(end - s));

	if (!nul)
		return NULL;
	*at = nul + 1;
	return s;
}

static bool take_strings(const char **at, const char *end, uint32_t n, const char **ret)
{
	for (uint32_t i = 0; i < n; i++) {
		ret[i] = next_string(at, end);
		if (!ret[i])
			return false;
	}
	ret[n] = NULL;
	return true;
}

int init_request_decode(const char *p, size_t len, size_t n_fds, struct init_request *ret)
{
	const char *at = p + sizeof(ret->head), *end = p + len;

	if (len < sizeof(ret->head) || len > INIT_MAX_REQUEST)
		return -EPROTO;
	memcpy(&ret->head, p, sizeof(ret->head));
	if (!head_is_valid(&ret->head, len, n_fds))
		return -EPROTO;
	if (ret->head.type == INIT_SIGNAL)
		return 0;

	ret->cwd = next_string(&at, end);
	if (!ret->cwd || ret->cwd[0] != '/')
		return -EPROTO;
	if (!take_strings(&at, end, ret->head.n_args, ret->args) ||
	    !take_strings(&at, end, ret->head.n_env, ret->env) || at != end)
		return -EPROTO;
	return 0;
}

static bool event_is_valid(const struct init_event *e)
{
	int status = (int)e->status;

	if (e->version != INIT_VERSION || e->zero)
		return false;
	switch (e->type) {
	case INIT_READY:
		return !e->cmd && !e->status && !e->stage && !e->cpu_usec;
	case INIT_EXITED:
		return !e->stage && e->status <= UINT16_MAX &&
		       (WIFEXITED(status) || WIFSIGNALED(status));
	case INIT_NOT_STARTED:
		return e->stage >= INIT_STAGE_FORK && e->stage <= INIT_STAGE_EXEC && e->status &&
		       e->status <= MAX_ERRNO && !e->cpu_usec;
	default:
		return false;
	}
}

int init_event_decode(const void *p, size_t len, size_t n_fds, struct init_event *ret)
{
	struct init_event e;

	if (len != sizeof(e) || n_fds)
		return -EPROTO;
	memcpy(&e, p, sizeof(e));
	if (!event_is_valid(&e))
		return -EPROTO;
	*ret = e;
	return 0;
}
