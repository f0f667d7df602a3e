/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_gpus.c - MIG instances in `ceems check`: the GPU of each and its share of it, by the same
 * rules as in slurmstepd. The instances are those in the gres.conf beside slurm.conf, or, with
 * AutoDetect, those that NVML lists.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/cmd/check/check.h"
#include "src/cmd/cmd.h"
#include "src/libmeter/sensor/gpumap.h"
#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"

#define GRES_CONF_MAX (1u << 20)
#define CAP "nvidia-cap"

struct gpus {
	struct check *c;
	const struct gpu_slices *known;
	struct gpumap *map;
	unsigned int seen;
};

static void tell_instance(struct gpus *g, const char *what, const struct gpumap_file *f, const char *type)
{
	uint32_t ppm = gpumap_share(g->known, f, type);
	char name[48];
	int n = snprintf(name, sizeof(name), "GPU %u, instance %u", f->unit, f->gi);

	g->seen++;
	if (f->has_ci)
		(void)snprintf(name + n, sizeof(name) - (size_t)n, ".%u", f->ci);
	if (ppm)
		check_ok(g->c, "MIG", "%s%s, %u.%u %% of its energy by size", what, name, ppm / 10000,
			 ppm / 1000 % 10);
	else
		check_warn(
			g->c, "MIG", check_hint_file(CHECK_GRES_CONF, "Type=<such as 1g.5gb> in gres.conf"),
			"%s%s: neither NVML nor Type in gres.conf gives its size; its energy is unallocated",
			what, name);
}

static void tell_cap(struct gpus *g, uint64_t cap, const char *type)
{
	struct gpumap_file f;
	char path[64];

	(void)snprintf(path, sizeof(path), "/dev/nvidia-caps/" CAP "%llu", (unsigned long long)cap);
	gpumap_find(g->map, path, &f);
	(void)snprintf(path, sizeof(path), CAP "%llu: ", (unsigned long long)cap);
	if (f.kind == GPUMAP_INSTANCE) {
		tell_instance(g, path, &f, type);
	} else {
		g->seen++;
		check_warn(g->c, "MIG",
			   check_hint_file(CHECK_GRES_CONF, "compare gres.conf with nvidia-smi mig -lgi"),
			   "%s%s; its energy is unallocated", path,
			   f.kind == GPUMAP_UNKNOWN ? gpumap_why(g->map) : "is not an instance of a GPU");
	}
}

/* Reports the devices that P names: "nvidia-cap13", or a list such as "nvidia-cap[12-13,21]". */
static void tell_caps(struct gpus *g, const char *p, const char *type)
{
	const char *list = p + strlen(CAP);
	bool is_list = *list == '[';
	uint64_t from, to;
	char text[256];

	list += is_list;
	(void)snprintf(text, sizeof(text), "%.*s", (int)strspn(list, is_list ? "0123456789-," : "0123456789"),
		       list);
	list = text;
	while (parse_next_range(&list, &from, &to) > 0)
		for (; from <= to && to - from < GPU_SLICES_MAX; from++)
			tell_cap(g, from, type);
}

/* Copies the value of KEY= in LINE, in upper or lower case. False: LINE does not have it. */
static bool value_of(const char *line, const char *key, char *ret, size_t size)
{
	size_t len = strlen(key);
	const char *p;

	for (p = line; *p; p++) {
		if ((p != line && !isspace((unsigned char)p[-1])) || strncasecmp(p, key, len) != 0 ||
		    p[len] != '=')
			continue;
		p += len + 1;
		(void)snprintf(ret, size, "%.*s", (int)strcspn(p, " \t"), p);
		return true;
	}
	return false;
}

/*
 * Returns true if LINE of gres.conf may be for this node. NodeName with brackets is assumed to include it: if
 * it does not, the device files of the line do not exist here.
 */
static bool is_of_node(const struct check *c, const char *line)
{
	char names[1024];

	return !value_of(line, "NodeName", names, sizeof(names)) || strchr(names, '[') ||
	       slurmconf_list_has(names, c->node);
}

static void tell_line(struct gpus *g, const char *line)
{
	char type[64] = "";
	const char *p;

	if (!is_of_node(g->c, line))
		return;
	(void)value_of(line, "Type", type, sizeof(type));
	for (p = strstr(line, CAP); p; p = strstr(p + 1, CAP))
		if (isdigit((unsigned char)p[strlen(CAP)]) || p[strlen(CAP)] == '[')
			tell_caps(g, p, type);
}

static void tell_gres_conf(struct gpus *g)
{
	char path[PATH_MAX];
	_cleanup_free_ char *text = NULL;
	char *line, *rest;
	size_t len;

	if (!*g->c->slurm_conf || fileio_read_alloc(cmd_conf_beside(g->c->slurm_conf, "gres.conf", path),
						    GRES_CONF_MAX, &text, &len, NULL) < 0)
		return;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		line[strcspn(line, "#")] = '\0';
		tell_line(g, line);
	}
}

void check_gpus(struct check *c, const struct gpu_slices *known)
{
	struct gpus g = { .c = c, .known = known, .map = gpumap_create(c->settings.sys_root) };
	bool is_listed;
	uint32_t i;

	if (!g.map)
		return;
	tell_gres_conf(&g);
	is_listed = g.seen > 0;
	for (i = 0; known && !is_listed && i < known->n; i++) {
		const struct gpu_slice *s = &known->slice[i];
		const struct gpumap_file f = {
			.kind = GPUMAP_INSTANCE, .unit = s->unit, .gi = s->gi, .has_ci = true, .ci = s->ci
		};

		if (s->gi != GPU_SLICE_WHOLE)
			tell_instance(&g, "", &f, NULL);
	}
	gpumap_destroy(g.map);
}
