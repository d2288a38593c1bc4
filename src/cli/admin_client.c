/* SPDX-License-Identifier: Apache-2.0 */
/* The client of the administration socket. */
#include "cli/admin_client.h"

#include "cli/cli.h"
#include "sys/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

enum { MAX_ANSWER = 16 * 1024 * 1024 };

/* -1 without err when no server listens. */
static int connect_server(const struct conf *conf, int *ret, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_buf struct buf path = BUF_INIT(sizeof(address.sun_path) - 1);
	auto_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret = -1;
	if (fd < 0)
		return err_sys(err, errno, "make a socket");
	if (conf_runtime_dir(conf, &path) < 0 || buf_add_str(&path, "/admin.sock") < 0)
		return err_set(err, ERR_INVALID, "the path of the admin socket is too long");
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", buf_str(&path));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		if (errno == ENOENT || errno == ECONNREFUSED)
			return 0;
		return err_sys(err, errno, "connect to %s", buf_str(&path));
	}
	*ret = take_fd(fd);
	return 0;
}

static int read_line(int fd, struct buf *out, struct err *err)
{
	for (;;) {
		char chunk[8192];
		ssize_t n = read(fd, chunk, sizeof(chunk));
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, errno, "read the answer");
		if (n == 0)
			return out->len ? 0 : err_set(err, ERR_GONE, "the server ended meanwhile");
		r = buf_add(out, chunk, (size_t)n);
		if (r < 0)
			return err_sys(err, -r, "read the answer");
		if (chunk[n - 1] == '\n')
			return 0;
	}
}

static int start_offline(const struct options *o, const struct conf *conf, const char *request,
			 int *ret_fd, pid_t *ret_pid, struct err *err)
{
	auto_argv struct options_argv argv = { 0 };
	char path[PATH_MAX];
	int fds[2];

	if (cli_program("berthd", path, sizeof(path), err) < 0)
		return -1;
	if (options_forward(o, path, &argv) < 0 || options_argv_add(&argv, "--offline") < 0 ||
	    options_argv_add(&argv, request) < 0)
		return err_sys(err, ENOMEM, "start berthd");
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(err, errno, "start berthd");
	*ret_pid = fork();
	if (*ret_pid == 0) {
		cli_become_user(conf->user);
		(void)dup2(fds[1], STDOUT_FILENO);
		(void)execv(path, argv.argv);
		_exit(CLI_FAILED);
	}
	(void)close(fds[1]);
	*ret_fd = fds[0];
	return *ret_pid < 0 ? err_sys(err, errno, "start berthd") : 0;
}

static int ask_offline(const struct options *o, const struct conf *conf, const char *request,
		       struct buf *answer, struct err *err)
{
	auto_fd int fd = -1;
	pid_t pid;
	int status, r;

	if (start_offline(o, conf, request, &fd, &pid, err) < 0)
		return -1;
	r = read_line(fd, answer, err);
	if (waitpid(pid, &status, 0) == pid && status != 0)
		return err_set(err, ERR_SYSTEM, "berthd could not do it; its message stands above");
	return r;
}

static int ask(const struct options *o, enum admin_need need, const char *request,
	       struct buf *answer, struct err *err)
{
	auto_conf struct conf conf = { 0 };
	auto_fd int fd = -1;
	int r;

	if (options_conf(o, &conf, err) < 0 || connect_server(&conf, &fd, err) < 0)
		return -1;
	if (fd < 0 && need == ADMIN_RUNNING)
		return err_set(err, ERR_BUSY, "no server is running on %s", conf.state_dir);
	if (fd < 0)
		return ask_offline(o, &conf, request, answer, err);
	r = io_write_all(fd, request, strlen(request));
	if (r == 0)
		r = io_write_all(fd, "\n", 1);
	if (r < 0)
		return err_sys(err, -r, "ask the server");
	return read_line(fd, answer, err);
}

int admin_ask(const struct options *o, enum admin_need need, json_t *request, json_t **ret,
	      struct err *err)
{
	auto_buf struct buf text = BUF_INIT(64UL * 1024), answer = BUF_INIT(MAX_ANSWER);
	auto_json json_t *taken = request;
	json_t *result;
	struct view why = VIEW_INIT("it gave no reason");

	if (!taken)
		return err_sys(err, ENOMEM, "ask the server");
	if (json_print(&text, taken, err) < 0 || ask(o, need, buf_str(&text), &answer, err) < 0)
		return -1;
	/* From our own server, and larger than what is read from strangers. */
	result = json_loadb(answer.p, answer.len, 0, NULL);
	if (!result)
		return err_set(err, ERR_SYSTEM, "the server's answer is no JSON");
	if (json_is_true(json_object_get(result, "ok"))) {
		*ret = result;
		return 0;
	}
	if (json_is_string(json_object_get(result, "error")))
		why = json_view(json_object_get(result, "error"));
	(void)err_set(err, ERR_SYSTEM, "%.*s", VIEW_ARG(why));
	json_decref(result);
	return -1;
}

int admin_is_running(const struct conf *conf, bool *ret, struct err *err)
{
	auto_fd int fd = -1;

	if (connect_server(conf, &fd, err) < 0)
		return -1;
	*ret = fd >= 0;
	return 0;
}

int admin_simple(const char *name, const struct options *o, enum admin_need need, json_t *request,
		 const char *said)
{
	auto_json json_t *answer = NULL;
	struct err err;

	if (admin_ask(o, need, request, &answer, &err) < 0)
		return cli_fail(name, &err);
	if (o->json)
		(void)json_dumpf(answer, stdout, JSON_INDENT(2));
	(void)puts(o->json ? "" : said);
	return CLI_OK;
}
