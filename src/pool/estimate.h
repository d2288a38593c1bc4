/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long until the n-th slot comes free (the method is docs/OPERATIONS.md's, "The estimate").
 *
 * Three things are observed: how long slots were held, how idle spells ended (the owner came back,
 * or not) by how long they had lasted, and how many tickets lapsed. From these and the ages and
 * idle times of the held slots one curve is computed: the expected number of slots that come free
 * within t. A wait is read from it. Before anything was observed, guesses made from the idle time
 * stand in. Only the pool uses it.
 */
#ifndef BERTH_POOL_ESTIMATE_H
#define BERTH_POOL_ESTIMATE_H

#include "base/usec.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	ESTIMATE_SAMPLES = 128, /* holding times remembered, the newest */
	ESTIMATE_SPELLS = 16,   /* classes of idle time */
	ESTIMATE_BINS = 512,    /* of the curve */
};

struct estimate {
	double idle;                      /* seconds */
	double samples[ESTIMATE_SAMPLES]; /* seconds */
	size_t n_samples, next_sample;
	double reached[ESTIMATE_SPELLS + 1]; /* idle spells that lasted at least that class */
	double ended;                        /* those after which the sandbox was emptied */
	double granted, lapsed;              /* tickets */
	double emptying;                     /* seconds, running average */

	/* the curve */
	double width;                  /* seconds a bin */
	double mean;                   /* of the holding times */
	double slots;                  /* that take part: held and emptying */
	double freed[ESTIMATE_BINS];   /* expected number within each bin */
	double holding[ESTIMATE_BINS]; /* share of holding times in each bin */
};

void estimate_init(struct estimate *e, usec idle);

/* ---- what was observed ---- */

void estimate_saw_holding(struct estimate *e, usec held);
/* The owner came back after `gap`. */
void estimate_saw_return(struct estimate *e, usec gap);
/* The owner did not come back. */
void estimate_saw_idle_end(struct estimate *e);
enum estimate_ticket { ESTIMATE_GRANTED, ESTIMATE_LAPSED };
void estimate_saw_ticket(struct estimate *e, enum estimate_ticket end);
void estimate_saw_emptying(struct estimate *e, usec took);

/* ---- the curve: begin, each slot, finish ---- */

void estimate_begin(struct estimate *e);
/* Held for `age`; nobody has called for `idle_for` (0 while in use). */
void estimate_add_held(struct estimate *e, usec age, usec idle_for);
/* Being emptied. */
void estimate_add_emptying(struct estimate *e);
void estimate_finish(struct estimate *e);

/* For a place in the queue, 1 the front. USEC_INFINITY when no slot takes part. */
usec estimate_wait(const struct estimate *e, size_t position);

#endif
