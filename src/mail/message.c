/* SPDX-License-Identifier: Apache-2.0 */
/* The one message Berth sends. */
#include "mail/message.h"

#include <time.h>

/* RFC 5322 3.3, in UTC. By hand, since strftime() follows the locale. */
static int add_date(struct buf *out, uint64_t now)
{
	static const char *const days[] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	time_t t = (time_t)now;
	struct tm tm;

	if (!gmtime_r(&t, &tm))
		return -EINVAL;
	return buf_addf(out, "Date: %s, %d %s %d %02d:%02d:%02d +0000\r\n", days[tm.tm_wday],
			tm.tm_mday, months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
			tm.tm_sec);
}

int mail_message(const struct mail_frame *frame, uint64_t now, const char *id, struct buf *out)
{
	struct view domain = view_from(frame->from, view_find(frame->from, '@') + 1);
	int r = add_date(out, now);

	if (r == 0)
		r = buf_addf(out,
			     "From: Berth <%.*s>\r\n"
			     "To: <%.*s>\r\n"
			     "Message-ID: <%s@%.*s>\r\n"
			     "Subject: Your sandbox is ready\r\n"
			     "Auto-Submitted: auto-generated\r\n"
			     "MIME-Version: 1.0\r\n"
			     "Content-Type: text/plain; charset=us-ascii\r\n"
			     "\r\n",
			     VIEW_ARG(frame->from), VIEW_ARG(frame->to), id, VIEW_ARG(domain));
	if (r == 0)
		r = buf_addf(
			out,
			"Your sandbox is ready. Go back to your chat and carry on: the next "
			"call\r\n"
			"of your assistant uses it. If nothing is called within %u minutes, it\r\n"
			"goes to the next visitor who waits.\r\n"
			"\r\n"
			"%.*s/\r\n"
			"\r\n"
			"If you did not ask for this, ignore it: somebody typed your address. "
			"No\r\n"
			"account was made, and the server has already forgotten the address.\r\n",
			frame->claim_minutes, VIEW_ARG(frame->url));
	return r;
}
