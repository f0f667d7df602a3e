/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/helpers/external/external_text.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "src/libutil/clock.h"
#include "src/libutil/parse.h"

static char *next_word(char **line)
{
	char *word;

	do {
		word = strsep(line, " \t");
	} while (word && !*word);
	return word;
}

static int parse_part(const char *word, struct external_line *l)
{
	static const struct {
		const char *name;
		enum domain domain;
		unsigned int units;
	} parts[] = {
		{ "cpu", DOMAIN_CPU, SOCKETS_MAX },
		{ "dram", DOMAIN_DRAM, SOCKETS_MAX },
		{ "gpu", DOMAIN_GPU, GPUS_MAX },
	};
	uint64_t unit;
	size_t i;

	l->domain = DOMAIN_OTHER;
	l->unit = 0;
	snprintf(l->name, sizeof(l->name), "node");
	if (!strcmp(word, l->name))
		return 0;
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		size_t len = strlen(parts[i].name);

		if (strncmp(word, parts[i].name, len) || parse_u64(word + len, &unit) < 0 ||
		    unit >= parts[i].units)
			continue;
		l->domain = parts[i].domain;
		l->unit = (unsigned int)unit;
		/* not the word itself: gpu3 and gpu03 are one */
		snprintf(l->name, sizeof(l->name), "%s%u", parts[i].name, l->unit);
		return 0;
	}
	return -EINVAL;
}

/* NULL, or what is wrong with it. */
static const char *parse_line(char *text, struct external_line *ret)
{
	const char *part = next_word(&text);
	const char *quantity = next_word(&text);
	const char *amount = next_word(&text);
	const char *stamp = next_word(&text);
	uint64_t scale = 1000;

	if (!stamp || next_word(&text))
		return "not PART QUANTITY AMOUNT TIME";
	if (parse_part(part, ret) < 0)
		return "no such part: node, cpuN, dramN or gpuN";
	ret->quantity = EXTERNAL_POWER;
	if (!strcmp(quantity, "energy_joules")) {
		ret->quantity = EXTERNAL_ENERGY;
		scale = 1000000;
	} else if (strcmp(quantity, "power_watts") != 0) {
		return "no such quantity: energy_joules or power_watts";
	}
	if (parse_decimal(amount, scale, &ret->amount) < 0)
		return "the amount is not a number";
	if (parse_decimal(stamp, NSEC_PER_SEC, &ret->stamp_ns) < 0 || !ret->stamp_ns)
		return "the time is not in seconds since 1970";
	return NULL;
}

static bool has_name(const struct external_line *lines, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(lines[i].name, name))
			return true;
	return false;
}

int external_text_parse(char *text, size_t len, struct external_line ret[EXTERNAL_LINES_MAX], size_t *ret_n,
			struct errmsg *err)
{
	unsigned int lineno = 0;
	size_t n = 0;
	char *line;

	if (!len || strlen(text) != len || text[len - 1] != '\n')
		return errmsg_set(err, -EINVAL, "%s", len ? "does not end with a whole line" : "empty");
	text[len - 1] = '\0';
	while ((line = strsep(&text, "\n"))) {
		struct external_line l;
		const char *why;

		lineno++;
		line += strspn(line, " \t");
		if (!*line || *line == '#')
			continue;
		why = parse_line(line, &l);
		if (!why && has_name(ret, n, l.name))
			why = "the file has the part twice";
		if (why)
			return errmsg_set(err, -EINVAL, "line %u: %s", lineno, why);
		ret[n++] = l; /* no part twice: there is room for all */
	}
	if (!n)
		return errmsg_set(err, -EINVAL, "has no values");
	*ret_n = n;
	return 0;
}
