/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/gpushare.h"

#include <stdlib.h>
#include <string.h>

#include "src/libutil/parse.h"

#define WHOLE 1000000
#define FIRST_RENDER_NODE 128

struct gpu {
	bool is_held;
	int index;	    /* of its own file */
	int seen;	    /* index of the instance counted last */
	uint32_t instances; /* 0: MIG is off */
	uint32_t held;	    /* of these */
};

/* NAME is PREFIX and a number; false: it is something else. */
static bool number_after(const char *name, const char *prefix, uint64_t *ret)
{
	size_t len = strlen(prefix);

	return !strncmp(name, prefix, len) && parse_u64(name + len, ret) == 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* -1: not the file of a whole GPU. */
static int unit_of(const char *path)
{
	const char *name = base_name(path);
	uint64_t n;

	if (number_after(name, "renderD", &n)) {
		if (n < FIRST_RENDER_NODE)
			return -1;
		n -= FIRST_RENDER_NODE;
	} else if (!number_after(name, "nvidia", &n)) {
		return -1;
	}
	return n < GPUS_MAX ? (int)n : GPUS_MAX - 1;
}

/* The GPU that is listed last before the instance with INDEX. */
static struct gpu *gpu_of(struct gpu *gpus, int index)
{
	struct gpu *best = NULL;
	unsigned int u;

	for (u = 0; u < GPUS_MAX; u++)
		if (gpus[u].index >= 0 && gpus[u].index <= index &&
		    (!best || gpus[u].index > best->index))
			best = &gpus[u];
	return best;
}

static void add_instance(struct gpu *gpus, const struct gpushare_device *d)
{
	struct gpu *g = gpu_of(gpus, d->index);

	if (!g || g->seen == d->index) /* an instance has a file for the GPU and for the compute part */
		return;
	g->seen = d->index;
	g->instances++;
	g->held += d->is_held;
}

unsigned int gpushare_by_files(const struct gpushare_device *d, size_t n, uint32_t ret[GPUS_MAX])
{
	struct gpu gpus[GPUS_MAX];
	unsigned int held = 0;
	unsigned int u;
	uint64_t cap;
	size_t i;

	for (u = 0; u < GPUS_MAX; u++)
		gpus[u] = (struct gpu){ .index = -1, .seen = -1 };
	for (i = 0; i < n; i++) {
		int unit = unit_of(d[i].path);

		if (unit < 0)
			continue;
		if (gpus[unit].index < 0 || d[i].index < gpus[unit].index)
			gpus[unit].index = d[i].index;
		gpus[unit].is_held |= d[i].is_held;
	}
	for (i = 0; i < n; i++)
		if (number_after(base_name(d[i].path), "nvidia-cap", &cap))
			add_instance(gpus, &d[i]);
	for (u = 0; u < GPUS_MAX; u++) {
		ret[u] = gpus[u].is_held ? WHOLE : 0;
		if (gpus[u].instances)
			ret[u] = (uint32_t)((uint64_t)WHOLE * gpus[u].held / gpus[u].instances);
		held += ret[u] > 0;
	}
	return held;
}
