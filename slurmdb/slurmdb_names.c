/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurmdb/slurmdb_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/libutil/util.h"

void slurmdb_names_init(struct slurmdb_names *n)
{
	*n = (struct slurmdb_names){ 0 };
	tresmap_init(&n->map);
}

static void name_list_fini(struct slurmdb_name_list *l)
{
	while (l->n)
		free(l->item[--l->n].name);
	free(l->item);
	*l = (struct slurmdb_name_list){ 0 };
}

void slurmdb_names_fini(struct slurmdb_names *n)
{
	name_list_fini(&n->tres);
	name_list_fini(&n->qos);
}

static int name_list_add(struct slurmdb_name_list *l, uint32_t id, const char *name)
{
	char *copy = strdup(name);
	size_t at;

	if (copy && l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 32;
		struct slurmdb_name *more = realloc(l->item, room * sizeof(*more));

		if (!more) {
			free(copy);
			return -ENOMEM;
		}
		l->item = more;
		l->room = room;
	}
	if (!copy)
		return -ENOMEM;
	for (at = l->n; at && l->item[at - 1].id > id; at--)
		l->item[at] = l->item[at - 1];
	l->item[at] = (struct slurmdb_name){ id, copy };
	l->n++;
	return 0;
}

static const char *name_list_find(const struct slurmdb_name_list *l, uint32_t id)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (l->item[i].id == id)
			return l->item[i].name;
	return NULL;
}

int slurmdb_names_add_tres(struct slurmdb_names *n, uint32_t id, const char *type, const char *name)
{
	char text[256];

	if (!type || !*type)
		return 0;
	tresmap_learn(&n->map, id, type, name);
	(void)snprintf(text, sizeof(text), "%s%s%s", type, name && *name ? "/" : "", name ? name : "");
	return name_list_add(&n->tres, id, text);
}

int slurmdb_names_add_qos(struct slurmdb_names *n, uint32_t id, const char *name)
{
	return name && *name ? name_list_add(&n->qos, id, name) : 0;
}

const char *slurmdb_names_qos(const struct slurmdb_names *n, uint32_t id)
{
	return id ? name_list_find(&n->qos, id) : NULL;
}

/*
 * Prints a number with a unit, as Slurm's convert_num_unit() with CONVERT_NUM_UNIT_EXACT: as long
 * as the result is whole or has a half.
 */
static void print_exact(FILE *f, uint64_t value, size_t unit)
{
	static const char units[] = { 0, 'K', 'M', 'G', 'T', 'P' };
	double n = (double)value;

	while (value && n >= 1024 && (uint64_t)n % 512 == 0 && unit + 1 < sizeof(units)) {
		n /= 1024;
		unit++;
	}
	(void)fprintf(f, "%.*f", n == (double)(uint64_t)n ? 0 : 2, n);
	if (value && units[unit])
		(void)fputc(units[unit], f);
}

static void print_tres(FILE *f, const char *name, uint32_t id, uint64_t value)
{
	(void)fprintf(f, "%s%s=", ftell(f) > 0 ? "," : "", name);
	if (id == TRESMAP_MEM || !strncasecmp(name, "bb/", 3))
		print_exact(f, value, 2);
	else if (!strncasecmp(name, "fs/", 3) || !strncasecmp(name, "ic/", 3))
		print_exact(f, value, 0);
	else
		(void)fprintf(f, "%" PRIu64, value);
}

int slurmdb_names_tres(const struct slurmdb_names *n, const char *simple, char **ret)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	uint64_t value;
	size_t i;

	if (!f)
		return -ENOMEM;
	for (i = 0; i < n->tres.n; i++)
		if (n->tres.item[i].id != TRESMAP_ENERGY &&
		    tresmap_value(simple, n->tres.item[i].id, &value) == 0 && value)
			print_tres(f, n->tres.item[i].name, n->tres.item[i].id, value);
	if (fclose(f) != 0) {
		free(text);
		return -ENOMEM;
	}
	if (!len) {
		free(text);
		text = NULL;
	}
	*ret = text;
	return 0;
}
