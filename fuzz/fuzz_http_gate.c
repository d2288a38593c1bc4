/* SPDX-License-Identifier: Apache-2.0 */
/* The request gate: the same verdict and the same borders however the bytes are cut. */
#include "http/gate.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct verdict {
	unsigned n_requests;
	unsigned status;
	size_t taken; /* bytes that belong to complete requests */
};

static bool feed(struct gate *g, struct view in, size_t *at, struct verdict *v)
{
	for (;;) {
		size_t taken;
		enum gate_event event = gate_feed(g, in, &taken);

		assert(taken <= in.len);
		*at += taken;
		in = view_from(in, taken);
		if (event == GATE_REFUSAL) {
			assert(g->status >= 400 && g->status < 600 && g->reason);
			v->status = g->status;
			return false;
		}
		if (event == GATE_REQUEST_ENDS) {
			v->n_requests++;
			v->taken = *at;
			gate_reset(g);
		}
		if (in.len == 0 && event != GATE_HEAD_ENDS)
			return true;
	}
}

static struct verdict judge(struct view in, size_t step)
{
	struct verdict v = { 0 };
	struct gate g;
	size_t at = 0;

	gate_reset(&g);
	for (size_t i = 0; i < in.len; i += step)
		if (!feed(&g, view_first(view_from(in, i), step), &at, &v))
			break;
	return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view in = view_of(data, size);
	struct verdict whole = judge(in, size ? size : 1);
	struct verdict bytes = judge(in, 1);
	struct verdict pieces = judge(in, 7);

	assert(whole.n_requests == bytes.n_requests && whole.status == bytes.status &&
	       whole.taken == bytes.taken);
	assert(whole.n_requests == pieces.n_requests && whole.status == pieces.status &&
	       whole.taken == pieces.taken);
	return 0;
}
