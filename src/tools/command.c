/* SPDX-License-Identifier: Apache-2.0 */
/* A command in a box with its output on a pipe. */
#include "tools/command.h"

#include "sys/io.h"
#include "sys/loop.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

enum {
	READ_BYTES = 64 * 1024,
	READS_PER_TURN = 4, /* so that a flood from one sandbox leaves the loop to the others */
};

struct command {
	sd_event *event;        /* borrowed */
	struct engine_cmd *cmd; /* NULL once it has ended */
	sd_event_source *io, *end;
	int out_fd;
	const struct command_events *events; /* NULL when abandoned */
	void *userdata;
	bool paused;
	struct engine_exit exit; /* valid when cmd is NULL */
};

static void command_free(struct command *c)
{
	sd_event_source_disable_unref(c->io);
	sd_event_source_disable_unref(c->end);
	if (c->out_fd >= 0)
		(void)close(c->out_fd);
	free(c);
}

/* True when the pipe is empty (for now) or closed. */
static bool read_some(struct command *c)
{
	static char chunk[READ_BYTES]; /* the loop thread only; used up before the next read */

	for (int i = 0; i < READS_PER_TURN && !c->paused; i++) {
		ssize_t n = read(c->out_fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return true;
		if (n == 0) {
			(void)sd_event_source_set_enabled(c->io, SD_EVENT_OFF);
			return true;
		}
		c->events->output(c->userdata, view_of(chunk, (size_t)n));
	}
	return false;
}

static int on_readable(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	(void)source;
	(void)fd;
	(void)revents;
	(void)read_some(userdata);
	return 0;
}

/* Runs again and again after the end until the pipe is drained, one portion a turn of the loop. */
static int on_end(sd_event_source *source, void *userdata)
{
	struct command *c = userdata;

	(void)source;
	if (c->paused) {
		(void)sd_event_source_set_enabled(c->end, SD_EVENT_OFF);
		return 0;
	}
	if (!read_some(c))
		return 0;
	c->events->ended(c->userdata, &c->exit);
	command_free(c);
	return 0;
}

static void on_exit_status(void *userdata, const struct engine_exit *exit)
{
	struct command *c = userdata;

	c->cmd = NULL;
	c->exit = *exit;
	if (!c->events) {
		command_free(c);
		return;
	}
	(void)sd_event_source_set_enabled(c->end, SD_EVENT_ON);
}

static int memory_file(const char *name, struct view content, int *ret_fd, struct err *err)
{
	int fd = io_memory_file(name, content);

	if (fd < 0)
		return err_sys(err, -fd, "make a memory file");
	*ret_fd = fd;
	return 0;
}

static int watch(struct command *c, struct err *err)
{
	int r = sd_event_add_io(c->event, &c->io, c->out_fd, EPOLLIN, on_readable, c);

	if (r >= 0)
		r = loop_add_deferred(c->event, &c->end, on_end, c);
	return r < 0 ? err_sys(err, -r, "watch a command") : 0;
}

static int launch(struct command *c, struct engine_box *box, const struct command_spec *spec,
		  struct err *err)
{
	auto_fd int script = -1, input = -1, output = -1;
	int pipe_fds[2];
	struct engine_cmd_spec cmd = { .argv = spec->argv,
				       .or_sh = spec->or_sh,
				       .cwd = spec->cwd,
				       .no_growth = spec->no_growth };

	if (spec->script.len && memory_file("script", spec->script, &script, err) < 0)
		return -1;
	if (spec->input.len && memory_file("stdin", spec->input, &input, err) < 0)
		return -1;
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return err_sys(err, errno, "make a pipe");
	c->out_fd = pipe_fds[0];
	output = pipe_fds[1];
	if (io_set_nonblocking(c->out_fd) < 0 || watch(c, err) < 0)
		return err_wrap(err, "prepare a command");

	cmd.stdin_fd = spec->stdin_fd >= 0 ? spec->stdin_fd : input;
	cmd.output_fd = output;
	cmd.script_fd = script;
	return engine_exec(box, &cmd, on_exit_status, c, &c->cmd, err);
}

int command_start(sd_event *event, struct engine_box *box, const struct command_spec *spec,
		  const struct command_events *events, void *userdata, struct command **ret,
		  struct err *err)
{
	struct command *c = calloc(1, sizeof(*c));

	if (!c)
		return err_sys(err, ENOMEM, "start a command");
	*c = (struct command){
		.event = event, .out_fd = -1, .events = events, .userdata = userdata
	};
	if (launch(c, box, spec, err) < 0) {
		command_free(c);
		return -1;
	}
	*ret = c;
	return 0;
}

void command_signal(struct command *c, int sig)
{
	if (c->cmd)
		engine_cmd_signal(c->cmd, sig);
}

void command_pause(struct command *c)
{
	c->paused = true;
	(void)sd_event_source_set_enabled(c->io, SD_EVENT_OFF);
}

void command_resume(struct command *c)
{
	assert(c->paused);
	c->paused = false;
	(void)sd_event_source_set_enabled(c->io, SD_EVENT_ON);
	if (!c->cmd)
		(void)sd_event_source_set_enabled(c->end, SD_EVENT_ON);
}

void command_abandon(struct command *c)
{
	c->events = NULL;
	sd_event_source_disable_unref(take_ptr(c->io));
	if (c->cmd)
		engine_cmd_signal(c->cmd, SIGKILL);
	else
		command_free(c);
}
