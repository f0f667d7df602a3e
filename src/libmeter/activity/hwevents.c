/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/hwevents.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "ceems_config.h"
#include "src/libmeter/activity/hwevents_table.h"
#include "src/libutil/fileio.h"
#include "src/libutil/logger.h"
#include "src/libutil/util.h"
#ifdef HAVE_LIBPFM
#include <perfmon/pfmlib_perf_event.h>
#endif

#define PFM_LIBRARY "libpfm.so.4"
#define DEVICES "/sys/bus/event_source/devices"
#define OWN_GROUP 4 /* so many of a user's events are on the PMU at the same time */

/* --- the default ---------------------------------------------------------------------------- */

static void hwevents_begin(struct hwevents *h, const char *machine)
{
	memset(h, 0, sizeof(*h));
	(void)snprintf(h->machine, sizeof(h->machine), "%s", machine);
}

static struct hwevent *hwevents_add(struct hwevents *h, const char *name)
{
	struct hwevent *e = &h->event[h->n++];

	(void)snprintf(e->name, sizeof(e->name), "%s", name);
	e->attr.size = sizeof(e->attr);
	e->factor = 1;
	return e;
}

static bool is_there(const char *sys_root, const char *device, const char *file)
{
	char path[512];
	int n = snprintf(path, sizeof(path), "%s" DEVICES "/%s/%s", sys_root, device, file);

	return n > 0 && (size_t)n < sizeof(path) && access(path, F_OK) == 0;
}

/*
 * Returns true if the PMU's sysfs folder lists EVENT, or if there is no such folder. On Arm, the
 * list is what the register PMCEID has. The PMU is named armv8_pmuv3_0 with ACPI, and after the CPU
 * with a device tree.
 */
static bool pmu_lists(const char *sys_root, const char *event)
{
	char path[512], file[128];
	bool is_found = false, has = false;
	struct dirent *d;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "%s" DEVICES, sys_root);
	(void)snprintf(file, sizeof(file), "events/%s", event);
	dir = opendir(path);
	while (dir && !has && (d = readdir(dir))) {
		if (strncmp(d->d_name, "armv", 4) != 0)
			continue;
		is_found = true;
		has = is_there(sys_root, d->d_name, file);
	}
	if (dir)
		(void)closedir(dir);
	return has || !is_found;
}

void hwevents_fill(const struct hwevents_machine *m, const char *sys_root, struct hwevents *ret)
{
	size_t i;

	hwevents_begin(ret, m->name);
	for (i = 0; i < hwevents_rows(m); i++) {
		const struct hwevents_row *row = &m->row[i];
		struct hwevent *e = hwevents_add(ret, row->name);

		e->attr.type = row->type;
		e->attr.config = row->config;
		e->attr.config1 = row->config1;
		e->group = row->group;
		e->metric = row->metric;
		e->factor = row->factor;
		if (row->sysfs[0] && !pmu_lists(sys_root, row->sysfs))
			e->reason = REASON_NO_EVENT;
	}
}

void hwevents_default(struct hwevents *ret)
{
	struct cpuinfo cpu;

	cpuinfo_read("", &cpu);
	hwevents_fill(hwevents_machine(&cpu), "", ret);
}

/* --- a user's own ----------------------------------------------------------------------------- */

#ifdef HAVE_LIBPFM
static uint64_t read_number(const char *path, uint64_t otherwise)
{
	_cleanup_close_ int fd = fileio_open_at_root("", path);
	uint64_t v;

	return fd >= 0 && fileio_pread_u64(fd, &v) == 0 ? v : otherwise;
}

/*
 * Returns true if TYPE is a PMU of CPU cores. Those have a file "cpus"; PMUs that count more than a
 * task have "cpumask"; others (intel_pt, kprobe ...) have neither.
 */
static bool is_core_pmu(uint32_t type)
{
	struct dirent *d;
	bool is = false;
	DIR *dir = opendir(DEVICES);

	while (dir && !is && (d = readdir(dir))) {
		char path[512];

		if (d->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), DEVICES "/%s/type", d->d_name);
		is = read_number(path, UINT64_MAX) == type && is_there("", d->d_name, "cpus") &&
		     !is_there("", d->d_name, "cpumask");
	}
	if (dir)
		(void)closedir(dir);
	return is;
}

/*
 * Intel's "AnyThread" bit also counts the sibling thread, which may run another user's task. The
 * kernel allows it to root (intel_pmu_hw_config), and we run as root.
 */
static bool is_of_both_threads(uint64_t config)
{
#ifdef __x86_64__
	return config & (UINT64_C(1) << 21);
#else
	(void)config;
	return false;
#endif
}

static bool is_per_task(const struct perf_event_attr *attr)
{
	switch (attr->type) {
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
		/* on CPUs with two kinds of cores, the upper half has the PMU (5.13) */
		return !(attr->config >> 32) || is_core_pmu((uint32_t)(attr->config >> 32));
	case PERF_TYPE_SOFTWARE:
		return attr->config <= PERF_COUNT_SW_EMULATION_FAULTS;
	case PERF_TYPE_RAW:
		return !is_of_both_threads(attr->config);
	case PERF_TYPE_TRACEPOINT:
	case PERF_TYPE_BREAKPOINT:
		return false;
	default:
		return is_core_pmu(attr->type) && !is_of_both_threads(attr->config);
	}
}

/*
 * Returns true if the event may count in the kernel. A user without that right must not get counts
 * of the kernel from us, not even as the difference between a count with ":u" and one without. For
 * such a user, only user space is counted, as perf(1) does. Software events, such as switches, only
 * exist in the kernel, and every user may count them.
 */
static bool may_count_kernel(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE ||
	       read_number("/proc/sys/kernel/perf_event_paranoid", /* otherwise= */ 2) <= 1;
}

/* The functions of libpfm4, found at run time. */
struct pfm {
	void *lib;
	__typeof__(pfm_initialize) *initialize;
	__typeof__(pfm_terminate) *terminate;
	__typeof__(pfm_get_os_event_encoding) *encode;
	__typeof__(pfm_get_pmu_info) *pmu_info;
	__typeof__(pfm_get_event_info) *event_info;
	__typeof__(pfm_get_event_next) *event_next;
};

static bool pfm_open(struct pfm *pfm)
{
	pfm->lib = dlopen(PFM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!pfm->lib)
		return false;
	*(void **)&pfm->initialize = dlsym(pfm->lib, "pfm_initialize");
	*(void **)&pfm->terminate = dlsym(pfm->lib, "pfm_terminate");
	*(void **)&pfm->encode = dlsym(pfm->lib, "pfm_get_os_event_encoding");
	*(void **)&pfm->pmu_info = dlsym(pfm->lib, "pfm_get_pmu_info");
	*(void **)&pfm->event_info = dlsym(pfm->lib, "pfm_get_event_info");
	*(void **)&pfm->event_next = dlsym(pfm->lib, "pfm_get_event_next");
	if (pfm->initialize && pfm->terminate && pfm->encode && pfm->pmu_info && pfm->event_info &&
	    pfm->event_next && pfm->initialize() == PFM_SUCCESS)
		return true;
	(void)dlclose(pfm->lib);
	return false;
}

static void pfm_close(struct pfm *pfm)
{
	pfm->terminate();
	(void)dlclose(pfm->lib);
}

/*
 * Encodes a user's event. Only the event and the modes are taken from NAME: PFM_OS_PERF_EVENT
 * (without _EXT) has no period and no precision.
 */
static enum metric_reason encode(const struct pfm *pfm, const char *name, struct perf_event_attr *ret)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	pfm_perf_encode_arg_t arg = { .size = sizeof(arg), .attr = &attr };

	if (pfm->encode(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg) != PFM_SUCCESS)
		return REASON_NO_EVENT;
	if (!is_per_task(&attr))
		return REASON_NO_PERMISSION;
	if (!may_count_kernel(&attr)) {
		if (attr.exclude_user)
			return REASON_NO_PERMISSION;
		attr.exclude_kernel = attr.exclude_hv = 1;
	}
	ret->type = attr.type;
	ret->config = attr.config;
	ret->config1 = attr.config1;
	ret->config2 = attr.config2;
	ret->exclude_user = attr.exclude_user;
	ret->exclude_kernel = attr.exclude_kernel;
	ret->exclude_hv = attr.exclude_hv;
	ret->exclude_guest = attr.exclude_guest;
	ret->exclude_host = attr.exclude_host;
	return REASON_NONE;
}

static void encode_all(struct hwevents *h)
{
	struct pfm pfm;
	uint32_t i;

	if (!pfm_open(&pfm)) {
		h->is_unnamed = true;
		logger_debug("perf: %s cannot be used; events: needs it", PFM_LIBRARY);
		return;
	}
	for (i = 0; i < h->n; i++)
		h->event[i].reason = encode(&pfm, h->event[i].name, &h->event[i].attr);
	pfm_close(&pfm);
}

static bool pmu_has_event(const struct pfm *pfm, const pfm_pmu_info_t *pmu, const char *name, size_t len)
{
	int i;

	for (i = pmu->first_event; i >= 0; i = pfm->event_next(i)) {
		pfm_event_info_t event = { .size = sizeof(event) };

		if (pfm->event_info(i, PFM_OS_NONE, &event) == PFM_SUCCESS && strlen(event.name) == len &&
		    !strncasecmp(event.name, name, len))
			return true;
	}
	return false;
}

/* Returns true if libpfm4 knows NAME, such as "skx::INST_RETIRED:ANY_P", for any CPU. */
static bool is_known(const struct pfm *pfm, const char *name)
{
	const char *colons = strstr(name, "::");
	const char *event = colons ? colons + 2 : name;
	size_t pmu_len = colons ? (size_t)(colons - name) : 0;
	struct perf_event_attr ignored;
	int i;

	/* encode() also knows raw codes, which are not in the lists searched below */
	if (encode(pfm, name, &ignored) != REASON_NO_EVENT)
		return true;
	for (i = PFM_PMU_NONE; i < PFM_PMU_MAX; i++) {
		pfm_pmu_info_t pmu = { .size = sizeof(pmu) };

		if (pfm->pmu_info((pfm_pmu_t)i, &pmu) != PFM_SUCCESS ||
		    (pmu_len && (strlen(pmu.name) != pmu_len || strncasecmp(pmu.name, name, pmu_len) != 0)))
			continue;
		if (pmu_has_event(pfm, &pmu, event, strcspn(event, ":.")))
			return true;
	}
	return false;
}

int hwevents_check_names(const struct perf_request *request, struct errmsg *err)
{
	char text[sizeof(err->text)] = "";
	struct pfm pfm;
	size_t used = 0;
	uint32_t i;

	if (!request->nevents)
		return 0;
	if (!pfm_open(&pfm))
		return errmsg_set(err, -EOPNOTSUPP,
				  PFM_LIBRARY " is not installed, so names of events cannot be "
					      "checked");
	for (i = 0; i < request->nevents && i < PERF_REQUEST_EVENTS && used < sizeof(text); i++)
		if (!is_known(&pfm, request->event[i]))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
						 request->event[i]);
	pfm_close(&pfm);
	return used ? errmsg_set(err, -ENOENT, "libpfm4 knows no event %s", text) : 0;
}
#else
static void encode_all(struct hwevents *h)
{
	h->is_unnamed = true;
}

int hwevents_check_names(const struct perf_request *request, struct errmsg *err)
{
	return request->nevents ? errmsg_set(err, -EOPNOTSUPP,
					     "built without libpfm4, so names of events cannot "
					     "be checked") :
				  0;
}
#endif

void hwevents_own(const struct perf_request *request, struct hwevents *ret)
{
	uint32_t i;

	hwevents_begin(ret, "own");
	for (i = 0; i < request->nevents && i < PERF_REQUEST_EVENTS; i++) {
		struct hwevent *e = hwevents_add(ret, request->event[i]);

		e->metric = METRIC_N;
		e->group = (uint8_t)(i / OWN_GROUP);
		e->reason = REASON_NO_EVENT;
	}
	encode_all(ret);
}
