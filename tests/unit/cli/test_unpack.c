/* SPDX-License-Identifier: Apache-2.0 */
/* Archives made to reach out of the image, or to bring what has no place in it. Needs root. */
#include "cli/place.h"
#include "cli/tree.h"
#include "cli/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

struct entry {
	const char *path;
	mode_t type;
	const char *text; /* contents, or the target of a symbolic or hard link */
	bool is_hardlink;
	la_int64_t owner;
	mode_t mode; /* 0: 0644 */
};

struct fixture {
	char dir[64]; /* holds "root" and "outside" */
	int root_fd;
};

static int setup(void **state)
{
	static struct fixture f;
	char path[128];

	(void)snprintf(f.dir, sizeof(f.dir), "/tmp/test-unpack.XXXXXX");
	assert_non_null(mkdtemp(f.dir));
	(void)snprintf(path, sizeof(path), "%s/outside", f.dir);
	assert_int_equal(mkdir(path, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/root", f.dir);
	assert_int_equal(mkdir(path, 0755), 0);
	f.root_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f.root_fd >= 0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	(void)close(f->root_fd);
	return tree_remove(f->dir);
}

static void add(struct archive *out, const struct entry *e)
{
	struct archive_entry *entry = archive_entry_new();
	size_t len = e->type == S_IFREG && e->text && !e->is_hardlink ? strlen(e->text) : 0;

	archive_entry_set_pathname(entry, e->path);
	archive_entry_set_filetype(entry, e->type);
	archive_entry_set_perm(entry, e->mode ? e->mode : 0644);
	archive_entry_set_uid(entry, e->owner);
	archive_entry_set_gid(entry, e->owner);
	archive_entry_set_size(entry, (la_int64_t)len);
	if (e->is_hardlink)
		archive_entry_set_hardlink(entry, e->text);
	else if (e->type == S_IFLNK)
		archive_entry_set_symlink(entry, e->text);
	assert_int_equal(archive_write_header(out, entry), ARCHIVE_OK);
	if (len)
		assert_int_equal(archive_write_data(out, e->text, len), (int)len);
	archive_entry_free(entry);
}

/* An archive of the entries, which end with { 0 }. */
static int make_archive(const struct fixture *f, const struct entry *entries)
{
	struct archive *out = archive_write_new();
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/a.tar", f->dir);
	assert_int_equal(archive_write_set_format_pax_restricted(out), ARCHIVE_OK);
	assert_int_equal(archive_write_add_filter_gzip(out), ARCHIVE_OK);
	assert_int_equal(archive_write_open_filename(out, path), ARCHIVE_OK);
	for (; entries->path; entries++)
		add(out, entries);
	assert_int_equal(archive_write_close(out), ARCHIVE_OK);
	(void)archive_write_free(out);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static int unpack(const struct fixture *f, enum unpack_kind kind, const struct entry *entries,
		  struct err *err)
{
	auto_fd int fd = make_archive(f, entries);

	return unpack_tar(fd, f->root_fd, kind, err);
}

/* The file's text as the sandbox would see it, "(none)" if it is not there. */
static const char *text_of(const struct fixture *f, const char *path)
{
	static char text[64];
	auto_fd int fd = place_open(f->root_fd, path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		return "(none)";
	text[n] = '\0';
	return text;
}

static bool outside_is_empty(const struct fixture *f)
{
	char path[128];

	/* rmdir() succeeds only then. */
	(void)snprintf(path, sizeof(path), "%s/outside", f->dir);
	return rmdir(path) == 0 && mkdir(path, 0755) == 0;
}

static void test_plain(void **state)
{
	const struct entry entries[] = {
		{ "./usr/bin/tool", S_IFREG, "tool", .mode = 04755 },
		{ "bin", S_IFLNK, "usr/bin" },
		{ "/etc/name", S_IFREG, "name", .owner = 1000 },
		{ "same", S_IFREG, "/etc/name", .is_hardlink = true },
		{ "pipe", S_IFIFO },
		{ 0 },
	};
	struct fixture *f = *state;
	struct stat st;
	struct err err;

	assert_int_equal(unpack(f, UNPACK_PLAIN, entries, &err), 0);
	assert_string_equal(text_of(f, "bin/tool"), "tool");
	assert_string_equal(text_of(f, "same"), "name");
	assert_int_equal(fstatat(f->root_fd, "usr/bin/tool", &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFREG | 04755);
	assert_int_equal(fstatat(f->root_fd, "etc/name", &st, 0), 0);
	assert_int_equal(st.st_uid, 1000);
	assert_int_equal(st.st_nlink, 2);
	assert_int_equal(fstatat(f->root_fd, "pipe", &st, 0), 0);
}

/* Each is an archive that must be refused, or must stay inside. */
static void test_hostile(void **state)
{
	struct fixture *f = *state;
	char outside[128], through[160];
	struct err err;

	(void)snprintf(outside, sizeof(outside), "%s/outside", f->dir);
	(void)snprintf(through, sizeof(through), "%s/planted", outside);
	const struct {
		struct entry entries[4];
		int result;
	} rows[] = {
		{ { { "../outside/planted", S_IFREG, "x" } }, -1 },
		{ { { "a/../../outside/planted", S_IFREG, "x" } }, -1 },
		{ { { "out", S_IFLNK, outside }, { "out/planted", S_IFREG, "x" } }, -1 },
		{ { { "up", S_IFLNK, "../outside" }, { "up/planted", S_IFREG, "x" } }, -1 },
		{ { { "file", S_IFLNK, through }, { "file", S_IFREG, "x" } }, 0 },
		{ { { "d", S_IFLNK, outside }, { "d", S_IFDIR }, { "d/planted", S_IFREG, "x" } },
		  0 },
		{ { { "hard", S_IFREG, "../outside/planted", .is_hardlink = true } }, -1 },
		{ { { "self", S_IFLNK, "self" }, { "self/x", S_IFREG, "x" } }, -1 },
		{ { { "big-owner", S_IFREG, "x", .owner = 70000 } }, -1 },
		{ { { through, S_IFREG, "x" } }, 0 }, /* below the root, like any path */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(unpack(f, UNPACK_PLAIN, rows[i].entries, &err), rows[i].result);
		assert_true(outside_is_empty(f));
	}
}

/* A name that would be obeyed by the operator's terminal is shown escaped. */
static void test_names_in_errors(void **state)
{
	const struct entry entries[] = { { "a\033]0;owned\007/../x", S_IFREG, "x" }, { 0 } };
	struct fixture *f = *state;
	struct err err;

	assert_int_equal(unpack(f, UNPACK_PLAIN, entries, &err), -1);
	assert_non_null(strstr(err.msg, "$'a\\x1b]0;owned\\x07/../x': a path"));
}

static void test_devices_are_left_out(void **state)
{
	const struct entry entries[] = {
		{ "block", S_IFBLK }, { "char", S_IFCHR }, { "after", S_IFREG, "x" }, { 0 }
	};
	struct fixture *f = *state;
	struct stat st;
	struct err err;

	assert_int_equal(unpack(f, UNPACK_PLAIN, entries, &err), 0);
	assert_int_equal(fstatat(f->root_fd, "block", &st, AT_SYMLINK_NOFOLLOW), -1);
	assert_int_equal(fstatat(f->root_fd, "char", &st, AT_SYMLINK_NOFOLLOW), -1);
	assert_string_equal(text_of(f, "after"), "x");
}

static void test_whiteouts(void **state)
{
	const struct entry lower[] = {
		{ "a/gone", S_IFREG, "1" },   { "a/stays", S_IFREG, "1" },
		{ "tree/x/y", S_IFREG, "1" }, { "opaque/old", S_IFREG, "1" },
		{ "kind", S_IFREG, "1" },     { 0 },
	};
	/* The opaque mark comes after what the same layer brings: that must stay. */
	const struct entry upper[] = {
		{ "a/.wh.gone", S_IFREG },
		{ ".wh.tree", S_IFREG },
		{ "opaque/new", S_IFREG, "2" },
		{ "opaque/.wh..wh..opq", S_IFREG },
		{ "kind/now-a-directory", S_IFREG, "2" },
		{ 0 },
	};
	const struct entry replace[] = { { ".wh.kind", S_IFREG },
					 { "kind/file", S_IFREG, "2" },
					 { 0 } };
	const struct entry bad[] = { { "a/.wh...", S_IFREG }, { 0 } };
	struct fixture *f = *state;
	struct err err;

	assert_int_equal(unpack(f, UNPACK_LAYER, lower, &err), 0);
	assert_int_equal(unpack(f, UNPACK_LAYER, upper, &err), -1); /* "kind" is a file */
	assert_string_equal(text_of(f, "a/gone"), "(none)");
	assert_string_equal(text_of(f, "a/stays"), "1");
	assert_string_equal(text_of(f, "tree/x/y"), "(none)");
	assert_string_equal(text_of(f, "opaque/old"), "(none)");
	assert_string_equal(text_of(f, "opaque/new"), "2");
	assert_int_equal(unpack(f, UNPACK_LAYER, replace, &err), 0);
	assert_string_equal(text_of(f, "kind/file"), "2");
	assert_int_equal(unpack(f, UNPACK_LAYER, bad, &err), -1);
}

static void test_look(void **state)
{
	const struct entry layout[] = { { "abc.tar", S_IFREG, "x" },
					{ "manifest.json", S_IFREG, "[]" },
					{ 0 } };
	const struct entry rootfs[] = { { "./", S_IFDIR },
					{ "./etc/passwd", S_IFREG, "x" },
					{ 0 } };
	struct fixture *f = *state;
	enum unpack_contents contents;
	struct err err;
	int fd;

	fd = make_archive(f, layout);
	assert_int_equal(unpack_look(fd, &contents, &err), 0);
	assert_int_equal(contents, UNPACK_IMAGE_LAYOUT);
	(void)close(fd);
	fd = make_archive(f, rootfs);
	assert_int_equal(unpack_look(fd, &contents, &err), 0);
	assert_int_equal(contents, UNPACK_ROOTFS);
	(void)close(fd);
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(unpack_look(fd, &contents, &err), -1);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_plain, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_in_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_devices_are_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(test_whiteouts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_look, setup, teardown),
	};

	/* Owners can be set by root only. */
	if (geteuid() != 0)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
