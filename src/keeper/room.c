/* SPDX-License-Identifier: Apache-2.0 */
/*
 * KEEPER_ROOM: whether the slot's folders take any more bytes. Asked of the kernel by writing some,
 * since not every file system tells its quota's use (btrfs does not), into a file without a name.
 */
#include "keeper/keeper_internal.h"
#include "keeper/temp.h"
#include "sys/io.h"

#include <sys/random.h>

enum { ROOM_BYTES = 16 * 1024 };

static int try_folder(const struct keeper *k, int folder)
{
	char bytes[ROOM_BYTES]; /* that no file system can compress away */
	struct temp t;
	int r;

	if (getrandom(bytes, sizeof(bytes), 0) < 0)
		return -errno;
	r = temp_create(k->self, folder, 0600, &t);
	if (r < 0)
		return r;
	r = io_write_all(t.fd, bytes, sizeof(bytes));
	temp_done(&t);
	return r;
}

int verb_room(struct keeper *k, const struct keeper_request *request, int in_fd,
	      struct answer *answer, struct err *err)
{
	const struct {
		const char *name;
		int folder;
	} tried[] = { { "/workspace", k->workspace }, { "the writable layer", k->layer } };

	(void)request;
	(void)in_fd;
	for (size_t i = 0; i < ARRAY_SIZE(tried); i++) {
		int r = try_folder(k, tried[i].folder);

		answer->reply.number = i;
		/* Whatever else prevents it is not a matter of room. */
		if (r == -EDQUOT || r == -ENOSPC)
			return fail_errno(err, -r, "write to %s", tried[i].name);
	}
	return 0;
}
