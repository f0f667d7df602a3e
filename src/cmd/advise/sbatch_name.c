/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sbatch_name.c - parses a script as sbatch does (Slurm's src/sbatch/opt.c,
 * _opt_batch_script() and get_argument()).
 */
#include "src/cmd/advise/sbatch_name.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/libutil/fileio.h"
#include "src/libutil/util.h"

#define SCRIPT_MAX (4 << 20) /* Slurm's default of max_script_size */

/* Returns true if P, the text after #SBATCH, begins a new component ("hetjob" or "packjob"). */
static bool is_component(const char *p)
{
	size_t len = !strncasecmp(p, "hetjob", 6) ? 6 : !strncasecmp(p, "packjob", 7) ? 7 : 0;

	return len && (!p[len] || isspace((unsigned char)p[len]));
}

/*
 * Copies the next word of *P, with quotes and backslashes resolved, to WORD, which has room for all
 * of *P.
 */
static bool next_word(const char **p, char *word)
{
	const char *s = *p;
	char quote = '\0';
	size_t n = 0;

	while (isspace((unsigned char)*s))
		s++;
	if (!*s || *s == '#')
		return false;
	for (; *s && (quote || !isspace((unsigned char)*s)); s++) {
		if (*s == '\\' && s[1])
			word[n++] = *++s;
		else if (quote && *s == quote)
			quote = '\0';
		else if (!quote && (*s == '"' || *s == '\''))
			quote = *s;
		else if (!quote && *s == '#')
			break;
		else
			word[n++] = *s;
	}
	word[n] = '\0';
	*p = s;
	return true;
}

/*
 * If WORD is "--job-name=..." or "-J...", returns what follows; "" if the name is the next word.
 * NULL: another option.
 */
static const char *name_in(const char *word)
{
	static const char option[] = "--job-name";
	size_t len = strcspn(word, "=");

	if (!strncmp(word, "-J", 2))
		return word + 2;
	/* getopt_long() accepts unique abbreviations; "--job" is not one, because of --jobid */
	if (len < sizeof("--job-") || len > sizeof(option) - 1 || strncmp(word, option, len) != 0)
		return NULL;
	return word[len] ? word + len + 1 : word + len;
}

/* Sets *NAME if the options at P have a job name. -ENOMEM. */
static int read_options(const char *p, char **name)
{
	_cleanup_free_ char *word = malloc(strlen(p) + 1);

	if (!word)
		return -ENOMEM;
	while (next_word(&p, word)) {
		const char *value = name_in(word);

		if (value && !*value)
			value = next_word(&p, word) ? word : NULL;
		if (!value)
			continue;
		free(*name);
		*name = strdup(value);
		if (!*name)
			return -ENOMEM;
	}
	return 0;
}

/* Returns true if LINE is a command. sbatch reads no options after the first command. */
static bool is_command(const char *line)
{
	while (isspace((unsigned char)*line))
		line++;
	return *line && *line != '#';
}

char *sbatch_name_of(const char *text, const char *path)
{
	static const char magic[] = "#SBATCH";
	_cleanup_free_ char *copy = strdup(text);
	const char *base = strrchr(path, '/');
	char *rest = copy;
	char *name = NULL;
	char *line;
	int rc = copy ? 0 : -ENOMEM;

	while (rc == 0 && (line = strsep(&rest, "\n")) && !is_command(line)) {
		const char *p = line + sizeof(magic) - 1;

		if (strncmp(line, magic, sizeof(magic) - 1) != 0)
			continue;
		while (isspace((unsigned char)*p))
			p++;
		if (is_component(p))
			break;
		rc = read_options(p, &name);
	}
	if (rc < 0) {
		free(name);
		return NULL;
	}
	return name ? name : strdup(base ? base + 1 : path);
}

int sbatch_name_read(const char *path, char **ret, struct errmsg *err)
{
	const char *env = getenv("SBATCH_JOB_NAME");
	_cleanup_free_ char *text = NULL;
	size_t len;
	int rc = fileio_read_alloc(path, SCRIPT_MAX, &text, &len, err);

	if (rc < 0)
		return rc;
	*ret = env ? strdup(env) : sbatch_name_of(text, path);
	return *ret ? 0 : errmsg_set(err, -ENOMEM, "out of memory");
}
