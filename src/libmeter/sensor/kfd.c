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
 * Masks bus and device of location_id, which are the same for all partitions of a GPU. With some firmware,
 * the PCI function has the number of the partition; bits 31:28 always have it.
 */
#define LOCATION_MASK 0xfff8u

struct kfd {
	size_t n;
	struct kfd_gpu {
		unsigned int minor;
		uint64_t address;
	} gpu[NODES_MAX];
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

static void kfd_add_node(struct kfd *k, const char *text)
{
	uint64_t minor, location, domain;

	if (!property(text, "drm_render_minor", &minor) || !minor || minor > UINT32_MAX ||
	    !property(text, "location_id", &location))
		return; /* the node is a CPU */
	if (!property(text, "domain", &domain))
		domain = 0;
	k->gpu[k->n++] = (struct kfd_gpu){ .minor = (unsigned int)minor,
					   .address = domain << 32 | (location & LOCATION_MASK) };
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
	*ret = TAKE_PTR(k);
	return 0;
}

void kfd_close(struct kfd *k)
{
	free(k);
}

void kfd_socket(const struct kfd *k, unsigned int minor, unsigned int *ret_first, unsigned int *ret_count)
{
	unsigned int count = 0;
	unsigned int first = minor;
	size_t own = 0;
	size_t i;

	while (own < k->n && k->gpu[own].minor != minor)
		own++;
	if (own == k->n)
		return;
	for (i = 0; i < k->n; i++) {
		if (k->gpu[i].address != k->gpu[own].address)
			continue;
		count++;
		if (k->gpu[i].minor < first)
			first = k->gpu[i].minor;
	}
	*ret_first = first;
	*ret_count = count;
}
