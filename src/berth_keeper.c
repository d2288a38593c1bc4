/* SPDX-License-Identifier: Apache-2.0 */
/* berth-keeper: started by berth-spawner with its socket and its two directories in place. */
#include "base/log.h"
#include "keeper/keeper.h"
#include "sys/jail.h"

#include <fcntl.h>

/* The spawner always gives one; a test that is not root cannot. */
static int enter_root(void)
{
	if (fcntl(KEEPER_ROOT_FD, F_GETFD) < 0)
		return 0;
	return jail_enter(KEEPER_ROOT_FD);
}

static int run(struct err *err)
{
	auto_of(keeper) struct keeper *keeper = NULL;
	int self = keeper_open_self();
	int r = enter_root();

	if (r < 0)
		return err_sys(err, -r, "enter the slot's folders");
	if (keeper_confine(err) < 0)
		return -1;
	keeper = keeper_new(KEEPER_SOCKET_FD, KEEPER_WORKSPACE_FD, KEEPER_LAYER_FD, self);
	if (!keeper)
		return err_set(err, ERR_SYSTEM, "out of memory");
	return keeper_serve(keeper, err);
}

int main(void)
{
	struct err err;

	log_init("berth-keeper", LOG_LEVEL_INFO);
	if (run(&err) == 0)
		return EXIT_SUCCESS;
	log_error("%s", err.msg);
	return EXIT_FAILURE;
}
