/* SPDX-License-Identifier: Apache-2.0 */
/* Mail, and who has to do with it. */
#include "app/mail.h"

#include "app/wiring.h"
#include "base/log.h"
#include "mail/courier.h"
#include "sys/programs.h"

static usec seconds(uint32_t s)
{
	return (usec)s * USEC_PER_SEC;
}

static bool is_wanted(void *userdata, const char *principal)
{
	struct server *server = userdata;

	return sandboxes_is_unclaimed(server->sandboxes, principal);
}

int wiring_mail(struct server *server, struct err *err)
{
	const struct conf *c = &server->conf;
	char program[4096];
	struct courier_config config = {
		.program = program,
		.relay = c->mail_relay,
		.ca_file = c->mail_ca_file,
		.from = c->mail_from,
		.user = c->mail_user,
		.password_file = c->mail_password_file,
		.public_url = server->public_url,
		.claim_time = seconds(c->claim_time),
		.outbox = { .per_hour = c->mail_per_hour, .keep = seconds(c->mail_keep) },
		.is_wanted = is_wanted,
		.userdata = server,
	};

	if (!c->mail_relay[0])
		return 0;
	if (program_path("berth-mail", program, sizeof(program)) < 0)
		return err_set(err, ERR_NOT_FOUND, "mail.relay is set, but there is no berth-mail");
	return courier_new(server->event, server->clock, &config, &server->courier, err);
}

/* ---- for sandboxes ---- */

bool mail_has_address(void *userdata, const char *principal)
{
	struct server *server = userdata;

	return server->courier && courier_has(server->courier, principal);
}

void mail_on_granted(void *userdata, const char *principal)
{
	struct server *server = userdata;

	if (server->courier)
		courier_ready(server->courier, principal);
}

void mail_forget(void *userdata, const char *principal)
{
	struct server *server = userdata;

	if (server->courier)
		courier_forget(server->courier, principal);
}

/* ---- leaving an address ---- */

/* Pages say the same whatever becomes of it, and the log never has an address. */
static void leave(struct server *server, const char *principal, struct view address)
{
	struct err err;

	if (courier_leave(server->courier, principal, address, &err) < 0)
		log_info("an e-mail address was not taken: %s", err_code_name(err.code));
}

/* Fewer than one slot in twenty is free. */
bool mail_is_offered(void *userdata)
{
	struct server *server = userdata;
	struct pool_stats p;

	if (!server->courier || !courier_is_open(server->courier))
		return false;
	pool_get_stats(sandboxes_pool(server->sandboxes), clock_monotonic(server->clock), &p);
	return p.free <= p.slots / 20;
}

void mail_leave_at_sign_in(struct view address, const char *principal, void *userdata)
{
	leave(userdata, principal, address);
}

enum links_mail mail_state(void *userdata, const char *principal)
{
	struct server *server = userdata;
	struct pool_answer place;

	if (!pool_position(sandboxes_pool(server->sandboxes), principal,
			   clock_monotonic(server->clock), &place))
		return LINKS_MAIL_NO_WAIT;
	if (courier_has(server->courier, principal))
		return LINKS_MAIL_LEFT;
	return courier_is_open(server->courier) ? LINKS_MAIL_OFFERED : LINKS_MAIL_CLOSED;
}

void mail_leave_in_queue(void *userdata, const struct http_request *req, const char *principal,
			 struct view address)
{
	struct server *server = userdata;
	struct err err;

	if (oauth_may_mail(server->oauth, req, address))
		leave(server, principal, address);
	if (courier_has(server->courier, principal) &&
	    pool_ticket_set_mail(sandboxes_pool(server->sandboxes), principal, true,
				 clock_monotonic(server->clock), &err) < 0)
		log_warning("keep a place in the queue: %s", err.msg);
}
