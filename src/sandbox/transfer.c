/* SPDX-License-Identifier: Apache-2.0 */
/* Files on their way in or out: counted, not for ever, and cut before their sandbox is emptied. */
#include "sandbox/internal.h"

#include "base/log.h"

enum { SECONDS_PER_HOUR = 3600 };

int sandbox_transfer_begin(struct sandbox *sandbox, struct sandbox_transfer *transfer,
			   struct err *err)
{
	if (!sandbox->place || sandbox->place->empty_state != EMPTY_NOT)
		return err_set(err, ERR_BUSY,
			       "The sandbox is being emptied. Try again in a moment.");
	if (sandbox->n_transfers == SANDBOX_MAX_TRANSFERS)
		return err_set(err, ERR_BUSY,
			       "%d files are on their way from or to this sandbox, and no more may "
			       "be at once. Try again when one of them has arrived.",
			       (int)SANDBOX_MAX_TRANSFERS);
	transfer->sandbox = sandbox;
	transfer->since = clock_monotonic(sandbox->s->clock);
	list_add_tail(&sandbox->transfers, &transfer->item);
	sandbox->n_transfers++;
	return 0;
}

void sandbox_transfer_end(struct sandbox_transfer *transfer)
{
	struct sandbox *sandbox = take_ptr(transfer->sandbox);

	if (!sandbox)
		return;
	list_remove(&transfer->item);
	sandbox->n_transfers--;
}

static void cut(struct sandbox_transfer *transfer, const struct err *why)
{
	sandbox_transfer_end(transfer);
	transfer->cut(transfer->userdata, why);
}

/* NULL: there is none. */
static struct sandbox_transfer *oldest(const struct sandbox *sandbox)
{
	return list_is_empty(&sandbox->transfers)
		       ? NULL
		       : container_of(sandbox->transfers.next, struct sandbox_transfer, item);
}

void sandbox_cut_transfers(struct sandbox *sandbox)
{
	struct sandbox_transfer *transfer;
	struct err err;

	(void)err_set(&err, ERR_BUSY, "The sandbox was emptied meanwhile. Try again.");
	while ((transfer = oldest(sandbox)))
		cut(transfer, &err);
}

void sandbox_close_file(const struct sandbox *sandbox, int fd)
{
	const struct keeper_request release = { .verb = KEEPER_RELEASE };
	struct engine_files *files = sandbox_files(sandbox);
	struct err err;

	/* On its way there it stays open, so the keeper's is the last of them. */
	if (files && engine_files_call(files, &release, fd, NULL, NULL, &err) < 0)
		log_warning("a file is closed here that its keeper should close: %s", err.msg);
	(void)close(fd);
}

void sandboxes_cut_endless(struct sandboxes *s)
{
	const usec max = SANDBOX_MAX_TRANSFER_HOURS * SECONDS_PER_HOUR * USEC_PER_SEC;
	usec now = clock_monotonic(s->clock);
	struct sandbox_transfer *transfer;
	const struct sandbox *sandbox;
	struct err err;
	size_t at = 0;

	(void)err_set(&err, ERR_TIMEOUT, "This took longer than the %d hours that a file may take.",
		      (int)SANDBOX_MAX_TRANSFER_HOURS);
	while ((sandbox = map_next(s->by_key, &at, NULL)))
		while ((transfer = oldest(sandbox)) && now - transfer->since > max)
			cut(transfer, &err);
}
