/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ExternalSource, the file of a site's own meter: its syntax, who may write it, what ceems-external
 * answers, and the energy that the source reports.
 */
#include <errno.h>

#include "machine.h"
#include "src/helpers/external/external_text.h"
#include "src/libutil/helper.h"
#include "src/libutil/util.h"

#define FILE_NAME "meter"
#define WAIT_NS (20 * NSEC_PER_SEC)

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
		{ "cut off in a later line", "node energy_joules 1 2\ncpu0 ener\n", "line 2: not PART" },
		{ "unknown part", "psu energy_joules 1 2\n", "line 1: no such part" },
		{ "part without number", "cpu energy_joules 1 2\n", "line 1: no such part" },
		{ "node with a number", "node0 energy_joules 1 2\n", "line 1: no such part" },
		{ "a socket too many", "cpu16 energy_joules 1 2\n", "line 1: no such part" },
		{ "a GPU too many", "gpu64 energy_joules 1 2\n", "line 1: no such part" },
		{ "negative unit", "cpu-1 energy_joules 1 2\n", "line 1: no such part" },
		{ "wrong unit", "node energy_kwh 1 2\n", "line 1: no such quantity" },
		{ "not a number", "node energy_joules nan 2\n", "line 1: the amount" },
		{ "infinite", "node power_watts inf 2\n", "line 1: the amount" },
		{ "negative", "node power_watts -1 2\n", "line 1: the amount" },
		{ "with exponent", "node power_watts 1e3 2\n", "line 1: the amount" },
		{ "giant", "node energy_joules 99999999999999999999 2\n", "line 1: the amount" },
		{ "giant in microjoules", "node energy_joules 18446744073710 2\n", "line 1: the amount" },
		{ "no time", "node energy_joules 1 0\n", "line 1: the time" },
		{ "bad time", "node energy_joules 1 now\n", "line 1: the time" },
		{ "giant time", "node energy_joules 1 18446744074\n", "line 1: the time" },
		{ "a part twice", "node energy_joules 1 2\nnode power_watts 1 2\n",
		  "line 2: the file has the part twice" },
		{ "a part twice in two ways", "gpu3 power_watts 1 2\ngpu03 power_watts 1 2\n",
		  "line 2: the file has the part twice" },
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
		if (!ok(rc == -EINVAL && n == 4711 && !strncmp(err.text, t[i].why, strlen(t[i].why)),
			"text: %s", t[i].name))
			diag("%d: %s", rc, err.text);
	}
	is_int(external_text_parse(nul, sizeof(nul) - 1, lines, &i, NULL), -EINVAL, "text: a NUL byte in it");
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
		used += (size_t)sprintf(text + used, "cpu%u power_watts 1 2\ndram%u power_watts 1 2\n", i, i);
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
	m->env.helper_dir = HELPER_DIR;
	(void)snprintf(m->settings.external_source, sizeof(m->settings.external_source), "%s", meter_path(m));
}

/* As the manual asks: written beside it, then renamed. */
static void replace(const struct machine *m, const char *text)
{
	if (fileio_write_atomic(meter_path(m), text, strlen(text), 0644, NULL) < 0)
		diag("cannot write %s", meter_path(m));
}

/* milliseconds since 1970 */
static uint64_t ago_ms(int64_t age_ms)
{
	return clock_wall_ns() / NSEC_PER_MSEC - (uint64_t)age_ms;
}

/* "PART QUANTITY AMOUNT", taken at STAMP_MS */
static void meter_at(const struct machine *m, const char *what, uint64_t stamp_ms)
{
	char text[256];

	snprintf(text, sizeof(text), "%s %" PRIu64 ".%03" PRIu64 "\n", what, stamp_ms / 1000,
		 stamp_ms % 1000);
	replace(m, text);
}

static void meter(const struct machine *m, const char *what, int64_t age_ms)
{
	meter_at(m, what, ago_ms(age_ms));
}

/* --- what the helper tells ---------------------------------------------------------------- */

struct talk {
	struct machine m;
	char *argv[3];
	struct helper *helper;
	char said[2048]; /* since the last question, a line each */
};

/* Up to a line that begins with LAST. */
static bool hear(struct talk *t, const char *last)
{
	uint64_t deadline = clock_mono_ns() + WAIT_NS;
	size_t used = 0;
	char *line;

	t->said[0] = '\0';
	while (clock_mono_ns() < deadline) {
		if (helper_line(t->helper, clock_mono_ns(), &line) < 0) {
			(void)helper_poll(t->helper, NSEC_PER_SEC);
			continue;
		}
		used += (size_t)snprintf(t->said + used, sizeof(t->said) - used, "%s\n", line);
		if (!strncmp(line, last, strlen(last)) || used >= sizeof(t->said))
			return true;
	}
	diag("waited for '%s': %s", last, t->said);
	return false;
}

static void talk_begin(struct talk *t, const char *last)
{
	const struct helper_options o = { .argv = t->argv, .deadline_ns = WAIT_NS, .is_asked = true };

	t->argv[0] = (char *)HELPER_DIR "/ceems-external";
	t->argv[1] = t->m.settings.external_source;
	t->argv[2] = NULL;
	if (helper_open(&o, &t->helper, &t->m.err) < 0 || !hear(t, last))
		diag("cannot start: %s", t->m.err.text);
}

/* With a file that has WHAT of AGE_MS ago. */
static void talk_open(struct talk *t, const char *what, int64_t age_ms)
{
	meter_init(&t->m);
	meter(&t->m, what, age_ms);
	talk_begin(t, "ready");
}

static void talk_end(struct talk *t)
{
	helper_close(t->helper, clock_mono_ns() + WAIT_NS);
	machine_fini(&t->m);
}

static bool ask(struct talk *t)
{
	return helper_ask(t->helper, clock_mono_ns(), "read", NULL, 0, "%s", "") == 0 && hear(t, "done ");
}

static bool answer_has(struct talk *t, const char *text, const char *what)
{
	bool has = ask(t) && strstr(t->said, text);

	if (!ok(has, "%s", what))
		diag("no '%s' in: %s", text, t->said);
	return has;
}

/* The time and the value in "reading T NAME VALUE"; 0: there is no such line. */
static uint64_t said_reading(const struct talk *t, const char *name, uint64_t *ret_value)
{
	const char *line = t->said;
	uint64_t t_ns;
	char who[32];

	while ((line = strstr(line, "reading "))) {
		if (sscanf(line, "reading %" SCNu64 " %31s %" SCNu64, &t_ns, who, ret_value) == 3 &&
		    !strcmp(who, name))
			return t_ns;
		line++;
	}
	return 0;
}

/* VERB: "never " or "refused " */
static void refused(struct talk *t, const char *verb, const char *why, const char *what)
{
	talk_begin(t, verb);
	if (!ok(strstr(t->said, why) != NULL, "%s", what))
		diag("%s", t->said);
	helper_close(t->helper, clock_mono_ns() + WAIT_NS);
}

static void test_refused(void)
{
	struct talk t;

	meter_init(&t.m);
	refused(&t, "never ", "No such file", "configured, but not there: an error");
	machine_shell("mkfifo '%s'", meter_path(&t.m));
	refused(&t, "refused ", "regular file", "a FIFO: refused, and does not block");
	machine_shell("rm '%s'", meter_path(&t.m));
	meter(&t.m, "node power_watts x", 0);
	refused(&t, "refused ", FILE_NAME ": line 1: the amount",
		"a bad line: the message has file and line");
	meter(&t.m, "node power_watts 100", 0);
	machine_shell("chmod g+w '%s'", meter_path(&t.m));
	refused(&t, "refused ", "others than its owner", "the group may write it");
	machine_shell("chmod 646 '%s'", meter_path(&t.m));
	refused(&t, "refused ", "others than its owner", "others may write it");
	if (geteuid() == 0) {
		machine_shell("chmod 644 '%s' && chown 65534 '%s'", meter_path(&t.m), meter_path(&t.m));
		refused(&t, "refused ", "belongs to user 65534", "another user's");
	} else {
		skip(1, "only root can give a file away");
	}
	machine_fini(&t.m);
}

static void test_declares(void)
{
	struct talk t;
	char about[256];

	talk_open(&t, "cpu1 power_watts 100 1700000000\nnode energy_joules 12345.678", 1000);
	ok(strstr(t.said, "meter cpu1 cpu 1 power 2500\n") &&
		   strstr(t.said, "meter node other 0 energy 25000 node\n"),
	   "the meters are declared");
	snprintf(about, sizeof(about), "about %s: cpu1 power, node energy\n", meter_path(&t.m));
	ok(strstr(t.said, about) != NULL, "and what is in the file");
	meter(&t.m, "gpu0 power_watts 1 1700000000\nnode energy_joules 1", 0);
	ok(ask(&t) && strstr(t.said, "meter gpu0 gpu 0 power 2500\n") &&
		   strstr(t.said, "cpu1 power, node energy, gpu0 power\n"),
	   "one that comes later");
	ok(strstr(t.said, "error cpu1 the file no longer has a line for it\n") != NULL, "one that is gone");
	talk_end(&t);
}

static void test_tells(void)
{
	uint64_t first = 0, again = 0, value = 0;
	uint64_t now = clock_mono_ns();
	struct talk t;

	talk_open(&t, "node energy_joules 12345.678", 500);
	ok(ask(&t) && (first = said_reading(&t, "node", &value)) != 0, "a value");
	is_u64(value, 12345678000, "in microjoules");
	ok(first < clock_mono_ns() - 500 * NSEC_PER_MSEC + NSEC_PER_MSEC && first > now - 502 * NSEC_PER_MSEC,
	   "at the meter's time");
	ok(ask(&t) && (again = said_reading(&t, "node", &value)) == first,
	   "the same value has the same time");
	meter(&t.m, "node energy_joules 12346.000001", -500);
	ok(ask(&t) && (again = said_reading(&t, "node", &value)) > first && value == 12346000001,
	   "a new one, of a clock that is a little ahead");
	ok(again <= clock_mono_ns(), "its time is not in the future");
	meter(&t.m, "node energy_joules 1", -10000);
	answer_has(&t, "error node its time is ", "a time in the future");
	ok(!said_reading(&t, "node", &value), "is no value");
	meter(&t.m, "node energy_joules 1", 130000);
	answer_has(&t, "late node\n", "older than two minutes: late");
	talk_end(&t);
}

static void test_bad_later(void)
{
	static const struct {
		const char *name, *text;
	} bad[] = {
		{ "empty", "" },
		{ "truncated", "node energy_jou" },
		{ "another quantity", "node power_watts 100 1700000000\n" },
		{ "a bad line beside a good one",
		  "gpu0 energy_joules 1 1700000000\nnode energy_joules - 1700000000\n" },
	};
	struct talk t;
	size_t i;

	talk_open(&t, "node energy_joules 100", 100);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		uint64_t value = 0;

		replace(&t.m, bad[i].text);
		answer_has(&t, "error - ", bad[i].name);
		ok(!strstr(t.said, "reading") && !strstr(t.said, "meter gpu0"), "%s: nothing of it is used",
		   bad[i].name);
		meter(&t.m, "node energy_joules 107", 0);
		ok(ask(&t) && said_reading(&t, "node", &value) && value == 107000000,
		   "%s: the next file is good", bad[i].name);
	}
	machine_shell("rm '%s'", meter_path(&t.m));
	answer_has(&t, "No such file", "the file vanished");
	machine_shell("touch '%s' && chmod 666 '%s'", meter_path(&t.m), meter_path(&t.m));
	answer_has(&t, "others than its owner", "replaced by one that anybody may write");
	meter(&t.m, "node energy_joules 111", 0);
	answer_has(&t, " node 111000000\n", "it is back");
	talk_end(&t);
}

/* --- what the source makes of it ---------------------------------------------------------- */

/* What ticks told of DOMAIN. The helper may answer a tick later than it is asked. */
struct sum {
	uint64_t energy_uj;
	uint32_t rejected, late;
};

static struct sum tick(struct machine *m, enum domain d, struct sum sum)
{
	bool is_read = machine_read(m, NSEC_PER_SEC) == 0;

	sum.rejected += m->r.rejected;
	sum.late += m->r.late;
	if (is_read && machine_part(m, d, 0))
		sum.energy_uj += machine_uj(m, d, 0);
	return sum;
}

/* Until it saw as much as AIM, or more, of each. */
static bool reaches(struct machine *m, enum domain d, struct sum *sum, struct sum aim)
{
	uint64_t deadline = clock_mono_ns() + WAIT_NS;
	struct timespec pause = { .tv_nsec = 10000000 };

	while (sum->energy_uj < aim.energy_uj || sum->rejected < aim.rejected || sum->late < aim.late) {
		if (clock_mono_ns() > deadline) {
			diag("%" PRIu64 " uJ, %u rejected, %u late", sum->energy_uj, sum->rejected,
			     sum->late);
			return false;
		}
		*sum = tick(m, d, *sum);
		(void)nanosleep(&pause, NULL);
	}
	return true;
}

/* Until there is a base. */
static bool start(struct machine *m, const char *what, uint64_t stamp_ms)
{
	uint64_t deadline = clock_mono_ns() + WAIT_NS;
	int rc;

	meter_init(m);
	meter_at(m, what, stamp_ms);
	rc = machine_open(m);
	if (rc == 0)
		do
			rc = machine_read(m, 0);
		while (rc < 0 && clock_mono_ns() < deadline);
	return rc == 0;
}

static void test_cannot_open(void)
{
	struct machine m;

	machine_init(&m, &source_external, NULL);
	is_int(machine_open(&m), -ENODEV, "not configured");
	is_str(m.err.text, "ExternalSource is not set", "said so");
	machine_fini(&m);

	meter_init(&m);
	is_int(machine_open(&m), -ENODEV, "configured, but not there: an error");
	ok(strstr(m.err.text, FILE_NAME ": ") != NULL, "which names the file: %s", m.err.text);
	machine_fini(&m);
}

static void test_energy(void)
{
	const struct part *node;
	struct sum sum = { 0 };
	struct machine m;
	char buf[256];
	unsigned int i;

	ok(start(&m, "node energy_joules 100", ago_ms(5000)), "energy of the node");
	node = machine_part(&m, DOMAIN_OTHER, 0);
	ok(node && node->energy_uj == 0 && node->scope == SCOPE_NODE && node->is_new_base &&
		   node->quality == QUALITY_COUNTER,
	   "a new base, of the whole node");
	source_external.describe(m.source, buf, sizeof(buf));
	ok(strstr(buf, "/meter: node energy") != NULL, "description");
	meter(&m, "node energy_joules 107.000001", 4000);
	ok(reaches(&m, DOMAIN_OTHER, &sum, (struct sum){ .energy_uj = 1 }) && sum.energy_uj == 7000001,
	   "to the microjoule");
	node = machine_part(&m, DOMAIN_OTHER, 0);
	ok(node && node->until_ns <= clock_mono_ns() - 3900 * NSEC_PER_MSEC, "up to the meter's time");
	meter(&m, "node energy_joules 900000", 3000);
	ok(reaches(&m, DOMAIN_OTHER, &sum, (struct sum){ .rejected = 1 }), "a jump: rejected");
	for (i = 0; i < 5; i++)
		sum = tick(&m, DOMAIN_OTHER, sum);
	is_u64(sum.energy_uj, 7000001, "and does not confirm itself by being there longer");
	is_u64(sum.rejected, 1, "counted once");
	meter(&m, "node energy_joules 112", 2000);
	ok(reaches(&m, DOMAIN_OTHER, &sum, (struct sum){ .energy_uj = 7000002 }) && sum.energy_uj == 12000000,
	   "a glitch costs nothing");
	machine_shell("rm '%s'", meter_path(&m));
	while (machine_read(&m, NSEC_PER_SEC) == 0)
		(void)usleep(10000);
	ok(true, "the file vanished");
	meter(&m, "node energy_joules 120", 0);
	ok(reaches(&m, DOMAIN_OTHER, &sum, (struct sum){ .energy_uj = 12000001 }) &&
		   sum.energy_uj == 20000000,
	   "its energy comes with the next one");
	machine_fini(&m);
}

static void test_late(void)
{
	struct sum sum = { 0 };
	struct machine m;

	ok(start(&m, "node energy_joules 100", ago_ms(125000)), "a file that is not written any more");
	ok(reaches(&m, DOMAIN_OTHER, &sum, (struct sum){ .late = 1 }), "is late");
	is_u64(sum.rejected, 0, "nothing else is wrong with it");
	/* mv meter meter.old; a new one */
	machine_shell("mv '%s' '%s.old'", meter_path(&m), meter_path(&m));
	meter(&m, "node energy_joules 100", 1000);
	do
		sum = tick(&m, DOMAIN_OTHER, (struct sum){ 0 });
	while (sum.late || !m.r.nparts);
	meter(&m, "node energy_joules 103", 0);
	ok(reaches(&m, DOMAIN_OTHER, &sum, (struct sum){ .energy_uj = 1 }) && sum.energy_uj == 3000000 &&
		   !sum.late,
	   "not late after another file takes its place");
	machine_fini(&m);
}

static void test_power(void)
{
	const uint64_t begin_ms = ago_ms(92000);
	const struct part *gpu;
	struct sum sum = { 0 };
	struct machine m;

	ok(start(&m, "gpu0 power_watts 100", begin_ms), "power of a GPU");
	gpu = machine_part(&m, DOMAIN_GPU, 0);
	ok(gpu && gpu->quality == QUALITY_INTEGRATED && gpu->scope == SCOPE_UNIT,
	   "integrated, and only the GPU's");
	meter_at(&m, "gpu0 power_watts 300.5", begin_ms + 90000);
	is_int(machine_reopen(&m), 0, "another process");
	ok(reaches(&m, DOMAIN_GPU, &sum, (struct sum){ .energy_uj = 1 }) &&
		   sum.energy_uj / 1000000 >= 18020 && sum.energy_uj / 1000000 <= 18028,
	   "90 s of 100 to 300.5 W");
	meter(&m, "gpu0 power_watts 2501", 1000);
	ok(reaches(&m, DOMAIN_GPU, &sum, (struct sum){ .rejected = 1 }), "2.5 kW of a GPU: rejected");
	machine_fini(&m);
}

int main(void)
{
	test_text_bad();
	test_text_good();
	test_text_all();
	test_refused();
	test_declares();
	test_tells();
	test_bad_later();
	test_cannot_open();
	test_energy();
	test_late();
	test_power();
	return done_testing();
}
