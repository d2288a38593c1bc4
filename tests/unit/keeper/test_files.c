/* SPDX-License-Identifier: Apache-2.0 */
/* READ, WRITE, EDIT, UNDO and LIST as a client sees them. */
#include "fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <cmocka.h>

static struct keeper_reply reply; /* of the last request */

static bool says(const char *part)
{
	if (memmem(reply.text.p, reply.text.len, part, strlen(part)))
		return true;
	print_message("%.*s\n", VIEW_ARG(reply.text));
	return false;
}

static int read_it(struct fixture *f, const char *path, uint64_t offset, uint64_t limit)
{
	const struct keeper_request r = {
		.verb = KEEPER_READ, .path = view_str(path), .offset = offset, .limit = limit
	};

	return ask(f, &r, -1, &reply, NULL);
}

static int write_it(struct fixture *f, const char *path, struct view content)
{
	const struct keeper_request r = { .verb = KEEPER_WRITE, .path = view_str(path) };

	return ask(f, &r, content_fd(content), &reply, NULL);
}

static int edit_views(struct fixture *f, const char *path, struct view old, struct view text,
		      struct keeper_request r)
{
	auto_buf struct buf both = BUF_INIT(KEEPER_MAX_CONTENT);

	assert_int_equal(buf_add_view(&both, old), 0);
	assert_int_equal(buf_add_view(&both, text), 0);
	r.verb = KEEPER_EDIT;
	r.path = view_str(path);
	r.number = old.len;
	return ask(f, &r, content_fd(buf_view(&both)), &reply, NULL);
}

static int edit_it(struct fixture *f, const char *path, const char *old, const char *text)
{
	return edit_views(f, path, view_str(old), view_str(text), (struct keeper_request){ 0 });
}

static int undo_it(struct fixture *f, const char *path, uint32_t flags)
{
	const struct keeper_request r = { .verb = KEEPER_UNDO,
					  .path = view_str(path),
					  .flags = flags };

	return ask(f, &r, -1, &reply, NULL);
}

static int list_it(struct fixture *f, const char *path, const char *glob, uint64_t limit)
{
	const struct keeper_request r = {
		.verb = KEEPER_LIST, .path = view_str(path), .path2 = view_str(glob), .limit = limit
	};

	return ask(f, &r, -1, &reply, NULL);
}

static void test_read(void **state)
{
	struct fixture *f = *state;

	put_file(f->workspace, "a.txt", VIEW("one\ntwo\nthree"));
	assert_int_equal(read_it(f, "a.txt", 0, 0), 0);
	assert_true(says("a.txt: lines 1-3 of 3, 13 bytes, no line end at the end\n"
			 "1\tone\n2\ttwo\n3\tthree\n"));
	assert_int_equal(read_it(f, "a.txt", 2, 1), 0);
	assert_true(says("lines 2-2 of 3"));
	assert_true(says("2\ttwo\n[more lines follow; go on with offset 3]\n"));
	assert_true(reply.number == 2 && reply.count == 1);
	assert_int_equal(read_it(f, "a.txt", 9, 0), 0);
	assert_true(says("[there is no line 9]"));
	put_file(f->workspace, "empty", VIEW(""));
	assert_int_equal(read_it(f, "empty", 0, 0), 0);
	assert_true(says("empty: 0 lines, 0 bytes\n"));
}

static void test_read_encodings(void **state)
{
	struct fixture *f = *state;

	put_file(f->workspace, "crlf",
		 VIEW("\xef\xbb\xbf"
		      "a\r\nb\r\n"));
	assert_int_equal(read_it(f, "crlf", 0, 0), 0);
	assert_true(says("2, 9 bytes, UTF-8 with BOM, CRLF line ends\n1\ta\n2\tb\n"));
	put_file(f->workspace, "u16",
		 VIEW("\xff\xfe"
		      "a\0\r\0\n\0\xac\x20\n\0"));
	assert_int_equal(read_it(f, "u16", 0, 0), 0);
	assert_true(says("UTF-16LE with BOM, CRLF line ends\n1\ta\n2\t€\n") ||
		    says("UTF-16LE with BOM, mixed line ends (LF and CRLF)\n1\ta\n2\t€\n"));
	put_file(f->workspace, "latin", VIEW("caf\xe9\n"));
	assert_int_equal(read_it(f, "latin", 0, 0), 0);
	assert_true(says("Latin-1/Windows-1252\n1\tcafé\n"));
}

static void test_read_refuses(void **state)
{
	struct fixture *f = *state;

	put_file(f->workspace, "p.png", VIEW("\x89PNG\r\n\x1a\n\0\0\0"));
	assert_int_equal(read_it(f, "p.png", 0, 0), EILSEQ);
	assert_true(says("p.png is not text: PNG image, 11 bytes. Use present_file"));
	assert_int_equal(mkfifoat(f->workspace, "fifo", 0644), 0);
	assert_int_equal(read_it(f, "fifo", 0, 0), EINVAL);
	assert_int_equal(mknodat(f->workspace, "socket", S_IFSOCK | 0644, 0), 0);
	assert_int_equal(read_it(f, "socket", 0, 0), EINVAL);
	assert_true(says("socket is a socket, not a regular file"));
	if (mknodat(f->workspace, "device", S_IFCHR | 0666, makedev(1, 5)) == 0) {
		assert_int_equal(read_it(f, "device", 0, 0), EINVAL);
		assert_true(says("device is a device, not a regular file"));
	}
	assert_int_equal(symlinkat("/dev/zero", f->workspace, "zero"), 0);
	assert_int_equal(read_it(f, "zero", 0, 0), EXDEV);
	assert_int_equal(read_it(f, "none", 0, 0), ENOENT);
	assert_true(says("none does not exist"));
	auto_fd int sparse = openat(f->workspace, "sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(ftruncate(sparse, (off_t)10 << 30), 0);
	assert_int_equal(read_it(f, "sparse", 0, 0), EILSEQ);
}

static void test_read_long_lines_and_many(void **state)
{
	struct fixture *f = *state;
	auto_buf struct buf b = BUF_INIT(4 << 20);

	for (int i = 0; i < 5000; i++)
		assert_int_equal(buf_add_str(&b, "€"), 0);
	assert_int_equal(buf_add_char(&b, '\n'), 0);
	for (int i = 0; i < 20000; i++)
		assert_int_equal(buf_addf(&b, "line %d\n", i + 2), 0);
	put_file(f->workspace, "big", buf_view(&b));
	assert_int_equal(read_it(f, "big", 0, 0), 0);
	assert_true(says("€… [9,000 bytes more in this line]\n2\tline 2\n"));
	assert_true(says("of 20,001, "));
	assert_true(says("[cut here, the result would be too long; go on with offset "));
	assert_true(reply.text.len < 70000);
	assert_int_equal(read_it(f, "big", 1 + reply.count, 1), 0);
}

/* Beyond what is held in memory: a window near the start and one far in (in a child). */
static void test_read_huge(void **state)
{
	struct fixture *f = *state;
	auto_fd int fd = openat(f->workspace, "huge", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	static char block[1 << 20];

	for (size_t i = 0; i < sizeof(block); i += 64)
		memcpy(block + i,
		       "123456789 123456789 123456789 123456789 123456789 123456789 abc\n", 64);
	for (int i = 0; i < 40; i++)
		assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
	/* A hole makes it gigabytes long at no cost. */
	assert_int_equal(ftruncate(fd, (off_t)3 << 30), 0);
	assert_int_equal(read_it(f, "huge", 0, 2), 0);
	assert_true(says("huge: lines 1-2 of at least "));
	assert_int_equal(read_it(f, "huge", 500001, 1), 0);
	assert_true(says("\n500001\t123456789"));
	assert_int_equal(edit_it(f, "huge", "abc", "x"), EFBIG);
	assert_true(says("files over 32 MiB cannot be edited here"));
}

static void test_read_a_folder(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(mkdirat(f->workspace, "d", 0755), 0);
	put_file(f->workspace, "d/x", VIEW("12345"));
	assert_int_equal(read_it(f, "d", 0, 0), 0);
	assert_true(says("d: 1 entry"));
	assert_true(says("  d/x\n"));
}

static void test_write(void **state)
{
	struct fixture *f = *state;
	struct stat st;

	assert_int_equal(write_it(f, "a/b/c.txt", VIEW("x\ny")), 0);
	assert_true(says("Wrote a/b/c.txt: 2 lines, 3 bytes, mode 0644."));
	check_file(f->workspace, "a/b/c.txt", VIEW("x\ny"));
	assert_int_equal(write_it(f, "a/b/c.txt", VIEW("other")), EEXIST);
	assert_true(says("edit_file"));
	check_file(f->workspace, "a/b/c.txt", VIEW("x\ny"));
	assert_int_equal(write_it(f, "run.sh", VIEW("#!/bin/sh\n")), 0);
	assert_int_equal(fstatat(f->workspace, "run.sh", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(fstatat(f->workspace, "a/b/c.txt", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	/* What was written has been seen. */
	assert_int_equal(edit_it(f, "a/b/c.txt", "y", "z"), 0);
	check_file(f->workspace, "a/b/c.txt", VIEW("x\nz"));
	assert_int_equal(write_it(f, "bytes \xff\n", VIEW("")), 0);
	check_file(f->workspace, "bytes \xff\n", VIEW(""));
	assert_int_equal(symlinkat("../outside/x", f->workspace, "out"), 0);
	assert_int_equal(write_it(f, "out", VIEW("")), EXDEV);
	assert_int_equal(symlinkat("nowhere", f->workspace, "dangling"), 0);
	assert_int_equal(write_it(f, "dangling", VIEW("")), ENOENT);
	assert_int_equal(count_entries(f->outside), 0);
}

/* Of many changes the first are shown, those that are neighbours in one piece. */
static void test_edit_many_places(void **state)
{
	struct fixture *f = *state;
	auto_buf struct buf text = BUF_INIT(1000);

	for (int line = 1; line <= 90; line++)
		assert_int_equal(buf_add_str(&text, line == 1 || line == 37 || line % 30 == 0
							    ? "old\n"
							    : "-\n"),
				 0);
	put_file(f->workspace, "many", buf_view(&text));
	assert_int_equal(read_it(f, "many", 0, 0), 0);
	assert_int_equal(edit_views(f, "many", VIEW("old"), VIEW("new"),
				    (struct keeper_request){ .flags = KEEPER_REPLACE_ALL }),
			 0);
	assert_int_equal(reply.count, 5);
	assert_true(says("1\tnew\n2\t-\n3\t-\n4\t-\n…\n27\t-\n"));
	assert_true(says("33\t-\n34\t-\n"));
	assert_true(says("40\t-\n…\n57\t-\n"));
	assert_true(says("63\t-\n… [1 more place]\n"));
}

static void test_edit(void **state)
{
	struct fixture *f = *state;

	put_file(f->workspace, "a.c", VIEW("int a = 1;\nint b = 1;\nint c = 2;\n"));
	assert_int_equal(edit_it(f, "a.c", "int c = 2", "int c = 3"), EPERM);
	assert_true(says("has not been read yet"));
	assert_int_equal(read_it(f, "a.c", 0, 0), 0);
	assert_int_equal(edit_it(f, "a.c", "int c = 2", "int c = 3"), 0);
	assert_true(says("Edited a.c: 1 replacement"));
	assert_true(says("3\tint c = 3;\n"));
	assert_int_equal(reply.number, 3);
	assert_int_equal(edit_it(f, "a.c", "= 1", "= 7"), ENOTUNIQ);
	assert_true(says("2 times; nothing was changed. Lines: 1, 2."));
	assert_int_equal(edit_views(f, "a.c", VIEW("= 1"), VIEW("= 7"),
				    (struct keeper_request){ .flags = KEEPER_REPLACE_ALL }),
			 0);
	assert_int_equal(reply.count, 2);
	/* The lines that both are among are shown once. */
	assert_true(says("1\tint a = 7;\n2\tint b = 7;\n3\tint c = 3;\n"));
	assert_false(says("…"));
	check_file(f->workspace, "a.c", VIEW("int a = 7;\nint b = 7;\nint c = 3;\n"));
	assert_int_equal(edit_it(f, "a.c", "int  a", "x"), ENOMSG);
	assert_true(says("line 1, column 5: the file has \"a = 7;\", old_text has 1 space"));
	assert_int_equal(edit_it(f, "a.c", "", "x"), EINVAL);
	assert_int_equal(edit_it(f, "a.c", "int a", "int a"), EINVAL);
	/* Changed by somebody else. */
	put_file(f->workspace, "a.c", VIEW("int z;\n"));
	assert_int_equal(edit_it(f, "a.c", "int z", "int y"), ESTALE);
	assert_true(says("has changed since you read it"));
	check_file(f->workspace, "a.c", VIEW("int z;\n"));
}

static void test_edit_lines(void **state)
{
	struct fixture *f = *state;
	const struct keeper_request two = { .flags = KEEPER_LINES, .offset = 2, .limit = 2 };

	put_file(f->workspace, "a", VIEW("1\n2\n3\n4\n2\n"));
	assert_int_equal(read_it(f, "a", 0, 0), 0);
	assert_int_equal(edit_views(f, "a", VIEW("2"), VIEW("two"), two), 0);
	check_file(f->workspace, "a", VIEW("1\ntwo\n3\n4\n2\n"));
	assert_int_equal(edit_views(f, "a", VIEW("4"), VIEW("x"), two), ENOMSG);
	assert_int_equal(edit_views(f, "a", VIEW(""), VIEW("new\nlines"), two), 0);
	check_file(f->workspace, "a", VIEW("1\nnew\nlines\n4\n2\n"));
	assert_int_equal(edit_views(f, "a", VIEW(""), VIEW(""), two), 0);
	check_file(f->workspace, "a", VIEW("1\n4\n2\n"));
	assert_int_equal(edit_views(f, "a", VIEW(""), VIEW("x"),
				    (struct keeper_request){
					    .flags = KEEPER_LINES, .offset = 9, .limit = 1 }),
			 EINVAL);
}

/* Byte order mark, line ends, mode, times of the links: all as before, but for the span. */
static void test_edit_keeps_everything_else(void **state)
{
	static const struct {
		struct view before;
		const char *old, *text;
		struct view after;
	} rows[] = {
		{ VIEW_INIT("\xef\xbb\xbf"
			    "a\r\nb\r\n"),
		  "a\nb", "a\nc\nd",
		  VIEW_INIT("\xef\xbb\xbf"
			    "a\r\nc\r\nd\r\n") },
		{ VIEW_INIT("a\nb\r\nc\n"), "b\nc", "B\nC", VIEW_INIT("a\nB\r\nC\n") },
		{ VIEW_INIT("“x” ‘y’\n"), "x", "z", VIEW_INIT("“z” ‘y’\n") },
		{ VIEW_INIT("\xff\xfe"
			    "a\0\r\0\n\0b\0"),
		  "a\nb", "€\n😀", VIEW_INIT("\xff\xfe\xac\x20\r\0\n\0\x3d\xd8\x00\xde") },
		{ VIEW_INIT("\xfe\xff\0a\0b\0"), "ab", "ba", VIEW_INIT("\xfe\xff\0b\0a\0") },
		{ VIEW_INIT("caf\xe9 \x80\n"), "é €", "è “", VIEW_INIT("caf\xe8 \x93\n") },
		{ VIEW_INIT("no end"), "end", "line end", VIEW_INIT("no line end") },
		{ VIEW_INIT("a\tb  \n"), "a\tb", "a\tc", VIEW_INIT("a\tc  \n") },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		put_file(f->workspace, "x", rows[i].before);
		assert_int_equal(read_it(f, "x", 0, 0), 0);
		assert_int_equal(edit_it(f, "x", rows[i].old, rows[i].text), 0);
		check_file(f->workspace, "x", rows[i].after);
		assert_int_equal(undo_it(f, "x", 0), 0);
		check_file(f->workspace, "x", rows[i].before);
	}
	put_file(f->workspace, "x", VIEW("caf\xe9\n"));
	assert_int_equal(read_it(f, "x", 0, 0), 0);
	assert_int_equal(edit_it(f, "x", "café", "→"), EILSEQ);
	assert_true(says("no character U+2192"));
}

static void test_edit_keeps_the_inode_facts(void **state)
{
	struct fixture *f = *state;
	struct stat before, after;
	char value[8];

	put_file(f->workspace, "file", VIEW("old\n"));
	assert_int_equal(symlinkat("file", f->workspace, "link"), 0);
	assert_int_equal(fchmodat(f->workspace, "file", 0750, 0), 0);
	auto_fd int fd = openat(f->workspace, "file", O_RDONLY | O_CLOEXEC);
	bool has_xattr = fsetxattr(fd, "user.note", "mine", 4, 0) == 0;
	if (geteuid() == 0)
		assert_int_equal(fchown(fd, 1234, 5678), 0);
	assert_int_equal(fstat(fd, &before), 0);
	assert_int_equal(read_it(f, "link", 0, 0), 0);
	/* Seen under one name is seen under the other: both are one place. */
	assert_int_equal(edit_it(f, "file", "old", "new"), 0);
	assert_int_equal(edit_it(f, "link", "new", "newer"), 0);
	check_file(f->workspace, "file", VIEW("newer\n"));
	assert_int_equal(fstatat(f->workspace, "link", &after, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISLNK(after.st_mode));
	assert_int_equal(fstatat(f->workspace, "file", &after, 0), 0);
	assert_true(after.st_mode == before.st_mode && after.st_uid == before.st_uid &&
		    after.st_gid == before.st_gid);
	auto_fd int now = openat(f->workspace, "file", O_RDONLY | O_CLOEXEC);
	if (has_xattr)
		assert_int_equal(fgetxattr(now, "user.note", value, sizeof(value)), 4);
	assert_int_equal(count_entries(f->workspace), 2);
	/* With a second name it is edited in place. */
	assert_int_equal(linkat(f->workspace, "file", f->workspace, "hard", 0), 0);
	assert_int_equal(edit_it(f, "file", "newer", "n"), 0);
	check_file(f->workspace, "hard", VIEW("n\n"));
	assert_int_equal(undo_it(f, "file", 0), 0);
	check_file(f->workspace, "hard", VIEW("newer\n"));
}

/* A file neither loses a capability, which writing takes away, nor gets what its folder hands on.
 */
static void test_edit_keeps_the_permissions(void **state)
{
	/* As <linux/posix_acl_xattr.h> and <linux/capability.h> have them, in little endian. */
	static const uint32_t acl[] = { 2,   7 << 16 | 1,  -1U, 7 << 16 | 2,  4242, 5 << 16 | 4,
					-1U, 7 << 16 | 16, -1U, 5 << 16 | 32, -1U };
	static const uint32_t capability[] = { 0x02000001, 1 << 10, 0, 0, 0 };
	struct fixture *f = *state;
	uint32_t value[16];
	struct stat st;

	put_file(f->workspace, "file", VIEW("old\n"));
	assert_int_equal(fchmodat(f->workspace, "file", 0755, 0), 0);
	auto_fd int fd = openat(f->workspace, "file", O_RDONLY | O_CLOEXEC);
	if (fsetxattr(f->workspace, "system.posix_acl_default", acl, sizeof(acl), 0) < 0 ||
	    fsetxattr(fd, "security.capability", capability, sizeof(capability), 0) < 0)
		skip();
	assert_int_equal(read_it(f, "file", 0, 0), 0);
	assert_int_equal(edit_it(f, "file", "old", "new"), 0);
	check_file(f->workspace, "file", VIEW("new\n"));
	auto_fd int now = openat(f->workspace, "file", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fgetxattr(now, "system.posix_acl_access", value, sizeof(value)), -1);
	assert_int_equal(fgetxattr(now, "security.capability", value, sizeof(value)),
			 sizeof(capability));
	assert_int_equal(fstat(now, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
}

static void test_undo(void **state)
{
	struct fixture *f = *state;

	put_file(f->workspace, "a", VIEW("1\n"));
	assert_int_equal(undo_it(f, "a", 0), ENOENT);
	assert_int_equal(read_it(f, "a", 0, 0), 0);
	assert_int_equal(edit_it(f, "a", "1", "2"), 0);
	assert_int_equal(edit_it(f, "a", "2", "3"), 0);
	assert_int_equal(edit_it(f, "a", "3", "4"), 0);
	assert_int_equal(undo_it(f, "a", 0), 0);
	check_file(f->workspace, "a", VIEW("3\n"));
	assert_int_equal(edit_it(f, "a", "3", "5"), 0);
	assert_int_equal(undo_it(f, "a", KEEPER_ALL), 0);
	assert_true(says("Undid 3 edits of a."));
	check_file(f->workspace, "a", VIEW("1\n"));
	assert_int_equal(undo_it(f, "a", 0), ENOENT);
	/* Not over somebody else's change. */
	assert_int_equal(edit_it(f, "a", "1", "2"), 0);
	put_file(f->workspace, "a", VIEW("theirs\n"));
	assert_int_equal(undo_it(f, "a", 0), ESTALE);
	assert_true(says("cannot be undone safely"));
	/* And not across it either. */
	assert_int_equal(read_it(f, "a", 0, 0), 0);
	assert_int_equal(edit_it(f, "a", "theirs", "mine"), 0);
	assert_int_equal(undo_it(f, "a", KEEPER_ALL), 0);
	assert_true(says("older ones are no longer remembered"));
	check_file(f->workspace, "a", VIEW("theirs\n"));
}

static size_t random_text(char *out, size_t max, uint32_t *seed)
{
	static const char *const pieces[] = { "a", "b",  "\n", "\r\n", "\r",  "é", "\xe9",
					      " ", "\t", "😀",  "x\n",  "foo", "\"" };
	size_t len = 0;

	for (;;) {
		const char *piece = pieces[next_random(seed) % ARRAY_SIZE(pieces)];

		if (len + strlen(piece) > max)
			return len;
		memcpy(out + len, piece, strlen(piece));
		len += strlen(piece);
		if (next_random(seed) % max == 0)
			return len;
	}
}

/* All that an edit must keep, whatever the file is. */
struct facts {
	mode_t mode;
	uid_t uid;
	gid_t gid;
	nlink_t links;
	bool has_note;
};

static struct facts facts_of(int dir, const char *path)
{
	auto_fd int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	struct facts facts;
	struct stat st;
	char note[8];

	assert_int_equal(fstat(fd, &st), 0);
	facts = (struct facts){ .mode = st.st_mode,
				.uid = st.st_uid,
				.gid = st.st_gid,
				.links = st.st_nlink,
				.has_note = fgetxattr(fd, "user.note", note, sizeof(note)) == 4 };
	return facts;
}

static void check_facts(int dir, const char *path, struct facts before)
{
	struct facts now = facts_of(dir, path);

	assert_true(now.mode == before.mode && now.uid == before.uid && now.gid == before.gid);
	assert_true(now.links == before.links && now.has_note == before.has_note);
}

/* A file of random bytes as it may lie there: any mode, owner, attributes, with a second name. */
static size_t put_random_file(struct fixture *f, const char *path, char *bytes, size_t max,
			      uint32_t *seed)
{
	static const char *const marks[] = { "", "", "", "\xef\xbb\xbf" };
	static const mode_t modes[] = { 0644, 0600, 0755, 0444, 0666 };
	const char *mark = marks[next_random(seed) % ARRAY_SIZE(marks)];
	size_t len = strlen(mark);

	memcpy(bytes, mark, len);
	len += random_text(bytes + len, max - len, seed);
	put_file(f->workspace, path, view_of(bytes, len));
	auto_fd int fd = openat(f->workspace, path, O_RDONLY | O_CLOEXEC);
	if (next_random(seed) % 2)
		(void)fsetxattr(fd, "user.note", "mine", 4, 0);
	if (geteuid() == 0 && next_random(seed) % 2)
		assert_int_equal(fchown(fd, next_random(seed) % 9999, 77), 0);
	assert_int_equal(fchmod(fd, modes[next_random(seed) % ARRAY_SIZE(modes)]), 0);
	if (next_random(seed) % 3 == 0)
		assert_int_equal(linkat(f->workspace, path, f->workspace, "second", 0), 0);
	return len;
}

/* Edits and undos at random through the file's name or a link to it; how many edits were done. */
static uint32_t edit_at_random(struct fixture *f, uint32_t *seed)
{
	static const char *const olds[] = { "a", "b\n", "\nfoo", "é", "x\nx", "  ", "\"", "a\nb" };
	static const char *const texts[] = { "", "new", "\n\n", "é\nü", "a", "line\nline\n" };
	uint32_t applied = 0;

	for (int i = 0; i < 12; i++) {
		const struct keeper_request all = { .flags = next_random(seed) & 1
								     ? KEEPER_REPLACE_ALL
								     : 0 };
		const char *path = next_random(seed) & 1 ? "r" : "link";
		uint32_t what = next_random(seed);

		if (what % 5 == 0)
			(void)undo_it(f, path, 0);
		else
			applied += edit_views(f, path, view_str(olds[what % ARRAY_SIZE(olds)]),
					      view_str(texts[what / 16 % ARRAY_SIZE(texts)]),
					      all) == 0;
	}
	return applied;
}

/* Random edits and undos on random files: undone to the end, all of the original is back. */
static void test_random_edits_and_undos(void **state)
{
	struct fixture *f = *state;
	uint32_t seed = 7, applied = 0;
	char original[400];

	assert_int_equal(symlinkat("r", f->workspace, "link"), 0);
	for (int round = 0; round < 120; round++) {
		size_t len = put_random_file(f, "r", original, sizeof(original), &seed);
		struct facts facts = facts_of(f->workspace, "r");

		if (read_it(f, "r", 0, 0) == 0) {
			applied += edit_at_random(f, &seed);
			check_facts(f->workspace, "r", facts);
			if (undo_it(f, "link", KEEPER_ALL) != 0)
				assert_int_equal(reply.error, ENOENT);
		}
		check_file(f->workspace, "r", view_of(original, len));
		check_facts(f->workspace, "r", facts);
		if (facts.links == 2) {
			check_file(f->workspace, "second", view_of(original, len));
			assert_int_equal(unlinkat(f->workspace, "second", 0), 0);
		}
		assert_int_equal(unlinkat(f->workspace, "r", 0), 0);
		assert_int_equal(count_entries(f->workspace), 1);
	}
	assert_in_range(applied, 200, 1200);
}

static void test_list(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(mkdirat(f->workspace, "src", 0755), 0);
	assert_int_equal(mkdirat(f->workspace, "src/deep", 0755), 0);
	assert_int_equal(mkdirat(f->workspace, "node_modules", 0755), 0);
	put_file(f->workspace, "node_modules/x.c", VIEW(""));
	put_file(f->workspace, "src/b.c", VIEW("12345"));
	put_file(f->workspace, "src/a.c", VIEW(""));
	put_file(f->workspace, "src/deep/c.c", VIEW(""));
	put_file(f->workspace, ".env", VIEW(""));
	put_file(f->workspace, "new\nline", VIEW(""));
	put_file(f->workspace, "trail ", VIEW(""));
	assert_int_equal(symlinkat("/nope", f->workspace, "link"), 0);

	assert_int_equal(list_it(f, "", "", 0), 0);
	assert_true(says("/workspace: 6 entries"));
	assert_true(says("  .env\n") && says("  $'new\\nline'\n") && says("  $'trail '\n"));
	assert_true(says("  link -> /nope\n") && says("  src/\n"));
	assert_int_equal(list_it(f, "", "*.c", 0), 0);
	assert_true(says("3 of 10 entries match *.c"));
	assert_true(says("src/a.c\n          5  ") && says("  src/deep/c.c\n"));
	assert_true(says("[not searched: 1 folders such as node_modules"));
	assert_int_equal(list_it(f, "node_modules", "*.c", 0), 0);
	assert_true(says("  node_modules/x.c\n"));
	assert_int_equal(list_it(f, "src", "**/*.c", 1), 0);
	assert_true(reply.number == 1 && reply.count == 3 && says("[2 more;"));
	assert_int_equal(list_it(f, "src/a.c", "", 0), ENOTDIR);
	assert_int_equal(list_it(f, "nope", "", 0), ENOENT);
}

static void test_list_many(void **state)
{
	struct fixture *f = *state;
	int n = fixture_is_large() ? 100000 : 1500;

	for (int i = 0; i < n; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "f%06d", i);
		assert_int_equal(linkat(f->workspace, i % 1000 ? "f000000" : ".", f->workspace,
					name, 0) == 0 ||
					 mknodat(f->workspace, name, S_IFREG | 0644, 0) == 0,
				 1);
	}
	assert_int_equal(list_it(f, "", "", 1000), 0);
	assert_true(reply.count == (uint64_t)n && reply.number == 1000);
	assert_true(says("  f000999\n["));
}

/* Another name of "file", or a file of its own where that has as many as it may have. */
static void add_name(struct fixture *f, int dir, const char *name)
{
	assert_true(linkat(f->workspace, "file", dir, name, 0) == 0 ||
		    (errno == EMLINK && mknodat(dir, name, S_IFREG | 0644, 0) == 0));
}

/* A folder in a folder, each with more than half of the names that one listing may hold. */
static void test_list_more_names_than_fit(void **state)
{
	struct fixture *f = *state;
	char name[256];

	memset(name, 'n', 250);
	assert_int_equal(mkdirat(f->workspace, "below", 0755), 0);
	auto_fd int below = openat(f->workspace, "below", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_file(f->workspace, "file", VIEW(""));
	for (int i = 0; i < 66000; i++) {
		(void)snprintf(name + 244, 7, "%06d", i);
		add_name(f, f->workspace, name);
		add_name(f, below, name);
	}
	assert_int_equal(list_it(f, "", "**/file", 0), 0);
	assert_int_equal(reply.count, 1);
	assert_true(says("[not searched: 1 folders that are too deep or large]"));
	assert_int_equal(list_it(f, "below", "**/file", 0), 0);
	assert_false(says("not searched"));
}

/* The keeper's file of turns; -1 where the test may not look at it. */
static int open_turns(pid_t keeper)
{
	char path[64], target[64] = "";

	for (int fd = 0; fd < 64; fd++) {
		(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", keeper, fd);
		if (readlink(path, target, sizeof(target) - 1) > 0 && strstr(target, "turns"))
			return open(path, O_RDWR | O_CLOEXEC);
	}
	return -1;
}

static void test_long_requests_take_turns(void **state)
{
	struct fixture *f = *state;
	const struct keeper_request list = { .verb = KEEPER_LIST };
	const struct keeper_request room = { .verb = KEEPER_ROOM };
	const struct keeper_request drop = { .verb = KEEPER_DROP_LAYER, .flags = KEEPER_ALL };
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct keeper_reply got;
	uint64_t id;

	assert_int_equal(ask(f, &room, -1, &got, NULL), 0);
	auto_fd int turns = open_turns(f->pid);
	if (turns < 0)
		skip();
	assert_int_equal(fcntl(turns, F_SETLK, &lock), 0);
	id = ask_only(f, &list, -1);
	/* Others do not wait for a turn. */
	assert_int_equal(ask(f, &room, -1, &got, NULL), 0);
	assert_int_equal(ask(f, &drop, -1, &got, NULL), 0);
	lock.l_type = F_UNLCK;
	assert_int_equal(fcntl(turns, F_SETLK, &lock), 0);
	assert_int_equal(next_reply(f, &got, NULL), id);
	assert_int_equal(got.error, 0);
}

#define WITH_FIXTURE(fn) cmocka_unit_test_setup_teardown(fn, fixture_set_up, fixture_tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(test_read),
		WITH_FIXTURE(test_read_encodings),
		WITH_FIXTURE(test_read_refuses),
		WITH_FIXTURE(test_read_long_lines_and_many),
		WITH_FIXTURE(test_read_huge),
		WITH_FIXTURE(test_read_a_folder),
		WITH_FIXTURE(test_write),
		WITH_FIXTURE(test_edit),
		WITH_FIXTURE(test_edit_many_places),
		WITH_FIXTURE(test_edit_lines),
		WITH_FIXTURE(test_edit_keeps_everything_else),
		WITH_FIXTURE(test_edit_keeps_the_inode_facts),
		WITH_FIXTURE(test_edit_keeps_the_permissions),
		WITH_FIXTURE(test_undo),
		WITH_FIXTURE(test_random_edits_and_undos),
		WITH_FIXTURE(test_list),
		WITH_FIXTURE(test_list_many),
		WITH_FIXTURE(test_list_more_names_than_fit),
		WITH_FIXTURE(test_long_requests_take_turns),
	};

	fixture_options(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
