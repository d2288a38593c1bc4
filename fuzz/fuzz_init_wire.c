/* SPDX-License-Identifier: Apache-2.0 */
/* What berth-init and berthd take from each other, and berthd and the spawner. */
#include "wire/init.h"
#include "wire/spawner.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct init_request *request)
{
	size_t total = 0;

	if (request->head.type != INIT_EXEC)
		return;
	total += strlen(request->cwd);
	for (uint32_t i = 0; i < request->head.n_args; i++)
		total += strlen(request->args[i]);
	for (uint32_t i = 0; i < request->head.n_env; i++)
		total += strlen(request->env[i]);
	if (total > INIT_MAX_ARGS_BYTES)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct init_request request;
	struct init_event event;
	struct spawner_event spawner_event;
	struct spawner_request spawner_request;

	for (size_t n_fds = 0; n_fds <= INIT_MAX_FDS; n_fds++) {
		if (init_request_decode((const char *)data, size, n_fds, &request) == 0)
			use(&request);
		if (spawner_event_decode(data, size, n_fds, &spawner_event) == 0 &&
		    strlen(spawner_event.text) >= SPAWNER_MAX_TEXT)
			abort();
	}
	(void)!init_event_decode(data, size, 0, &event);
	(void)!spawner_request_decode(data, size, &spawner_request);
	return 0;
}
