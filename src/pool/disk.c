/* SPDX-License-Identifier: Apache-2.0 */
/* Judging what slots take up on a disk without quotas. */
#include "pool/disk.h"

enum {
	FILE_BYTES = 16 * 1024, /* as project quotas count: a file for as many bytes of the limit */
	FILES_MORE = 1024,
	SLACK_BYTES = 1 << 20,
	SLACK_FILES = 256,
	SHARE = 20, /* of the time, for measuring */
};

#define PAUSE_FAR  (10 * USEC_PER_SEC)
#define PAUSE_NEAR (2 * USEC_PER_SEC)
#define PAUSE_MOST (60 * USEC_PER_SEC) /* however long a tenant makes it take */
/* A tree that takes longer to measure does not keep the others from being judged. */
#define GUARD_PATIENCE (10 * USEC_PER_SEC)

struct disk_limits disk_limits_of(uint64_t workspace, uint64_t layer)
{
	struct disk_limits limits = { .workspace = workspace, .layer = layer };

	if (workspace && layer)
		limits.files = (workspace + layer) / FILE_BYTES + 2 * FILES_MORE;
	return limits;
}

bool disk_is_measured(const struct disk_limits *limits)
{
	return limits->workspace || limits->layer;
}

enum disk_full disk_judge(const struct disk_limits *limits, const struct disk_use *use)
{
	if (limits->workspace && use->workspace > limits->workspace)
		return DISK_WORKSPACE;
	if (limits->layer && use->layer > limits->layer)
		return DISK_LAYER;
	if (limits->files && use->files > limits->files)
		return DISK_FILES;
	return use->is_too_deep ? DISK_TOO_DEEP : DISK_HAS_ROOM;
}

bool disk_has_grown(const struct disk_use *before, const struct disk_use *now)
{
	return now->workspace + now->layer > before->workspace + before->layer + SLACK_BYTES ||
	       now->files > before->files + SLACK_FILES;
}

usec disk_pause(const struct disk_limits *limits, const struct disk_use *use, usec took)
{
	bool is_near = (limits->workspace && use->workspace > limits->workspace / 2) ||
		       (limits->layer && use->layer > limits->layer / 2);
	usec least = is_near ? PAUSE_NEAR : PAUSE_FAR, share = took * SHARE;

	if (share > PAUSE_MOST)
		return PAUSE_MOST;
	return share > least ? share : least;
}

enum disk_guard disk_guard(usec *low_since, bool is_low, const struct disk_grower *growers,
			   size_t n, usec now, size_t *ret_at)
{
	size_t most = n;

	if (!is_low) {
		*low_since = 0;
		return DISK_GUARD_NOTHING;
	}
	if (!*low_since) {
		*low_since = now;
		return DISK_GUARD_MEASURE;
	}
	for (size_t i = 0; i < n; i++) {
		if (growers[i].measured < *low_since && now < *low_since + GUARD_PATIENCE)
			return DISK_GUARD_NOTHING;
		if (growers[i].grown > SLACK_BYTES &&
		    (most == n || growers[i].grown > growers[most].grown))
			most = i;
	}
	/* Where nobody grows, measuring at every look would change nothing: each in its own time.
	 */
	*low_since = most == n ? now : 0;
	if (most == n)
		return DISK_GUARD_NOTHING;
	*ret_at = most;
	return DISK_GUARD_END;
}
