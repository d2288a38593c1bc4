/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration as a file: the effective one, and the commented example. */
#include "conf/keys.h"

#include <stdio.h>

enum { MAX_BY_SETUP = 256 * 1024 };

static int print_section(struct buf *out, size_t i)
{
	if (i && !strcmp(conf_keys[i].section, conf_keys[i - 1].section))
		return 0;
	return buf_addf(out, "%s[%s]\n", i ? "\n" : "", conf_keys[i].section);
}

int conf_print(const struct conf *conf, struct buf *out)
{
	for (size_t i = 0; i < conf_n_keys; i++) {
		int r = print_section(out, i);

		if (r == 0)
			r = buf_addf(out, "%s = ", conf_keys[i].name);
		if (r == 0)
			r = conf_key_print(out, conf, &conf_keys[i]);
		if (r == 0)
			r = buf_add_char(out, '\n');
		if (r < 0)
			return r;
	}
	return 0;
}

int conf_print_example(struct buf *out)
{
	for (size_t i = 0; i < conf_n_keys; i++) {
		int r = print_section(out, i);

		if (r == 0)
			r = buf_addf(out, "# %s", conf_keys[i].help);
		if (r == 0 && conf_keys[i].public_value)
			r = buf_addf(out, " (public: %s)", conf_keys[i].public_value);
		if (r == 0 && conf_keys[i].by_setup)
			r = buf_add_str(out, " (applied by berth setup)");
		if (r == 0)
			r = buf_addf(out, "\n#%s = %s\n", conf_keys[i].name, conf_keys[i].value);
		if (r < 0)
			return r;
	}
	return 0;
}

int conf_setup_tag(const struct conf *conf, char ret[CONF_SETUP_TAG])
{
	auto_buf struct buf text = BUF_INIT(MAX_BY_SETUP);

	for (size_t i = 0; i < conf_n_keys; i++) {
		int r;

		if (!conf_keys[i].by_setup)
			continue;
		r = buf_addf(&text, "%s=", conf_keys[i].name);
		if (r == 0)
			r = conf_key_print(&text, conf, &conf_keys[i]);
		if (r == 0)
			r = buf_add_char(&text, '\n');
		if (r < 0)
			return r;
	}
	(void)snprintf(ret, CONF_SETUP_TAG, "%08x", view_hash(buf_view(&text)));
	return 0;
}
