/* SPDX-License-Identifier: Apache-2.0 */
/* Images as others save them, and layouts that lie. Needs root. */
#include "base/buf.h"
#include "base/parse.h"
#include "cli/oci.h"
#include "cli/place.h"
#include "cli/tree.h"
#include "sys/io.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { MAX_TEXT = 4096, HEX = 2 * crypto_hash_sha256_BYTES + 1 };

struct fixture {
	char dir[64];
	int layout_fd, root_fd;
};

static int make_dir(const char *parent, const char *name)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", parent, name);
	assert_int_equal(mkdir(path, 0755), 0);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static int setup(void **state)
{
	static struct fixture f;

	(void)snprintf(f.dir, sizeof(f.dir), "/tmp/test-oci.XXXXXX");
	assert_non_null(mkdtemp(f.dir));
	f.layout_fd = make_dir(f.dir, "layout");
	f.root_fd = make_dir(f.dir, "root");
	assert_int_equal(mkdirat(f.layout_fd, "blobs", 0755), 0);
	assert_int_equal(mkdirat(f.layout_fd, "blobs/sha256", 0755), 0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	(void)close(f->layout_fd);
	(void)close(f->root_fd);
	return tree_remove(f->dir);
}

static void put(const struct fixture *f, const char *path, struct view content)
{
	assert_int_equal(io_write_file(f->layout_fd, path, content, 0644), 0);
}

/* Writes a blob and gives its digest. */
static void put_blob(const struct fixture *f, struct view content, char hex[HEX])
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	char path[16 + HEX];

	(void)crypto_hash_sha256(hash, (const unsigned char *)content.p, content.len);
	(void)sodium_bin2hex(hex, HEX, hash, sizeof(hash));
	(void)snprintf(path, sizeof(path), "blobs/sha256/%s", hex);
	put(f, path, content);
}

/* A layer with one file, whose text is its name. */
static struct view layer(const char *name, char *out, size_t size)
{
	struct archive *a = archive_write_new();
	struct archive_entry *entry = archive_entry_new();
	size_t used;

	assert_int_equal(archive_write_set_format_ustar(a), ARCHIVE_OK);
	assert_int_equal(archive_write_open_memory(a, out, size, &used), ARCHIVE_OK);
	archive_entry_set_pathname(entry, name);
	archive_entry_set_filetype(entry, S_IFREG);
	archive_entry_set_perm(entry, 0644);
	archive_entry_set_size(entry, (la_int64_t)strlen(name));
	assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
	assert_int_equal(archive_write_data(a, name, strlen(name)), (int)strlen(name));
	archive_entry_free(entry);
	assert_int_equal(archive_write_close(a), ARCHIVE_OK);
	(void)archive_write_free(a);
	return view_of(out, used);
}

static bool is_there(const struct fixture *f, const char *path)
{
	auto_fd int fd = place_open(f->root_fd, path, O_PATH);

	return fd >= 0;
}

/* index.json -> an index for several architectures -> the manifest -> two layers. */
static void put_oci(const struct fixture *f, char second[HEX])
{
	char archive[32 << 10], first[HEX], manifest[HEX], index[HEX], text[MAX_TEXT];

	put_blob(f, layer("etc/one", archive, sizeof(archive)), first);
	put_blob(f, layer("etc/two", archive, sizeof(archive)), second);
	(void)snprintf(text, sizeof(text),
		       "{\"layers\":[{\"digest\":\"sha256:%s\"},{\"digest\":\"sha256:%s\"}]}",
		       first, second);
	put_blob(f, view_str(text), manifest);
	(void)snprintf(text, sizeof(text),
		       "{\"manifests\":["
		       "{\"digest\":\"sha256:%s\",\"platform\":{\"architecture\":\"riscv64\"}},"
		       "{\"digest\":\"sha256:%s\",\"platform\":{\"architecture\":\"amd64\"}},"
		       "{\"digest\":\"sha256:%s\",\"platform\":{\"architecture\":\"arm64\"}}]}",
		       first, manifest, manifest);
	put_blob(f, view_str(text), index);
	(void)snprintf(text, sizeof(text), "{\"manifests\":[{\"digest\":\"sha256:%s\"}]}", index);
	put(f, "index.json", view_str(text));
}

static void test_oci(void **state)
{
	struct fixture *f = *state;
	char second[HEX];
	struct err err;

	put_oci(f, second);
	assert_true(oci_is_layout(f->layout_fd));
	assert_int_equal(oci_unpack(f->layout_fd, f->root_fd, &err), 0);
	assert_true(is_there(f, "etc/one"));
	assert_true(is_there(f, "etc/two"));
}

static void test_wrong_digest(void **state)
{
	struct fixture *f = *state;
	char second[HEX], path[16 + HEX], archive[32 << 10];
	struct err err;

	put_oci(f, second);
	(void)snprintf(path, sizeof(path), "blobs/sha256/%s", second);
	put(f, path, layer("etc/other", archive, sizeof(archive)));
	assert_int_equal(oci_unpack(f->layout_fd, f->root_fd, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
	assert_false(is_there(f, "etc/other"));
}

static void test_docker(void **state)
{
	struct fixture *f = *state;
	char archive[32 << 10];
	struct err err;

	put(f, "one.tar", layer("etc/one", archive, sizeof(archive)));
	/* What `docker save` once made of a layer that occurs twice. */
	assert_int_equal(symlinkat("one.tar", f->layout_fd, "two.tar"), 0);
	put(f, "manifest.json", VIEW("[{\"Layers\":[\"one.tar\",\"two.tar\"]}]"));
	assert_int_equal(oci_unpack(f->layout_fd, f->root_fd, &err), 0);
	assert_true(is_there(f, "etc/one"));
}

static void test_hostile(void **state)
{
	static const struct {
		const char *file, *text;
	} rows[] = {
		{ "manifest.json", "[]" },
		{ "manifest.json", "{}" },
		{ "manifest.json", "[{\"Layers\":[\"../root\"]}]" },
		{ "manifest.json", "[{\"Layers\":[\"/etc/passwd\"]}]" },
		{ "manifest.json", "[{\"Layers\":[\"link\"]}]" },
		{ "manifest.json", "[{\"Layers\":[\"blobs\"]}]" },
		{ "manifest.json", "[{\"Layers\":[7]}]" },
		{ "manifest.json", "not json" },
		{ "index.json", "{}" },
		{ "index.json", "{\"manifests\":[]}" },
		{ "index.json", "{\"manifests\":[{}]}" },
		{ "index.json",
		  "{\"manifests\":[{\"digest\":\"sha256:../../../../etc/passwd\"}]}" },
		{ "index.json", "{\"manifests\":[{\"digest\":\"md5:0\"}]}" },
	};
	struct fixture *f = *state;
	struct err err;

	assert_int_equal(symlinkat("/etc/passwd", f->layout_fd, "link"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		put(f, rows[i].file, view_str(rows[i].text));
		assert_int_equal(oci_unpack(f->layout_fd, f->root_fd, &err), -1);
		assert_true(err.msg[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_oci, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_digest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_docker, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
	};

	/* Owners can be set by root only. */
	if (geteuid() != 0)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
