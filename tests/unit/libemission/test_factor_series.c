/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libemission/factor_series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/libutil/fileio.h"
#include "src/libutil/util.h"
#include "tap.h"

#define HEAD FACTOR_SERIES_HEAD "\n"
#define TAIL ",average,direct,FR,2026-11-22T10:20:04Z,RTE eCO2mix\n"
#define GOOD "2026-11-22T10:00:00Z,2026-11-22T10:15:00Z,32.5" TAIL
#define T0 UINT64_C(1795341600) /* 2026-11-22T10:00:00Z */

static const struct {
	const char *text;
	const char *error;
} bad[] = {
	{ "", "x.csv: empty" },
	{ "from,until\n", "x.csv:1: not '" FACTOR_SERIES_HEAD "'" },
	{ GOOD, "x.csv:1: not '" FACTOR_SERIES_HEAD "'" },
	{ HEAD "<html>\n", "x.csv:2: fewer than 8 fields" },
	{ HEAD "2026-11-22T10:00:00+01:00,2026-11-22T10:15:00Z,1" TAIL,
	  "x.csv:2: from is not a time in UTC such as 2026-11-22T10:00:00Z" },
	{ HEAD "2026-11-22T10:00:00,2026-11-22T10:15:00Z,1" TAIL,
	  "x.csv:2: from is not a time in UTC such as 2026-11-22T10:00:00Z" },
	{ HEAD "2026-02-29T10:00:00Z,2026-11-22T10:15:00Z,1" TAIL,
	  "x.csv:2: from is not a time in UTC such as 2026-11-22T10:00:00Z" },
	{ HEAD "2026-11-22T10:00:00Z,10:15,1" TAIL,
	  "x.csv:2: until is not a time in UTC such as 2026-11-22T10:00:00Z" },
	{ HEAD "2026-11-22T10:00:00Z,2026-11-22T10:00:00Z,1" TAIL, "x.csv:2: it ends before it begins" },
	{ HEAD "2026-11-22T10:15:00Z,2026-11-22T10:00:00Z,1" TAIL, "x.csv:2: it ends before it begins" },
	{ HEAD "2026-11-22T10:00:00Z,2026-11-22T10:15:00Z,-1" TAIL, "x.csv:2: not a factor in gCO2e/kWh" },
	{ HEAD "2026-11-22T10:00:00Z,2026-11-22T10:15:00Z,nan" TAIL, "x.csv:2: not a factor in gCO2e/kWh" },
	{ HEAD "2026-11-22T10:00:00Z,2026-11-22T10:15:00Z,5000.001" TAIL, "x.csv:2: above 5000 g/kWh" },
	{ HEAD "2026-11-22T10:00:00Z,2026-11-22T10:15:00Z,99999999999999999999" TAIL,
	  "x.csv:2: not a factor in gCO2e/kWh" },
	{ HEAD "2026-11-22T10:00:00Z,2026-11-22T10:15:00Z,1,static,direct,FR,2026-11-22T10:00:00Z,x\n",
	  "x.csv:2: not average or marginal" },
	{ HEAD "2026-11-22T10:00:00Z,2026-11-22T10:15:00Z,1,average,all,FR,2026-11-22T10:00:00Z,x\n",
	  "x.csv:2: not life-cycle or direct" },
	{ HEAD "2026-11-22T10:00:00Z,2026-11-22T10:15:00Z,1,average,direct,,2026-11-22T10:00:00Z,x\n",
	  "x.csv:2: not a region" },
	{ HEAD "2026-11-22T10:00:00Z,2026-11-22T10:15:00Z,1,average,direct,F R,2026-11-22T10:00:00Z,x\n",
	  "x.csv:2: not a region" },
	{ HEAD "2026-11-22T10:00:00Z,2026-11-22T10:15:00Z,1,average,direct,"
	       "A23456789012345678901234,2026-11-22T10:00:00Z,x\n",
	  "x.csv:2: not a region" },
	{ HEAD "2026-11-22T10:00:00Z,2026-11-22T10:15:00Z,1,average,direct,FR,now,x\n",
	  "x.csv:2: fetched is not a time in UTC such as 2026-11-22T10:00:00Z" },
	{ HEAD "2026-11-22T10:00:00Z,2026-11-22T10:15:00Z,1,average,direct,FR,2026-11-22T10:00:00Z,\n",
	  "x.csv:2: not a source" },
	{ HEAD GOOD GOOD, "x.csv:3: overlaps line 2" },
	{ HEAD "2026-11-22T10:14:59Z,2026-11-22T10:30:00Z,1" TAIL "# why\n\n" GOOD,
	  "x.csv:5: overlaps line 2" },
};

static void test_bad(void)
{
	struct factor_series s = { NULL, 77 };
	struct errmsg err;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		err = (struct errmsg){ 0 };
		is_int(factor_series_parse("x.csv", bad[i].text, strlen(bad[i].text), &s, &err), -EINVAL,
		       bad[i].error);
		is_str(err.text, bad[i].error, "is what is said");
	}
	is_int(factor_series_parse("x.csv", HEAD "\0x", strlen(HEAD) + 2, &s, &err), -EINVAL, "a byte of 0");
	is_int(factor_series_read("/nonexistent/series.csv", &s, &err), -ENOENT, "no file");
	ok(factor_series_read("/proc", &s, &err) < 0, "a folder: %s", err.text);
	is_u64(s.n, 77, "and nothing is touched");
}

static void test_mark(void)
{
	static const char text[] = "\xef\xbb\xbf" HEAD GOOD;
	struct factor_series s = { 0 };
	struct errmsg err = { 0 };

	is_int(factor_series_parse("x.csv", text, strlen(text), &s, &err), 0, "a byte order mark is read");
	is_u64(s.n, 1, "  with the point");
	factor_series_fini(&s);
}

static struct factor_point point(uint64_t from, uint64_t until, uint64_t mg)
{
	return (struct factor_point){
		T0 + from,
		T0 + until,
		T0,
		{ .mg_per_kwh = mg, .scope = EMISSION_DIRECT, .region = "FR", .source = "a, b" }
	};
}

static void add(struct factor_series *s, uint64_t from, uint64_t until, uint64_t mg)
{
	struct factor_point p = point(from, until, mg);
	struct errmsg err;

	is_int(factor_series_add(s, &p, &err), 0, "added");
}

/* "from-until:mg ..." of the region FR. */
static void is_series(const struct factor_series *s, const char *want, const char *why)
{
	char text[512] = "";
	size_t used = 0;
	size_t i;

	for (i = 0; i < s->n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d-%d:%d", i ? " " : "",
					 (int)(s->point[i].from_s - T0), (int)(s->point[i].until_s - T0),
					 (int)s->point[i].factor.mg_per_kwh);
	is_str(text, want, why);
}

static void test_add(void)
{
	struct factor_series s = { 0 };
	struct factor_point p = point(10, 10, 1);
	struct errmsg err = { 0 };

	is_int(factor_series_add(&s, &p, &err), -EINVAL, "a point that has no length is refused");
	is_str(err.text, "a factor of a, b: it ends before it begins", "and says so");
	p = point(0, 10, 1);
	p.factor.kind = EMISSION_STATIC;
	is_int(factor_series_add(&s, &p, &err), -EINVAL, "a yearly mean is refused");
	p = point(0, 10, 1);
	snprintf(p.factor.source, sizeof(p.factor.source), "two\nlines");
	is_int(factor_series_add(&s, &p, &err), -EINVAL, "a source of two lines is refused");
	is_u64(s.n, 0, "nothing was added");
	add(&s, 100, 200, 1);
	add(&s, 300, 400, 3);
	add(&s, 200, 300, 2);
	is_series(&s, "100-200:1 200-300:2 300-400:3", "sorted, side by side");
	add(&s, 200, 300, 5);
	is_series(&s, "100-200:1 200-300:5 300-400:3", "a point of the same times replaces it");
	add(&s, 140, 160, 6);
	is_series(&s, "100-140:1 140-160:6 160-200:1 200-300:5 300-400:3", "within one: both ends stay");
	add(&s, 150, 350, 7);
	is_series(&s, "100-140:1 140-150:6 150-350:7 350-400:3", "over several: cut and dropped");
	add(&s, 100, 120, 8);
	is_series(&s, "100-120:8 120-140:1 140-150:6 150-350:7 350-400:3", "the same beginning");
	add(&s, 380, 400, 9);
	is_series(&s, "100-120:8 120-140:1 140-150:6 150-350:7 350-380:3 380-400:9", "the same end");
	add(&s, 0, 1000, 4);
	is_series(&s, "0-1000:4", "over all: only it is left");
	p = point(0, 10, 5);
	p.factor.kind = EMISSION_MARGINAL;
	is_int(factor_series_add(&s, &p, &err), 0, "marginal ones are apart");
	snprintf(p.factor.region, sizeof(p.factor.region), "DE");
	is_int(factor_series_add(&s, &p, &err), 0, "and other regions");
	is_u64(s.n, 3, "three points");
	is_str(s.point[0].factor.region, "DE", "regions in order");
	is_u64(s.point[2].factor.kind, EMISSION_MARGINAL, "then kinds");
	factor_series_fini(&s);
	ok(!s.point && !s.n, "empty again");
}

static void test_at(void)
{
	struct factor_series s = { 0 };

	ok(!factor_series_at(&s, "FR", EMISSION_AVERAGE, T0), "none in an empty one");
	add(&s, 0, 10, 1);
	add(&s, 10, 20, 2);
	add(&s, 30, 40, 3);
	ok(!factor_series_at(&s, "FR", EMISSION_AVERAGE, T0 - 1), "none before the first");
	is_u64(factor_series_at(&s, "FR", EMISSION_AVERAGE, T0)->factor.mg_per_kwh, 1, "the first");
	is_u64(factor_series_at(&s, "fr", EMISSION_AVERAGE, T0 + 9)->factor.mg_per_kwh, 1, "its last second");
	is_u64(factor_series_at(&s, "FR", EMISSION_AVERAGE, T0 + 10)->factor.mg_per_kwh, 2,
	       "its end belongs to the next");
	is_u64(factor_series_at(&s, "FR", EMISSION_AVERAGE, T0 + 25)->factor.mg_per_kwh, 2, "in a gap");
	is_u64(factor_series_at(&s, "FR", EMISSION_AVERAGE, UINT64_MAX)->factor.mg_per_kwh, 3, "ever after");
	ok(!factor_series_at(&s, "FR", EMISSION_MARGINAL, T0), "no marginal one");
	ok(!factor_series_at(&s, "F", EMISSION_AVERAGE, T0), "no such region");
	ok(!factor_series_at(&s, "", EMISSION_AVERAGE, T0), "nor the empty region");
	is_u64(factor_series_after(&s, "FR", EMISSION_AVERAGE, 0)->factor.mg_per_kwh, 1, "the next after 0");
	is_u64(factor_series_after(&s, "FR", EMISSION_AVERAGE, T0)->factor.mg_per_kwh, 2,
	       "the next after the first begins");
	ok(!factor_series_after(&s, "FR", EMISSION_AVERAGE, T0 + 30), "none after the last");
	ok(!factor_series_after(&s, "DE", EMISSION_AVERAGE, 0), "nor of another region");
	factor_series_expire(&s, T0 + 10);
	is_series(&s, "0-10:1 10-20:2 30-40:3", "what ended just then stays");
	factor_series_expire(&s, T0 + 21);
	is_series(&s, "30-40:3", "what ended before goes");
	factor_series_fini(&s);
}

static void test_file(void)
{
	char dir[] = "/tmp/test_factor_series.XXXXXX";
	struct factor_series s = { 0 };
	struct factor_series back = { 0 };
	struct errmsg err = { 0 };
	struct stat st;
	char path[64];
	size_t i;

	if (!mkdtemp(dir))
		exit(99);
	snprintf(path, sizeof(path), "%s/series.csv", dir);
	is_int(factor_series_write(path, &s, &err), 0, "write an empty one");
	is_int(factor_series_read(path, &back, &err), 0, "is read again");
	is_u64(back.n, 0, "empty");
	factor_series_fini(&back);
	add(&s, 0, 900, 32501);
	add(&s, 900, 1800, 0);
	s.point[1].factor.kind = EMISSION_MARGINAL;
	s.point[1].factor.scope = EMISSION_LIFE_CYCLE;
	is_int(factor_series_write(path, &s, &err), 0, "write two");
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0644, "everybody may read it");
	is_int(factor_series_read(path, &back, &err), 0, "are read again");
	is_u64(back.n, 2, "two");
	for (i = 0; i < back.n; i++)
		ok(!memcmp(&back.point[i], &s.point[i], sizeof(s.point[i])), "the same");
	factor_series_fini(&back);
	snprintf(path, sizeof(path), "%s/no/series.csv", dir);
	is_int(factor_series_write(path, &s, &err), -ENOENT, "no folder");
	factor_series_fini(&s);
	snprintf(path, sizeof(path), "%s/series.csv", dir);
	is_int(fileio_write_atomic(path, HEAD GOOD "\n# x\r\n", strlen(HEAD GOOD "\n# x\r\n"), 0600, &err), 0,
	       "a file written by hand");
	is_int(factor_series_read(path, &s, &err), 0, "with a comment and CRLF");
	is_u64(s.point[0].factor.mg_per_kwh, 32500, "32.5 g/kWh");
	is_u64(s.point[0].from_s, T0, "from");
	is_str(s.point[0].factor.source, "RTE eCO2mix", "source");
	factor_series_fini(&s);
	unlink(path);
	is_int(rmdir(dir), 0, "nothing is left over");
}

int main(void)
{
	test_bad();
	test_mark();
	test_add();
	test_at();
	test_file();
	return done_testing();
}
