/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request to /up/…: the files of it, one after the other. PUT brings one file, the form's POST
 * several. Bytes wait in a bounded buffer while a file is being opened; the body is held back
 * meanwhile. Each file gets its name at the end (keeper/temp.h).
 *
 *   WAITING -> READY -> OPENING -> WRITING -> COMMITTING -> READY … -> ENDING
 */
#ifndef BERTH_LINKS_UPLOAD_INTERNAL_H
#define BERTH_LINKS_UPLOAD_INTERNAL_H

#include "http/limits.h"
#include "links/file_name.h"
#include "links/internal.h"
#include "links/multipart.h"

enum {
	UPLOAD_MAX_FILES = 100,     /* in one form */
	UPLOAD_MAX_LEFT_OUT = 2048, /* bytes for the names of those beyond */
	UPLOAD_MAX_PENDING = HTTP_PAUSED_BODY_BYTES + 64 * 1024,
};

enum upload_state {
	UPLOAD_WAITING, /* for the sandbox */
	UPLOAD_READY,   /* for the next file, or the end */
	UPLOAD_OPENING, /* the keeper makes a file */
	UPLOAD_WRITING,
	UPLOAD_COMMITTING, /* the keeper names it */
	UPLOAD_ENDING,     /* all is done; the keeper counts what is used, for the page */
};

/* What became of one file: for the page that a form gets back. */
struct upload_result {
	char name[FILE_NAME_MAX + 1];
	uint64_t bytes;
	enum err_code code; /* ERR_NONE: it is there */
	char why[160];
};

struct upload {
	struct links *links;
	struct http_request *req;
	struct link link;
	bool is_form;
	bool replace; /* over an existing file: the visitor said so */
	enum upload_state state;
	struct sandbox_wait *wait;
	struct sandbox *sandbox;
	struct sandbox_transfer transfer;
	struct engine_files *asked; /* while a keeper request is under way */

	struct multipart parts; /* forms */
	bool in_field;          /* the part is no file: `replace`, or something unknown */
	struct buf pending;     /* body bytes not yet used */
	bool body_ended, parts_ended;

	int fd;
	uint64_t token, bytes;
	bool skipping; /* the current file failed: its bytes are dropped */
	struct upload_result *results;
	size_t n_results;
	size_t n_left_out;   /* files of the form beyond UPLOAD_MAX_FILES */
	struct buf left_out; /* their names, as many as there is room for */
};

/* upload_page.c: the page and the answers. They end the request; the upload is freed by the caller.
 */
void upload_reply_page(struct upload *u, uint64_t used_bytes);
void upload_reply_results(struct upload *u, uint64_t used_bytes);
/* For PUT: one line and a status by the result. */
void upload_reply_put(struct upload *u);

#endif
