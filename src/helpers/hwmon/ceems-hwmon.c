/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ceems-hwmon - reads the energy and power sensors of hwmon chips whose meaning is known
 * (hwmon_chip.c) and answers slurmd with the protocol of helper.h. Files are opened once. Each
 * question reads all of them at one time, so that sensors can be subtracted from each other. A file
 * that the driver reads from a BMC (ibmaem, ACPI meters over IPMI) takes 0.1 s, or, if the BMC does
 * not answer, half a minute in which the reader cannot be killed. Such a file has its own thread
 * here, and the answer is the value that the thread read last.
 */
#include <linux/capability.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "src/helpers/hwmon/hwmon_chip.h"
#include "src/helpers/hwmon/hwmon_scan.h"
#include "src/libcore/domain.h"
#include "src/libmeter/sensor/topology.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/confine.h"
#include "src/libutil/helper.h"
#include "src/libutil/parse.h"

#define METERS_MAX 28 /* what the node ledger has room for */

#define UW_PER_MW 1000

/* For the first answers of all slow meters; most come in a tenth of it. */
#define FIRST_ANSWER_NS (1500 * NSEC_PER_MSEC)

/* A slow meter is read in a hundredth of the time; but at least and at most so long from one to the next: */
#define IDLE_FACTOR 100
#define PAUSE_MIN_MS 1000

struct sample {
	int rc;
	uint64_t value; /* uJ or mW */
	uint64_t t_ns;
};

/* What a slow meter's thread shares. */
struct slow {
	pthread_mutex_t lock;
	int fd;
	uint64_t interval_ms;
	bool is_new;
	struct sample last;
};

struct meter {
	char name[40]; /* "power_meter:hwmon3:power1" */
	char chip[32];
	struct hwmon_rail rail;
	bool is_energy;
	int fd;		   /* -1: slow */
	struct slow *slow; /* its thread's, for ever; NULL: read at the question */
	struct sample now;
};

struct meters {
	struct meter meter[METERS_MAX];
	size_t n;
	char unused[512]; /* what was found and is not used, and why */
	bool is_broken;	  /* one is there and cannot be had */
};

/* --- which sensors count ------------------------------------------------------------------ */

static bool hwmon_same_rail(const struct hwmon_rail *a, const struct hwmon_rail *b)
{
	return a->domain == b->domain && a->unit == b->unit && a->is_whole_node == b->is_whole_node &&
	       a->is_module == b->is_module && a->contains_cpu == b->contains_cpu;
}

/*
 * Why S must not be counted beside the meters that already are: energy comes before power, and
 * one chip's view of a rail is taken, not two. NULL: it may.
 */
static const char *hwmon_double_count(const struct meters *s, const struct hwmon_sensor *new,
				      const struct hwmon_rail *rail)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct meter *m = &s->meter[i];

		if (!hwmon_same_rail(&m->rail, rail))
			continue;
		if (m->is_energy && !new->is_energy)
			return "an energy counter of the same rail is used";
		if (strcmp(m->chip, new->chip) != 0)
			return "a sensor of another chip for the same rail is used";
		if (rail->is_whole_node && !rail->is_summed)
			return "an earlier sensor of the node is used, and whether they add up is not known";
	}
	return NULL;
}

static void hwmon_note_unused(struct meters *all, const struct hwmon_sensor *s, const char *text)
{
	size_t used = strlen(all->unused);

	(void)snprintf(all->unused + used, sizeof(all->unused) - used, "%s%s %s", used ? "; " : "", s->chip,
		       s->feature);
	used = strlen(all->unused);
	(void)snprintf(all->unused + used, sizeof(all->unused) - used,
		       strcmp(s->label, s->feature) ? " \"%s\": %s" : "%.0s: %s", s->label, text);
}

/* Returns the socket of a physical package. */
static uint8_t hwmon_socket(uint64_t package)
{
	_cleanup_free_ struct topology *t = NULL;

	return topology_read("", /* ncpus= */ 1, &t) < 0 ? SOCKET_UNKNOWN :
							   (uint8_t)topology_socket(t, package);
}

static void hwmon_add(struct meters *all, const struct hwmon_sensor *new)
{
	struct hwmon_rail rail = { 0 };
	struct meter *m = &all->meter[all->n];
	const char *text = NULL;
	int rc = hwmon_rail_of(new->chip, new->label, new->nth, &rail, &text);
	int fd;

	if (rc == 0 && rail.is_package)
		rail.unit = hwmon_socket(rail.unit);
	if (rc == 0 && new->is_battery)
		text = "a battery";
	if (rc == 0 && !text)
		text = hwmon_double_count(all, new, &rail);
	if (!text && all->n == METERS_MAX)
		text = "too many sensors";
	if (text) {
		hwmon_note_unused(all, new, text);
		return;
	}
	fd = open(new->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		hwmon_note_unused(all, new, strerror(errno));
		all->is_broken = true;
		return;
	}
	*m = (struct meter){ .rail = rail, .is_energy = new->is_energy, .fd = fd };
	(void)snprintf(m->name, sizeof(m->name), "%.13s:%.10s:%.12s", new->chip, new->device, new->feature);
	(void)snprintf(m->chip, sizeof(m->chip), "%s", new->chip);
	all->n++;
}

static bool hwmon_has_cpu(const struct meters *s, unsigned int unit)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct hwmon_rail *r = &s->meter[i].rail;

		if (r->domain == DOMAIN_CPU && r->unit == unit)
			return true;
	}
	return false;
}

static void hwmon_drop(struct meters *s, size_t i)
{
	(void)close(s->meter[i].fd);
	s->n--;
	memmove(&s->meter[i], &s->meter[i + 1], (s->n - i) * sizeof(s->meter[0]));
}

/*
 * Sets the domains that depend on which other sensors there are. The sensor of a socket is domain CPU if no
 * rails of that socket's CPU are measured. If named power_meter chips measure rails, a power_meter without a
 * name measures a rail, too, not the whole node.
 */
static void hwmon_settle(struct meters *s)
{
	bool has_named = false;
	size_t i;

	for (i = 0; i < s->n; i++) {
		struct hwmon_rail *r = &s->meter[i].rail;

		has_named |= !r->is_whole_node && !strcmp(s->meter[i].chip, "power_meter");
		if (!r->contains_cpu || hwmon_has_cpu(s, r->unit))
			continue;
		r->contains_cpu = false;
		r->domain = DOMAIN_CPU;
	}
	for (i = s->n; has_named && i-- > 0;)
		if (s->meter[i].rail.is_summed)
			hwmon_drop(s, i);
}

/* --- slow meters -------------------------------------------------------------------------- */

static uint64_t hwmon_pause_ms(uint64_t read_ns, uint64_t max_ms)
{
	uint64_t ms = read_ns / NSEC_PER_MSEC * IDLE_FACTOR;

	if (ms < PAUSE_MIN_MS)
		ms = PAUSE_MIN_MS;
	return ms < max_ms ? ms : max_ms;
}

/* No alarm() here: the driver's own limit is 30 s (ibmaem's IPMI_TIMEOUT), and no signal ends it. */
static void *hwmon_read_slow(void *arg)
{
	struct slow *slow = arg;

	for (;;) {
		uint64_t begin_ns = clock_mono_ns();
		struct sample s = { 0 };
		uint64_t took_ns;
		struct timespec pause;

		s.rc = fileio_pread_u64(slow->fd, &s.value);
		took_ns = clock_mono_ns() - begin_ns;
		s.t_ns = begin_ns + took_ns / 2;
		(void)pthread_mutex_lock(&slow->lock);
		slow->last = s;
		slow->is_new = true;
		(void)pthread_mutex_unlock(&slow->lock);
		pause = clock_ns_to_timespec(hwmon_pause_ms(took_ns, slow->interval_ms) * NSEC_PER_MSEC);
		(void)nanosleep(&pause, NULL);
	}
	return NULL;
}

static int hwmon_start_slow(struct meter *m, uint64_t interval_ms)
{
	struct slow *slow = calloc(1, sizeof(*slow));
	pthread_t thread;
	int rc;

	if (!slow)
		return -ENOMEM;
	(void)pthread_mutex_init(&slow->lock, NULL);
	slow->fd = m->fd;
	slow->interval_ms = interval_ms;
	rc = pthread_create(&thread, NULL, hwmon_read_slow, slow);
	if (rc) {
		free(slow);
		return -rc;
	}
	(void)pthread_detach(thread);
	m->slow = slow;
	return 0;
}

static bool hwmon_is_new(struct slow *slow)
{
	bool is_new;

	(void)pthread_mutex_lock(&slow->lock);
	is_new = slow->is_new;
	(void)pthread_mutex_unlock(&slow->lock);
	return is_new;
}

/* One that is late is a meter all the same. */
static void hwmon_wait_for_slow(const struct meters *all)
{
	const struct timespec pause = { .tv_nsec = 5 * 1000 * 1000 };
	uint64_t deadline_ns = clock_mono_ns() + FIRST_ANSWER_NS;
	size_t i;

	for (i = 0; i < all->n; i++)
		while (all->meter[i].slow && !hwmon_is_new(all->meter[i].slow) &&
		       clock_mono_ns() < deadline_ns)
			(void)nanosleep(&pause, NULL);
}

/* --- a question --------------------------------------------------------------------------- */

static void hwmon_sample(struct meter *m, uint64_t now_ns)
{
	if (m->slow) {
		(void)pthread_mutex_lock(&m->slow->lock);
		m->now = m->slow->last;
		if (!m->slow->is_new)
			m->now.rc = -EAGAIN;
		m->slow->is_new = false;
		(void)pthread_mutex_unlock(&m->slow->lock);
	} else {
		m->now = (struct sample){ .t_ns = now_ns };
		m->now.rc = fileio_pread_u64(m->fd, &m->now.value);
	}
	if (!m->is_energy)
		m->now.value /= UW_PER_MW;
}

/* Takes off what the CPU's rails of that unit show. They average apart: below 0 is 0. */
static void hwmon_subtract_cpu(const struct meters *s, struct meter *m)
{
	size_t i;

	for (i = 0; i < s->n && m->now.rc == 0; i++) {
		const struct meter *inner = &s->meter[i];

		if (inner->rail.domain != DOMAIN_CPU || inner->rail.unit != m->rail.unit)
			continue;
		if (inner->now.rc < 0)
			m->now.rc = inner->now.rc;
		else
			m->now.value -= inner->now.value < m->now.value ? inner->now.value : m->now.value;
	}
}

static void hwmon_answer(struct meters *all, const char *number)
{
	uint64_t now_ns = clock_mono_ns(); /* one instant for all, or their sum has none */
	size_t i;

	for (i = 0; i < all->n; i++)
		hwmon_sample(&all->meter[i], now_ns);
	for (i = 0; i < all->n; i++)
		if (all->meter[i].rail.contains_cpu)
			hwmon_subtract_cpu(all, &all->meter[i]);
	for (i = 0; i < all->n; i++) {
		const struct meter *m = &all->meter[i];

		if (m->now.rc == -ERANGE) /* a number, but no energy */
			helper_say("reading %" PRIu64 " %s %" PRIu64, m->now.t_ns, m->name, UINT64_MAX);
		else if (m->now.rc == 0)
			helper_say("reading %" PRIu64 " %s %" PRIu64, m->now.t_ns, m->name, m->now.value);
		else if (m->now.rc != -EAGAIN)
			helper_say("error %s %s", m->name, strerror(-m->now.rc));
	}
	helper_say("done %s", number);
}

/* --- what there is ------------------------------------------------------------------------ */

/* A machine of 0 W would not be asking; one of several power supplies may well be idle. */
static bool hwmon_is_only_node(const struct meters *s, const struct meter *m)
{
	size_t nodes = 0;
	size_t i;

	for (i = 0; i < s->n; i++)
		nodes += s->meter[i].rail.is_whole_node;
	return m->rail.is_whole_node && nodes == 1;
}

static void hwmon_declare(const struct meters *all)
{
	size_t i;

	for (i = 0; i < all->n; i++) {
		const struct meter *m = &all->meter[i];

		char scope[32] = "";

		if (m->rail.is_module)
			(void)snprintf(scope, sizeof(scope), " module on=%u", m->rail.unit);
		else if (m->rail.is_whole_node)
			(void)snprintf(scope, sizeof(scope), " node");
		helper_say("meter %s %s %u %s %" PRIu64 "%s%s", m->name,
			   domain_name((enum domain)m->rail.domain), m->rail.is_module ? 0 : m->rail.unit,
			   m->is_energy ? "energy" : "power", m->rail.max_w, scope,
			   !m->is_energy && hwmon_is_only_node(all, m) ? " nonzero" : "");
	}
}

static void hwmon_tell_about(const struct meters *s)
{
	char buf[160] = "";
	size_t used = 0;
	size_t i, j;

	for (i = 0; i < s->n && used < sizeof(buf); i++) {
		const struct meter *m = &s->meter[i];
		size_t same = 0;
		bool is_first = true;
		int n;

		for (j = 0; j < s->n; j++) {
			const struct meter *o = &s->meter[j];

			if (strcmp(m->chip, o->chip) != 0 || m->is_energy != o->is_energy ||
			    m->rail.domain != o->rail.domain || m->rail.is_module != o->rail.is_module)
				continue;
			same++;
			is_first &= j >= i;
		}
		if (!is_first)
			continue;
		n = snprintf(buf + used, sizeof(buf) - used, "%s%s: %s of %zu %s%s", used ? ", " : "",
			     m->rail.is_whole_node ? "node" :
			     m->rail.is_module	   ? "module" :
						     domain_name((enum domain)m->rail.domain),
			     m->is_energy ? "energy" : "power, integrated,", same, m->chip,
			     same == 1 ? " sensor" : " sensors");
		used += n > 0 ? (size_t)n : sizeof(buf);
	}
	helper_say("about %s", buf);
}

/* False: no sensor can be read; slurmd was sent the reason. */
static bool hwmon_open(struct meters *all, uint64_t interval_ms)
{
	_cleanup_free_ struct hwmon_sensor *found = NULL;
	struct errmsg err = { 0 };
	size_t n = 0;
	size_t i;
	int rc = hwmon_scan(&found, &n, &err);

	if (rc < 0) {
		helper_say("refused %s", err.text);
		return false;
	}
	for (i = 0; i < n; i++)
		hwmon_add(all, &found[i]);
	hwmon_settle(all);
	if (!all->n) {
		helper_say("%s no power or energy sensor%s%s%s", all->is_broken ? "refused" : "never",
			   n ? " to be used (" : "", all->unused, n ? ")" : "");
		return false;
	}
	for (i = 0; i < all->n; i++) {
		struct meter *m = &all->meter[i];

		rc = m->rail.is_slow ? hwmon_start_slow(m, interval_ms) : 0;
		if (rc < 0) {
			helper_say("refused a thread for %s: %s", m->name, strerror(-rc));
			return false;
		}
	}
	return true;
}

int main(int argc, char **argv)
{
	static const struct option known[] = {
		{ "interval-ms", required_argument, NULL, 'i' },
		{ 0 },
	};
	static struct meters all;
	uint64_t interval_ms = 5000;
	char line[256];
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1)
		if (c != 'i' || parse_u64(optarg, &interval_ms) < 0 || interval_ms > 600000)
			break;
	if (c != -1 || optind != argc) {
		(void)fputs("usage: ceems-hwmon [--interval-ms N]\n", stderr);
		return 2;
	}
	helper_serve(/* is_nice= */ false); /* a step's end waits for it */
	(void)confine_caps(CONFINE_CAP(CAP_DAC_READ_SEARCH));
	if (!hwmon_open(&all, interval_ms))
		return 1;
	hwmon_declare(&all);
	hwmon_tell_about(&all);
	if (all.unused[0])
		helper_say("note not used: %s", all.unused);
	hwmon_wait_for_slow(&all);
	helper_say("ready");
	while (helper_listen(-1, line, sizeof(line)) == 1)
		if (!strncmp(line, "read ", 5))
			hwmon_answer(&all, line + 5);
	return 0;
}
