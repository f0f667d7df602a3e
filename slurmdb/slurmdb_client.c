/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurmdb/slurmdb_client.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "slurmdb/slurmdb_child.h"
#include "slurmdb/slurmdb_wire.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#define DEADLINE_NS (20 * NSEC_PER_SEC)
#define MEMORY_MAX (UINT64_C(2) << 30)
/* Most steps in one question, as far as the hook knows their number. */
#define ASK_STEPS_MAX 10000

struct client_entry {
	struct slurmdb_want want;
	uint64_t tag;
	bool is_window;
	uint64_t from, to; /* begin and end of the window */
	size_t limit;	   /* most jobs in a question that includes this one */
	unsigned int fails;
	/* the question with this job alone failed, maybe because slurmdbd is down */
	bool is_suspect;
	/*
	 * How often the job is still to be moved behind others. Once after a failed question; twice
	 * after the job failed alone, so that it is also behind other suspects.
	 */
	unsigned int put_last;
	bool is_alone; /* asked for without steps from now on */
	bool is_done;
};

struct client_queue {
	struct client_entry *item; /* owned; N elements from HEAD on */
	size_t head, n, room;
};

/* An answer without a row. */
struct client_ready {
	enum slurmdb_answer_kind kind;
	uint64_t tag;
};

/*
 * A job of a question after which slurmdbd did not answer at all, maybe because of this job. Its
 * request got SLURMDB_NO_ANSWER; when the job is asked for again, the search continues from here.
 */
struct client_suspect {
	uint32_t job_id; /* 0: none */
	uint64_t submit;
	size_t limit; /* limit, fails and is_alone of its client_entry */
	unsigned int fails;
	bool is_alone;
};
#define SUSPECTS_MAX (4 * SLURMDB_ASK_MAX)

enum client_state { CLIENT_IDLE, CLIENT_ASKED, CLIENT_ANSWERED };

struct slurmdb_client {
	struct slurmdb_client_options o;
	struct slurmdb_child child;
	/* the present question */
	enum client_state state;
	enum slurmdb_wire_kind kind;
	uint64_t number;
	uint64_t asked_ns, deadline_ns;
	struct slurmdb_client_stats stats;
	bool must_ping;
	/* the last small question failed, so send another one before the next question */
	bool is_down;
	struct client_entry open[SLURMDB_ASK_MAX];
	size_t nopen;
	/* waiting requests and answers */
	struct client_queue queue;  /* also has room for the open requests */
	struct client_ready *ready; /* owned; has room for the answers to all requests */
	size_t ready_head, nready, ready_room;
	size_t pending;
	struct client_suspect suspect[SUSPECTS_MAX];
	size_t next_suspect; /* index of the oldest suspect, which is replaced first */
};

/* --- what waits ---------------------------------------------------------------------------- */

/* Makes room for N more entries. -ENOMEM. */
static int queue_reserve(struct client_queue *q, size_t n)
{
	struct client_entry *more;
	size_t room = 2 * q->room;

	if (q->head + q->n + n <= q->room)
		return 0;
	if (q->head > q->room / 2) {
		memmove(q->item, q->item + q->head, q->n * sizeof(*q->item));
		q->head = 0;
	}
	if (q->head + q->n + n <= q->room)
		return 0;
	if (room < q->head + q->n + n)
		room = q->head + q->n + n;
	more = realloc(q->item, room * sizeof(*more));
	if (!more)
		return -ENOMEM;
	q->item = more;
	q->room = room;
	return 0;
}

/* Appends an entry. There is room, though maybe at the beginning of the array. */
static void queue_push(struct client_queue *q, const struct client_entry *e)
{
	if (q->head + q->n == q->room) {
		memmove(q->item, q->item + q->head, q->n * sizeof(*q->item));
		q->head = 0;
	}
	q->item[q->head + q->n++] = *e;
}

static struct client_entry queue_pop(struct client_queue *q)
{
	struct client_entry e = q->item[q->head++];

	q->n--;
	return e;
}

/*
 * Makes room for another request: in the queue, to which open requests may return, and for its
 * answer.
 */
static int client_reserve(struct slurmdb_client *c)
{
	struct client_ready *more;
	size_t room = 2 * c->pending + 16;

	if (queue_reserve(&c->queue, c->nopen + 1) < 0)
		return -ENOMEM;
	if (c->pending < c->ready_room)
		return 0;
	more = realloc(c->ready, room * sizeof(*more));
	if (!more)
		return -ENOMEM;
	c->ready = more;
	c->ready_room = room;
	return 0;
}

static void client_put_ready(struct slurmdb_client *c, enum slurmdb_answer_kind kind, uint64_t tag)
{
	if (c->ready_head + c->nready == c->ready_room) {
		memmove(c->ready, c->ready + c->ready_head, c->nready * sizeof(*c->ready));
		c->ready_head = 0;
	}
	c->ready[c->ready_head + c->nready++] = (struct client_ready){ .kind = kind, .tag = tag };
}

static void client_set_alone(struct client_entry *e)
{
	e->is_alone = e->want.no_steps = true;
	e->want.script = false;
}

static struct client_suspect *client_find_suspect(struct slurmdb_client *c, const struct slurmdb_want *w)
{
	size_t i;

	for (i = 0; i < SUSPECTS_MAX; i++)
		if (c->suspect[i].job_id == w->job_id && c->suspect[i].submit == w->submit)
			return &c->suspect[i];
	return NULL;
}

static void client_note_suspect(struct slurmdb_client *c, const struct client_entry *e)
{
	struct client_suspect *s = client_find_suspect(c, &e->want);

	if (!s) {
		s = &c->suspect[c->next_suspect];
		c->next_suspect = (c->next_suspect + 1) % SUSPECTS_MAX;
	}
	*s = (struct client_suspect){ e->want.job_id, e->want.submit, e->limit, e->fails, e->is_alone };
}

/*
 * Forgets the suspect of an answered request. If the answer had no steps, they are asked for once
 * more, alone, at the job's next request.
 */
static void client_clear_suspect(struct slurmdb_client *c, const struct client_entry *e)
{
	struct client_suspect *s = client_find_suspect(c, &e->want);

	if (s && e->is_alone)
		*s = (struct client_suspect){ s->job_id, s->submit, 1, SLURMDB_ALONE_MAX - 1, false };
	else if (s)
		*s = (struct client_suspect){ 0 };
}

int slurmdb_client_ask(struct slurmdb_client *c, const struct slurmdb_want *want, uint64_t tag)
{
	struct client_entry e = { .want = *want, .tag = tag, .limit = SLURMDB_ASK_MAX };
	const struct client_suspect *s = client_find_suspect(c, want);
	int rc = client_reserve(c);

	if (rc < 0)
		return rc;
	if (s) {
		e.limit = s->limit;
		e.fails = s->fails;
		e.put_last = e.fails || s->is_alone ? 2 : 1;
		if (s->is_alone)
			client_set_alone(&e);
	}
	queue_push(&c->queue, &e);
	c->pending++;
	return 0;
}

int slurmdb_client_ask_window(struct slurmdb_client *c, uint64_t from, uint64_t to, uint64_t tag)
{
	struct client_entry e = { .is_window = true, .from = from, .to = to, .tag = tag, .limit = 1 };
	int rc = client_reserve(c);

	if (rc < 0)
		return rc;
	queue_push(&c->queue, &e);
	c->pending++;
	return 0;
}

size_t slurmdb_client_pending(const struct slurmdb_client *c)
{
	return c->pending;
}

/* Answers request E without a row. */
static void client_give_up_entry(struct slurmdb_client *c, struct client_entry *e)
{
	e->is_done = true;
	client_put_ready(c, e->is_window && e->fails ? SLURMDB_WINDOW_FAILED : SLURMDB_NO_ANSWER, e->tag);
}

/* Counts a failure of the question with E alone. False: give up E. */
static bool client_count_failure(struct client_entry *e)
{
	e->is_suspect = false;
	e->fails++;
	if (e->is_window)
		return false;
	if (e->fails < SLURMDB_ALONE_MAX)
		return true;
	if (e->want.no_steps)
		return false;
	client_set_alone(e);
	e->fails = 0;
	return true;
}

/*
 * Gives up all requests, because slurmdbd does not answer. It answered before the failed question,
 * so a job of that question may have crashed it; these jobs become suspects.
 */
static void client_give_up(struct slurmdb_client *c)
{
	while (c->queue.n) {
		struct client_entry e = queue_pop(&c->queue);

		if (e.is_done)
			continue;
		if (e.is_suspect)
			(void)client_count_failure(&e);
		if (!e.is_window && e.limit < SLURMDB_ASK_MAX)
			client_note_suspect(c, &e);
		client_give_up_entry(c, &e);
	}
	c->must_ping = false;
	c->is_down = true;
}

/*
 * slurmdbd answers a small question, so the jobs that failed alone are the cause of their failure.
 */
static void client_check_suspects(struct slurmdb_client *c)
{
	size_t i;

	for (i = 0; i < c->queue.n; i++) {
		struct client_entry *e = &c->queue.item[c->queue.head + i];

		if (e->is_suspect && !e->is_done && !client_count_failure(e))
			client_give_up_entry(c, e);
	}
}

/* --- the question -------------------------------------------------------------------------- */

/* Moves the requests of the next question from the queue to OPEN. */
static void client_compose(struct slurmdb_client *c)
{
	size_t limit = SLURMDB_ASK_MAX;
	uint64_t steps = 0;

	c->nopen = 0;
	while (c->queue.n) {
		struct client_entry *e = &c->queue.item[c->queue.head];

		if (e->is_done) {
			(void)queue_pop(&c->queue);
			continue;
		}
		if (e->put_last) {
			struct client_entry last = queue_pop(&c->queue);

			last.put_last--;
			queue_push(&c->queue, &last);
			continue;
		}
		if (e->limit < limit)
			limit = e->limit;
		steps += e->want.known.has_nsteps ? e->want.known.nsteps : 0;
		if (c->nopen && (c->nopen >= limit || steps > ASK_STEPS_MAX))
			break;
		c->open[c->nopen++] = queue_pop(&c->queue);
		if (c->nopen >= limit)
			break;
	}
}

static enum slurmdb_wire_kind client_kind(const struct slurmdb_client *c)
{
	if (!c->nopen)
		return SLURMDB_WIRE_PING;
	return c->open[0].is_window ? SLURMDB_WIRE_WINDOW : SLURMDB_WIRE_JOBS;
}

/* Returns the text of the question, malloc'ed; NULL: out of memory. */
static char *client_question(const struct slurmdb_client *c, size_t *ret_len)
{
	struct slurmdb_wire_ask ask = { .version = SLURMDB_WIRE_VERSION,
					.number = c->number,
					.kind = c->kind,
					.no_usage = c->o.no_usage };
	char *text = NULL;
	FILE *f = open_memstream(&text, ret_len);
	size_t i;

	if (!f)
		return NULL;
	if (c->o.cluster)
		(void)snprintf(ask.cluster, sizeof(ask.cluster), "%s", c->o.cluster);
	if (c->kind == SLURMDB_WIRE_WINDOW) {
		ask.from = c->open[0].from;
		ask.to = c->open[0].to;
	} else {
		ask.count = c->nopen;
	}
	slurmdb_wire_put_ask(f, &ask);
	for (i = 0; i < ask.count; i++)
		slurmdb_wire_put_want(f, &c->open[i].want);
	if (fclose(f) != 0)
		free(TAKE_PTR(text));
	return text;
}

static int client_send(struct slurmdb_client *c)
{
	size_t len = 0;
	_cleanup_free_ char *text = client_question(c, &len);

	if (text)
		return slurmdb_child_send(&c->child, text, len);
	(void)snprintf(c->child.why, sizeof(c->child.why), "out of memory");
	return -ENOMEM;
}

/* --- failures ------------------------------------------------------------------------------ */

/*
 * Returns requests without an answer to the queue, to be asked for in halves; unchanged if slurmdbd
 * never got the question.
 */
static void client_put_back(struct slurmdb_client *c, bool is_down)
{
	size_t n = 0;
	size_t i;

	for (i = 0; i < c->nopen; i++)
		n += !c->open[i].is_done;
	for (i = 0; i < c->nopen; i++) {
		struct client_entry *e = &c->open[i];

		if (e->is_done)
			continue;
		if (!is_down)
			e->limit = n > 1 ? n / 2 : 1;
		e->is_suspect = n == 1 && !is_down;
		queue_push(&c->queue, e);
	}
	c->nopen = 0;
}

/* Handles a failed question; the reason is in c->child.why. IS_DOWN: slurmdbd is certainly down. */
static void client_fail(struct slurmdb_client *c, bool is_down)
{
	bool was_ping = c->kind == SLURMDB_WIRE_PING;

	c->state = CLIENT_IDLE;
	client_put_back(c, is_down);
	c->must_ping = true;
	if (was_ping || is_down)
		client_give_up(c);
}

static void client_fail_worker(struct slurmdb_client *c)
{
	slurmdb_child_stop(&c->child);
	client_fail(c, /* is_down= */ false);
}

/* Counts a question that has ended, well (IS_GOOD) or not. */
static void client_count(struct slurmdb_client *c, uint64_t now, bool is_good)
{
	c->stats.ns += now - c->asked_ns;
	c->stats.failures += !is_good;
	c->stats.is_up = is_good;
}

void slurmdb_client_get_stats(const struct slurmdb_client *c, struct slurmdb_client_stats *ret)
{
	*ret = c->stats;
}

/* --- the answer ---------------------------------------------------------------------------- */

/* Finds the request that JOB answers; NULL: none. */
static struct client_entry *client_find_open(struct slurmdb_client *c, const struct slurmdb_job *job)
{
	size_t i;

	for (i = 0; i < c->nopen; i++)
		if (!c->open[i].is_done && slurmdb_want_is(&c->open[i].want, job->record))
			return &c->open[i];
	return NULL;
}

/* Returns 1 with the next answer in *RET; 0: no more; -EBADMSG. */
static int client_next_answer(struct slurmdb_client *c, struct slurmdb_answer *ret)
{
	struct slurmdb_answer a = { .kind = SLURMDB_WINDOW_JOB };
	struct client_entry *e;
	int rc;

	while ((rc = slurmdb_child_next_row(&c->child, &a.job)) > 0) {
		e = c->kind == SLURMDB_WIRE_WINDOW ? &c->open[0] : client_find_open(c, &a.job);
		if (!e) {
			record_destroy(a.job.record);
			continue;
		}
		a.tag = e->tag;
		if (!e->is_window) {
			e->is_done = true;
			client_clear_suspect(c, e);
			a.kind = e->is_alone ? SLURMDB_JOB_ALONE : SLURMDB_JOB;
		}
		*ret = a;
		return 1;
	}
	return rc;
}

/* Ends an answer: jobs that were not in it have no row. */
static void client_end_answer(struct slurmdb_client *c)
{
	size_t i;

	c->state = CLIENT_IDLE;
	if (c->kind == SLURMDB_WIRE_PING) {
		c->must_ping = c->is_down = false;
		client_check_suspects(c);
	}
	for (i = 0; i < c->nopen; i++) {
		struct client_entry *e = &c->open[i];

		if (e->is_window) {
			client_put_ready(c, SLURMDB_WINDOW_END, e->tag);
		} else if (!e->is_done) {
			client_clear_suspect(c, e);
			client_put_ready(c, e->is_alone ? SLURMDB_JOB_ALONE : SLURMDB_JOB, e->tag);
		}
	}
	c->nopen = 0;
}

/* --- the interface ------------------------------------------------------------------------- */

static void client_next_question(struct slurmdb_client *c, uint64_t now)
{
	c->must_ping |= c->is_down && c->queue.n;
	if (c->must_ping)
		c->nopen = 0;
	else
		client_compose(c);
	if (!c->nopen && !c->must_ping)
		return;
	c->kind = client_kind(c);
	slurmdb_child_begin(&c->child, ++c->number);
	c->stats.questions++;
	c->asked_ns = now;
	if (c->child.fd < 0 && slurmdb_child_start(&c->child, now) < 0) {
		client_count(c, now, false);
		client_fail(c, /* is_down= */ true);
		return;
	}
	c->state = CLIENT_ASKED;
	c->deadline_ns = now + c->o.deadline_ns;
	if (client_send(c) < 0) {
		client_count(c, now, false);
		client_fail_worker(c);
	}
}

/* Makes progress with the sent question. False: wait for the worker. */
static bool client_progress(struct slurmdb_client *c, uint64_t now)
{
	int rc = slurmdb_child_read(&c->child);

	if (rc || now >= c->deadline_ns)
		client_count(c, now, rc > 0);
	if (rc > 0) {
		c->state = CLIENT_ANSWERED;
	} else if (rc == -ECONNREFUSED || rc == -EIO) {
		client_fail(c, rc == -ECONNREFUSED);
	} else if (rc < 0) {
		client_fail_worker(c);
	} else if (now >= c->deadline_ns) {
		(void)snprintf(c->child.why, sizeof(c->child.why), "no answer within %" PRIu64 " s",
			       c->o.deadline_ns / NSEC_PER_SEC);
		client_fail_worker(c);
	} else {
		return false;
	}
	return true;
}

static void client_take_ready(struct slurmdb_client *c, struct slurmdb_answer *ret)
{
	struct client_ready *r = &c->ready[c->ready_head++];

	*ret = (struct slurmdb_answer){ .kind = r->kind, .tag = r->tag };
	if (r->kind == SLURMDB_NO_ANSWER || r->kind == SLURMDB_WINDOW_FAILED)
		(void)snprintf(ret->reason, sizeof(ret->reason), "%s", c->child.why);
	if (!--c->nready)
		c->ready_head = 0;
	c->pending--;
}

int slurmdb_client_take(struct slurmdb_client *c, uint64_t now, struct slurmdb_answer *ret)
{
	int rc;

	for (;;) {
		if (c->nready) {
			client_take_ready(c, ret);
			return 1;
		}
		switch (c->state) {
		case CLIENT_IDLE:
			slurmdb_child_look_at_idle(&c->child, now);
			client_next_question(c, now);
			if (c->state == CLIENT_IDLE && !c->nready && !c->queue.n)
				return 0;
			break;
		case CLIENT_ASKED:
			if (!client_progress(c, now))
				return 0;
			break;
		case CLIENT_ANSWERED:
			rc = client_next_answer(c, ret);
			if (rc > 0) {
				c->pending -= ret->kind != SLURMDB_WINDOW_JOB;
				return 1;
			}
			if (rc < 0)
				client_fail_worker(c);
			else
				client_end_answer(c);
			break;
		}
	}
}

int slurmdb_client_fd(const struct slurmdb_client *c)
{
	return c->child.fd;
}

uint64_t slurmdb_client_due(const struct slurmdb_client *c)
{
	if (c->state == CLIENT_ASKED)
		return c->deadline_ns;
	return c->pending ? 0 : UINT64_MAX;
}

int slurmdb_client_create(const struct slurmdb_client_options *o, struct slurmdb_client **ret,
			  struct errmsg *err)
{
	struct slurmdb_client *c = calloc(1, sizeof(*c));

	if (!c)
		return errmsg_set(err, -ENOMEM, "out of memory");
	c->o = *o;
	if (!c->o.deadline_ns)
		c->o.deadline_ns = DEADLINE_NS;
	c->child = (struct slurmdb_child){ .argv = o->argv,
					   .memory_max = o->memory_max ? o->memory_max : MEMORY_MAX,
					   .fd = -1 };
	*ret = c;
	return 0;
}

void slurmdb_client_destroy(struct slurmdb_client *c)
{
	if (!c)
		return;
	slurmdb_child_fini(&c->child);
	free(c->queue.item);
	free(c->ready);
	free(c);
}
