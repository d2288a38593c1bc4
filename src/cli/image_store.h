/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where images live: state_dir/image/<id>/rootfs, and the link state_dir/image/current that says
 * which one new containers get. An image is made under a temporary name and appears complete.
 * The directory is root's alone: an image holds set-id programs that only a sandbox may run.
 */
#ifndef BERTH_CLI_IMAGE_STORE_H
#define BERTH_CLI_IMAGE_STORE_H

#include "base/buf.h"
#include "base/err.h"

enum { IMAGE_ID_MAX = 80 };

/* An image being made. Filled by image_draft_begin(), released by image_draft_done(). */
struct image_draft {
	int images_fd; /* state_dir/image, locked against other builds */
	char id[IMAGE_ID_MAX];
	char *path; /* the draft's directory, which holds nothing yet; rootfs goes below it */
};

/*
 * Makes state_dir/image and the draft's directory. `name` begins the id. ERR_BUSY when another
 * build is under way.
 */
int image_draft_begin(struct image_draft *ret, const char *state_dir, const char *name,
		      struct err *err) MUST_CHECK;
/* `info` says where the image came from. The image becomes the current one, atomically. */
int image_draft_commit(struct image_draft *draft, struct view info, struct err *err) MUST_CHECK;
/* Removes the draft if it was not committed. Harmless on a zeroed one whose images_fd is -1. */
void image_draft_done(struct image_draft *draft);
#define auto_image_draft CLEANUP(image_draft_done)

#endif
