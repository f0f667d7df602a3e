/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of a site's own meter: what is in it, who may write it, and how it is replaced.
 */
#include <errno.h>

#include "machine.h"
#include "src/libmeter/sensor/external_text.h"
#include "src/libutil/util.h"

#define FILE_NAME "meter"

/* --- the text ----------------------------------------------------------------------------- */

static void test_text_bad(void)
{
	static const struct {
		const char *name, *text, *why;
	} t[] = {
		{ "empty", "", "empty" },
		{ "no newline", "node energy_joules 1 2", "does not end with a whole line" },
		{ "only comments", "# nothing yet\n\n", "has no values" },
		{ "three words", "node energy_joules 1\n", "line 1: not PART" },
		{ "five words", "node energy_joules 1 2 3\n", "line 1: not PART" },
		{ "cut off in a later line", "node energy_joules 1 2\ncpu0 ener\n",
		  "line 2: not PART" },
		{ "unknown part", "psu energy_joules 1 2\n", "line 1: no such part" },
		{ "part without number", "cpu energy_joules 1 2\n", "line 1: no such part" },
		{ "node with a number", "node0 energy_joules 1 2\n", "line 1: no such part" },
		{ "a socket too many", "cpu8 energy_joules 1 2\n", "line 1: no such part" },
		{ "a GPU too many", "gpu16 energy_joules 1 2\n", "line 1: no such part" },
		{ "negative unit", "cpu-1 energy_joules 1 2\n", "line 1: no such part" },
		{ "wrong unit", "node energy_kwh 1 2\n", "line 1: no such quantity" },
		{ "not a number", "node energy_joules nan 2\n", "line 1: the amount" },
		{ "infinite", "node power_watts inf 2\n", "line 1: the amount" },
		{ "negative", "node power_watts -1 2\n", "line 1: the amount" },
		{ "with exponent", "node power_watts 1e3 2\n", "line 1: the amount" },
		{ "giant", "node energy_joules 99999999999999999999 2\n",
		  "line 1: the amount" },
		{ "giant in microjoules", "node energy_joules 18446744073710 2\n",
		  "line 1: the amount" },
		{ "no time", "node energy_joules 1 0\n", "line 1: the time" },
		{ "bad time", "node energy_joules 1 now\n", "line 1: the time" },
		{ "giant time", "node energy_joules 1 18446744074\n", "line 1: the time" },
		{ "a part twice", "node energy_joules 1 2\nnode power_watts 1 2\n",
		  "line 2: the part is there twice" },
		{ "a part twice in two ways", "gpu3 power_watts 1 2\ngpu03 power_watts 1 2\n",
		  "line 2: the part is there twice" },
	};
	char nul[] = "node energy_joules 1 2\ncpu0\0energy_joules 1 2\n";
	struct external_line lines[EXTERNAL_LINES_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct errmsg err = { 0 };
		char text[128];
		size_t n = 4711;
		int rc;

		snprintf(text, sizeof(text), "%s", t[i].text);
		rc = external_text_parse(text, strlen(text), lines, &n, &err);
		if (!ok(rc == -EINVAL && n == 4711 &&
				!strncmp(err.text, t[i].why, strlen(t[i].why)),
			"text: %s", t[i].name))
			diag("%d: %s", rc, err.text);
	}
	is_int(external_text_parse(nul, sizeof(nul) - 1, lines, &i, NULL), -EINVAL,
	       "text: a NUL byte in it");
}

static void test_text_good(void)
{
	char text[] = "# by the PDU\n\n  node\tenergy_joules  12345.678 1700000000.123\n"
		      "cpu7 power_watts 310.5 1700000000\n# end\n";
	struct external_line l[EXTERNAL_LINES_MAX];
	size_t n;

	is_int(external_text_parse(text, strlen(text), l, &n, NULL), 0, "text: good");
	is_u64(n, 2, "text: two values");
	ok(!strcmp(l[0].name, "node") && l[0].domain == DOMAIN_OTHER && l[0].unit == 0 &&
		   l[0].quantity == EXTERNAL_ENERGY && l[0].amount == 12345678000 &&
		   l[0].stamp_ns == UINT64_C(1700000000123000000),
	   "text: energy of the node");
	ok(!strcmp(l[1].name, "cpu7") && l[1].domain == DOMAIN_CPU && l[1].unit == 7 &&
		   l[1].quantity == EXTERNAL_POWER && l[1].amount == 310500,
	   "text: power of a socket");
}

static void test_text_all(void)
{
	char text[EXTERNAL_LINES_MAX * 32] = "node power_watts 1 2\n";
	struct external_line l[EXTERNAL_LINES_MAX];
	size_t used = strlen(text);
	size_t n = 0;
	unsigned int i;

	for (i = 0; i < SOCKETS_MAX; i++)
		used += (size_t)sprintf(text + used,
					"cpu%u power_watts 1 2\ndram%u power_watts 1 2\n", i, i);
	for (i = 0; i < GPUS_MAX; i++)
		used += (size_t)sprintf(text + used, "gpu%u power_watts 1 2\n", i);
	is_int(external_text_parse(text, used, l, &n, NULL), 0, "text: every part there is");
	is_u64(n, EXTERNAL_LINES_MAX, "text: all taken");
}

/* --- the file ----------------------------------------------------------------------------- */

static char *meter_path(const struct machine *m)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/" FILE_NAME, m->root);
	return path;
}

static void meter_init(struct machine *m)
{
	machine_init(m, &source_external, NULL);
	m->env.external_file = strdup(meter_path(m));
	if (!m->env.external_file)
		exit(99);
}

static void meter_fini(struct machine *m)
{
	machine_fini(m);
	free((char *)m->env.external_file);
}

/* As the manual asks: written beside it, then renamed. */
static void replace(const struct machine *m, const char *text)
{
	if (fileio_write_atomic(meter_path(m), text, strlen(text), 0644, NULL) < 0)
		diag("cannot write %s", meter_path(m));
}

/* "PART QUANTITY AMOUNT", taken AGE_MS ago */
static void meter(const struct machine *m, const char *what, int64_t age_ms)
{
	uint64_t ms = clock_wall_ns() / NSEC_PER_MSEC - (uint64_t)age_ms;
	char text[256];

	snprintf(text, sizeof(text), "%s %" PRIu64 ".%03" PRIu64 "\n", what, ms / 1000,
		 ms % 1000);
	replace(m, text);
}

static int start(struct machine *m, const char *what, int64_t age_ms)
{
	int rc;

	meter_init(m);
	meter(m, what, age_ms);
	rc = machine_open(m);
	if (rc == 0)
		rc = machine_read(m, 0);
	return rc;
}

static void test_cannot_open(void)
{
	struct machine m;

	machine_init(&m, &source_external, NULL);
	m.env.external_file = "";
	is_int(machine_open(&m), -ENODEV, "not configured");
	is_str(m.err.text, "ExternalSource is not set", "said so");
	machine_fini(&m);

	meter_init(&m);
	is_int(machine_open(&m), -ENOENT, "configured, but not there: an error");
	machine_shell("mkfifo '%s'", meter_path(&m));
	is_int(machine_open(&m), -EINVAL, "a FIFO: refused, and does not block");
	machine_shell("rm '%s'", meter_path(&m));
	meter(&m, "node power_watts x", 0);
	is_int(machine_open(&m), -EINVAL, "a bad line");
	ok(strstr(m.err.text, FILE_NAME ": line 1: the amount") != NULL,
	   "the message has file and line");
	meter(&m, "node power_watts 100", 0);
	machine_shell("chmod g+w '%s'", meter_path(&m));
	is_int(machine_open(&m), -EPERM, "the group may write it: refused");
	machine_shell("chmod 646 '%s'", meter_path(&m));
	is_int(machine_open(&m), -EPERM, "others may write it: refused");
	if (geteuid() == 0) {
		machine_shell("chmod 644 '%s' && chown 65534 '%s'", meter_path(&m),
			      meter_path(&m));
		is_int(machine_open(&m), -EPERM, "another user's: refused");
		ok(strstr(m.err.text, "belongs to user 65534") != NULL, "named");
	} else {
		skip(2, "only root can give a file away");
	}
	meter_fini(&m);
}

static void test_bad_later(void)
{
	static const struct {
		const char *name, *text;
	} t[] = {
		{ "empty", "" },
		{ "truncated", "node energy_jou" },
		{ "another quantity", "node power_watts 100 1700000000\n" },
		{ "a bad line beside a good one",
		  "gpu0 energy_joules 1 1700000000\nnode energy_joules - 1700000000\n" },
	};
	struct machine m;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		(void)start(&m, "node energy_joules 100", 100);
		replace(&m, t[i].text);
		is_int(machine_read(&m, NSEC_PER_SEC), -EIO, t[i].name);
		meter(&m, "node energy_joules 107", 0);
		ok(machine_read(&m, NSEC_PER_SEC) == 0 && m.r.nparts == 1 &&
			   machine_uj(&m, DOMAIN_OTHER, 0) == 7000000,
		   "%s: the energy comes with the next file", t[i].name);
		meter_fini(&m);
	}
}

static void test_vanishes(void)
{
	struct machine m;

	(void)start(&m, "node energy_joules 100", 100);
	machine_shell("rm '%s'", meter_path(&m));
	is_int(machine_read(&m, NSEC_PER_SEC), -EIO, "the file vanished");
	is_int(machine_read(&m, NSEC_PER_SEC), -EIO, "and is still away");
	meter(&m, "node energy_joules 111", 0);
	is_int(machine_read(&m, NSEC_PER_SEC), 0, "it is back");
	is_u64(machine_uj(&m, DOMAIN_OTHER, 0), 11000000, "nothing is lost");
	machine_shell("rm '%s' && touch '%s' && chmod 666 '%s'", meter_path(&m),
		      meter_path(&m), meter_path(&m));
	is_int(machine_read(&m, NSEC_PER_SEC), -EIO, "replaced by one that anybody may write");
	meter_fini(&m);
}

static void test_time(void)
{
	struct machine m;

	(void)start(&m, "node energy_joules 100", 1000);
	meter(&m, "node energy_joules 150", -10000);
	ok(machine_read(&m, NSEC_PER_SEC) == 0 && m.r.rejected == 1 &&
		   machine_uj(&m, DOMAIN_OTHER, 0) == 0,
	   "a time to come: rejected");
	meter(&m, "node energy_joules 150", 130000);
	ok(machine_read(&m, NSEC_PER_SEC) == 0 && m.r.late == 1 && m.r.rejected == 0 &&
		   machine_uj(&m, DOMAIN_OTHER, 0) == 0,
	   "older than two minutes: late");
	meter(&m, "node energy_joules 150", -500);
	ok(machine_read(&m, NSEC_PER_SEC) == 0 && machine_uj(&m, DOMAIN_OTHER, 0) == 50000000,
	   "a clock that is a little ahead is allowed");
	ok(machine_part(&m, DOMAIN_OTHER, 0)->until_ns <= clock_mono_ns(),
	   "but reaches to now at most");
	meter_fini(&m);

	(void)start(&m, "node power_watts 100", 90000);
	meter(&m, "node power_watts 100", 0);
	ok(machine_read(&m, NSEC_PER_SEC) == 0 && machine_uj(&m, DOMAIN_OTHER, 0) > 0,
	   "power over a minute and a half");
	meter_fini(&m);

	(void)start(&m, "node power_watts 100", 50000);
	meter(&m, "node power_watts 100", 80000);
	ok(machine_read(&m, NSEC_PER_SEC) == 0 && m.r.rejected == 1 &&
		   machine_uj(&m, DOMAIN_OTHER, 0) == 0,
	   "power of before the last sample: rejected");
	meter_fini(&m);
}

static void test_absurd(void)
{
	struct machine m;

	(void)start(&m, "node energy_joules 100", 2000);
	meter(&m, "node energy_joules 900000", 1000);
	ok(machine_read(&m, NSEC_PER_SEC) == 0 && m.r.rejected == 1 &&
		   machine_uj(&m, DOMAIN_OTHER, 0) == 0,
	   "a jump: rejected");
	ok(machine_read(&m, NSEC_PER_SEC) == 0 && machine_read(&m, NSEC_PER_SEC) == 0 &&
		   machine_uj(&m, DOMAIN_OTHER, 0) == 0,
	   "and does not confirm itself by being there longer");
	meter(&m, "node energy_joules 105", 0);
	ok(machine_read(&m, NSEC_PER_SEC) == 0 && machine_uj(&m, DOMAIN_OTHER, 0) == 5000000,
	   "a glitch costs nothing");
	meter_fini(&m);

	(void)start(&m, "node energy_joules 100", 2000);
	meter(&m, "node energy_joules 3", 1000);
	ok(machine_read(&m, NSEC_PER_SEC) == 0 && m.r.rejected == 1, "went back: doubted");
	meter(&m, "node energy_joules 5", 0);
	ok(machine_read(&m, NSEC_PER_SEC) == 0 && machine_uj(&m, DOMAIN_OTHER, 0) == 2000000,
	   "confirmed: a reset, goes on from there");
	meter_fini(&m);

	(void)start(&m, "node power_watts 100", 2000);
	meter(&m, "node power_watts 25001", 1000);
	ok(machine_read(&m, NSEC_PER_SEC) == 0 && m.r.rejected == 1 &&
		   machine_uj(&m, DOMAIN_OTHER, 0) == 0,
	   "25 kW of a node: rejected");
	meter_fini(&m);
}

static void test_part_vanishes(void)
{
	struct machine m;

	(void)start(&m, "node energy_joules 1 1\ncpu0 energy_joules 100", 1000);
	is_u64(m.r.late, 1, "a value of 1970");
	meter(&m, "gpu1 energy_joules 5", 0);
	(void)machine_read(&m, NSEC_PER_SEC);
	ok(m.r.nparts == 3 && m.r.rejected == 2 && machine_part(&m, DOMAIN_GPU, 1) == &m.r.part[2],
	   "two parts are gone, a new one is behind them");
	meter(&m, "cpu0 energy_joules 103", 0);
	(void)machine_read(&m, NSEC_PER_SEC);
	is_u64(machine_uj(&m, DOMAIN_CPU, 0), 3000000, "one is back");
	meter_fini(&m);
}

static void test_good(void)
{
	const struct reading_part *node;
	struct machine m;
	char buf[128];
	uint64_t now;

	is_int(start(&m, "cpu0 power_watts 100 1700000000\nnode energy_joules 12345.678", 1000),
	       0, "energy of the node");
	node = machine_part(&m, DOMAIN_OTHER, 0);
	ok(node && node->energy_uj == 0 && node->is_whole_node && node->is_new_base &&
		   node->quality == QUALITY_COUNTER,
	   "a base, and all that the node uses");
	source_external.describe(m.source, buf, sizeof(buf));
	ok(strstr(buf, "/meter: cpu0 power, node energy") != NULL, "description");
	is_int(machine_read(&m, NSEC_PER_SEC), 0, "the same file again");
	is_u64(machine_uj(&m, DOMAIN_OTHER, 0), 0, "nothing new");
	meter(&m, "node energy_joules 12346.000001", 500);
	now = clock_mono_ns();
	(void)machine_read(&m, NSEC_PER_SEC);
	node = machine_part(&m, DOMAIN_OTHER, 0);
	ok(node->energy_uj == 322001 && !node->is_new_base, "to the microjoule");
	ok(node->until_ns < now, "up to the meter's time");
	meter_fini(&m);
}

static void test_power(void)
{
	struct machine m;
	uint64_t ms = clock_wall_ns() / NSEC_PER_MSEC - 10000;
	char text[128];

	meter_init(&m);
	snprintf(text, sizeof(text), "gpu3 power_watts 100 %" PRIu64 ".000\n", ms / 1000);
	replace(&m, text);
	is_int(machine_open(&m), 0, "power of a GPU");
	(void)machine_read(&m, 0);
	ok(machine_part(&m, DOMAIN_GPU, 3)->quality == QUALITY_INTEGRATED &&
		   !machine_part(&m, DOMAIN_GPU, 3)->is_whole_node,
	   "integrated, and only the GPU's");
	snprintf(text, sizeof(text), "gpu3 power_watts 300.5 %" PRIu64 ".500\n", ms / 1000 + 2);
	replace(&m, text);
	is_int(machine_reopen(&m), 0, "another process");
	(void)machine_read(&m, NSEC_PER_SEC);
	is_u64(machine_uj(&m, DOMAIN_GPU, 3), 500625000, "2.5 s of 100 to 300.5 W");
	(void)machine_read(&m, NSEC_PER_SEC);
	ok(machine_uj(&m, DOMAIN_GPU, 3) == 0 && m.r.rejected == 0, "once");
	meter_fini(&m);
}

/* mv meter meter.old; a new one: the old one still has a name, and only its age tells. */
static void test_moved_away(void)
{
	struct machine m;

	(void)start(&m, "node energy_joules 100", 125000);
	is_u64(m.r.late, 1, "an old file");
	machine_shell("mv '%s' '%s.old'", meter_path(&m), meter_path(&m));
	meter(&m, "node energy_joules 100", 0);
	(void)machine_read(&m, NSEC_PER_SEC);
	is_u64(m.r.late, 0, "another file was looked for");
	meter_fini(&m);
}

int main(void)
{
	test_text_bad();
	test_text_good();
	test_text_all();
	test_cannot_open();
	test_bad_later();
	test_vanishes();
	test_time();
	test_absurd();
	test_part_vanishes();
	test_good();
	test_power();
	test_moved_away();
	return done_testing();
}
