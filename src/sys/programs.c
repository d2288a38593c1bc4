/* SPDX-License-Identifier: Apache-2.0 */
/* Where programs are. */
#include "sys/programs.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool try(const char *folder, const char *name, char *out, size_t size)
{
	int n = snprintf(out, size, "%s/%s", folder, name);

	return n > 0 && (size_t)n < size && access(out, X_OK) == 0;
}

int program_own_dir(char *out, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", out, size - 1);
	char *slash;

	if (n <= 0)
		return -errno;
	out[n] = '\0';
	slash = strrchr(out, '/');
	if (slash)
		*slash = '\0';
	return 0;
}

int program_path(const char *name, char *out, size_t size)
{
	char self[PATH_MAX];
	int r = program_own_dir(self, sizeof(self));

	if (r < 0)
		return r;
	return try(self, name, out, size) || try(BERTH_LIBEXECDIR, name, out, size) ? 0 : -ENOENT;
}

int program_find(const char *name, char *out, size_t size)
{
	static const char *const folders[] = { "/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
					       "/usr/bin",        "/sbin",          "/bin" };

	if (strchr(name, '/')) {
		int n = snprintf(out, size, "%s", name);

		if (n < 0 || (size_t)n >= size)
			return -ENAMETOOLONG;
		return access(out, X_OK) < 0 ? -errno : 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (try(folders[i], name, out, size))
			return 0;
	return -ENOENT;
}
