/* SPDX-License-Identifier: Apache-2.0 */
/*
 * berth-mail: sends the one message that a frame on its standard input asks for (mail/frame.h), and
 * says by its exit status what became of it (enum mail_exit).
 */
#include "base/log.h"
#include "base/parse.h"
#include "mail/message.h"
#include "mail/smtp.h"
#include "sys/clock.h"
#include "sys/io.h"
#include "sys/landlock.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>

/* The address and the password are in this process: no core dump, no debugger. */
static void keep_secrets(void)
{
	static const struct rlimit none = { 0, 0 };

	(void)setrlimit(RLIMIT_CORE, &none);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/*
 * What a relay can make of a hole in libcurl: it reads certificates and the resolver's settings,
 * and neither the server's state nor its key; it writes nothing and starts nothing. Where the
 * kernel has no Landlock berthd has been allowed to serve without, and so is this.
 */
static void reach_only_what_tls_takes(struct view ca_file)
{
	char path[MAIL_MAX_TEXT + 1] = "";
	const struct landlock_rule rules[] = {
		{ "/etc", LANDLOCK_READ },
		{ "/usr", LANDLOCK_READ },
		{ "/lib", LANDLOCK_READ },
		{ "/lib64", LANDLOCK_READ },
		/* What it leads to, wherever resolvconf, NetworkManager or systemd keep it. */
		{ "/etc/resolv.conf", LANDLOCK_READ },
		{ path, LANDLOCK_READ },
		{ NULL, 0 },
	};

	if (view_copy(ca_file, path, sizeof(path)) == 0 &&
	    landlock_restrict(rules, LANDLOCK_ANY_TCP) < 0)
		log_info("without Landlock");
}

static int make_id(char out[33])
{
	auto_buf struct buf hex = BUF_INIT(32);
	unsigned char bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes) ||
	    hex_encode(&hex, bytes, sizeof(bytes)) < 0)
		return -1;
	(void)snprintf(out, 33, "%s", buf_str(&hex));
	return 0;
}

static enum mail_exit send_frame(const struct mail_frame *frame)
{
	auto_buf struct buf message = BUF_INIT(MAIL_MAX_MESSAGE);
	char id[33], why[256];
	enum mail_exit result;

	if (make_id(id) < 0 ||
	    mail_message(frame, clock_wall_seconds(&clock_system), id, &message) < 0) {
		log_error("the message could not be made");
		return MAIL_EXIT_TEMPORARY;
	}
	result = smtp_send(frame, buf_view(&message), why, sizeof(why));
	if (result != MAIL_EXIT_SENT)
		log_warning("a message was not sent: %s", why);
	return result;
}

int main(void)
{
	char bytes[MAIL_MAX_FRAME + 1];
	struct mail_frame frame;
	struct err err;
	ssize_t n;

	keep_secrets();
	log_init("berth-mail", LOG_LEVEL_INFO);
	n = io_read_all(STDIN_FILENO, bytes, sizeof(bytes));
	if (n < 0 || n > MAIL_MAX_FRAME || mail_frame_read(view_of(bytes, (size_t)n), &frame) < 0) {
		log_error("standard input is not a frame from berthd");
		return MAIL_EXIT_USAGE;
	}
	if (mail_frame_check(&frame, &err) < 0) {
		log_error("%s", err.msg);
		return MAIL_EXIT_USAGE;
	}
	reach_only_what_tls_takes(frame.ca_file);
	return send_frame(&frame);
}
