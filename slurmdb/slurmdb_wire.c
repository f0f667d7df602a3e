/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurmdb/slurmdb_wire.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "src/libutil/parse.h"
#include "src/libutil/util.h"

#define WANT_NO_STEPS UINT32_C(1)
#define WANT_SCRIPT UINT32_C(2)
#define WANT_HAS_NSTEPS UINT32_C(4)
#define WANT_HAS_BATCH UINT32_C(8)
#define WANT_HAS_EXTERN UINT32_C(16)

static const char *const wire_kinds[] = { "jobs", "window", "ping" };

/* --- the question -------------------------------------------------------------------------- */

void slurmdb_wire_put_ask(FILE *f, const struct slurmdb_wire_ask *ask)
{
	(void)fprintf(f, "ask %u %" PRIu64 " %s %zu %" PRIu64 " %" PRIu64 " %d %s\n", ask->version,
		      ask->number, wire_kinds[ask->kind], ask->count, ask->from, ask->to, ask->no_usage,
		      *ask->cluster ? ask->cluster : "-");
}

static uint32_t want_flags(const struct slurmdb_want *w)
{
	return (w->no_steps ? WANT_NO_STEPS : 0) | (w->script ? WANT_SCRIPT : 0) |
	       (w->known.has_nsteps ? WANT_HAS_NSTEPS : 0) | (w->known.has_batch ? WANT_HAS_BATCH : 0) |
	       (w->known.has_extern ? WANT_HAS_EXTERN : 0);
}

void slurmdb_wire_put_want(FILE *f, const struct slurmdb_want *w)
{
	(void)fprintf(f,
		      "want %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu32
		      " %" PRIu64 " %" PRIu32 "\n",
		      w->job_id, w->array_job_id, w->array_task_id, w->het_job_id, w->het_offset, w->submit,
		      want_flags(w), w->known.end, w->known.nsteps);
}

/* Copies the next word of *P. False: there is none, or it does not fit. */
static bool wire_word(const char **p, char *buf, size_t size)
{
	size_t len = strcspn(*p, " ");

	if (!len || len >= size)
		return false;
	memcpy(buf, *p, len);
	buf[len] = '\0';
	*p += len;
	*p += **p == ' ';
	return true;
}

static bool wire_number(const char **p, uint64_t max, uint64_t *ret)
{
	char word[24];

	return wire_word(p, word, sizeof(word)) && parse_u64(word, ret) == 0 && *ret <= max;
}

static bool wire_u32(const char **p, uint32_t *ret)
{
	uint64_t n;

	if (!wire_number(p, UINT32_MAX, &n))
		return false;
	*ret = (uint32_t)n;
	return true;
}

/* Skips VERB and a blank. False: *P does not begin with them. */
static bool wire_verb(const char **p, const char *verb)
{
	size_t len = strlen(verb);

	if (strncmp(*p, verb, len) != 0 || (*p)[len] != ' ')
		return false;
	*p += len + 1;
	return true;
}

static bool wire_kind(const char **p, enum slurmdb_wire_kind *ret)
{
	char word[16];
	size_t i;

	if (!wire_word(p, word, sizeof(word)))
		return false;
	for (i = 0; i < ARRAY_SIZE(wire_kinds); i++)
		if (!strcmp(word, wire_kinds[i])) {
			*ret = (enum slurmdb_wire_kind)i;
			return true;
		}
	return false;
}

int slurmdb_wire_get_ask(const char *line, struct slurmdb_wire_ask *ret)
{
	struct slurmdb_wire_ask ask = { 0 };
	uint64_t no_usage, count;
	const char *p = line;

	if (!wire_verb(&p, "ask") || !wire_u32(&p, &ask.version))
		return -EINVAL;
	if (ask.version != SLURMDB_WIRE_VERSION)
		return -EPROTO;
	if (!wire_number(&p, UINT64_MAX, &ask.number) || !wire_kind(&p, &ask.kind) ||
	    !wire_number(&p, SLURMDB_ASK_MAX, &count) || !wire_number(&p, UINT64_MAX, &ask.from) ||
	    !wire_number(&p, UINT64_MAX, &ask.to) || !wire_number(&p, 1, &no_usage) ||
	    !wire_word(&p, ask.cluster, sizeof(ask.cluster)) || *p)
		return -EINVAL;
	if (!strcmp(ask.cluster, "-"))
		ask.cluster[0] = '\0';
	ask.count = count;
	ask.no_usage = no_usage;
	*ret = ask;
	return 0;
}

int slurmdb_wire_get_want(const char *line, struct slurmdb_want *ret)
{
	struct slurmdb_want w = { 0 };
	const char *p = line;
	uint32_t flags;

	if (!wire_verb(&p, "want") || !wire_u32(&p, &w.job_id) || !wire_u32(&p, &w.array_job_id) ||
	    !wire_u32(&p, &w.array_task_id) || !wire_u32(&p, &w.het_job_id) || !wire_u32(&p, &w.het_offset) ||
	    !wire_number(&p, UINT64_MAX, &w.submit) || !wire_u32(&p, &flags) ||
	    !wire_number(&p, UINT64_MAX, &w.known.end) || !wire_u32(&p, &w.known.nsteps) || *p)
		return -EINVAL;
	w.no_steps = flags & WANT_NO_STEPS;
	w.script = flags & WANT_SCRIPT;
	w.known.has_nsteps = flags & WANT_HAS_NSTEPS;
	w.known.has_batch = flags & WANT_HAS_BATCH;
	w.known.has_extern = flags & WANT_HAS_EXTERN;
	*ret = w;
	return 0;
}

/* --- the answer ---------------------------------------------------------------------------- */

int slurmdb_wire_put_job(FILE *f, const struct slurmdb_job *job)
{
	_cleanup_free_ char *json = NULL;
	const struct maybe_u64 *row_j = &job->record->energy.row_j;
	char energy[24] = "-";
	size_t len;
	int rc = record_to_json(job->record, &json, &len, NULL);

	if (rc < 0)
		return rc;
	if (row_j->known)
		(void)snprintf(energy, sizeof(energy), "%" PRIu64, row_j->value);
	(void)fprintf(f, "job %u %u %d %s ", job->state, job->missing, job->is_half, energy);
	(void)fwrite(json, 1, len, f);
	(void)fputc('\n', f);
	return 0;
}

void slurmdb_wire_put_done(FILE *f, uint64_t number, size_t count)
{
	(void)fprintf(f, "done %" PRIu64 " %zu\n", number, count);
}

void slurmdb_wire_put_failed(FILE *f, uint64_t number, int rc, const char *text)
{
	(void)fprintf(f, "failed %" PRIu64 " %d %s\n", number, -rc, text);
}

enum slurmdb_wire_answer slurmdb_wire_answer(const char *line, size_t len)
{
	if (len > 4 && !memcmp(line, "job ", 4))
		return SLURMDB_WIRE_JOB;
	if (len > 5 && !memcmp(line, "done ", 5))
		return SLURMDB_WIRE_DONE;
	if (len > 7 && !memcmp(line, "failed ", 7))
		return SLURMDB_WIRE_FAILED;
	return SLURMDB_WIRE_OTHER;
}

int slurmdb_wire_get_job(const char *line, size_t len, struct slurmdb_job *ret)
{
	struct maybe_u64 row_j = { 0 };
	uint64_t state, missing, half;
	struct record *r;
	char energy[24], head[80];
	const char *p = head;
	int rc;

	/* only the head is copied: the record behind it may be long, and has no NUL */
	(void)snprintf(head, sizeof(head), "%.*s", (int)(len < sizeof(head) ? len : sizeof(head) - 1), line);
	if (!wire_verb(&p, "job") || !wire_number(&p, SLURMDB_FINAL, &state) ||
	    !wire_number(&p, SIGN_N - 1, &missing) || !wire_number(&p, 1, &half) ||
	    !wire_word(&p, energy, sizeof(energy)))
		return -EINVAL;
	row_j.known = strcmp(energy, "-") != 0;
	if (row_j.known && parse_u64(energy, &row_j.value) < 0)
		return -EINVAL;
	rc = record_from_json(line + (p - head), len - (size_t)(p - head), &r, NULL);
	if (rc < 0)
		return rc;
	r->energy.row_j = row_j;
	*ret = (struct slurmdb_job){ .state = (enum slurmdb_state)state,
				     .missing = (enum slurmdb_sign)missing,
				     .is_half = half,
				     .record = r };
	return 0;
}

int slurmdb_wire_get_done(const char *line, uint64_t *ret_number, size_t *ret_count)
{
	const char *p = line;
	uint64_t number, count;

	if (!wire_verb(&p, "done") || !wire_number(&p, UINT64_MAX, &number) ||
	    !wire_number(&p, SIZE_MAX, &count) || *p)
		return -EINVAL;
	*ret_number = number;
	*ret_count = count;
	return 0;
}

int slurmdb_wire_get_failed(const char *line, uint64_t *ret_number, int *ret_rc, const char **ret_text)
{
	const char *p = line;
	uint64_t number, error;

	if (!wire_verb(&p, "failed") || !wire_number(&p, UINT64_MAX, &number) ||
	    !wire_number(&p, 4096, &error) || !error)
		return -EINVAL;
	*ret_number = number;
	*ret_rc = -(int)error;
	*ret_text = p;
	return 0;
}
