/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/profiler/profile_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "src/libutil/as_user.h"
#include "src/profiler/profile_jit.h"
#include "src/profiler/profile_maps.h"
#include "src/profiler/profile_names.h"
#include "src/profiler/profile_push.h"
#include "src/profiler/profile_unwind.h"
#include "src/libprofile/profile_pprof.h"
#include "src/libutil/clock.h"
#include "src/libutil/helper.h"
#include "src/libutil/util.h"

#define WRITE_MAX_S 10
/*
 * The pause after a write: 60 s, or 50 times the duration of the write if that is longer. So
 * writing costs at most 2 % of the time.
 */
#define WRITE_EVERY_NS (60 * NSEC_PER_SEC)
#define WRITE_COST 50
/* The first write is after 5 s, so that users soon see a profile of a running job. */
#define WRITE_FIRST_NS (5 * NSEC_PER_SEC)
/*
 * The most different stacks; each takes some 500 bytes of memory that is charged to the job. After
 * half of them, new stacks get no pid, so that equal stacks of several processes are stored once.
 */
#define STACKS_MAX 100000u
/* Below this share of the time in which an event was counted, the file says so. */
#define COUNTED_WHOLE 0.995
#define DEPTH_MAX 256 /* the kernel's call chain has at most 127 addresses by default */

struct profile_writer {
	const struct profile_writer_setup *setup;
	enum stacks_event event;
	double counted;	     /* share of the time in which EVENT was counted; 1 until sampling has ended */
	char why_event[256]; /* why EVENT is not the one that was asked for; empty: it is */
	struct profile *profile; /* NULL before WIRE_BEGIN, as are the next four */
	struct profile_maps *maps;
	struct profile_names *names;
	struct profile_unwind *unwind;
	struct profile_jit *jit;
	uint32_t kernel;  /* mapping of the kernel's functions; PROFILE_NONE: not added yet */
	uint32_t *symbol; /* location by a kernel function's number; PROFILE_NONE: not received yet */
	uint32_t nsymbols;
	uint64_t begin_ns, end_ns;	  /* time of WIRE_BEGIN and of the latest message; 0: none */
	uint64_t samples, lost, left_out; /* received; lost by the kernel; beyond STACKS_MAX */
	uint64_t ended[3];		  /* samples by enum unwind_end */
	uint64_t waited_ns[3];		  /* time that threads waited, likewise */
	bool has_no_pids;
	char path[1024], temporary[1048]; /* PATH is empty before the first write */
	bool is_written; /* PATH has a profile, and is not the empty file that reserves the name */
	uint64_t due_ns; /* time of the next write */
	struct profile_push push;
	int push_rc; /* the error that ended pushing, or 0 */
};

/* --- samples ------------------------------------------------------------------------------ */

/* Adds a kernel function, and keeps its location under the function's number. */
static int learn_symbol(struct profile_writer *w, const struct stacks_record *r)
{
	const struct profile_mapping mapping = {
		.path = PROFILE_KERNEL, .build_id = "", .limit = UINT32_MAX, .has_functions = true
	};
	const struct profile_function function = { .name = r->text, .system_name = "", .file = "" };
	struct profile_line line = { 0 };
	struct profile_location location = { .address = r->start, .line = &line, .nlines = 1 };
	const uint32_t n = (uint32_t)r->start;
	uint32_t *more;
	int rc = 0;

	if (n >= w->nsymbols) {
		more = realloc(w->symbol, (n + 1024) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		memset(more + w->nsymbols, 0xff, (n + 1024 - w->nsymbols) * sizeof(*more));
		w->symbol = more;
		w->nsymbols = n + 1024;
	}
	if (w->kernel == PROFILE_NONE)
		rc = profile_add_mapping(w->profile, &mapping, &w->kernel);
	if (rc == 0)
		rc = profile_add_function(w->profile, &function, &line.function);
	location.mapping = w->kernel;
	return rc < 0 ? rc : profile_add_location(w->profile, &location, &w->symbol[n]);
}

struct stack {
	uint32_t location[DEPTH_MAX];
	size_t depth;
	const char *end; /* PROFILE_STACK_CUT or PROFILE_STACK_FAILED; NULL: the stack is whole */
};

static void add_kernel(const struct profile_writer *w, const struct stacks_record *r, struct stack *s)
{
	size_t i;

	for (i = 0; i < r->nkernel && s->depth < DEPTH_MAX; i++)
		if (r->kernel[i] < w->nsymbols && w->symbol[r->kernel[i]] != PROFILE_NONE)
			s->location[s->depth++] = w->symbol[r->kernel[i]];
}

static int add_user(struct profile_writer *w, const struct stacks_record *r, struct stack *s)
{
	struct profile_line line = { 0 };
	struct profile_location location = { .line = &line };
	uint64_t address[DEPTH_MAX];
	enum unwind_end end;
	bool is_made;
	size_t i, n, before;
	int rc;

	if (!r->nuser && !r->nregs) { /* the sample has no user part */
		if (r->kind == STACKS_WAIT)
			w->waited_ns[UNWIND_FAILED] += r->wait_ns;
		return 0;
	}
	rc = profile_unwind_sample(w->unwind, r, address, DEPTH_MAX - s->depth, &n, &end);
	for (i = 0; i < n && rc >= 0; i++) {
		rc = profile_maps_find(w->maps, r->pid, address[i], &location.mapping, &location.address);
		if (rc == 0)
			rc = profile_names_find(w->names, r->pid, location.mapping, location.address,
						&line.function);
		is_made = rc == 0 && profile_jit_is_made(&w->profile->mapping[location.mapping]);
		if (is_made)
			rc = profile_jit_find(w->jit, r->pid, address[i], &line.function);
		location.nlines = rc > 0;
		before = w->profile->nlocations;
		if (rc >= 0)
			rc = profile_add_location(w->profile, &location, &s->location[s->depth++]);
		if (rc == 0 && is_made && !location.nlines && w->profile->nlocations > before)
			profile_jit_keep(w->jit, r->pid, address[i], s->location[s->depth - 1]);
	}
	if (rc < 0)
		return rc;
	s->end = end == UNWIND_CUT ? PROFILE_STACK_CUT : end == UNWIND_FAILED ? PROFILE_STACK_FAILED : NULL;
	if (r->kind == STACKS_WAIT)
		w->waited_ns[end] += r->wait_ns;
	else
		w->ended[end]++;
	return 0;
}

static int add_sample(struct profile_writer *w, const struct wire_message *m)
{
	struct profile_label label[PROFILE_LABELS_MAX];
	const bool is_wait = m->record.kind == STACKS_WAIT;
	int64_t value[] = { !is_wait, (int64_t)m->record.period, (int64_t)m->record.wait_ns };
	struct profile_sample sample = { .value = value, .label = label };
	struct stack s = { .depth = 0 };
	size_t n = 0;
	int rc;

	w->samples += !is_wait;
	if (w->profile->nsamples >= STACKS_MAX) {
		w->left_out++;
		return 0;
	}
	w->has_no_pids |= w->profile->nsamples >= STACKS_MAX / 2;
	add_kernel(w, &m->record, &s);
	rc = add_user(w, &m->record, &s);
	if (rc < 0)
		return rc;
	label[n++] = (struct profile_label){ .key = PROFILE_LABEL_JOB, .text = w->setup->job };
	label[n++] = (struct profile_label){ .key = PROFILE_LABEL_STEP, .text = w->setup->step };
	label[n++] = (struct profile_label){ .key = PROFILE_LABEL_NODE, .text = w->setup->node };
	if (m->rank != WIRE_RANK_NONE)
		label[n++] = (struct profile_label){ .key = PROFILE_LABEL_TASK,
						     .number = m->rank,
						     .unit = "" };
	if (!w->has_no_pids)
		label[n++] = (struct profile_label){ .key = PROFILE_LABEL_PID,
						     .number = m->record.pid,
						     .unit = "" };
	if (*m->process)
		label[n++] = (struct profile_label){ .key = PROFILE_LABEL_PROCESS, .text = m->process };
	if (*m->thread)
		label[n++] = (struct profile_label){ .key = PROFILE_LABEL_THREAD, .text = m->thread };
	if (s.end)
		label[n++] = (struct profile_label){ .key = PROFILE_LABEL_STACK, .text = s.end };
	sample.location = s.location;
	sample.depth = s.depth;
	sample.nlabels = n;
	return profile_add_sample(w->profile, &sample);
}

static int take_record(struct profile_writer *w, const struct wire_message *m)
{
	int rc = 0;

	switch (m->record.kind) {
	case STACKS_SAMPLE:
	case STACKS_WAIT:
		return add_sample(w, m);
	case STACKS_LOST:
		w->lost += m->record.lost;
		break;
	case STACKS_EXEC:
		rc = profile_jit_forget(w->jit, m->record.pid);
		break;
	case STACKS_EXIT:
		rc = m->record.tid == m->record.pid ? profile_jit_forget(w->jit, m->record.pid) : 0;
		break;
	default:
		break;
	}
	return rc < 0 ? rc : profile_maps_learn(w->maps, &m->record);
}

/* --- the file ----------------------------------------------------------------------------- */

static int add_comment(struct profile *p, const char *fmt, ...) _printf_(2, 3);

static int add_comment(struct profile *p, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return profile_add_comment(p, text);
}

static int add_comments(const struct profile_writer *w, struct profile *p)
{
	const struct profile_writer_setup *s = w->setup;
	int rc = add_comment(p, "job=%s step=%s node=%s", s->job, s->step, s->node);

	if (rc == 0)
		rc = add_comment(p, "event=%s rate=%" PRIu32 "Hz stacks=%s", stacks_events[w->event].name,
				 s->hz, s->stacks);
	if (rc == 0 && *w->why_event)
		rc = add_comment(p, PROFILE_NOTE_LIMIT "%s:%s; the CPU's clock was sampled", s->node,
				 w->why_event);
	if (rc == 0 && w->counted < COUNTED_WHOLE)
		rc = add_comment(p,
				 PROFILE_NOTE_LIMIT
				 "%s:%s were counted %.0f %% of the time, as the PMU has too few counters",
				 s->node, stacks_events[w->event].value, 100 * w->counted);
	if (rc == 0)
		rc = add_comment(p, "size limit=%" PRIu64 "MiB stack limit=%u", s->size_max >> 20,
				 STACKS_MAX);
	if (rc == 0 && w->samples)
		rc = add_comment(p, "user stacks: whole=%" PRIu64 " cut=%" PRIu64 " failed=%" PRIu64,
				 w->ended[UNWIND_WHOLE], w->ended[UNWIND_CUT], w->ended[UNWIND_FAILED]);
	if (rc == 0 && s->has_waits)
		rc = add_comment(p,
				 "off-cpu stacks by frame pointers, in ms: whole=%" PRIu64 " cut=%" PRIu64
				 " failed=%" PRIu64,
				 w->waited_ns[UNWIND_WHOLE] / NSEC_PER_MSEC,
				 w->waited_ns[UNWIND_CUT] / NSEC_PER_MSEC,
				 w->waited_ns[UNWIND_FAILED] / NSEC_PER_MSEC);
	if (rc == 0 && w->lost + w->left_out)
		rc = add_comment(p, PROFILE_NOTE_LOST "%s:%" PRIu64, s->node, w->lost + w->left_out);
	if (rc == 0 && w->left_out)
		rc = add_comment(p,
				 PROFILE_NOTE_LIMIT "%s:more than %u different stacks; %" PRIu64
						    " samples after that are left out",
				 s->node, STACKS_MAX, w->left_out);
	else if (rc == 0 && w->has_no_pids)
		rc = add_comment(p,
				 PROFILE_NOTE_LIMIT
				 "%s:more than %u different stacks; later ones have no pid",
				 s->node, STACKS_MAX / 2);
	return rc;
}

/*
 * Makes a copy of the profile for a file. The comments are added to the copy only, because their
 * numbers still change.
 */
static int make_copy(const struct profile_writer *w, struct profile **ret)
{
	struct profile *p;
	int rc = profile_create(w->profile->type, w->profile->ntypes, &p);

	if (rc < 0)
		return rc;
	rc = profile_merge(p, w->profile);
	if (rc == 0)
		rc = add_comments(w, p);
	if (rc < 0) {
		profile_destroy(p);
		return rc;
	}
	*ret = p;
	return 0;
}

/*
 * Before the first write, reserves the file's name by an empty file, which each write replaces by
 * rename().
 */
static int claim_path(struct profile_writer *w, struct errmsg *err)
{
	int fd;

	if (*w->path)
		return 0;
	fd = as_user_create(w->setup->dir, w->setup->file, "pb.gz", w->path, sizeof(w->path), err);
	if (fd < 0) {
		*w->path = '\0';
		return fd;
	}
	(void)close(fd);
	return 0;
}

static int write_temporary(struct profile_writer *w, const struct profile *p, struct errmsg *err)
{
	int fd = as_user_create_temporary(w->path, w->temporary, sizeof(w->temporary), err);
	int rc;

	if (fd < 0)
		return fd;
	rc = profile_write(p, fd, w->setup->size_max, NULL);
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && rename(w->temporary, w->path) < 0)
		rc = -errno;
	if (rc < 0) {
		(void)unlink(w->temporary);
		return errmsg_errno(err, rc, "%s", w->path);
	}
	w->is_written = true;
	return 0;
}

static int write_file(struct profile_writer *w, struct errmsg *err)
{
	const uint64_t begin_ns = helper_begin(WRITE_MAX_S);
	struct profile *p = NULL;
	uint64_t took_ns;
	int rc = profile_jit_name(w->jit);

	if (rc == 0)
		rc = make_copy(w, &p);
	if (rc < 0)
		(void)errmsg_errno(err, rc, "profile");
	if (rc == 0)
		rc = claim_path(w, err);
	if (rc == 0)
		rc = write_temporary(w, p, err);
	profile_destroy(p);
	(void)helper_end(begin_ns);
	took_ns = clock_mono_ns() - begin_ns;
	w->due_ns = clock_mono_ns() +
		    (took_ns * WRITE_COST > WRITE_EVERY_NS ? took_ns * WRITE_COST : WRITE_EVERY_NS);
	return rc;
}

/* Hands over the next part for ProfilePushUrl. A failure ends pushing, but not the file. */
static void push_part(struct profile_writer *w)
{
	if (w->push.fd < 0)
		return;
	w->push_rc = profile_push_part(&w->push, w->profile,
				       (uint64_t)(w->profile->time_ns + w->profile->duration_ns));
	if (w->push_rc < 0)
		w->push.fd = -1;
}

/* --- messages ----------------------------------------------------------------------------- */

static int make_profile(struct profile_writer *w)
{
	const struct stacks_event_info *e = &stacks_events[w->event];
	const struct profile_type types[] = { { "samples", "count" },
					      { e->value, e->unit },
					      { PROFILE_WAITS, "nanoseconds" } };
	/* the kernel chooses the period of cycles, anew for each sample */
	const int64_t period = w->event == STACKS_CLOCK ? (int64_t)(NSEC_PER_SEC / w->setup->hz) : 0;
	int rc = profile_create(types, w->setup->has_waits ? 3 : 2, &w->profile);

	if (rc == 0)
		rc = profile_set_period(w->profile, e->value, e->unit, period);
	if (rc == 0)
		rc = profile_maps_create(w->profile, &w->maps);
	if (rc == 0)
		rc = profile_names_create(w->profile, &w->names);
	if (rc == 0)
		rc = profile_jit_create(w->profile, &w->jit);
	return rc < 0 ? rc : profile_unwind_create(w->profile, w->maps, w->names, w->jit, &w->unwind);
}

static int take_message(struct profile_writer *w, const struct wire_message *m)
{
	int rc;

	switch (m->kind) {
	case WIRE_BEGIN:
		w->event = m->event;
		(void)snprintf(w->why_event, sizeof(w->why_event), "%s", m->record.text);
		rc = make_profile(w);
		if (rc < 0)
			return rc;
		w->begin_ns = m->record.mono_ns;
		w->profile->time_ns = (int64_t)m->wall_ns;
		w->due_ns = clock_mono_ns() + WRITE_FIRST_NS;
		w->push.from_ns = m->wall_ns;
		w->push.due_ns = clock_mono_ns() + PROFILE_PUSH_EVERY_NS;
		return 0;
	case WIRE_SYMBOL:
		return learn_symbol(w, &m->record);
	case WIRE_RECORD:
		return take_record(w, m);
	case WIRE_END:
		w->counted = m->counted;
		break;
	}
	return 0;
}

/*
 * Takes the next message, or writes the file if it is due. Returns 0; -ENODATA: the other half has
 * ended; or -errno.
 */
static int writer_next(struct profile_writer *w, struct wire *wire, struct errmsg *err)
{
	const uint64_t now_ns = clock_mono_ns();
	uint64_t due_ns = w->due_ns;
	struct wire_message m;
	int rc;

	if (w->begin_ns && now_ns >= w->due_ns)
		return write_file(w, err);
	if (w->begin_ns && w->push.fd >= 0) {
		if (now_ns >= w->push.due_ns)
			push_part(w);
		due_ns = w->push.due_ns < due_ns ? w->push.due_ns : due_ns;
	}
	rc = wire_receive(wire, !w->begin_ns ? -1 : (int)((due_ns - now_ns) / NSEC_PER_MSEC) + 1, &m);
	if (rc < 0)
		return -ENODATA;
	if (rc == 0)
		return 0;
	if (w->begin_ns && m.record.mono_ns > w->end_ns)
		w->end_ns = m.record.mono_ns;
	if (w->end_ns)
		w->profile->duration_ns = (int64_t)(w->end_ns - w->begin_ns);
	rc = take_message(w, &m);
	return rc < 0 ? errmsg_errno(err, rc, "profile") : 0;
}

int profile_writer_run(const struct profile_writer_setup *setup, struct wire *wire, struct errmsg *err)
{
	struct profile_writer w = {
		.setup = setup, .counted = 1, .kernel = PROFILE_NONE, .push.fd = setup->push_fd
	};
	int rc = 0;

	while (rc == 0)
		rc = writer_next(&w, wire, err);
	if (rc == -ENODATA)
		rc = w.begin_ns ? write_file(&w, err) : 0;
	if (*w.path && !w.is_written)
		(void)unlink(w.path);
	if (w.begin_ns)
		push_part(&w);
	if (rc == 0 && w.push_rc < 0)
		helper_say("note - it is pushed only in part: %s", strerror(-w.push_rc));
	profile_push_fini(&w.push);
	profile_unwind_destroy(w.unwind);
	profile_jit_destroy(w.jit);
	profile_names_destroy(w.names);
	profile_maps_destroy(w.maps);
	profile_destroy(w.profile);
	free(w.symbol);
	return rc;
}
