/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/job/job_ids.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/libledger/ledger.h"

#include "tap.h"

static const char *const bad[] = {
	"",	   ",",		 "1,",		 ",1",
	"1,,2",	   "0",		 "-1",		 "+1",
	"x",	   "1x",	 " 1",		 "1 ",
	"0x1",	   "4294967294", "99999999999",	 "1_",
	"1_x",	   "1_-1",	 "1_4294967294", "1_3_4",
	"1_3+4",   "1+",	 "1+x",		 "1+1+1",
	"1_[",	   "1_[]",	 "1_[1",	 "1_[1-",
	"1_[1-]",  "1_[-1]",	 "1_[4-1]",	 "1_[1,]",
	"1_[,1]",  "1_[1-4:]",	 "1_[1-4:0]",	 "1_[1%]",
	"1_[1%0]", "1_[1]x",	 "1_[1]2",	 "1_[1][2]",
	"1+[0-1]", "[1-4]",	 "1.",		 "1.x",
	"1.-1",	   "1..0",	 "1.0.0",	 "1.4294967295",
	".batch",  "1_[1].",	 "1.batchx",	 "a,b",
};

static void test_bad(void)
{
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct job_ids ids = { 0 };
		struct errmsg err = { 0 };

		ok(job_ids_add(&ids, bad[i], &err) == -EINVAL && *err.text, "'%s': %s", bad[i], err.text);
		job_ids_fini(&ids);
	}
}

/* The ids in words of our own: "12", "12_3", "12+1", with the step's number. */
static const char *words(const struct job_ids *ids)
{
	static char buf[512];
	static const char sign[] = { ' ', '_', '+' };
	size_t used = 0;
	size_t i;

	buf[0] = '\0';
	for (i = 0; i < ids->n; i++) {
		const struct job_id *id = &ids->id[i];
		char step[16];

		used += (size_t)snprintf(buf + used, sizeof(buf) - used, "%s%u", i ? " " : "", id->job_id);
		if (id->kind)
			used += (size_t)snprintf(buf + used, sizeof(buf) - used, "%c%u", sign[id->kind],
						 id->part);
		if (id->has_step)
			used += (size_t)snprintf(buf + used, sizeof(buf) - used, ".%s",
						 ledger_step_name(id->step_id, step, sizeof(step)));
	}
	return buf;
}

static void test_good(void)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "5", "5" },
		{ "4294967293", "4294967293" },
		{ "5,6,7", "5 6 7" },
		{ "5_3", "5_3" },
		{ "5_0", "5_0" },
		{ "5_[1-4]", "5_1 5_2 5_3 5_4" },
		{ "5_[3]", "5_3" },
		{ "5_[1,3-4,9]", "5_1 5_3 5_4 5_9" },
		{ "5_[0-8:4]", "5_0 5_4 5_8" },
		{ "5_[1-2%1]", "5_1 5_2" },
		{ "5_[4294967292-4294967293]", "5_4294967292 5_4294967293" },
		{ "21+1", "21+1" },
		{ "2.batch", "2.batch" },
		{ "2.extern,2.interactive,2.0", "2.extern 2.interactive 2.0" },
		{ "5_3.0,21+1.batch", "5_3.0 21+1.batch" },
		{ "5_[1,2].0,6", "5_1.0 5_2.0 6" },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job_ids ids = { 0 };
		struct errmsg err = { 0 };

		is_int(job_ids_add(&ids, rows[i].in, &err), 0, rows[i].in);
		is_str(words(&ids), rows[i].out, "  are these");
		job_ids_fini(&ids);
	}
}

static void test_many(void)
{
	struct job_ids ids = { 0 };
	struct errmsg err = { 0 };

	is_int(job_ids_add(&ids, "7,5_[0-9998]", &err), 0, "as many ids as allowed");
	is_int((int)ids.n, JOB_IDS_MAX, "are all there");
	is_int(job_ids_add(&ids, "8", &err), -ERANGE, "one more is refused");
	is_str(err.text, "'8': more than 10000 jobs at once", "and the error says why");
	job_ids_fini(&ids);
	is_int(job_ids_add(&ids, "5_[0-4294967293]", &err), -ERANGE, "and so is a list without end");
	job_ids_fini(&ids);
}

static void test_match(void)
{
	struct record r = { .job_id = 12 };
	const struct job_id whole = { .job_id = 10 }, own = { .job_id = 12 };
	const struct job_id task = { .job_id = 10, .kind = JOB_ID_TASK, .part = 3 };
	const struct job_id component = { .job_id = 10, .kind = JOB_ID_COMPONENT, .part = 3 };

	ok(job_id_is_of(&own, &r) && !job_id_is_of(&whole, &r) && !job_id_is_of(&task, &r), "a plain job");
	r.array_job_id = (struct maybe_u64){ 10, true };
	ok(job_id_is_of(&task, &r), "a record of tasks that never ran matches each of them");
	r.array_task_id = (struct maybe_u64){ 3, true };
	ok(job_id_is_of(&own, &r) && job_id_is_of(&whole, &r) && job_id_is_of(&task, &r),
	   "a task of an array");
	ok(!job_id_is_of(&component, &r), "which is no component");
	r.array_task_id.value = 4;
	ok(!job_id_is_of(&task, &r), "another task");
	r.array_job_id = r.array_task_id = (struct maybe_u64){ 0 };
	r.het_job_id = (struct maybe_u64){ 10, true };
	r.het_job_offset = (struct maybe_u64){ 3, true };
	ok(job_id_is_of(&component, &r) && job_id_is_of(&whole, &r) && !job_id_is_of(&task, &r),
	   "a component of a het job");
}

int main(void)
{
	test_bad();
	test_good();
	test_many();
	test_match();
	return done_testing();
}
