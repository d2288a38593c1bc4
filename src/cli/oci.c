/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of an OCI or Docker image. */
#include "cli/oci.h"

#include "base/parse.h"
#include "cli/place.h"
#include "cli/unpack.h"
#include "sys/io.h"
#include "json/json.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/stat.h>

enum {
	MAX_JSON = 4 << 20,
	MAX_LAYERS = 512,
	MAX_NESTED = 4, /* indexes that point to indexes */
	HEX_LEN = 2 * crypto_hash_sha256_BYTES,
};

bool oci_is_layout(int dir_fd)
{
	return faccessat(dir_fd, "index.json", F_OK, 0) == 0 ||
	       faccessat(dir_fd, "manifest.json", F_OK, 0) == 0;
}

/* Opens a regular file of the layout; links inside it (old `docker save`) are followed. */
static int open_file(int dir_fd, const char *path, int *ret_fd, struct err *err)
{
	auto_fd int fd = place_open(dir_fd, path, O_RDONLY | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return err_sys(err, -fd, "open %.200s of the image", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "%.200s of the image is not a file", path);
	*ret_fd = take_fd(fd);
	return 0;
}

static json_t *read_json(int dir_fd, const char *path, struct err *err)
{
	auto_buf struct buf text = BUF_INIT(MAX_JSON);
	auto_fd int fd = -1;
	ssize_t n;
	char *room;

	if (open_file(dir_fd, path, &fd, err) < 0)
		return NULL;
	room = buf_reserve(&text, MAX_JSON);
	if (!room) {
		(void)err_sys(err, ENOMEM, "read %.200s", path);
		return NULL;
	}
	n = io_read_all(fd, room, MAX_JSON);
	if (n < 0 || n == MAX_JSON) {
		(void)err_set(err, ERR_INVALID, "%.200s cannot be read or is too long", path);
		return NULL;
	}
	buf_commit(&text, (size_t)n);
	return json_parse(buf_view(&text), err);
}

/* ---- OCI image layout ---- */

static int check_digest(int fd, const char *hex, struct err *err)
{
	crypto_hash_sha256_state state;
	unsigned char want[crypto_hash_sha256_BYTES], have[crypto_hash_sha256_BYTES];
	unsigned char block[32 << 10];
	ssize_t n;

	if (hex_decode(view_str(hex), want, sizeof(want)) < 0)
		return err_set(err, ERR_INVALID, "\"%.80s\" is not a SHA-256 digest", hex);
	(void)crypto_hash_sha256_init(&state);
	while ((n = io_read_all(fd, block, sizeof(block))) > 0)
		(void)crypto_hash_sha256_update(&state, block, (unsigned long long)n);
	if (n < 0)
		return err_sys(err, (int)-n, "read a blob");
	(void)crypto_hash_sha256_final(&state, have);
	if (memcmp(want, have, sizeof(want)) != 0)
		return err_set(err, ERR_INVALID, "a blob of the image does not match its digest");
	return 0;
}

/* The path of a descriptor's blob, whose content was checked. */
static int blob_path(int dir_fd, const json_t *descriptor, char *out, size_t size, struct err *err)
{
	const char *digest = json_string_value(json_object_get(descriptor, "digest"));
	auto_fd int fd = -1;

	if (!digest || strncmp(digest, "sha256:", 7) != 0 || strlen(digest) != 7 + HEX_LEN)
		return err_set(err, ERR_INVALID, "the image has a blob without a SHA-256 digest");
	(void)snprintf(out, size, "blobs/sha256/%s", digest + 7);
	if (open_file(dir_fd, out, &fd, err) < 0)
		return -1;
	return check_digest(fd, digest + 7, err);
}

static bool is_for_this_machine(const json_t *descriptor)
{
#if defined(__x86_64__)
	static const char here[] = "amd64";
#elif defined(__aarch64__)
	static const char here[] = "arm64";
#else
	static const char here[] = "";
#endif
	const json_t *platform = json_object_get(descriptor, "platform");
	const char *name = json_string_value(json_object_get(platform, "architecture"));

	return name && !strcmp(name, here);
}

/* The one for this architecture, or the only one. */
static const json_t *choose(const json_t *manifests)
{
	size_t i;
	const json_t *item;

	if (json_array_size(manifests) == 1)
		return json_array_get(manifests, 0);
	json_array_foreach(manifests, i, item) if (is_for_this_machine(item)) return item;
	return NULL;
}

/* Follows indexes down to the manifest. */
static json_t *find_manifest(int dir_fd, struct err *err)
{
	char path[sizeof("blobs/sha256/") + HEX_LEN];
	auto_json json_t *value = read_json(dir_fd, "index.json", err);

	for (int i = 0; value && i < MAX_NESTED; i++) {
		const json_t *descriptor;

		if (json_is_array(json_object_get(value, "layers")))
			return take_ptr(value);
		descriptor = choose(json_object_get(value, "manifests"));
		if (!descriptor) {
			(void)err_set(err, ERR_NOT_FOUND,
				      "the archive holds no image for this machine");
			return NULL;
		}
		if (blob_path(dir_fd, descriptor, path, sizeof(path), err) < 0)
			return NULL;
		json_decref(value);
		value = read_json(dir_fd, path, err);
	}
	if (value)
		(void)err_set(err, ERR_INVALID, "the image's index is nested too deeply");
	return NULL;
}

static int unpack_file(int dir_fd, const char *path, int root_fd, struct err *err)
{
	auto_fd int fd = -1;

	if (open_file(dir_fd, path, &fd, err) < 0)
		return -1;
	return unpack_tar(fd, root_fd, UNPACK_LAYER, err);
}

static int unpack_oci(int dir_fd, int root_fd, struct err *err)
{
	char path[sizeof("blobs/sha256/") + HEX_LEN];
	auto_json json_t *manifest = find_manifest(dir_fd, err);
	const json_t *layers = json_object_get(manifest, "layers"), *layer;
	size_t i;

	if (!manifest)
		return -1;
	if (json_array_size(layers) > MAX_LAYERS)
		return err_set(err, ERR_INVALID, "the image has more than %d layers", MAX_LAYERS);
	json_array_foreach(layers, i,
			   layer) if (blob_path(dir_fd, layer, path, sizeof(path), err) < 0 ||
				      unpack_file(dir_fd, path, root_fd, err) <
					      0) return err_wrap(err, "layer %zu", i + 1);
	return 0;
}

/* ---- docker save ---- */

static int unpack_docker(int dir_fd, int root_fd, struct err *err)
{
	auto_json json_t *manifest = read_json(dir_fd, "manifest.json", err);
	const json_t *layers, *layer;
	size_t i;

	if (!manifest)
		return -1;
	if (json_array_size(manifest) != 1)
		return err_set(err, ERR_INVALID, "the archive holds %zu images; save one only",
			       json_array_size(manifest));
	layers = json_object_get(json_array_get(manifest, 0), "Layers");
	if (!json_is_array(layers) || json_array_size(layers) > MAX_LAYERS)
		return err_set(err, ERR_INVALID, "the image's list of layers is not valid");
	json_array_foreach(layers, i, layer)
	{
		const char *path = json_string_value(layer);

		if (!path)
			return err_set(err, ERR_INVALID, "layer %zu has no name", i + 1);
		if (unpack_file(dir_fd, path, root_fd, err) < 0)
			return err_wrap(err, "layer %zu", i + 1);
	}
	return 0;
}

int oci_unpack(int dir_fd, int root_fd, struct err *err)
{
	if (sodium_init() < 0)
		return err_set(err, ERR_SYSTEM, "libsodium cannot be used");
	if (faccessat(dir_fd, "index.json", F_OK, 0) == 0)
		return unpack_oci(dir_fd, root_fd, err);
	return unpack_docker(dir_fd, root_fd, err);
}
