/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/gpumap.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/libmeter/sensor/drm.h"
#include "src/libmeter/sensor/kfd.h"
#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"
#include "src/libutil/util.h"

#define MIG_MINORS "/proc/driver/nvidia-caps/mig-minors"
/* 32 GPUs of 15 GPU instances with 8 compute instances each are 95 kB. */
#define MIG_MINORS_MAX (512 * 1024)
#define INTEL "0x8086" /* PCI vendor */
#define USUAL_SLICES 7 /* compute slices of A100, H100, H200 and B200; A30 and RTX PRO have 4 */
#define MEMORY_PARTS 8
#define UNIT(n) ((n) < GPUS_MAX ? (unsigned int)(n) : GPUS_MAX - 1)

struct gpumap {
	const char *root;
	bool has_read_minors;
	char *minors; /* the text of MIG_MINORS; NULL: the file does not exist */
	struct errmsg why;
	struct kfd *kfd; /* NULL: not read yet, or the node has none */
};

struct gpumap *gpumap_create(const char *root)
{
	struct gpumap *m = calloc(1, sizeof(*m));

	if (m)
		m->root = root;
	return m;
}

void gpumap_destroy(struct gpumap *m)
{
	if (!m)
		return;
	free(m->minors);
	kfd_close(m->kfd);
	free(m);
}

const char *gpumap_why(const struct gpumap *m)
{
	return m->why.text;
}

/* Parses NAME, which is PREFIX followed by a number. False: it has another form. */
static bool number_after(const char *name, const char *prefix, uint64_t *ret)
{
	size_t len = strlen(prefix);

	return !strncmp(name, prefix, len) && parse_u64(name + len, ret) == 0;
}

/* --- instances of MIG ----------------------------------------------------------------------- */

static void read_minors(struct gpumap *m)
{
	_cleanup_close_ int fd = fileio_open_at_root(m->root, MIG_MINORS);
	_cleanup_free_ char *text = fd < 0 ? NULL : malloc(MIG_MINORS_MAX);
	ssize_t n;

	m->has_read_minors = true;
	if (fd < 0) {
		(void)errmsg_errno(&m->why, fd, MIG_MINORS);
		return;
	}
	n = text ? fileio_pread_all(fd, text, MIG_MINORS_MAX) : -ENOMEM;
	if (n < 0)
		(void)errmsg_errno(&m->why, (int)n, MIG_MINORS);
	else
		m->minors = TAKE_PTR(text);
}

/* Parses a line of mig-minors, such as "gpu0/gi1/ci0/access 13" or "gpu0/gi1/access 12". */
static void take_minor(const char *line, struct gpumap_file *ret)
{
	unsigned int gpu, gi, ci;
	int n = sscanf(line, "gpu%u/gi%u/ci%u/", &gpu, &gi, &ci);

	ret->kind = GPUMAP_OTHER;
	if (n < 2)
		return; /* the line is about no instance, such as "config 1" and "monitor 2" */
	*ret = (struct gpumap_file){
		.kind = GPUMAP_INSTANCE, .unit = UNIT(gpu), .gi = gi, .has_ci = n == 3, .ci = n == 3 ? ci : 0
	};
}

static void find_cap(struct gpumap *m, uint64_t cap, struct gpumap_file *ret)
{
	const char *p;
	char text[24];
	size_t len;

	if (!m->has_read_minors)
		read_minors(m);
	ret->kind = GPUMAP_UNKNOWN;
	if (!m->minors)
		return;
	len = (size_t)snprintf(text, sizeof(text), " %llu", (unsigned long long)cap);
	for (p = strstr(m->minors, text); p; p = strstr(p + 1, text)) {
		if (p[len] != '\n' && p[len] != '\0')
			continue;
		while (p > m->minors && p[-1] != '\n')
			p--;
		take_minor(p, ret);
		return;
	}
	(void)errmsg_set(&m->why, -ENOENT, MIG_MINORS " has no minor number %llu", (unsigned long long)cap);
}

/* --- files ---------------------------------------------------------------------------------- */

static void find_render_node(struct gpumap *m, uint64_t minor, struct gpumap_file *ret)
{
	const struct kfd_gpu *gpu;

	if (minor < DRM_FIRST_RENDER_NODE || minor > UINT32_MAX)
		return;
	if (!m->kfd && kfd_open(m->root, &m->kfd) < 0)
		m->kfd = NULL; /* not an AMD GPU */
	gpu = m->kfd ? kfd_find(m->kfd, (unsigned int)minor) : NULL;
	ret->partitions = gpu ? gpu->parts : 1;
	ret->gi = gpu ? gpu->part : 0;
	ret->kind = ret->partitions > 1 ? GPUMAP_PARTITION : GPUMAP_GPU;
	ret->unit = UNIT((gpu ? gpu->first : minor) - DRM_FIRST_RENDER_NODE);
}

/* Only of Intel: an AMD GPU has its card beside the render nodes of its partitions. */
static void find_card(struct gpumap *m, uint64_t card, struct gpumap_file *ret)
{
	char device[64], path[80], vendor[16];
	uint64_t minor;

	(void)snprintf(device, sizeof(device), "/sys/class/drm/card%llu/device", (unsigned long long)card);
	(void)snprintf(path, sizeof(path), "%s/vendor", device);
	if (fileio_read_line(m->root, path, vendor, sizeof(vendor)) == 0 && !strcmp(vendor, INTEL) &&
	    drm_render_minor(m->root, device, &minor) == 0)
		*ret = (struct gpumap_file){ .kind = GPUMAP_GPU,
					     .unit = UNIT(minor - DRM_FIRST_RENDER_NODE),
					     .partitions = 1 };
}

void gpumap_find(struct gpumap *m, const char *path, struct gpumap_file *ret)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	uint64_t n;

	*ret = (struct gpumap_file){ .kind = GPUMAP_OTHER };
	if (number_after(name, "nvidia-cap", &n))
		find_cap(m, n, ret);
	else if (number_after(name, "renderD", &n))
		find_render_node(m, n, ret);
	else if (number_after(name, "card", &n))
		find_card(m, n, ret);
	else if (number_after(name, "nvidia", &n))
		*ret = (struct gpumap_file){ .kind = GPUMAP_GPU, .unit = UNIT(n), .partitions = 1 };
}

/* --- shares --------------------------------------------------------------------------------- */

struct size {
	uint32_t slices;    /* compute slices */
	uint32_t gi_slices; /* compute slices of its GPU instance */
	uint32_t memory;    /* memory of the GPU instance, in eighths of the GPU's; 0: not known */
};

static const struct gpu_slice *whole_of(const struct gpu_slices *known, unsigned int unit)
{
	uint32_t i;

	for (i = 0; known && i < known->n; i++)
		if (known->slice[i].unit == unit && known->slice[i].gi == GPU_SLICE_WHOLE &&
		    known->slice[i].slices)
			return &known->slice[i];
	return NULL;
}

static uint32_t eighths(uint64_t mb, const struct gpu_slice *whole)
{
	uint64_t n;

	if (!whole || !whole->mem_mb || !mb)
		return 0;
	n = (mb * MEMORY_PARTS + whole->mem_mb / 2) / whole->mem_mb;
	return n < 1 ? 1 : n > MEMORY_PARTS ? MEMORY_PARTS : (uint32_t)n;
}

static bool size_by_library(const struct gpu_slices *known, const struct gpumap_file *f,
			    const struct gpu_slice *whole, struct size *ret)
{
	uint32_t i;

	for (i = 0; known && whole && i < known->n; i++) {
		const struct gpu_slice *s = &known->slice[i];

		if (s->unit != f->unit || s->gi != f->gi || (f->has_ci && s->ci != f->ci))
			continue;
		*ret = (struct size){ .slices = f->has_ci ? s->slices : s->gi_slices,
				      .gi_slices = s->gi_slices,
				      .memory = eighths(s->mem_mb, whole) };
		return ret->slices > 0;
	}
	return false;
}

/* Parses a number and the LETTER behind it. Returns what follows; NULL: P has another form. */
static const char *number_and(const char *p, char letter, uint32_t *ret)
{
	uint32_t n = 0;
	size_t i;

	for (i = 0; i < 4 && isdigit((unsigned char)p[i]); i++)
		n = 10 * n + (uint32_t)(p[i] - '0');
	if (!i || tolower((unsigned char)p[i]) != letter)
		return NULL;
	*ret = n;
	return p + i + 1;
}

/* Parses the name of a MIG profile at P, such as "3g.20gb" or "1c.3g.20gb". False: it is none. */
static bool size_at(const char *p, const struct gpu_slice *whole, struct size *ret)
{
	uint32_t slices, gi_slices, gb;
	const char *rest = number_and(p, 'c', &slices);

	rest = rest && *rest == '.' ? number_and(rest + 1, 'g', &gi_slices) : NULL;
	if (!rest) {
		rest = number_and(p, 'g', &gi_slices);
		slices = gi_slices;
	}
	if (!rest || *rest != '.')
		return false;
	rest = number_and(rest + 1, 'g', &gb);
	if (!rest || tolower((unsigned char)*rest) != 'b' || !slices || slices > gi_slices)
		return false;
	*ret = (struct size){ .slices = slices,
			      .gi_slices = gi_slices,
			      .memory = eighths((uint64_t)gb * 1024, whole) };
	return true;
}

static bool size_by_type(const char *type, const struct gpu_slice *whole, struct size *ret)
{
	const char *p;

	for (p = type; p && *p; p++)
		if ((p == type || !isdigit((unsigned char)p[-1])) && size_at(p, whole, ret))
			return true;
	return false;
}

bool gpumap_find_size(const struct gpu_slices *known, const struct gpumap_file *f, const char *type,
		      struct gpumap_size *ret)
{
	const struct gpu_slice *whole = whole_of(known, f->unit);
	uint64_t all = whole ? whole->slices : USUAL_SLICES;
	uint64_t compute, memory;
	struct size size;

	if (!size_by_library(known, f, whole, &size) && !size_by_type(type, whole, &size))
		return false;
	if (size.gi_slices > all || size.slices > size.gi_slices)
		return false;
	compute = GPUMAP_WHOLE * (uint64_t)size.slices / all;
	memory = !size.memory ? compute :
				(uint64_t)GPUMAP_WHOLE * size.memory * size.slices /
					(MEMORY_PARTS * (uint64_t)size.gi_slices);
	*ret = (struct gpumap_size){ .compute_ppm = (uint32_t)compute, .memory_ppm = (uint32_t)memory };
	return true;
}

uint32_t gpumap_share(const struct gpu_slices *known, const struct gpumap_file *f, const char *type)
{
	struct gpumap_size size;

	return gpumap_find_size(known, f, type, &size) ? (size.compute_ppm + size.memory_ppm) / 2 : 0;
}
