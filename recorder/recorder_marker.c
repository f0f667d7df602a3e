/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* pthread_timedjoin_np, asprintf */
#include "recorder/recorder.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "src/libutil/fileio.h"
#include "src/libutil/logger.h"
#include "src/libutil/thread.h"

#define MARKER_PREFIX "ceems-recorder."
#define MARKER_SIZE_MAX ((size_t)1 << 20)
#define MARKERS_MAX 8 /* one per controller */
#define STOP_S 1
/*
 * While records are undelivered, the marker is rewritten every AGAIN_S seconds. A marker older than
 * FRESH_S then means that its recorder is down.
 */
#define AGAIN_S 10
#define FRESH_S 30

/* The content of a marker. */
struct marker_text {
	char host[256];
	uint64_t since, written;
	char *keys; /* one per line; if the marker was read from a file, its whole text */
};

struct marker {
	pthread_t thread;
	pthread_mutex_t lock; /* guards the members below, except trouble */
	pthread_cond_t changed;
	bool is_stopping, wants_read, wants_write, is_asked, own_too;
	char dir[1024];
	struct marker_text own;
	uint64_t after; /* times up to this one in other markers are ignored */
	uint64_t others_since;
	struct marker_text others[MARKERS_MAX];
	size_t nothers;
	/* used by the thread only */
	struct logger_once trouble;
};

static void marker_write(struct marker *m, const char *dir, const struct marker_text *own)
{
	_cleanup_free_ char *text = NULL;
	struct errmsg err = { 0 };
	char path[PATH_MAX];
	int n;

	if (snprintf(path, sizeof(path), "%s/" MARKER_PREFIX "%s", dir, own->host) >= (int)sizeof(path))
		return;
	n = asprintf(&text, "%" PRIu64 " %" PRIu64 "\n%s", own->since, own->written, own->keys);
	if (n < 0) {
		text = NULL;
		return;
	}
	if (fileio_write_atomic(path, text, (size_t)n, 0600, &err) < 0)
		logger_log_once(&m->trouble, LOGGER_INFO,
				"ceems: %s; a backup controller may not know which jobs lack a record",
				err.text);
	else
		(void)logger_once_reset(&m->trouble);
}

static int marker_read_one(const char *path, struct marker_text *ret)
{
	_cleanup_free_ char *text = NULL;
	size_t len;

	if (fileio_read_alloc(path, MARKER_SIZE_MAX, &text, &len, NULL) < 0)
		return -EIO;
	if (!strchr(text, '\n') || sscanf(text, "%" SCNu64 " %" SCNu64, &ret->since, &ret->written) != 2)
		return -EINVAL;
	ret->keys = TAKE_PTR(text);
	return 0;
}

/* Reads the markers of other hosts, and that of HOST if OWN_TOO. Returns their number. */
static size_t marker_read(const char *dir, const char *host, bool own_too,
			  struct marker_text ret[MARKERS_MAX])
{
	DIR *d = opendir(dir);
	struct dirent *e;
	size_t n = 0;

	while (d && n < MARKERS_MAX && (e = readdir(d))) {
		const char *of = e->d_name + strlen(MARKER_PREFIX);
		char path[PATH_MAX];

		if (strncmp(e->d_name, MARKER_PREFIX, strlen(MARKER_PREFIX)) != 0 ||
		    (!own_too && !strcmp(of, host)) ||
		    snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= (int)sizeof(path) ||
		    snprintf(ret[n].host, sizeof(ret[n].host), "%s", of) >= (int)sizeof(ret[n].host))
			continue;
		if (marker_read_one(path, &ret[n]) == 0)
			n++;
	}
	if (d)
		(void)closedir(d);
	return n;
}

static void marker_forget_others(struct marker *m)
{
	size_t i;

	for (i = 0; i < m->nothers; i++)
		free(m->others[i].keys);
	m->nothers = 0;
}

/*
 * Keeps what was read from this host's marker. It is read only once: this recorder overwrites it
 * soon.
 */
static void marker_keep_own(struct marker *m, struct marker_text text[MARKERS_MAX], size_t *n)
{
	size_t i;

	for (i = 0; i < m->nothers && *n < MARKERS_MAX; i++) {
		if (strcmp(m->others[i].host, m->own.host) != 0)
			continue;
		text[(*n)++] = m->others[i];
		m->others[i].keys = NULL;
	}
}

/*
 * Takes over markers that were read. The earliest time counts: a later reading may have a later
 * time, as records were delivered meanwhile.
 */
static void marker_take(struct marker *m, struct marker_text text[MARKERS_MAX], size_t n)
{
	size_t i;

	marker_keep_own(m, text, &n);
	marker_forget_others(m);
	memcpy(m->others, text, n * sizeof(text[0]));
	m->nothers = n;
	for (i = 0; i < n; i++)
		if (text[i].since > m->after && (!m->others_since || text[i].since < m->others_since))
			m->others_since = text[i].since;
}

static void marker_work(struct marker *m)
{
	struct marker_text text[MARKERS_MAX];
	struct marker_text own = m->own;
	bool wants_read = m->wants_read;
	bool wants_write = m->wants_write;
	bool own_too = m->own_too;
	char dir[sizeof(m->dir)];
	size_t n = 0;

	memcpy(dir, m->dir, sizeof(dir));
	own.keys = strdup(m->own.keys ? m->own.keys : "");
	m->wants_read = m->wants_write = m->own_too = false;
	(void)pthread_mutex_unlock(&m->lock);
	if (wants_read)
		n = marker_read(dir, own.host, own_too, text);
	if (wants_write && own.keys)
		marker_write(m, dir, &own);
	free(own.keys);
	(void)pthread_mutex_lock(&m->lock);
	if (wants_read)
		marker_take(m, text, n);
}

static void *marker_run(void *arg)
{
	struct marker *m = arg;

	(void)pthread_mutex_lock(&m->lock);
	while (!m->is_stopping) {
		if (m->dir[0] && (m->wants_read || m->wants_write))
			marker_work(m);
		else
			(void)pthread_cond_wait(&m->changed, &m->lock);
	}
	(void)pthread_mutex_unlock(&m->lock);
	return NULL;
}

int marker_start(struct marker **ret, struct errmsg *err)
{
	struct marker *m = calloc(1, sizeof(*m));
	int rc;

	if (!m)
		return errmsg_set(err, -ENOMEM, "out of memory");
	(void)pthread_mutex_init(&m->lock, NULL);
	(void)pthread_cond_init(&m->changed, NULL);
	if (gethostname(m->own.host, sizeof(m->own.host) - 1) < 0)
		(void)snprintf(m->own.host, sizeof(m->own.host), "unknown");
	rc = thread_start(&m->thread, marker_run, m);
	if (rc < 0) {
		free(m);
		return errmsg_errno(err, rc, "cannot start a thread");
	}
	*ret = m;
	return 0;
}

void marker_stop(struct marker *m)
{
	struct timespec until;

	if (!m)
		return;
	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += STOP_S;
	(void)pthread_mutex_lock(&m->lock);
	m->is_stopping = true;
	(void)pthread_cond_signal(&m->changed);
	(void)pthread_mutex_unlock(&m->lock);
	if (pthread_timedjoin_np(m->thread, NULL, &until) != 0)
		return;
	(void)pthread_cond_destroy(&m->changed);
	(void)pthread_mutex_destroy(&m->lock);
	marker_forget_others(m);
	free(m->own.keys);
	free(m);
}

void marker_set(struct marker *m, const char *dir, const struct marker_state *state, uint64_t now_s)
{
	(void)pthread_mutex_lock(&m->lock);
	(void)snprintf(m->dir, sizeof(m->dir), "%s", dir);
	if (state->since &&
	    (!m->own.keys || state->since != m->own.since || strcmp(state->keys, m->own.keys) != 0 ||
	     (state->has_open && now_s >= m->own.written + AGAIN_S))) {
		free(m->own.keys);
		m->own.keys = strdup(state->keys);
		m->own.since = state->since;
		m->own.written = now_s;
		m->wants_write = m->own.keys != NULL;
	}
	m->wants_read |= m->is_asked;
	(void)pthread_cond_signal(&m->changed);
	(void)pthread_mutex_unlock(&m->lock);
}

void marker_ask(struct marker *m, uint64_t after)
{
	(void)pthread_mutex_lock(&m->lock);
	m->after = after;
	m->others_since = 0;
	m->is_asked = m->wants_read = true;
	m->own_too = !after;
	(void)pthread_cond_signal(&m->changed);
	(void)pthread_mutex_unlock(&m->lock);
}

void marker_ask_end(struct marker *m)
{
	(void)pthread_mutex_lock(&m->lock);
	m->is_asked = m->wants_read = false;
	marker_forget_others(m);
	(void)pthread_mutex_unlock(&m->lock);
}

uint64_t marker_others_since(struct marker *m)
{
	uint64_t since;

	(void)pthread_mutex_lock(&m->lock);
	since = m->others_since;
	(void)pthread_mutex_unlock(&m->lock);
	return since;
}

/*
 * Whether T's recorder has delivered the job's record, or will. Jobs that ended before t->since are
 * delivered; the others will be, if that recorder runs.
 */
static bool marker_has(const struct marker_text *t, const char *line, uint64_t end, uint64_t now_s)
{
	return (end < t->since || now_s < t->written + FRESH_S) && strstr(t->keys, line);
}

bool marker_others_have(struct marker *m, const char *key, uint64_t end, uint64_t now_s)
{
	char line[RECORD_KEY_MAX + 2];
	bool has = false;
	size_t i;

	(void)snprintf(line, sizeof(line), "\n%s\n", key);
	(void)pthread_mutex_lock(&m->lock);
	for (i = 0; i < m->nothers && !has; i++)
		has = marker_has(&m->others[i], line, end, now_s);
	(void)pthread_mutex_unlock(&m->lock);
	return has;
}
