/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that may take long run in a child, so that the keeper goes on answering. The child dies
 * with the keeper; the keeper watches its pidfd and answers when it has ended.
 */
#include "keeper/keeper_internal.h"
#include "sys/io.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/ioprio.h>

/* A child ends with 0, an errno, or this: it could not write its reply. */
enum { CHILD_OK = 0, CHILD_SILENT = 255 };

static void be_idle(void)
{
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
		      IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
}

static int lock_turn(const struct keeper *k, int command, off_t turn)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = turn, .l_len = 1
	};

	return fcntl(k->turns, command, &lock);
}

/* The kernel gives a turn back when the child ends, however it does. */
static void await_turn(const struct keeper *k)
{
	for (off_t i = 0; i < KEEPER_MAX_TURNS; i++)
		if (lock_turn(k, F_SETLK, i) == 0)
			return;
	(void)lock_turn(k, F_SETLKW, getpid() % KEEPER_MAX_TURNS);
}

static int child_reply(struct keeper *k, const struct job *job,
		       const struct keeper_request *request, verb_fn *fn)
{
	auto_answer struct answer answer = { .text = BUF_INIT(KEEPER_MAX_TEXT), .fd = -1 };
	auto_buf struct buf message = BUF_INIT(KEEPER_MAX_MESSAGE);
	struct err failure = { 0 };
	int r;

	/* What the server asks for by itself waits for nothing that a tenant asked for. */
	if (request->verb != KEEPER_DROP_LAYER && request->verb != KEEPER_USAGE)
		await_turn(k);
	r = fn(k, request, -1, &answer, &failure);
	r = encode_answer(&message, job->id, &answer, r < 0 ? &failure : NULL);
	if (r == 0)
		r = io_write_all(job->reply, message.p, message.len);
	return r < 0 ? CHILD_SILENT : CHILD_OK;
}

static int child_main(struct keeper *k, const struct job *job, const struct keeper_request *request,
		      verb_fn *fn)
{
	const struct token *t = token_find(k, job->token);

	switch (job->kind) {
	case JOB_COMMIT:
		return t && fsync(t->temp.fd) == 0 ? CHILD_OK : errno;
	case JOB_TRASH:
		be_idle();
		return -layer_sweep(k->layer);
	case JOB_EMPTY:
		return -slot_empty(k);
	case JOB_REPLY:
		break;
	}
	assert(fn);
	return child_reply(k, job, request, fn);
}

static struct job *job_free_slot(struct keeper *k)
{
	for (size_t i = 0; i < ARRAY_SIZE(k->jobs); i++)
		if (!k->jobs[i].pid)
			return &k->jobs[i];
	return NULL;
}

static void job_release(struct job *job)
{
	if (job->pidfd >= 0)
		(void)close(job->pidfd);
	if (job->reply >= 0)
		(void)close(job->reply);
	*job = (struct job){ .pidfd = -1, .reply = -1 };
}

static pid_t reap(pid_t pid, int *status)
{
	pid_t r;

	do
		r = waitpid(pid, status, 0);
	while (r < 0 && errno == EINTR);
	return r;
}

static int watch(struct job *job, pid_t pid)
{
	int r = 0;

	job->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (job->pidfd >= 0) {
		job->pid = pid;
		return 0;
	}
	r = -errno;
	(void)kill(pid, SIGKILL);
	(void)reap(pid, NULL);
	return r;
}

int job_start(struct keeper *k, enum job_kind kind, uint64_t id,
	      const struct keeper_request *request, verb_fn *fn, struct err *err)
{
	struct job *job = job_free_slot(k);
	pid_t keeper = getpid(), pid;
	int r;

	if (!job)
		return fail(err, EBUSY, "too many slow file requests at once; try again");
	*job = (struct job){ .pidfd = -1, .reply = -1, .id = id, .kind = kind };
	if (request) {
		job->token = kind == JOB_COMMIT ? request->number : 0;
		job->flags = request->flags;
	}
	if (kind == JOB_REPLY) {
		job->reply = memfd_create("reply", MFD_CLOEXEC);
		if (job->reply < 0)
			return fail_errno(err, errno, "start a helper");
	}
	pid = fork();
	if (pid == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != keeper)
			_exit(CHILD_SILENT);
		_exit(child_main(k, job, request, fn));
	}
	r = pid < 0 ? -errno : watch(job, pid);
	if (r < 0) {
		job_release(job);
		return fail_errno(err, -r, "start a helper");
	}
	return 0;
}

bool job_runs(const struct keeper *k, enum job_kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(k->jobs); i++)
		if (k->jobs[i].pid && k->jobs[i].kind == kind)
			return true;
	return false;
}

/* What a child that does not reply itself has to say; 0 or -1. */
static int outcome(struct keeper *k, const struct job *job, int status, struct answer *answer,
		   struct err *failure)
{
	struct token *t = token_find(k, job->token);
	int error = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;

	if (job->kind == JOB_EMPTY)
		return error ? fail_errno(failure, error, "empty the sandbox's files") : 0;
	if (!t)
		return fail(failure, ENOENT, "there is no such upload");
	if (!error)
		return token_commit(t, job->flags, answer, failure);
	token_drop(t);
	return fail_errno(failure, error, "write the file to the disk");
}

static int answer_outcome(struct keeper *k, const struct job *job, int status, struct err *err)
{
	auto_answer struct answer answer = { .text = BUF_INIT(KEEPER_MAX_TEXT), .fd = -1 };
	struct err failure = { 0 };
	int r = outcome(k, job, status, &answer, &failure);

	return send_answer(k, job->id, &answer, r < 0 ? &failure : NULL, err);
}

/* What the child of a JOB_REPLY wrote, as it is; what it did not write is a failure. */
static int forward_reply(struct keeper *k, const struct job *job, int status, struct err *err)
{
	auto_free char *message = malloc(KEEPER_MAX_MESSAGE);
	struct err failure = { 0 };
	ssize_t n = -1;
	int r;

	if (message && WIFEXITED(status) && WEXITSTATUS(status) == CHILD_OK &&
	    lseek(job->reply, 0, SEEK_SET) == 0)
		n = io_read_all(job->reply, message, KEEPER_MAX_MESSAGE);
	if (n <= 0) {
		(void)fail(&failure, EIO,
			   "the file service failed at this request; try a smaller one");
		return send_answer(k, job->id, NULL, &failure, err);
	}
	r = io_send_fds(k->socket, message, (size_t)n, NULL, 0);
	return r < 0 ? fail_errno(err, -r, "send a reply") : 0;
}

int job_ended(struct keeper *k, struct job *job, struct err *err)
{
	int status, r = 0;

	if (reap(job->pid, &status) < 0)
		return fail_errno(err, errno, "wait for a helper");
	switch (job->kind) {
	case JOB_COMMIT:
	case JOB_EMPTY:
		r = answer_outcome(k, job, status, err);
		break;
	case JOB_REPLY:
		r = forward_reply(k, job, status, err);
		break;
	case JOB_TRASH:
		break;
	}
	job_release(job);
	if (k->trash_again && !job_runs(k, JOB_TRASH))
		job_sweep_trash(k);
	return r;
}

static void job_kill(struct job *job)
{
	(void)kill(job->pid, SIGKILL);
	(void)reap(job->pid, NULL);
	job_release(job);
}

void job_cancel_all(struct keeper *k)
{
	job_stop_sweep(k);
	for (size_t i = 0; i < ARRAY_SIZE(k->jobs); i++) {
		struct job *job = &k->jobs[i];
		struct err failure = { 0 }, err;
		uint64_t id = job->id;

		if (!job->pid)
			continue;
		job_kill(job);
		(void)fail(&failure, ECANCELED, "the sandbox is being emptied");
		(void)!send_answer(k, id, NULL, &failure, &err);
	}
}

void job_stop_sweep(struct keeper *k)
{
	k->trash_again = false;
	for (size_t i = 0; i < ARRAY_SIZE(k->jobs); i++)
		if (k->jobs[i].pid && k->jobs[i].kind == JOB_TRASH)
			job_kill(&k->jobs[i]);
}

void job_sweep_trash(struct keeper *k)
{
	struct err err;

	if (job_runs(k, JOB_TRASH)) {
		k->trash_again = true;
		return;
	}
	k->trash_again = false;
	/* Without a helper it stays until the next sweep; nothing depends on it. */
	(void)!job_start(k, JOB_TRASH, 0, NULL, NULL, &err);
}
