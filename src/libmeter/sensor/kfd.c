/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/kfd.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"
#include "src/libutil/util.h"

#define NODES "/sys/class/kfd/kfd/topology/nodes"
#define NODES_MAX 256 /* more than the 64 partitions and some CPU sockets that a machine may have */

/*
 * Masks PCI domain, bus and device, which are the same for all partitions of a GPU. With some firmware,
 * the PCI function has the number of the partition; bits 31:28 always have it.
 */
#define SOCKET_MASK UINT64_C(0xffffffff0000fff8)

/* MI250X and MI250; MI210 (0x740f) is a single die of the same kind. */
static const uint16_t two_dies[] = { 0x7408, 0x740c };

struct kfd {
	size_t n;
	struct kfd_gpu gpu[NODES_MAX]; /* in the order of their PCI addresses */
};

/* Finds the line "NAME VALUE" in TEXT. False: there is none. */
static bool property(const char *text, const char *name, uint64_t *ret)
{
	size_t len = strlen(name);
	const char *p;

	for (p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
		if (!strncmp(p, name, len) && p[len] == ' ')
			return parse_u64_n(p + len + 1, strcspn(p + len + 1, "\n"), ret) == 0;
	return false;
}

static uint64_t property_or_0(const char *text, const char *name)
{
	uint64_t value;

	return property(text, name, &value) ? value : 0;
}

static void kfd_add_node(struct kfd *k, const char *text)
{
	uint64_t minor = property_or_0(text, "drm_render_minor");
	uint64_t location;
	size_t i;

	if (!minor || minor > UINT32_MAX || !property(text, "location_id", &location))
		return; /* the node is a CPU */
	k->gpu[k->n] = (struct kfd_gpu){
		.minor = (unsigned int)minor,
		.bdf = property_or_0(text, "domain") << 32 | (location & UINT32_MAX),
		.unique_id = property_or_0(text, "unique_id"),
		.device_id = (uint16_t)property_or_0(text, "device_id"),
		.first = (unsigned int)minor,
		.parts = 1,
	};
	for (i = 0; i < ARRAY_SIZE(two_dies); i++)
		k->gpu[k->n].is_one_of_dies |= k->gpu[k->n].device_id == two_dies[i];
	k->n++;
}

static int by_bdf(const void *a, const void *b)
{
	const struct kfd_gpu *x = a;
	const struct kfd_gpu *y = b;

	return x->bdf < y->bdf ? -1 : x->bdf > y->bdf;
}

static void kfd_join_partitions(struct kfd *k, struct kfd_gpu *g)
{
	size_t i;

	g->parts = 0;
	for (i = 0; i < k->n; i++) {
		if ((k->gpu[i].bdf & SOCKET_MASK) != (g->bdf & SOCKET_MASK))
			continue;
		g->parts++;
		if (k->gpu[i].minor < g->first)
			g->first = k->gpu[i].minor;
	}
}

/* If a die is missing (a virtual machine has one of two), which ones belong together is not known. */
static void kfd_join_dies(struct kfd *k)
{
	struct kfd_gpu *other = NULL;
	size_t n = 0;
	size_t i;

	for (i = 0; i < k->n; i++)
		n += k->gpu[i].is_one_of_dies;
	for (i = 0; n % 2 == 0 && i < k->n; i++) {
		struct kfd_gpu *g = &k->gpu[i];

		if (!g->is_one_of_dies)
			continue;
		if (!other) {
			other = g;
			continue;
		}
		g->parts = other->parts = 2;
		g->first = other->first = g->minor < other->minor ? g->minor : other->minor;
		other = NULL;
	}
}

static void kfd_number_part(const struct kfd *k, struct kfd_gpu *g)
{
	size_t i;

	for (i = 0; i < k->n; i++)
		g->part += k->gpu[i].first == g->first && k->gpu[i].minor < g->minor;
}

int kfd_open(const char *root, struct kfd **ret)
{
	_cleanup_free_ struct kfd *k = calloc(1, sizeof(*k));
	unsigned int i;

	if (!k)
		return -ENOMEM;
	for (i = 0; i < NODES_MAX; i++) {
		_cleanup_close_ int fd = -1;
		char text[4096];
		char path[80];

		(void)snprintf(path, sizeof(path), NODES "/%u/properties", i);
		fd = fileio_open_at_root(root, path);
		if (fd == -ENOENT)
			break;
		if (fd >= 0 && fileio_pread_all(fd, text, sizeof(text)) > 0)
			kfd_add_node(k, text);
	}
	if (!k->n)
		return -ENODEV;
	qsort(k->gpu, k->n, sizeof(k->gpu[0]), by_bdf);
	for (i = 0; i < k->n; i++)
		kfd_join_partitions(k, &k->gpu[i]);
	kfd_join_dies(k);
	for (i = 0; i < k->n; i++)
		kfd_number_part(k, &k->gpu[i]);
	*ret = TAKE_PTR(k);
	return 0;
}

void kfd_close(struct kfd *k)
{
	free(k);
}

const struct kfd_gpu *kfd_find(const struct kfd *k, unsigned int minor)
{
	size_t i;

	for (i = 0; i < k->n; i++)
		if (k->gpu[i].minor == minor)
			return &k->gpu[i];
	return NULL;
}

const struct kfd_gpu *kfd_find_bdf(const struct kfd *k, uint64_t bdf)
{
	size_t i;

	for (i = 0; i < k->n; i++)
		if (k->gpu[i].bdf == bdf)
			return &k->gpu[i];
	return NULL;
}
