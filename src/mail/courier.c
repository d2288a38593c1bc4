/* SPDX-License-Identifier: Apache-2.0 */
/* Drives an outbox on the loop. */
#include "mail/courier.h"

#include "base/log.h"
#include "mail/postman.h"
#include "sys/io.h"
#include "sys/locked.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/socket.h>

/* Password and frame: in locked memory, as the addresses. */
struct secrets {
	char password[MAIL_MAX_TEXT];
	char frame[MAIL_MAX_FRAME];
};

struct courier {
	sd_event *event;
	const struct clock *clock;
	struct outbox *outbox;
	struct secrets *secrets;
	size_t password_len;
	char *program, *relay, *ca_file, *from, *user, *url; /* owned */
	uint16_t claim_minutes;
	bool (*is_wanted)(void *userdata, const char *principal);
	void *userdata;
	sd_event_source *timer;
	struct postman postman;
	sd_event_source *result;
	bool is_gone;    /* the postman */
	bool is_sending; /* `job` is under way */
	uint32_t job;
};

static usec now_of(const struct courier *c)
{
	return clock_monotonic(c->clock);
}

static void arm(struct courier *c)
{
	usec next = c->is_sending || c->is_gone ? USEC_INFINITY
						: outbox_next_deadline(c->outbox, now_of(c));

	if (next == USEC_INFINITY) {
		(void)sd_event_source_set_enabled(c->timer, SD_EVENT_OFF);
		return;
	}
	(void)sd_event_source_set_time(c->timer, next);
	(void)sd_event_source_set_enabled(c->timer, SD_EVENT_ONESHOT);
}

/* ---- the program ---- */

static enum outbox_result result_of(int status)
{
	if (status == MAIL_EXIT_SENT)
		return OUTBOX_SENT;
	return status == MAIL_EXIT_REFUSED || status == MAIL_EXIT_USAGE ? OUTBOX_REFUSED
									: OUTBOX_TRY_AGAIN;
}

static int on_result(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct courier *c = userdata;
	int status = POSTMAN_KILLED, r = postman_result(&c->postman, &status);

	(void)fd;
	(void)events;
	if (r == -EAGAIN)
		return 0;
	if (r < 0) {
		log_error("the process that starts %s is gone: no mail until the next start",
			  c->program);
		c->is_gone = true;
		(void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
	} else if (status < 0) {
		log_error("%s cannot be started: %s", c->program, strerror(-status));
	}
	if (c->is_sending) {
		c->is_sending = false;
		outbox_done(c->outbox, c->job, result_of(status), now_of(c));
	}
	arm(c);
	return 0;
}

/* The whole frame fits into the socket's buffer, so this never waits. */
static int send_frame(struct courier *c, int sock, struct view to)
{
	struct mail_frame frame = {
		view_str(c->relay), view_str(c->ca_file),
		view_str(c->user),  view_of(c->secrets->password, c->password_len),
		view_str(c->from),  to,
		view_str(c->url),   c->claim_minutes
	};
	ssize_t len = mail_frame_write(&frame, c->secrets->frame, sizeof(c->secrets->frame));
	int r = 0;

	if (len < 0)
		return (int)len;
	if (send(sock, c->secrets->frame, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT) != len)
		r = -EIO;
	explicit_bzero(c->secrets->frame, sizeof(c->secrets->frame));
	return r;
}

static int post(struct courier *c, struct view to)
{
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	auto_fd int ours = pair[0];
	auto_fd int theirs = pair[1];
	r = send_frame(c, ours, to);
	return r < 0 ? r : postman_run(&c->postman, theirs);
}

static void send_what_is_due(struct courier *c)
{
	struct outbox_job job;
	int r;

	while (!c->is_sending && !c->is_gone && outbox_next(c->outbox, now_of(c), &job)) {
		c->job = job.number;
		if (c->is_wanted && !c->is_wanted(c->userdata, job.principal)) {
			outbox_forget(c->outbox, job.principal);
			outbox_done(c->outbox, job.number, OUTBOX_TRY_AGAIN, now_of(c));
			continue;
		}
		r = post(c, job.address);
		c->is_sending = r == 0;
		if (r < 0) {
			log_error("a message cannot be passed on: %s", strerror(-r));
			outbox_done(c->outbox, job.number, OUTBOX_TRY_AGAIN, now_of(c));
		}
	}
	arm(c);
}

static int on_timer(sd_event_source *source, uint64_t usec_now, void *userdata)
{
	struct courier *c = userdata;

	(void)source;
	(void)usec_now;
	outbox_tick(c->outbox, now_of(c));
	send_what_is_due(c);
	return 0;
}

/* ---- making it ---- */

/* The password's first line. */
static int read_password(struct courier *c, const char *path, struct err *err)
{
	auto_buf struct buf text = BUF_INIT(MAIL_MAX_TEXT);
	struct view line;
	int r;

	if (!path[0])
		return 0;
	r = io_read_file(AT_FDCWD, path, &text);
	if (r < 0)
		return err_sys(err, -r, "read mail.password_file %s", path);
	line = view_first(buf_view(&text), view_find(buf_view(&text), '\n'));
	memcpy(c->secrets->password, line.p, line.len);
	c->password_len = line.len;
	buf_wipe(&text);
	return 0;
}

static int copy_texts(struct courier *c, const struct courier_config *config)
{
	c->program = view_dup(view_str(config->program));
	c->relay = view_dup(view_str(config->relay));
	c->ca_file = view_dup(view_str(config->ca_file));
	c->from = view_dup(view_str(config->from));
	c->user = view_dup(view_str(config->user));
	c->url = view_dup(view_str(config->public_url));
	return c->program && c->relay && c->ca_file && c->from && c->user && c->url ? 0 : -ENOMEM;
}

/* What berth-mail would refuse is found at start. */
static int check_texts(const struct courier *c, struct err *err)
{
	struct mail_frame frame = { .relay = view_str(c->relay),
				    .ca_file = view_str(c->ca_file),
				    .user = view_str(c->user),
				    .password = view_of(c->secrets->password, c->password_len),
				    .from = view_str(c->from),
				    .to = view_str(c->from),
				    .url = view_str(c->url) };

	return mail_frame_check(&frame, err);
}

int courier_new(sd_event *event, const struct clock *clock, const struct courier_config *config,
		struct courier **ret, struct err *err)
{
	struct courier *c = calloc(1, sizeof(*c));
	void *secrets;
	int r;

	if (!c)
		return err_sys(err, ENOMEM, "set up mail");
	c->event = event;
	c->clock = clock;
	c->is_wanted = config->is_wanted;
	c->userdata = config->userdata;
	c->postman.sock = -1;
	c->claim_minutes =
		(uint16_t)((config->claim_time + 59 * USEC_PER_SEC) / (60 * USEC_PER_SEC));
	r = locked_new(sizeof(*c->secrets), &secrets);
	if (r == 0) {
		c->secrets = secrets;
		r = copy_texts(c, config);
	}
	/* Before the password is read: the new process has a copy of this one's memory. */
	if (r == 0)
		r = postman_start(c->program, &c->postman);
	if (r == 0)
		r = sd_event_add_io(event, &c->result, c->postman.sock, EPOLLIN, on_result, c);
	if (r >= 0)
		r = sd_event_add_time_relative(event, &c->timer, CLOCK_BOOTTIME, 0, 0, on_timer, c);
	if (r < 0) {
		courier_free(c);
		return err_sys(err, -r, "set up mail");
	}
	if (read_password(c, config->password_file, err) < 0 || check_texts(c, err) < 0 ||
	    outbox_new(&config->outbox, &c->outbox, err) < 0) {
		courier_free(c);
		return -1;
	}
	arm(c);
	*ret = c;
	return 0;
}

void courier_free(struct courier *c)
{
	if (!c)
		return;
	(void)sd_event_source_disable_unref(c->result);
	postman_stop(&c->postman);
	(void)sd_event_source_disable_unref(c->timer);
	outbox_free(c->outbox);
	locked_free(c->secrets, sizeof(*c->secrets));
	free(c->program);
	free(c->relay);
	free(c->ca_file);
	free(c->from);
	free(c->user);
	free(c->url);
	free(c);
}

bool courier_is_open(const struct courier *c)
{
	return !c->is_gone && outbox_is_open(c->outbox, now_of(c));
}

int courier_leave(struct courier *c, const char *principal, struct view address, struct err *err)
{
	int r = outbox_leave(c->outbox, principal, address, now_of(c), err);

	arm(c);
	return r;
}

void courier_forget(struct courier *c, const char *principal)
{
	outbox_forget(c->outbox, principal);
	arm(c);
}

bool courier_has(const struct courier *courier, const char *principal)
{
	return outbox_has(courier->outbox, principal);
}

void courier_ready(struct courier *c, const char *principal)
{
	outbox_ready(c->outbox, principal, now_of(c));
	arm(c);
}

void courier_get_stats(const struct courier *c, struct outbox_stats *ret)
{
	outbox_get_stats(c->outbox, ret);
}
