/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether slurmdbd has all rows of a job, and if not, what is missing. */
#include "slurmdb/slurmdb_signs.h"

#include "src/libledger/ledger.h"
#include "src/libutil/util.h"
#include "tap.h"

#define STEPS_MAX 4
#define BATCH LEDGER_STEP_BATCH
#define EXTERN LEDGER_STEP_EXTERN
/* clang-format off */
/* start, end, usage */
#define DONE(id) { id, 100, 200, true, false }
#define EMPTY(id) { id, 100, 200, false, false } /* an end that slurmdbd invented */
#define LOST(id) { id, 100, 200, false, true }

static const struct {
	const char *what;
	struct slurmdb_signs s; /* but its steps */
	struct slurmdb_step_signs step[STEPS_MAX];
	size_t n;
	struct slurmdb_known known;
	enum slurmdb_sign want;
} table[] = {
	{ "a job that runs", { .start = 100, .has_start_row = true }, { DONE(0) }, 1, { 0 }, SIGN_END },
	{ "a job of one step", { .start = 100, .end = 200, .has_start_row = true }, { DONE(0) }, 1,
	  { 0 }, SIGN_NONE },
	{ "a job without steps, of which nothing is known",
	  { .start = 100, .end = 200, .has_start_row = true }, { { 0 } }, 0, { 0 }, SIGN_NONE },
	{ "a row of the end alone", { .end = 200 }, { { 0 } }, 0, { 0 }, SIGN_START },
	{ "an end before the one that the hook was told",
	  { .start = 100, .end = 150, .has_start_row = true }, { { 0, 100, 150, true, false } }, 1,
	  { .end = 200 }, SIGN_THIS_END },
	{ "an end behind it", { .start = 100, .end = 210, .has_start_row = true }, { DONE(0) }, 1,
	  { .end = 200 }, SIGN_NONE },
	{ "steps of the run before", { .start = 150, .end = 200, .has_start_row = true }, { DONE(0) }, 1,
	  { 0 }, SIGN_THIS_RUN },
	{ "a step without an end", { .start = 100, .end = 200, .has_start_row = true },
	  { { 0, 100, 0, true, false } }, 1, { 0 }, SIGN_STEP_END },
	{ "a step whose end slurmdbd invented",
	  { .start = 100, .end = 200, .has_start_row = true }, { DONE(0), EMPTY(1) }, 2, { 0 },
	  SIGN_STEP_USAGE },
	{ "JobAcctGatherType=none", { .start = 100, .end = 200, .has_start_row = true, .no_usage = true },
	  { EMPTY(0) }, 1, { 0 }, SIGN_NONE },
	{ "a step that slurmctld gave up",
	  { .start = 100, .end = 200, .has_start_row = true }, { DONE(0), LOST(1) }, 2,
	  { .has_nsteps = true, .nsteps = 2 }, SIGN_NONE },
	{ "no extern step yet", { .start = 100, .end = 200, .has_start_row = true }, { DONE(BATCH) }, 1,
	  { .has_extern = true, .has_batch = true }, SIGN_EXTERN },
	{ "no batch step yet", { .start = 100, .end = 200, .has_start_row = true }, { DONE(EXTERN) }, 1,
	  { .has_extern = true, .has_batch = true }, SIGN_BATCH },
	{ "both, and no step expected", { .start = 100, .end = 200, .has_start_row = true },
	  { DONE(EXTERN), DONE(BATCH) }, 2, { .has_extern = true, .has_batch = true, .has_nsteps = true },
	  SIGN_NONE },
	{ "the last step is missing", { .start = 100, .end = 200, .has_start_row = true },
	  { DONE(EXTERN), DONE(BATCH), DONE(0) }, 3,
	  { .has_extern = true, .has_batch = true, .has_nsteps = true, .nsteps = 2 }, SIGN_STEP },
	{ "a number whose step slurmctld refused", { .start = 100, .end = 200, .has_start_row = true },
	  { DONE(0), DONE(2), DONE(EXTERN) }, 3, { .has_nsteps = true, .nsteps = 3 }, SIGN_NONE },
	{ "all of 0 to 2", { .start = 100, .end = 200, .has_start_row = true },
	  { DONE(2), DONE(0), DONE(1), DONE(EXTERN) }, 4,
	  { .has_extern = true, .has_nsteps = true, .nsteps = 3 }, SIGN_NONE },
	{ "components of one step do not stand for two", { .start = 100, .end = 200, .has_start_row = true },
	  { DONE(0), DONE(0), DONE(0) }, 3, { .has_nsteps = true, .nsteps = 2 }, SIGN_STEP },
	{ "a job that was cancelled while pending", { .end = 200, .has_start_row = true }, { { 0 } }, 0,
	  { .end = 200, .has_extern = true, .has_batch = true, .has_nsteps = true, .nsteps = 0 },
	  SIGN_NONE },
	{ "a job that ended before it could start, which Slurm has the other way round",
	  { .start = 210, .end = 200, .has_start_row = true }, { { 0 } }, 0,
	  { .has_extern = true }, SIGN_NONE },
	{ "a part of a job that was resized, whose steps went on",
	  { .start = 100, .end = 200, .has_start_row = true, .no_ends = true }, { EMPTY(0) }, 1,
	  { .has_extern = true, .has_nsteps = true, .nsteps = 3 }, SIGN_NONE },
	{ "next_step_id of 2^32 - 1", { .start = 100, .end = 200, .has_start_row = true }, { DONE(0) }, 1,
	  { .has_nsteps = true, .nsteps = UINT32_MAX }, SIGN_STEP },
};
/* clang-format on */

int main(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		struct slurmdb_signs s = table[i].s;

		s.step = table[i].step;
		s.n = table[i].n;
		is_str(slurmdb_sign_text(slurmdb_signs_missing(&s, &table[i].known)),
		       slurmdb_sign_text(table[i].want), table[i].what);
	}
	for (i = 0; i < SIGN_N; i++)
		ok(slurmdb_sign_text((enum slurmdb_sign)i), "sign %zu has a text", i);
	return done_testing();
}
