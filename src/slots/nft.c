/* SPDX-License-Identifier: Apache-2.0 */
/* Hands rules to the kernel by way of libnftables: one transaction a call. */
#include "slots/rules.h"

#include <nftables/libnftables.h>
#include <stdio.h>

static int run(const char *text, struct err *err)
{
	struct nft_ctx *nft = nft_ctx_new(NFT_CTX_DEFAULT);
	int r = 0;

	if (!nft)
		return err_sys(err, ENOMEM, "start nftables");
	if (nft_ctx_buffer_error(nft) != 0 || nft_ctx_buffer_output(nft) != 0)
		r = err_sys(err, ENOMEM, "start nftables");
	else if (nft_run_cmd_from_buffer(nft, text) != 0)
		r = err_set(err, ERR_SYSTEM, "the kernel did not take the network rules: %.300s",
			    nft_ctx_get_error_buffer(nft));
	nft_ctx_free(nft);
	return r;
}

int rules_load(struct view text, struct err *err)
{
	auto_free char *copy = view_dup(text);

	if (!copy)
		return err_sys(err, ENOMEM, "load the network rules");
	return run(copy, err);
}

bool rules_are_loaded(const struct network *net)
{
	char text[64];
	struct err absent;

	(void)snprintf(text, sizeof(text), "list chain inet %s forward\n", net->table);
	return run(text, &absent) == 0;
}

int rules_remove(const struct network *net, struct err *err)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "table inet %s\ndelete table inet %s\n", net->table,
		       net->table);
	return run(text, err);
}
