/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of sandboxes from principals and labels. */
#ifndef BERTH_SANDBOX_LABEL_H
#define BERTH_SANDBOX_LABEL_H

#include "sandbox/sandbox.h"

/*
 * The key: "amber-otter-3f9a1c", the label's slug and six hex digits of a hash of principal, label
 * and `attempt` (0 first; counted up by the caller when the key is another owner's already). An
 * empty label, of principals with one sandbox, gives "sandbox-3f9a1c0b77e2": thousands of them may
 * be around, so twelve digits. Both strings are NUL-terminated; the label is normalised.
 */
void sandbox_key_make(const char *principal, const char *label, uint32_t attempt,
		      char out[SANDBOX_MAX_KEY]);
/* The label back out of a key. */
void sandbox_key_label(const char *key, char out[SANDBOX_MAX_LABEL + 1]);

#endif
