/* SPDX-License-Identifier: Apache-2.0 */
/* How long until the n-th slot comes free. */
#include "pool/estimate.h"

#include <string.h>

/* Observations weigh less as newer ones come: about this many count. */
#define SPELLS_KEPT  4096.0
#define TICKETS_KEPT 512.0

/* Eight mean holding times fit into the curve; beyond it goes on at the steady rate. */
#define MEANS_IN_CURVE 8.0

static double seconds(usec t)
{
	return (double)t / (double)USEC_PER_SEC;
}

void estimate_init(struct estimate *e, usec idle)
{
	*e = (struct estimate){ .idle = seconds(idle), .emptying = 1 };
	if (e->idle < 1)
		e->idle = 1;
}

void estimate_saw_holding(struct estimate *e, usec held)
{
	e->samples[e->next_sample] = seconds(held);
	e->next_sample = (e->next_sample + 1) % ESTIMATE_SAMPLES;
	if (e->n_samples < ESTIMATE_SAMPLES)
		e->n_samples++;
}

static size_t spell_class(const struct estimate *e, double idle_for)
{
	double class = idle_for / e->idle * ESTIMATE_SPELLS;

	return class < ESTIMATE_SPELLS ? (size_t) class : ESTIMATE_SPELLS - 1;
}

static void saw_spell(struct estimate *e, size_t class)
{
	if (e->reached[0] >= SPELLS_KEPT) {
		for (size_t i = 0; i <= ESTIMATE_SPELLS; i++)
			e->reached[i] /= 2;
		e->ended /= 2;
	}
	for (size_t i = 0; i <= class; i++)
		e->reached[i] += 1;
}

void estimate_saw_return(struct estimate *e, usec gap)
{
	/* Calls in a row are no idle spells. */
	if (gap >= USEC_PER_SEC)
		saw_spell(e, spell_class(e, seconds(gap)));
}

void estimate_saw_idle_end(struct estimate *e)
{
	saw_spell(e, ESTIMATE_SPELLS);
	e->ended += 1;
}

void estimate_saw_ticket(struct estimate *e, enum estimate_ticket end)
{
	if (e->granted + e->lapsed >= TICKETS_KEPT) {
		e->granted /= 2;
		e->lapsed /= 2;
	}
	if (end == ESTIMATE_GRANTED)
		e->granted += 1;
	else
		e->lapsed += 1;
}

void estimate_saw_emptying(struct estimate *e, usec took)
{
	e->emptying += (seconds(took) - e->emptying) / 8;
}

/* ---- the curve ---- */

static void put(const struct estimate *e, double bins[ESTIMATE_BINS], double at, double weight)
{
	double bin = at / e->width;

	/* What lies beyond the curve is covered by the steady rate. */
	if (bin < ESTIMATE_BINS)
		bins[(size_t)bin] += weight;
}

/* Stand in until enough was observed, in idle times: people work for some multiples of it. */
static const double guesses[] = { 1.2, 1.5, 2, 3, 4, 6, 9 };
enum { N_GUESSES = sizeof(guesses) / sizeof(guesses[0]) };

/* How many samples there are, with the guesses that fill up. */
static size_t usable(const struct estimate *e)
{
	return e->n_samples < N_GUESSES ? N_GUESSES : e->n_samples;
}

static double sample(const struct estimate *e, size_t i)
{
	return i < e->n_samples ? e->samples[i] : guesses[i - e->n_samples] * e->idle;
}

void estimate_begin(struct estimate *e)
{
	size_t n = usable(e);
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += sample(e, i);
	e->mean = sum / (double)n;
	if (e->mean < 1)
		e->mean = 1;
	e->width = e->mean * MEANS_IN_CURVE / ESTIMATE_BINS;
	e->slots = 0;
	memset(e->freed, 0, sizeof(e->freed));
	memset(e->holding, 0, sizeof(e->holding));
	for (size_t i = 0; i < n; i++)
		put(e, e->holding, sample(e, i), 1 / (double)n);
}

/* The owner is there, or comes back: the slot is held on as others were that reached this age. */
static void add_staying(struct estimate *e, double age, double weight)
{
	size_t n = usable(e), longer = 0;

	for (size_t i = 0; i < n; i++)
		if (sample(e, i) > age)
			longer++;
	if (longer == 0) {
		/* Older than all that was seen: what has lasted long lasts on. */
		put(e, e->freed, age / 2 > e->idle ? age / 2 : e->idle, weight);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		double left = sample(e, i) - age;

		/* After the next call it takes the whole idle time at least. */
		if (left > 0)
			put(e, e->freed, left > e->idle ? left : e->idle, weight / (double)longer);
	}
}

void estimate_add_held(struct estimate *e, usec age, usec idle_for)
{
	double idle_s = seconds(idle_for);
	double until = e->idle > idle_s ? e->idle - idle_s : 0;
	double gone = (e->ended + 0.5) / (e->reached[spell_class(e, idle_s)] + 1);

	if (gone > 1)
		gone = 1;
	e->slots += 1;
	put(e, e->freed, until, gone);
	add_staying(e, seconds(age), 1 - gone);
}

void estimate_add_emptying(struct estimate *e)
{
	e->slots += 1;
	e->freed[0] += 1;
}

/* Each slot that comes free is granted again and comes free once more (renewal equation). */
void estimate_finish(struct estimate *e)
{
	double same_bin = e->holding[0] < 0.9 ? e->holding[0] : 0.9;

	for (size_t i = 0; i < ESTIMATE_BINS; i++) {
		for (size_t j = 0; j < i; j++)
			e->freed[i] += e->freed[j] * e->holding[i - j];
		e->freed[i] /= 1 - same_bin;
	}
}

usec estimate_wait(const struct estimate *e, size_t position)
{
	double staying = (e->granted + 8) / (e->granted + e->lapsed + 8);
	double need = 1 + (double)(position - 1) * staying, sum = 0, t = 0;

	if (e->slots < 1)
		return USEC_INFINITY;
	for (size_t i = 0; i < ESTIMATE_BINS; i++) {
		if (sum + e->freed[i] >= need) {
			t = ((double)i + (need - sum) / e->freed[i]) * e->width;
			return (usec)((t + e->emptying) * (double)USEC_PER_SEC);
		}
		sum += e->freed[i];
	}
	t = ESTIMATE_BINS * e->width + (need - sum) * e->mean / e->slots;
	return (usec)((t + e->emptying) * (double)USEC_PER_SEC);
}
