/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source hwmon through the real libsensors, on trees as kernels lay them out: in a mount
 * namespace of the test's own, where /sys is the real one (libsensors looks) and /sys/class a
 * folder of ours.
 */
#define _GNU_SOURCE /* unshare */
#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/clock.h"
#include "src/helpers/hwmon/hwmon_chip.h"
#include "tap.h"

#define HWMON "/sys/class/hwmon"
#define ACPI "/sys/class/acpi" /* for devices */
#define SECOND_NS NSEC_PER_SEC
#define WAIT_NS (20 * NSEC_PER_SEC)

/* --- machines ----------------------------------------------------------------------------- */

struct file {
	const char *path; /* below HWMON */
	const char *text; /* "-> TARGET": a link */
};

/* "hwmonN/device" is a link: libsensors tells the device's own path, and 3.6.2 takes a folder for none. */
static void link_device(const char *path)
{
	int len = (int)strcspn(path, "/");
	char device[PATH_MAX];
	char target[PATH_MAX];

	if (strncmp(path + len, "/device/", strlen("/device/")))
		return;
	(void)snprintf(target, sizeof(target), ACPI "/ACPI000D:%.*s", len - 5, path + 5);
	(void)fileio_mkdir_p(target, 0755, NULL);
	(void)snprintf(device, sizeof(device), HWMON "/%.*s", len, path);
	(void)fileio_mkdir_p(device, 0755, NULL);
	(void)snprintf(device, sizeof(device), HWMON "/%.*s/device", len, path);
	if (symlink(target, device) < 0)
		diag("%s: %s", device, strerror(errno));
}

static void make_file(const struct file *f)
{
	char path[PATH_MAX];
	char *slash;

	link_device(f->path);
	(void)snprintf(path, sizeof(path), HWMON "/%s", f->path);
	slash = strrchr(path, '/');
	*slash = '\0';
	(void)fileio_mkdir_p(path, 0755, NULL);
	*slash = '/';
	if (!strncmp(f->text, "-> ", 3)) {
		if (symlink(f->text + 3, path) < 0)
			diag("cannot link %s", path);
	} else if (!scratch_write(path, f->text, strlen(f->text))) {
		diag("cannot write %s", path);
	}
}

static void put(const char *path, const char *text)
{
	const struct file f = { path, text };

	make_file(&f);
}

struct machine {
	struct source *source;
	struct source_state state;
	struct reading r;
	struct errmsg err;
};

static const struct source_ops *ops(void)
{
	return &source_hwmon;
}

/* Slow meters are read every 20 ms here. */
static const struct source_env here = {
	.sys_root = "/",
	.slow_interval_ns = 20 * NSEC_PER_MSEC,
	.helper_dir = HELPER_DIR,
};

static int machine_open(struct machine *m, const struct file *files)
{
	memset(m, 0, sizeof(*m));
	scratch_clear(HWMON);
	scratch_clear(ACPI);
	for (; files && files->path; files++)
		make_file(files);
	return ops()->open(&here, &m->source, &m->err);
}

static int machine_read(struct machine *m, uint64_t dt_ns)
{
	return ops()->read(m->source, dt_ns, 0, &m->state, &m->r);
}

static bool is_read_since(const struct machine *m, uint64_t begin_ns)
{
	uint32_t i;

	for (i = 0; i < m->r.nparts; i++)
		if (m->r.part[i].until_ns < begin_ns)
			return false;
	return m->r.nparts > 0;
}

/*
 * The same of meters that are not slow, until the helper has answered: a tick waits for 40 ms, in
 * which a busy machine may not get to it. The energy of all these ticks is in the last reading.
 */
static int machine_read_all(struct machine *m, uint64_t dt_ns)
{
	uint64_t begin_ns = clock_mono_ns();
	uint64_t uj[PARTS_MAX] = { 0 };
	uint32_t rejected = 0;
	uint32_t i;
	int rc;

	do {
		rc = machine_read(m, dt_ns);
		dt_ns = 0;
		for (i = 0; rc == 0 && i < m->r.nparts; i++)
			uj[i] += m->r.part[i].energy_uj;
		rejected += rc == 0 ? m->r.rejected : 0;
	} while (rc == 0 && !rejected && !is_read_since(m, begin_ns) && clock_mono_ns() - begin_ns < WAIT_NS);
	for (i = 0; rc == 0 && i < m->r.nparts; i++)
		m->r.part[i].energy_uj = uj[i];
	if (rc == 0)
		m->r.rejected = rejected;
	return rc;
}

/*
 * The same for meters that were just opened. On a busy machine their helper may not have
 * answered: -EIO until it has.
 */
static int machine_read_first(struct machine *m, uint64_t dt_ns)
{
	uint64_t deadline = clock_mono_ns() + WAIT_NS;
	int rc;

	do
		rc = machine_read_all(m, dt_ns);
	while (rc == -EIO && clock_mono_ns() < deadline);
	return rc;
}

static const struct part *part(const struct machine *m, enum domain d, unsigned int unit)
{
	static const struct part none;
	uint32_t i;

	for (i = 0; i < m->r.nparts; i++)
		if (m->r.part[i].domain == d && m->r.part[i].unit == unit)
			return &m->r.part[i];
	diag("no part %s %u", domain_name(d), unit);
	return &none;
}

/* What an integrated part used, in mW: the time between two ticks is the test's own. */
static uint64_t mean_mw(struct machine *m, enum domain d, unsigned int unit)
{
	struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	uint64_t from, until, uj;

	if (machine_read_all(m, SECOND_NS) < 0)
		return 0;
	from = part(m, d, unit)->until_ns;
	(void)nanosleep(&pause, NULL);
	if (machine_read_all(m, SECOND_NS) < 0)
		return 0;
	until = part(m, d, unit)->until_ns;
	uj = part(m, d, unit)->energy_uj;
	/* uJ per ns is 1000 MW; rounded, as a microjoule of 20 ms is 0.05 mW */
	return until > from ? (uj * 1000000 + (until - from) / 2) / (until - from) : 0;
}

/* --- tables ------------------------------------------------------------------------------- */

static void test_rails(void)
{
	static const struct {
		const char *chip, *label;
		unsigned int nth;
		int rc;
		struct hwmon_rail want;
	} t[] = {
		{ "nct6775", "power1", .rc = -ENOENT },
		{ "power", "power1", .rc = -ENOENT },
		{ "aem3", "energy1", .rc = -ENOENT },
		{ "zenpower", "SVI2_P_Core", .rc = -ENODATA },
		{ "ina3221", "power1", .rc = -ENODATA },
		{ "ibmpowernv", "Chip 0 Vdd", .rc = -ENODATA },
		{ "ibmpowernv", "Chip ", .rc = -ENODATA },
		{ "amd_energy", "Ecore000", .rc = -ENODATA },
		{ "aem1", "power1", .rc = -ENODATA },
		{ "power_meter", "Module Power Socket 1",
		  .want = { DOMAIN_OTHER, .unit = 1, .is_module = true } },
		{ "power_meter", "power1",
		  .want = { DOMAIN_OTHER, .is_whole_node = true, .is_summed = true, .is_slow = true } },
		{ "power_meter", "CPU Power Socket 1", .want = { DOMAIN_CPU, .unit = 1 } },
		{ "power_meter", "SysIO Power Socket 1", .want = { DOMAIN_CPU, .unit = 1 } },
		{ "power_meter", "Grace Power Socket 0", .want = { DOMAIN_DRAM, .contains_cpu = true } },
		{ "aem1", "energy1", .want = { DOMAIN_OTHER, .is_whole_node = true, .is_slow = true } },
		{ "ibmpowernv", "System", .want = { DOMAIN_OTHER, .is_whole_node = true } },
		{ "ibmpowernv", "Chip 4", .want = { DOMAIN_CPU, .unit = 4 } },
		{ "ibmpowernv", "Chip 8", .want = { DOMAIN_CPU, .unit = 8 } },
		{ "ibmpowernv", "Chip 300", .want = { DOMAIN_CPU, .unit = UINT8_MAX } },
		{ "amd_energy", "Esocket17", .want = { DOMAIN_CPU, .unit = SOCKET_UNKNOWN } },
		{ "amd_energy", "Esocket1", .want = { DOMAIN_CPU, .unit = 1 } },
		{ "fam15h_power", "power1", 3, .want = { DOMAIN_CPU, .unit = 3 } },
		{ "apm_xgene", "IO power", .want = { DOMAIN_CPU, .unit = 0 } },
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct hwmon_rail got = { 0 };
		const char *why = NULL;
		int rc = hwmon_rail_of(t[i].chip, t[i].label, t[i].nth, &got, &why);

		ok(rc == t[i].rc && (rc == 0 || why) && got.domain == t[i].want.domain &&
			   got.unit == t[i].want.unit && got.is_whole_node == t[i].want.is_whole_node &&
			   got.is_summed == t[i].want.is_summed && got.is_slow == t[i].want.is_slow &&
			   got.contains_cpu == t[i].want.contains_cpu &&
			   got.is_module == t[i].want.is_module && !got.max_w == (rc < 0),
		   "%s, %s: %d", t[i].chip, t[i].label, rc);
	}
}

static void test_refused(void)
{
	static const struct {
		const char *name;
		struct file files[8];
		const char *says;
	} t[] = {
		{ "no chip at all", { { 0 } }, "no power or energy sensor" },
		{ "a chip with temperatures only",
		  { { "hwmon0/name", "k10temp\n" }, { "hwmon0/temp1_input", "40000\n" } },
		  "no power or energy sensor" },
		{ "an unknown chip is named",
		  { { "hwmon0/name", "mystery\n" }, { "hwmon0/power1_input", "40000000\n" } },
		  "mystery power1: not known" },
		{ "a rail of the board",
		  { { "hwmon0/name", "ina226\n" },
		    { "hwmon0/power1_input", "40000000\n" },
		    { "hwmon0/power1_label", "12V\n" } },
		  "ina226 power1 \"12V\": a rail of the board" },
		{ "an ACPI meter of a battery",
		  { { "hwmon0/name", "power_meter\n" },
		    { "hwmon0/power1_average", "40000000\n" },
		    { "hwmon0/power1_is_battery", "1\n" } },
		  "a battery" },
		{ "power limits without power",
		  { { "hwmon0/name", "power_meter\n" }, { "hwmon0/power1_cap", "1\n" } },
		  "no power or energy sensor" },
	};
	const struct source_env elsewhere = { .sys_root = "/tmp/root" };
	struct machine m;
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		int rc = machine_open(&m, t[i].files);

		if (!ok(rc == -ENODEV && strstr(m.err.text, t[i].says), "%s", t[i].name))
			diag("%d: %s", rc, m.err.text);
	}
	is_int(ops()->open(&elsewhere, &m.source, &m.err), -ENODEV, "another SysRoot is not libsensors'");
	ops()->close(NULL);
}

/* --- known machines ----------------------------------------------------------------------- */

/* Kernel 6.1 and 6.12: the attributes are the ACPI device's, libsensors names both alike. */
static const struct file two_supplies_old[] = {
	{ "hwmon0/device/name", "power_meter\n" },
	{ "hwmon0/device/subsystem", "-> ../../../bus/acpi" },
	{ "hwmon0/device/power1_average", "120000000\n" },
	{ "hwmon0/device/power1_is_battery", "0\n" },
	{ "hwmon0/device/power1_oem_info", "\n" },
	{ "hwmon1/device/name", "power_meter\n" },
	{ "hwmon1/device/subsystem", "-> ../../../bus/acpi" },
	{ "hwmon1/device/power1_average", "80000000\n" },
	{ 0 },
};
/* Kernel 7.2: hwmon's own. */
static const struct file two_supplies_new[] = {
	{ "hwmon0/name", "power_meter\n" },
	{ "hwmon0/device/subsystem", "-> ../../../bus/acpi" },
	{ "hwmon0/power1_average", "120000000\n" },
	{ "hwmon1/name", "power_meter\n" },
	{ "hwmon1/device/subsystem", "-> ../../../bus/acpi" },
	{ "hwmon1/power1_average", "80000000\n" },
	{ 0 },
};

/* When the meter's last sample was taken, as its state has it. */
static uint64_t sampled_ns(struct machine *m, unsigned int hwmon)
{
	char name[48];
	uint64_t *ns;

	(void)snprintf(name, sizeof(name), "power_meter:hwmon%u:power1 ns", hwmon);
	ns = source_state_find(&m->state, name);
	if (!ns) {
		(void)snprintf(name, sizeof(name), "power_meter:ACPI000D:%u:power1 ns", hwmon);
		ns = source_state_find(&m->state, name);
	}
	return ns ? *ns : 0;
}

/* Ticks until both meters have so many new samples; returns the energy of that time. */
static uint64_t both_sampled(struct machine *m, int times)
{
	struct timespec pause = { .tv_nsec = 5 * 1000 * 1000 };
	uint64_t deadline = clock_mono_ns() + WAIT_NS;
	uint64_t uj = 0;

	while (times-- > 0) {
		uint64_t t0 = sampled_ns(m, 0);
		uint64_t t1 = sampled_ns(m, 1);

		while ((sampled_ns(m, 0) == t0 || sampled_ns(m, 1) == t1) && clock_mono_ns() < deadline) {
			if (machine_read(m, SECOND_NS) == 0)
				uj += part(m, DOMAIN_OTHER, 0)->energy_uj;
			(void)nanosleep(&pause, NULL);
		}
	}
	return uj;
}

/* Each supply's energy is its power, as it now is, over the time between its own samples. */
static void check_supplies(struct machine *m, uint64_t watts0, uint64_t watts1, const char *what)
{
	uint64_t t0, t1, uj, want;

	(void)both_sampled(m, 2); /* those before the last change are gone */
	t0 = sampled_ns(m, 0);
	t1 = sampled_ns(m, 1);
	uj = both_sampled(m, 3);
	want = (watts0 * (sampled_ns(m, 0) - t0) + watts1 * (sampled_ns(m, 1) - t1)) / 1000;
	if (!ok(uj + 4 > want && uj < want + 4, "%s", what))
		diag("got %" PRIu64 " uJ, want %" PRIu64, uj, want);
}

static void test_two_supplies(const struct file *files, const char *dir, const char *name)
{
	struct machine m;
	char text[128] = "";
	char path[64];
	uint64_t until;

	(void)snprintf(path, sizeof(path), "hwmon1/%spower1_average", dir);
	if (!ok(machine_open(&m, files) == 0, "%s: opens", name)) {
		diag("%s", m.err.text);
		return;
	}
	ops()->describe(m.source, text, sizeof(text));
	is_str(text, "node: power, integrated, of 2 power_meter sensors", "describes itself");
	check_supplies(&m, 120, 80, "the supplies add up");
	is_u64(m.r.nparts, 1, "to one part");
	ok(part(&m, DOMAIN_OTHER, 0)->scope == SCOPE_NODE, "which is the whole node");
	is_int(part(&m, DOMAIN_OTHER, 0)->quality, QUALITY_INTEGRATED, "and integrated");
	until = sampled_ns(&m, 0) < sampled_ns(&m, 1) ? sampled_ns(&m, 0) : sampled_ns(&m, 1);
	is_u64(part(&m, DOMAIN_OTHER, 0)->until_ns, until, "up to the older of the samples");
	put(path, "0\n");
	check_supplies(&m, 120, 0, "one of them may be off");
	is_u64(m.r.rejected, 0, "and that is no error");
	ops()->close(m.source);
	ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "close() leaves no process");
}

static const struct file grace[] = {
	{ "hwmon0/device/name", "power_meter\n" },
	{ "hwmon0/device/power1_average", "900000000\n" },
	{ "hwmon0/device/power1_oem_info", "Module Power Socket 0\n" },
	{ "hwmon1/device/name", "power_meter\n" },
	{ "hwmon1/device/power1_average", "300000000\n" },
	{ "hwmon1/device/power1_oem_info", "Grace Power Socket 0\n" },
	{ "hwmon2/device/name", "power_meter\n" },
	{ "hwmon2/device/power1_average", "200000000\n" },
	{ "hwmon2/device/power1_oem_info", "CPU Power Socket 0\n" },
	{ "hwmon3/device/name", "power_meter\n" },
	{ "hwmon3/device/power1_average", "60000000\n" },
	{ "hwmon3/device/power1_oem_info", "SysIO Power Socket 0\n" },
	{ "hwmon4/device/name", "power_meter\n" },
	{ "hwmon4/device/power1_average", "250000000\n" },
	{ "hwmon4/device/power1_oem_info", "Grace Power Socket 1\n" },
	{ "hwmon5/device/name", "power_meter\n" },
	{ "hwmon5/device/power1_average", "5000000\n" },
	{ "hwmon5/device/power1_oem_info", "Sideband\n" },
	{ 0 },
};

static void test_grace(void)
{
	struct machine m;
	int rc = machine_open(&m, grace);

	if (!ok(rc == 0, "Grace opens")) {
		diag("%s", m.err.text);
		return;
	}
	is_u64(mean_mw(&m, DOMAIN_CPU, 0), 260000, "CPU and SysIO are the socket's CPU");
	is_u64(mean_mw(&m, DOMAIN_DRAM, 0), 40000, "what Grace has above them is its memory");
	is_u64(mean_mw(&m, DOMAIN_CPU, 1), 250000, "a socket without inner rails is CPU");
	is_u64(m.r.nparts, 4, "a nameless rail is not counted");
	ok(part(&m, DOMAIN_OTHER, 0)->scope == SCOPE_MODULE && part(&m, DOMAIN_OTHER, 0)->module == 1,
	   "Module says that it contains the others");
	is_u64(mean_mw(&m, DOMAIN_OTHER, 0), 900000, "  and shows all of it");
	put("hwmon1/device/power1_average", "255000000\n");
	(void)machine_read_all(&m, SECOND_NS);
	is_u64(mean_mw(&m, DOMAIN_DRAM, 0), 0, "Grace below its parts is no negative memory");
	put("hwmon2/device/power1_average", "garbage\n");
	is_int(machine_read_all(&m, SECOND_NS), 0, "with one rail unreadable the others go on");
	is_u64(m.r.rejected, 2, "it and what needs it are counted");
	is_u64(part(&m, DOMAIN_DRAM, 0)->energy_uj, 0, "and the memory is not made up of it");
	ops()->close(m.source);
}

static const struct file power9[] = {
	{ "hwmon0/name", "ibmpowernv\n" },	    { "hwmon0/power1_input", "440000000\n" },
	{ "hwmon0/power1_label", "System\n" },	    { "hwmon0/power2_input", "90000000\n" },
	{ "hwmon0/power2_label", "Chip 0 \n" },	    { "hwmon0/power3_input", "20000000\n" },
	{ "hwmon0/power3_label", "Chip 0 Vdd\n" },  { "hwmon0/energy1_input", "7000000\n" },
	{ "hwmon0/energy1_label", "System\n" },	    { "hwmon1/name", "power_meter\n" },
	{ "hwmon1/power1_average", "440000000\n" }, { 0 },
};

static void test_power9(void)
{
	struct machine m;

	if (!ok(machine_open(&m, power9) == 0, "POWER9 opens")) {
		diag("%s", m.err.text);
		return;
	}
	is_u64(mean_mw(&m, DOMAIN_CPU, 0), 90000, "a chip is its socket's CPU");
	is_u64(m.r.nparts, 2, "its parts are not counted twice");
	is_int(part(&m, DOMAIN_OTHER, 0)->quality, QUALITY_COUNTER,
	       "energy comes before power, and one chip's view of the node before two");
	put("hwmon0/energy1_input", "7500000\n");
	is_int(machine_read_all(&m, SECOND_NS), 0, "reads on");
	is_u64(part(&m, DOMAIN_OTHER, 0)->energy_uj, 500000, "the counter's advance");
	ops()->close(m.source);
}

/* --- what a counter may do ---------------------------------------------------------------- */

static void test_counter(void)
{
	static const struct file files[] = {
		{ "hwmon3/name", "amd_energy\n" },
		{ "hwmon3/energy1_input", "5000000000000\n" },
		{ "hwmon3/energy1_label", "Esocket0\n" },
		{ 0 },
	};
	static const struct {
		const char *name, *text;
		int rc;
		uint64_t uj;
		uint32_t rejected;
	} t[] = {
		{ "an advance", "5000000200000\n", .uj = 200000 },
		{ "negative", "-5\n", .rc = -EIO },
		{ "empty", "", .rc = -EIO },
		{ "words", "N/A\n", .rc = -EIO },
		{ "beyond 64 bits", "99999999999999999999\n", .rejected = 1 },
		{ "the energy of failed readings", "5000000300000\n", .uj = 100000 },
		{ "a jump", "9000000000000\n", .rejected = 1 },
		{ "a glitch is forgotten", "5000000400000\n", .uj = 100000 },
		{ "reset", "1000\n", .rejected = 1 },
		{ "grows", "2000\n", .rejected = 1 },
		{ "grows, 2", "3000\n", .rejected = 1 },
		{ "grows, 3", "4000\n", .rejected = 1 },
		{ "grows, 4", "5000\n", .rejected = 1 },
		{ "grows, 5", "6000\n", .rejected = 1 },
		{ "goes on from the reset", "7000\n", .uj = 6000 },
	};
	struct machine m;
	size_t i;

	if (!ok(machine_open(&m, files) == 0, "amd_energy opens")) {
		diag("%s", m.err.text);
		return;
	}
	is_int(machine_read_all(&m, SECOND_NS), 0, "the first reading");
	ok(part(&m, DOMAIN_CPU, 0)->is_new_base && !part(&m, DOMAIN_CPU, 0)->energy_uj, "is the base");
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		int rc;

		put("hwmon3/energy1_input", t[i].text);
		memset(&m.r, 0, sizeof(m.r));
		rc = machine_read_all(&m, SECOND_NS);
		if (!ok(rc == t[i].rc && (rc < 0 || part(&m, DOMAIN_CPU, 0)->energy_uj == t[i].uj) &&
				m.r.rejected == t[i].rejected,
			"%s", t[i].name))
			diag("%d, %" PRIu64 " uJ, %u rejected", rc,
			     rc < 0 ? 0 : part(&m, DOMAIN_CPU, 0)->energy_uj, m.r.rejected);
	}
	ops()->close(m.source);
}

static void test_restart(void)
{
	static const struct file files[] = {
		{ "hwmon3/name", "amd_energy\n" },
		{ "hwmon3/energy1_input", "1000000\n" },
		{ "hwmon3/energy1_label", "Esocket0\n" },
		{ 0 },
	};
	struct machine m;

	if (!ok(machine_open(&m, files) == 0, "opens"))
		return;
	is_int(machine_read_first(&m, SECOND_NS), 0, "is read");
	ops()->close(m.source);
	put("hwmon3/energy1_input", "4000000\n");
	is_int(ops()->open(&here, &m.source, &m.err), 0, "opens again");
	is_int(machine_read_first(&m, 10 * SECOND_NS), 0, "is read again");
	is_u64(part(&m, DOMAIN_CPU, 0)->energy_uj, 3000000, "goes on from the kept value");
	ops()->close(m.source);
}

static void test_power_faults(void)
{
	static const struct file files[] = {
		{ "hwmon0/name", "ibmpowernv\n" },
		{ "hwmon0/power1_label", "System\n" },
		{ "hwmon0/power1_input", "100000000\n" },
		{ 0 },
	};
	struct machine m;
	uint64_t until;

	if (!ok(machine_open(&m, files) == 0, "one meter opens"))
		return;
	is_int(machine_read_first(&m, SECOND_NS), 0, "is read");
	is_u64(mean_mw(&m, DOMAIN_OTHER, 0), 100000, "100 W");
	until = part(&m, DOMAIN_OTHER, 0)->until_ns;
	put("hwmon0/power1_input", "4294967295000\n");
	is_int(machine_read_all(&m, SECOND_NS), 0, "an absurd value is read");
	is_u64(m.r.rejected, 1, "and rejected");
	is_u64(part(&m, DOMAIN_OTHER, 0)->energy_uj, 0, "as no energy");
	is_u64(part(&m, DOMAIN_OTHER, 0)->until_ns, until, "that reaches no further");
	put("hwmon0/power1_input", "0\n");
	(void)machine_read_all(&m, SECOND_NS);
	is_u64(m.r.rejected, 1, "0 W from the only meter is rejected");
	put("hwmon0/power1_input", "100000000\n");
	(void)machine_read_all(&m, SECOND_NS);
	ok(part(&m, DOMAIN_OTHER, 0)->until_ns > until && part(&m, DOMAIN_OTHER, 0)->energy_uj > 0,
	   "the next good one covers the time");
	put("hwmon0/power1_input", "");
	scratch_clear(HWMON);
	is_int(machine_read_all(&m, SECOND_NS), -EIO, "a meter whose driver is gone");
	ops()->close(m.source);
}

/* IBM's Active Energy Manager asks the BMC, so that its file is read by a helper. */
static void test_slow_counter(void)
{
	static const struct file files[] = {
		{ "hwmon3/name", "aem1\n" },
		{ "hwmon3/energy1_input", "5000000000000\n" },
		{ "hwmon3/power1_average", "200000000\n" },
		{ 0 },
	};
	static const struct {
		const char *text;
		uint64_t uj;
		bool is_bad;
		int rc; /* of ticks to come, with an answer in them or not */
	} t[] = {
		{ "5000000200000\n", 200000, false, 0 },
		{ "N/A\n", 0, true, -EIO },
		{ "5000000500000\n", 300000, false, 0 },
		{ "9000000000000\n", 0, true, 0 }, /* a glitch */
	};
	struct timespec pause = { .tv_nsec = 5 * 1000 * 1000 };
	uint64_t opened_ns = clock_mono_ns();
	struct machine m;
	size_t i;

	if (!ok(machine_open(&m, files) == 0, "ibmaem opens")) {
		diag("%s", m.err.text);
		return;
	}
	while (machine_read(&m, SECOND_NS) < 0 && clock_mono_ns() < opened_ns + WAIT_NS)
		(void)nanosleep(&pause, NULL);
	ok(part(&m, DOMAIN_OTHER, 0)->is_new_base, "its first answer comes with open(), or soon");
	is_int(part(&m, DOMAIN_OTHER, 0)->quality, QUALITY_COUNTER, "a counter");
	ok(part(&m, DOMAIN_OTHER, 0)->until_ns, "with the time up to which it counts");
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint64_t deadline = clock_mono_ns() + WAIT_NS;
		bool rejected = false;
		uint64_t uj = 0;

		put("hwmon3/energy1_input", t[i].text);
		/* what it told before may still be in the pipe */
		while ((t[i].is_bad ? !rejected : uj < t[i].uj) && clock_mono_ns() < deadline) {
			int rc = machine_read(&m, SECOND_NS);

			rejected |= rc < 0 || m.r.rejected;
			uj += rc == 0 ? part(&m, DOMAIN_OTHER, 0)->energy_uj : 0;
			(void)nanosleep(&pause, NULL);
		}
		if (!ok(uj == t[i].uj && (rejected || !t[i].is_bad), "%.*s", (int)strcspn(t[i].text, "\n"),
			t[i].text))
			diag("%" PRIu64 " uJ, %d", uj, rejected);
		is_int(machine_read(&m, SECOND_NS), t[i].rc, "  the next tick has the same result");
	}
	ops()->close(m.source);
	ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "close() leaves no process");
}

/* -------------------------------------------------------------------------------------------- */

static bool enter_namespace(void)
{
	return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("ceems-test", "/sys/class", "tmpfs", 0, NULL) == 0 && mkdir(HWMON, 0755) == 0 &&
	       mkdir(ACPI, 0755) == 0;
}

int main(void)
{
	test_rails();
	if (!enter_namespace()) {
		skip(1, "no mount namespace of its own (needs root)");
		return done_testing();
	}
	test_refused();
	test_two_supplies(two_supplies_old, "device/", "attributes in device/");
	test_two_supplies(two_supplies_new, "", "attributes in hwmonN/");
	test_grace();
	test_power9();
	test_counter();
	test_restart();
	test_power_faults();
	test_slow_counter();
	return done_testing();
}
