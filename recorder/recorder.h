/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recorder.h - ceems-recorder's state, and the functions that its files share:
 *
 *	recorder_run.c		the main loop, and how long it waits
 *	recorder_store.c	reads and writes what several of these files keep in the store
 *	recorder_question.c	questions to slurmdbd and slurmctld that wait for an answer
 *	recorder_inbox.c	moves job ends from the inbox to the store
 *	recorder_jobs.c		asks slurmdbd about ended jobs and writes their records
 *	recorder_defaults.c	nodes whose ceems.conf has no emission factor
 *	recorder_reconcile.c	finds job ends that slurmctld or the inbox lost
 *	recorder_upkeep.c	deletes rows of the store that are no longer needed, and updates the marker
 *	recorder_marker.c	tells the recorder of the backup controller what is delivered
 *	recorder_prom.c		ceems_controller.prom
 *
 * One thread runs all of it, except the threads of the sinks (deliver.h) and of the marker. The
 * process may be killed at any moment, so state that must survive is in the store.
 */
#ifndef CEEMS_RECORDER_H
#define CEEMS_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/recorder_factors.h"
#include "slurmdb/slurmdb_client.h"
#include "src/libcore/settings.h"
#include "src/librecord/record_names.h"
#include "src/libsink/deliver.h"
#include "src/libstore/inbox.h"
#include "src/libstore/job_facts.h"
#include "src/libstore/store.h"
#include "src/libutil/must_check.h"

/* The largest number of jobs that are asked for at one time: ten questions of SLURMDB_ASK_MAX jobs each. */
#define RECORDER_ASKED_MAX 1000

/* How many nodes without the site's emission factor are named, or sets of nodes. */
#define RECORDER_DEFAULT_NODES 16

struct asked_job {
	uint64_t tag; /* tag of the answer to wait for */
	uint32_t key_hash;
	/* "": the search of a time window found this job, and its key is not known */
	char key[RECORD_KEY_MAX];
	struct slurmdb_want want;
	/* of the job in the store when it was asked for: a newer end has others */
	uint64_t ended;
	size_t facts_len;
	/* of a job found in a window: submit host, which only slurmctld knows; "": unknown */
	char submit_host[64];
	bool of_slurmctld; /* slurmctld is asked for the energy, because slurmdbd does not answer */
};

struct marker;

struct recorder {
	struct settings settings;
	uint64_t (*wall_s)(void); /* seconds since the epoch */
	uint64_t started_s;
	struct store *store;
	uint64_t store_retry_ns; /* when to try the store again after a failure, CLOCK_MONOTONIC */

	struct inbox_reader *inbox; /* NULL: the folder does not exist yet */
	struct inbox_pos taken;	    /* the store has all entries before this position */
	bool inbox_has_more;	    /* the last try did not read the inbox to its end */
	uint64_t inbox_retry_ns;
	/* latest end of a job taken from the inbox, in seconds since the epoch; 0: none */
	uint64_t known_end;

	struct cluster_facts site;
	bool has_site; /* SITE was read from the inbox or the store */

	/* asks slurmdbd, or slurmctld if there is no slurmdbd; NULL: the cluster is not known yet */
	struct slurmdb_client *client;
	/* asks slurmctld on a site with slurmdbd; NULL: there is no slurmdbd */
	struct slurmdb_client *ctld;
	/* one more, for a question that follows from an answer: the answered one is removed after it */
	struct asked_job asked[RECORDER_ASKED_MAX + 1];
	size_t nasked;
	uint64_t next_tag;
	uint64_t jobs_due_ns; /* when to look for due jobs, CLOCK_MONOTONIC */
	bool dbd_is_down;     /* slurmdbd does not answer; this was logged */
	uint64_t ncorrected, ngiven_up;
	struct {
		uint64_t ends, found;
		uint64_t records[2]; /* [0]: incomplete, [1]: final */
		uint64_t corrected;
	} total;	       /* since the recorder started; includes what the store could not take */
	struct hook_cost hook; /* n is 0: unknown */

	struct {
		/* begin of the search, in seconds since the epoch; 0: nothing to do */
		uint64_t from;
		unsigned int step; /* index in schedule_ns, the times of repeated searches */
		uint64_t due_ns;
		/* rest of this step's window; next is 0: the step has not begun */
		uint64_t next, to;
		uint64_t piece_s;    /* length of the piece that one question asks for, in seconds */
		unsigned int nfails; /* failures of the question for one second */
		unsigned int nasked; /* jobs of this piece that were asked for */
		bool is_short;	     /* asked[] had no room for another one */
		unsigned int nshort; /* how often that was so for one second */
		uint64_t tag;	     /* tag of the unanswered question; 0: none */
		uint64_t nfound;
		bool has_missed; /* a question about a job failed */
		bool is_saved;	 /* FROM is in the store, so a restarted recorder continues */
	} reconcile;

	struct recorder_factors factors;
	struct {
		struct default_node {
			char nodes[128];	 /* record_emissions.default_nodes */
			uint64_t seen_s, said_s; /* seconds since the epoch; 0: not since the start */
		} node[RECORDER_DEFAULT_NODES];
		size_t n;
		uint64_t saved_s;
		uint64_t records; /* since the recorder started */
	} defaults;
	struct record_names names;
	struct deliveries *sinks;
	struct marker *marker;
	struct recorder_prom *prom; /* NULL: TextfileDir is not set */
	uint64_t reclaim_due_ns;
	uint64_t trim_due_ns;
	uint64_t mark_due_ns;
	uint64_t prom_due_ns;
};

/* --- recorder_run.c ------------------------------------------------------------------------------ */

/*
 * Runs the main loop until STOP_FD is readable. Returns 0, or -errno with ERR if it could not
 * start.
 */
int recorder_run(struct recorder *r, int stop_fd, struct errmsg *err);

/* --- recorder_store.c ---------------------------------------------------------------------------- */

/*
 * Reads a value of SIZE bytes from the store's table `meta`. *ret_found is false if there is none,
 * or it has another size.
 */
int recorder_load_meta(struct recorder *r, const char *name, void *buf, size_t size, bool *ret_found,
		       struct errmsg *err) _must_check_;
/* Puts an ended job into the store; slurmdbd is then asked for it. Call it in a transaction. */
int recorder_put_job(struct recorder *r, const char *key, const struct job_facts *facts, size_t len,
		     struct errmsg *err);

/* --- recorder_question.c ------------------------------------------------------------------------- */

/* Makes the request for a job, with what the hook knows about it. */
void recorder_want(const struct recorder *r, const struct job_facts *facts, struct slurmdb_want *ret);
/*
 * Asks WHOM (slurmdbd or slurmctld) for WANT, and adds the question to asked[]. JOB->key may be NULL, see
 * struct asked_job. Returns 0 or -errno.
 */
int recorder_ask(struct recorder *r, struct slurmdb_client *whom, const struct slurmdb_want *want,
		 const struct store_job *job);
/* Returns whether asked[] has a question about the job KEY. */
bool recorder_is_asked(const struct recorder *r, const char *key);
/* Returns the question whose answer has TAG. NULL: it was forgotten. */
struct asked_job *recorder_find_asked(struct recorder *r, uint64_t tag);
/* Removes A from asked[]; the last question takes its place. */
void recorder_forget_asked(struct recorder *r, struct asked_job *a);

/* --- recorder_inbox.c ---------------------------------------------------------------------------- */

/*
 * Reads the inbox's position, the site and an unfinished search from the store. Returns 0 or
 * -errno.
 */
int recorder_inbox_load(struct recorder *r, struct errmsg *err);
/* Moves a batch of job ends from the inbox to the store. Returns true if there are more. */
bool recorder_inbox_take(struct recorder *r, uint64_t now_ns);
/* --- recorder_jobs.c ----------------------------------------------------------------------------- */

/*
 * Asks for the jobs that are due, and handles the answers. Returns true if it should be called
 * again at once.
 */
bool recorder_jobs_run(struct recorder *r, uint64_t now_ns);
void recorder_jobs_fini(struct recorder *r);
/* --- recorder_defaults.c ------------------------------------------------------------------------- */

/* Reads from the store which nodes charged the world mean before the start. Returns 0 or -errno. */
int recorder_defaults_load(struct recorder *r, struct errmsg *err);
/*
 * Counts a record whose NODES charged the world mean. They are logged once a day, and kept in the store for
 * `ceems check`. Call it in a transaction.
 */
int recorder_defaults_saw(struct recorder *r, const char *nodes, struct errmsg *err);

/* --- recorder_reconcile.c ------------------------------------------------------------------------ */

/*
 * Requests a search in slurmdbd for job ends that may be missing. Stores the time of the last known
 * end, so that a restarted recorder continues. Call it in a transaction, and call
 * recorder_reconcile_begin() after the commit. IS_LOST: some are missing for certain; if no end is known,
 * the search goes back to when the store was made.
 */
int recorder_reconcile_want(struct recorder *r, bool is_lost, struct errmsg *err);
/* Resumes a search that an earlier process did not finish. Call it in a transaction. */
int recorder_reconcile_load(struct recorder *r, struct errmsg *err);
/*
 * Starts the search. It is repeated twice within 5 minutes, as slurmdbd may learn of an end late,
 * and then until no question about a found job fails. A failed question is asked again; earlier
 * answers are kept.
 */
void recorder_reconcile_begin(struct recorder *r, uint64_t now_ns);
/*
 * Requests and starts a search from the beginning, for a new store: at the first start, or after a
 * loss. Do not call it in a transaction.
 */
int recorder_reconcile_all(struct recorder *r, struct errmsg *err);
/* Asks the next question of the search, if it is time. */
void recorder_reconcile_run(struct recorder *r, uint64_t now_ns);
/* Repeats the present piece and the last window. Call it if answers were dropped. */
void recorder_reconcile_missed(struct recorder *r, uint64_t now_ns);
/*
 * Returns the earliest end of a job that the present search may ask for, or, if there is none, the
 * next search; 0: not known yet. Such a job must stay in the store, or the search takes its end for
 * lost and makes a second record with less in it. The result is a little early, as slurmdbd may
 * have another end of the job.
 */
uint64_t recorder_reconcile_since(const struct recorder *r);
/*
 * Handles an answer of the search. ASKED is the job that the answer is about; NULL: it is about a
 * window. Call it in a transaction.
 */
int recorder_reconcile_take(struct recorder *r, const struct slurmdb_answer *a, const struct asked_job *asked,
			    struct errmsg *err);

/* --- recorder_upkeep.c --------------------------------------------------------------------------- */

/*
 * Does what is due: deletes rows of the store that are no longer needed, returns free memory, and
 * updates the marker.
 */
void recorder_upkeep_run(struct recorder *r, uint64_t now_ns);

/* --- recorder_prom.c ----------------------------------------------------------------------------- */

/*
 * If TextfileDir is set, ceems_controller.prom is written from now on. A failure is logged, and
 * recording continues.
 */
void recorder_prom_open(struct recorder *r);
/* Writes ceems_controller.prom. HAS_ENDED: the recorder ends, and this is the last text. */
void recorder_prom_write(struct recorder *r, bool has_ended);
void recorder_prom_close(struct recorder *r);
/* Makes the text only; the caller frees *RET. -ENOMEM. */
int recorder_prom_format(struct recorder *r, bool has_ended, char **ret, size_t *ret_len) _must_check_;

/* --- recorder_marker.c --------------------------------------------------------------------------- */

/*
 * A marker is a file in StateSaveLocation, one per host. It tells the recorders of other hosts
 * which records this host has delivered. The folder is often on a network file system, which may
 * hang. So a thread reads and writes markers, and the recorder never waits for that thread.
 *
 * marker_start() starts the thread. Returns 0 or -errno.
 */
int marker_start(struct marker **ret, struct errmsg *err) _must_check_;
/* Ends the thread and frees M. If the thread hangs in the file system, both are leaked. */
void marker_stop(struct marker *m);

struct marker_state {
	uint64_t since; /* records of all jobs that ended before this time (seconds) are delivered; 0: not
			     known yet */
	/*
	 * some records are not delivered; the marker is then rewritten regularly, which shows that
	 * the recorder runs
	 */
	bool has_open;
	const char *keys; /* record keys of the last jobs, one per line */
};

/*
 * Writes the marker in DIR (StateSaveLocation) if STATE has changed, and regularly while has_open
 * is set. NOW_S is the wall clock.
 */
void marker_set(struct marker *m, const char *dir, const struct marker_state *state, uint64_t now_s);
/*
 * Starts reading the markers of other hosts, now and after each marker_set(). Times up to AFTER are
 * ignored. AFTER 0 means that the store was lost: this host's own marker is then read, too.
 */
void marker_ask(struct marker *m, uint64_t after);
/* Stops reading and forgets the keys that were read. */
void marker_ask_end(struct marker *m);
/* Returns the earliest `since` read after marker_ask(); 0: none yet. */
uint64_t marker_others_since(struct marker *m);
/*
 * Whether another recorder has delivered the record KEY of a job that ended at END, or is running
 * and will deliver it.
 */
bool marker_others_have(struct marker *m, const char *key, uint64_t end, uint64_t now_s);

#endif
