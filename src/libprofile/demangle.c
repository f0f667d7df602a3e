/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* asprintf */
#include "src/libprofile/demangle.h"

#include <errno.h>
#include <libiberty/demangle.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#undef ARRAY_SIZE /* libiberty.h has one, too */
#include "src/libutil/util.h"

#define MANGLED_MAX 4096u /* bytes; libiberty's time and memory grow with a name's length */

/*
 * Suffixes of copies that a compiler makes of a function. They are cut off, so that all copies have
 * one name.
 */
static const char *const clones[] = { ".constprop.", ".isra.", ".part.",     ".cold",
				      ".lto_priv.",  ".llvm.", ".localalias" };
/* Suffixes of OpenMP regions: they are replaced by " [OpenMP]". */
static const char *const regions[] = { "._omp_fn.", ".omp_outlined", "..omp_par", "._omp_cpyfn." };

/* Returns the length of NAME without such suffixes. */
static size_t plain_length(const char *name, bool *ret_is_region)
{
	size_t len = strlen(name), i;

	*ret_is_region = false;
	for (i = 0; i < ARRAY_SIZE(clones); i++) {
		const char *at = strstr(name, clones[i]);

		if (at && at > name && (size_t)(at - name) < len)
			len = (size_t)(at - name);
	}
	for (i = 0; i < ARRAY_SIZE(regions); i++) {
		const char *at = strstr(name, regions[i]);

		if (at && at > name) {
			*ret_is_region = true;
			if ((size_t)(at - name) < len)
				len = (size_t)(at - name);
		}
	}
	return len;
}

/*
 * Returns "module::procedure" for gfortran's "__module_MOD_procedure", malloc'ed. NULL: no such
 * name.
 */
static char *fortran_name(const char *name)
{
	const char *mod = strncmp(name, "__", 2) ? NULL : strstr(name + 2, "_MOD_");
	char *out = NULL;

	if (!mod || mod == name + 2 || !mod[5])
		return NULL;
	return asprintf(&out, "%.*s::%s", (int)(mod - name - 2), name + 2, mod + 5) < 0 ? NULL : out;
}

int demangle(const char *name, char **ret)
{
	_cleanup_free_ char *plain = NULL, *readable = NULL;
	bool is_region;
	size_t len;

	*ret = NULL;
	if (strlen(name) > MANGLED_MAX)
		return 0;
	len = plain_length(name, &is_region);
	plain = strndup(name, len);
	if (!plain)
		return -ENOMEM;
	if (!strncmp(plain, "_Z", 2) || !strncmp(plain, "_R", 2) || !strncmp(plain, "__Z", 3))
		readable = cplus_demangle(plain, DMGL_AUTO);
	else
		readable = fortran_name(plain);
	if (!readable && !name[len])
		return 0;
	if (!readable)
		readable = TAKE_PTR(plain);
	if (is_region) {
		if (asprintf(ret, "%s [OpenMP]", readable) < 0) {
			*ret = NULL;
			return -ENOMEM;
		}
		return 0;
	}
	*ret = TAKE_PTR(readable);
	return 0;
}
