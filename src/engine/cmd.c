/* SPDX-License-Identifier: Apache-2.0 */
/* Commands in a box. */
#include "engine/native.h"

#include "sys/counter.h"

#include <stdlib.h>
#include <sys/wait.h>

struct engine_cmd {
	struct list in_cmds;
	struct engine_box *box;
	uint32_t id;
	uint64_t counted[SPAWNER_NUM_COUNTERS]; /* by the box's counters when it began */
	engine_exit_fn *fn;
	void *userdata;
};

static void cmd_free(struct engine_cmd *cmd)
{
	list_remove(&cmd->in_cmds);
	cmd->box->n_cmds--;
	free(cmd);
}

static int send_exec(struct engine_box *box, const struct engine_cmd_spec *spec, uint32_t id,
		     struct err *err)
{
	char message[INIT_MAX_REQUEST];
	int fds[INIT_MAX_FDS] = { spec->output_fd };
	size_t n_fds = 1, len;
	struct init_exec exec = {
		.cmd = id, .cwd = spec->cwd, .args = spec->argv, .env = spec->env
	};
	int r;

	if (spec->or_sh)
		exec.flags |= INIT_OR_SH;
	if (spec->no_growth)
		exec.flags |= INIT_NO_GROWTH;
	if (spec->stdin_fd >= 0) {
		exec.flags |= INIT_HAS_STDIN;
		fds[n_fds++] = spec->stdin_fd;
	}
	if (spec->script_fd >= 0) {
		exec.flags |= INIT_HAS_SCRIPT;
		fds[n_fds++] = spec->script_fd;
	}
	r = init_exec_encode(message, sizeof(message), &exec, &len);
	if (r == -E2BIG)
		return err_set(err, ERR_INVALID, "the command's arguments are too long");
	if (r < 0)
		return err_set(err, ERR_INVALID, "the working directory must be an absolute path");
	r = chan_send(box->init, message, len, fds, n_fds);
	if (r == -EAGAIN)
		return err_set(err, ERR_BUSY, "the sandbox does not take commands at the moment");
	/* The word that it ended is still on its way. A tenant can bring this about. */
	if (r == -EPIPE || r == -ECONNRESET)
		return err_set(err, ERR_GONE, "the sandbox's container has just ended: call again");
	return r < 0 ? err_sys(err, -r, "hand the command over") : 0;
}

static uint64_t count(const struct engine_box *box, enum spawner_counter counter)
{
	return counter_read(box->counters[counter], spawner_counter_key(counter));
}

/* How much a counter has grown since the command began; 0 where the host has none. */
static uint64_t growth(const struct engine_cmd *cmd, enum spawner_counter counter)
{
	uint64_t before = cmd->counted[counter], now = count(cmd->box, counter);

	return before == UINT64_MAX || now == UINT64_MAX ? 0 : now - before;
}

int engine_exec(struct engine_box *box, const struct engine_cmd_spec *spec, engine_exit_fn *fn,
		void *userdata, struct engine_cmd **ret, struct err *err)
{
	struct engine_cmd *cmd;

	if (box->state != BOX_RUNNING)
		return err_set(err, ERR_GONE, "the sandbox is being stopped");
	if (box->n_cmds >= INIT_MAX_CMDS)
		return err_set(err, ERR_BUSY, "%d commands are running in this sandbox already",
			       INIT_MAX_CMDS);
	cmd = calloc(1, sizeof(*cmd));
	if (!cmd)
		return err_set(err, ERR_SYSTEM, "out of memory");
	for (size_t i = 0; i < SPAWNER_NUM_COUNTERS; i++)
		cmd->counted[i] = count(box, (enum spawner_counter)i);
	if (send_exec(box, spec, box->next_cmd, err) < 0) {
		free(cmd);
		return -1;
	}
	cmd->box = box;
	cmd->id = box->next_cmd++;
	cmd->fn = fn;
	cmd->userdata = userdata;
	list_add_tail(&box->cmds, &cmd->in_cmds);
	box->n_cmds++;
	*ret = cmd;
	return 0;
}

void engine_cmd_signal(struct engine_cmd *cmd, int sig)
{
	struct init_request_head head;

	if (cmd->box->state != BOX_RUNNING)
		return; /* everything in it is being killed */
	init_signal_encode(&head, cmd->id, sig);
	if (chan_send(cmd->box->init, &head, sizeof(head), NULL, 0) < 0)
		box_fail(cmd->box, "its first process does not take messages");
}

static enum engine_start_stage stage_of(uint32_t stage)
{
	switch (stage) {
	case INIT_STAGE_CWD:
		return ENGINE_STAGE_CWD;
	case INIT_STAGE_EXEC:
		return ENGINE_STAGE_EXEC;
	default:
		return ENGINE_STAGE_FORK;
	}
}

static struct engine_exit exit_of(const struct init_event *event)
{
	int status = (int)event->status;

	if (event->type == INIT_NOT_STARTED)
		return (struct engine_exit){ .kind = ENGINE_NOT_STARTED,
					     .stage = stage_of(event->stage),
					     .value = status };
	return (struct engine_exit){
		.kind = WIFEXITED(status) ? ENGINE_EXITED : ENGINE_SIGNALED,
		.value = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
		.cpu_time = event->cpu_usec,
	};
}

/* The command is gone before its callback, which may do anything. */
static void finish(struct engine_cmd *cmd, const struct engine_exit *result)
{
	engine_exit_fn *fn = cmd->fn;
	void *userdata = cmd->userdata;

	cmd_free(cmd);
	fn(userdata, result);
}

bool cmd_on_event(struct engine_box *box, const struct init_event *event)
{
	struct engine_exit result = exit_of(event);
	struct list *it, *tmp;

	list_each(it, tmp, &box->cmds)
	{
		struct engine_cmd *cmd = container_of(it, struct engine_cmd, in_cmds);

		if (cmd->id != event->cmd)
			continue;
		result.oom_kills = growth(cmd, SPAWNER_OOM_KILLS);
		result.pids_refused = growth(cmd, SPAWNER_PIDS_REFUSED);
		finish(cmd, &result);
		return true;
	}
	return false;
}

void cmd_lose_all(struct engine_box *box)
{
	static const struct engine_exit lost = { .kind = ENGINE_LOST };

	while (!list_is_empty(&box->cmds))
		finish(container_of(box->cmds.next, struct engine_cmd, in_cmds), &lost);
}

void cmd_free_all(struct engine_box *box)
{
	while (!list_is_empty(&box->cmds))
		cmd_free(container_of(box->cmds.next, struct engine_cmd, in_cmds));
}
