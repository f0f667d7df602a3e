/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/gpu.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/libmeter/sensor/counter.h"
#include "src/libmeter/sensor/integrate.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/logger.h"
#include "src/libutil/trust.h"

/* A sample that is older says nothing about a job that began since. */
#define STALE_NS (10 * NSEC_PER_SEC)

struct source {
	const struct gpu_library_ops *ops;
	struct gpu_poll *poll;
	struct gpu_view view;
	struct counter counter[GPUS_MAX];
	uint64_t seen_ns[GPUS_MAX]; /* of the last sample that was looked at */
	struct logger_once implausible;
};

/* --- opening ---------------------------------------------------------------------------- */

int gpu_load(const char *path, const struct gpu_symbol *symbols, size_t n, void *table,
	     void **ret_dl, struct errmsg *err)
{
	int rc = strchr(path, '/') ? trust_check(path, err) : 0;
	void *dl;
	size_t i;

	if (rc < 0 && rc != -ENOENT)
		return rc;
	/*
	 * Never unmapped: NVML of driver 580 loads libcuda, whose thread stays, and each time that NVML itself
	 * is unmapped an eventfd is left open.
	 */
	dl = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!dl)
		return errmsg_set(err, -ELIBACC, "%s", dlerror());
	for (i = 0; i < n; i++) {
		void *f = dlsym(dl, symbols[i].name);

		if (!f && !symbols[i].is_optional) {
			(void)dlclose(dl);
			return errmsg_set(err, -ENOSYS, "%s has no %s", path, symbols[i].name);
		}
		/* POSIX has pointers to functions and to objects convert, ISO C has not */
		memcpy((char *)table + symbols[i].offset, &f, sizeof(f));
	}
	*ret_dl = dl;
	return 0;
}

static bool is_there(const char *sys_root, const char *trace)
{
	_cleanup_close_ int fd = fileio_open_at_root(sys_root, trace);

	return fd >= 0;
}

int gpu_open(const struct gpu_library_ops *ops, const char *library, const char *sys_root,
	     const char *trace, struct source **ret, struct errmsg *err)
{
	struct source *s;
	size_t i;
	int rc;

	if (!strchr(library, '/') && !is_there(sys_root, trace))
		return errmsg_set(err, -ENODEV, "no %s", trace);
	s = calloc(1, sizeof(*s));
	if (!s)
		return errmsg_errno(err, -ENOMEM, "GPUs");
	s->ops = ops;
	for (i = 0; i < GPUS_MAX; i++) {
		s->counter[i].range_uj = UINT64_MAX;
		s->counter[i].max_w = COUNTER_PACKAGE_MAX_W;
	}
	rc = gpu_poll_start(ops, library, &s->poll, err);
	if (rc < 0) {
		free(s);
		return rc;
	}
	gpu_poll_ask(s->poll, &s->view);
	*ret = s;
	return 0;
}

void gpu_close(struct source *s)
{
	if (!s)
		return;
	gpu_poll_stop(s->poll);
	free(s);
}

/* --- reading ---------------------------------------------------------------------------- */

/*
 * The state has two entries per counter, as integrate.h has per sensor: the last value and, as
 * "ID ns", when it was read.
 */
static uint64_t *base_time(struct source_state *state, const char *id)
{
	char name[sizeof(((struct source_counter *)0)->name)];

	(void)snprintf(name, sizeof(name), "%s ns", id);
	return source_state_find(state, name);
}

static int start_counter(struct source_state *state, const char *id, const struct gpu_sample *s)
{
	char name[sizeof(((struct source_counter *)0)->name)];
	int rc;

	(void)snprintf(name, sizeof(name), "%s ns", id);
	rc = source_state_put(state, id, s->energy_uj);
	return rc < 0 ? rc : source_state_put(state, name, s->t_ns);
}

/* A sample that was seen before is no reading of 0: it is not booked again. */
static int book_counter(struct source *s, size_t i, struct source_state *state,
			struct reading_part *part)
{
	const struct gpu_sample *sample = &s->view.sample[i];
	const char *id = s->view.device[i].id;
	uint64_t *base = source_state_find(state, id);
	uint64_t *base_ns = base_time(state, id);
	uint64_t before_ns;
	bool wrapped;
	uint64_t uj;
	int rc;

	if (sample->energy_uj == GPU_UNKNOWN)
		return -ERANGE;
	if (!base || !base_ns || *base_ns > sample->t_ns)
		return start_counter(state, id, sample);
	if (sample->t_ns == *base_ns || sample->t_ns == s->seen_ns[i])
		return 0;
	/* the base may be of another process, which is why its age is not left to the counter */
	before_ns = s->seen_ns[i] > *base_ns ? s->seen_ns[i] : *base_ns;
	s->counter[i].age_ns = before_ns - *base_ns;
	s->seen_ns[i] = sample->t_ns;
	rc = counter_advance(&s->counter[i], base, sample->energy_uj, sample->t_ns - before_ns,
			     &uj, &wrapped);
	if (rc < 0)
		return rc;
	*base_ns = sample->t_ns;
	part->energy_uj += uj;
	return 0;
}

static int book_power(const struct source *s, size_t i, struct source_state *state,
		      struct reading *r, struct reading_part *part)
{
	const struct gpu_sample *sample = &s->view.sample[i];
	struct integrate limits = {
		.max_mw = COUNTER_PACKAGE_MAX_W * 1000,
		.max_gap_ns = INTEGRATE_GAP_NS,
	};

	return integrate_book(&limits, state, s->view.device[i].id, sample->power_mw,
			      sample->t_ns, r, part);
}

/* False: nothing was read of this GPU. */
static bool book(struct source *s, size_t i, struct source_state *state, struct reading *r)
{
	const struct gpu_device *d = &s->view.device[i];
	const struct gpu_sample *sample = &s->view.sample[i];
	struct reading_part *part;
	const uint64_t *until_ns;
	int rc = sample->rc;

	part = reading_part(r, DOMAIN_GPU, d->unit,
			    d->has_counter ? QUALITY_COUNTER : QUALITY_INTEGRATED);
	if (!sample->t_ns)
		return false;
	if (clock_mono_ns() - sample->t_ns > STALE_NS)
		r->late++;
	if (rc == 0 && d->has_counter) {
		rc = book_counter(s, i, state, part);
		r->rejected += rc < 0;
	} else if (rc == 0) {
		rc = book_power(s, i, state, r, part); /* counts what is wrong */
	} else {
		r->rejected++;
	}
	until_ns = base_time(state, d->id);
	if (until_ns)
		part->until_ns = *until_ns;
	/* an implausible value was still read */
	return sample->rc == 0 && rc != -ENOSPC;
}

int gpu_read(struct source *s, uint64_t dt_ns, uint32_t busy_ppm, struct source_state *state,
	     struct reading *ret)
{
	struct reading out = { 0 };
	size_t unreadable = 0;
	size_t good = 0;
	size_t i;

	(void)dt_ns; /* samples have their own time */
	(void)busy_ppm;
	gpu_poll_ask(s->poll, &s->view);
	for (i = 0; i < s->view.n; i++) {
		good += book(s, i, state, &out);
		unreadable += s->view.sample[i].rc < 0; /* gpu_poll.c says which and why */
	}
	if (out.rejected > unreadable)
		logger_log_once(&s->implausible, LOGGER_ERROR,
				"%s: a GPU's figure is implausible and is not booked; more are only counted",
				s->ops->name);
	if (!good)
		return -EIO;
	*ret = out;
	return 0;
}

/* --- showing ---------------------------------------------------------------------------- */

size_t gpu_gpus(const struct source *s, struct gpu_reading *ret, size_t max)
{
	size_t i;

	for (i = 0; i < s->view.n && i < max; i++) {
		const struct gpu_device *d = &s->view.device[i];
		const struct gpu_sample *sample = &s->view.sample[i];
		bool is_known = sample->t_ns && sample->rc == 0;

		ret[i] = (struct gpu_reading){
			.unit = (uint8_t)d->unit,
			.power_mw = is_known ? sample->power_mw : GPU_UNKNOWN,
			.busy_ppm = is_known ? sample->busy_ppm : GPU_UNKNOWN,
			.mem_used_bytes = is_known ? sample->mem_used_bytes : GPU_UNKNOWN,
			.mem_total_bytes = is_known ? sample->mem_total_bytes : GPU_UNKNOWN,
		};
		(void)snprintf(ret[i].model, sizeof(ret[i].model), "%s", d->model);
		(void)snprintf(ret[i].uuid, sizeof(ret[i].uuid), "%s", d->id);
	}
	return i;
}

void gpu_describe(const struct source *s, char *buf, size_t size)
{
	size_t by_power = 0;
	size_t i;
	int n;

	if (!s->view.n) {
		(void)snprintf(buf, size, "the driver has not answered yet");
		return;
	}
	for (i = 0; i < s->view.n; i++)
		by_power += !s->view.device[i].has_counter;
	n = snprintf(buf, size, "%zu GPU%s, %s", s->view.n, s->view.n == 1 ? "" : "s",
		     s->view.device[0].model);
	if (by_power && n > 0 && (size_t)n < size)
		(void)snprintf(buf + n, size - (size_t)n, "; power of %zu integrated", by_power);
}
