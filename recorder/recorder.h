/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recorder.h - ceems-recorder's state, and the functions that its files share:
 *
 *   recorder_run.c        the main loop, and how long it waits
 *   recorder_inbox.c      job ends from the inbox into the store
 *   recorder_jobs.c       a job's way: ended -> asked for in slurmdbd -> final, or corrected later
 *   recorder_reconcile.c  ends that slurmctld or the inbox lost are found in slurmdbd
 *   recorder_marker.c     what the recorder of the backup controller has to know
 *   recorder_prom.c       ceems_controller.prom
 *
 * One thread runs all of it, except the threads of the sinks (deliver.h) and of the marker. The process may be killed
 * at any moment, so state that must survive is in the store.
 */
#ifndef CEEMS_RECORDER_H
#define CEEMS_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/recorder_factors.h"
#include "recorder/slurmdb_client.h"
#include "src/libcore/settings.h"
#include "src/librecord/record_names.h"
#include "src/libsink/deliver.h"
#include "src/libstore/inbox.h"
#include "src/libstore/job_facts.h"
#include "src/libstore/store.h"

/* Jobs that slurmdbd may be asked for at one time: ten questions. */
#define RECORDER_ASKED_MAX 1000

struct asked_job {
	uint64_t tag;	      /* the tag of the answer to wait for */
	uint32_t key_hash;
	char key[RECORD_KEY_MAX];
	struct job_facts *facts; /* owned; NULL: a job of a window, whose key is not known */
	struct slurmdb_want want;
	size_t facts_len;
	enum store_job_state state;
	uint64_t ended;
	char submit_host[64]; /* for a job of a window: the submit host, which only slurmctld knows; "": unknown */
	bool of_slurmctld; /* slurmctld is asked for the energy, because slurmdbd does not answer */
};

struct marker;

struct recorder {
	struct settings settings;
	uint64_t (*wall_s)(void); /* seconds since the epoch */
	uint64_t started_s;
	struct store *store;
	uint64_t store_retry_ns; /* after a failure of the store: the time of the next try */

	struct inbox_reader *inbox; /* NULL: there is none yet */
	struct inbox_pos taken;	    /* the store has all entries before it */
	uint64_t inbox_retry_ns;
	uint64_t known_end; /* the latest end of a job taken from the inbox, in seconds; 0: none */

	struct job_site site;
	bool has_site; /* SITE was read from the inbox, where the plugin writes it */

	struct slurmdb_client *client; /* asks slurmdbd, or slurmctld if there is no slurmdbd; NULL: the cluster
					  is not known yet */
	struct slurmdb_client *ctld;   /* asks slurmctld on a site with slurmdbd; NULL: there is no slurmdbd */
	struct asked_job asked[RECORDER_ASKED_MAX];
	size_t nasked;
	uint64_t next_tag;
	uint64_t jobs_due_ns; /* when to look for due jobs */
	bool dbd_is_down;     /* slurmdbd does not answer, and this was logged */
	uint64_t ncorrected, ngiven_up;
	struct {
		uint64_t ends, found;
		uint64_t records[2]; /* [1]: final */
		uint64_t corrected;
	} total; /* since the recorder started, with what the store could not take */
	struct hook_cost hook; /* n is 0: not known */

	struct {
		uint64_t from;	  /* begin of the window, seconds; 0: nothing to do */
		unsigned int step; /* index in the schedule of repeated searches */
		uint64_t due_ns;
		uint64_t next, to; /* the rest of this step's window; NEXT 0: the step has not begun */
		uint64_t piece_s; /* length of the window that one question asks for, in seconds */
		unsigned int nfails; /* failures of a question for one second */
		uint64_t tag;	  /* tag of the question under way; 0: none */
		uint64_t nfound;
		bool has_missed;  /* a question about a job of the window failed, or there was no room to ask it */
		bool is_saved;	  /* FROM is in the store, so that a restarted recorder continues */
	} reconcile;

	struct factors factors;
	struct record_names names;
	struct deliveries *sinks;
	struct marker *marker;
	struct recorder_prom *prom; /* NULL: no TextfileDir */
	uint64_t reclaim_due_ns;
	uint64_t mark_due_ns;
	uint64_t prom_due_ns;
};

/* --- recorder_run.c ------------------------------------------------------------------------------ */

/*
 * Runs the main loop until STOP_FD is readable. Returns 0, or -errno with ERR if it could not
 * start.
 */
int recorder_run(struct recorder *r, int stop_fd, struct errmsg *err);

/* --- recorder_inbox.c ---------------------------------------------------------------------------- */

/* Reads the inbox's position and the site from the store. */
int recorder_inbox_load(struct recorder *r, struct errmsg *err);
/*
 * Reads a value of SIZE bytes from the store's table `meta`. *ret_found is false if there is none,
 * or it has another size.
 */
int recorder_load_meta(struct recorder *r, const char *name, void *buf, size_t size, bool *ret_found,
		       struct errmsg *err);
/* Moves a batch of job ends from the inbox to the store. Returns true if there are more. */
bool recorder_inbox_take(struct recorder *r, uint64_t now_ns);
/* Puts an ended job into the store, so that slurmdbd is asked for it. Call it in a transaction. */
int recorder_put_job(struct recorder *r, const char *key, const struct job_facts *facts, size_t len,
		     struct errmsg *err);

/* --- recorder_jobs.c ----------------------------------------------------------------------------- */

/*
 * Asks for the jobs that are due, and handles the answers. Returns true if it should be called
 * again at once.
 */
bool recorder_jobs_run(struct recorder *r, uint64_t now_ns);
void recorder_jobs_fini(struct recorder *r);
/*
 * Asks WHOM (slurmdbd or slurmctld) for WANT, and adds the question to asked[]. JOB->key may be NULL, see struct
 * asked_job. Returns 0 or -errno.
 */
int recorder_ask(struct recorder *r, struct slurmdb_client *whom, const struct slurmdb_want *want,
		 const struct store_job *job);
/* Makes the request for a job, with what the hook knows about it. */
void recorder_want(const struct recorder *r, const struct job_facts *facts, struct slurmdb_want *ret);

/* --- recorder_reconcile.c ------------------------------------------------------------------------ */

/*
 * Requests a search in slurmdbd for job ends that may be missing. Writes the time of the last known
 * end to the store, so that a restarted recorder continues the search. Call it in a transaction,
 * and recorder_reconcile_begin() after the commit.
 */
int recorder_reconcile_want(struct recorder *r, struct errmsg *err);
/* Continues a search that an earlier process did not finish. Call it in a transaction. */
int recorder_reconcile_load(struct recorder *r, struct errmsg *err);
/*
 * Starts the search. The search is repeated twice within 5 minutes, since slurmdbd may learn of an
 * end late. Then it is repeated until no question about a found job fails. A question that fails is
 * asked again; what was answered before it is kept.
 */
void recorder_reconcile_begin(struct recorder *r, uint64_t now_ns);
/*
 * Requests and starts the search if the store is new: at the first start, or after a loss. Do not
 * call it in a transaction.
 */
int recorder_reconcile_all(struct recorder *r, struct errmsg *err);
void recorder_reconcile_run(struct recorder *r, uint64_t now_ns);
/* Call it if answers were dropped: the present piece and the last window are asked for again. */
void recorder_reconcile_missed(struct recorder *r, uint64_t now_ns);
/*
 * Handles an answer to a question of recorder_reconcile_run(). ASKED is the job it is about, or
 * NULL if it is about a window. Call it in a transaction.
 */
int recorder_reconcile_take(struct recorder *r, const struct slurmdb_answer *a, const struct asked_job *asked,
			    struct errmsg *err);

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
int recorder_prom_format(struct recorder *r, bool has_ended, char **ret, size_t *ret_len);

/* --- recorder_marker.c --------------------------------------------------------------------------- */

/*
 * The marker is a file in StateSaveLocation, one per host. It tells the recorders of other hosts which records this one
 * has delivered. The folder is often on a network file system, which may hang. So a thread of its own reads and writes
 * markers, and the recorder does not wait for that thread.
 */
int marker_start(struct marker **ret, struct errmsg *err);
/* Ends the thread and frees M. If the thread hangs in the file system, both are leaked. */
void marker_stop(struct marker *m);

struct marker_state {
	uint64_t since;	  /* records of all jobs that ended before this time (seconds) are delivered; 0: not
			     known yet */
	bool has_open;	  /* some records are not delivered; the marker is rewritten regularly, as a sign that
			     the recorder runs */
	const char *keys; /* the recorder's last jobs, one record key per line */
};

/* DIR is StateSaveLocation, NOW_S the wall clock. The file is written if STATE differs, and while has_open is set. */
void marker_set(struct marker *m, const char *dir, const struct marker_state *state, uint64_t now_s);
/*
 * Starts reading the markers of other hosts, now and after each marker_set(). Times up to AFTER are ignored. AFTER is 0 if
 * the store was lost: then this host's own marker is read, too.
 */
void marker_ask(struct marker *m, uint64_t after);
/* Stops reading, and forgets the keys that were read. */
void marker_ask_end(struct marker *m);
/* The earliest `since` that was read after marker_ask(); 0: none yet. */
uint64_t marker_others_since(struct marker *m);
/* True if another recorder has delivered the record KEY of a job that ended at END, or is running and will do so. */
bool marker_others_have(struct marker *m, const char *key, uint64_t end, uint64_t now_s);

#endif
