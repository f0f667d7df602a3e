/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sources.h - opens the energy sources of this node, and decides from which source each domain is
 * taken, so that no energy is counted twice.
 */
#ifndef CEEMS_SOURCES_H
#define CEEMS_SOURCES_H

#include "src/libcore/settings.h"
#include "src/libledger/ledger.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/errmsg.h"

struct sources;

/* Makes the environment of the sources from ceems.conf. Pointers are borrowed from S. */
struct source_env sources_env(const struct settings *s);

/*
 * Opens the sources that CHOICE (the setting EnergySources) names.
 *
 * "auto" opens all that exist. A domain is taken from the first source in the order of enum source_id, the
 * whole node from the source with the lowest rank (source.h). An estimate is used if no source measures
 * CPUs or the node. If CHOICE is a list, its order decides both. Then an estimate is used only if no other
 * source in the list can be opened.
 *
 * It is no error if no source can be opened: *RET is then empty, and ERR has the reason for each. -ENOMEM.
 */
int sources_open(const char *choice, const struct source_ops *const *all, size_t nall,
		 const struct source_env *env, struct sources **ret, struct errmsg *err) _must_check_;
void sources_close(struct sources *s);

/* Writes which sources are in use, such as "rapl (2 packages, ...)", "model (estimate: ...)" or "none". */
void sources_describe(const struct sources *s, char *buf, size_t size);

struct sources_reading {
	/* In the same order in every tick; new parts are added at the end. */
	uint32_t nparts;
	struct part part[PARTS_MAX];
	uint32_t from[DOMAIN_N]; /* the enum source_id that measures the domain; SOURCE_N: none */
	uint32_t rejected;
	uint32_t wraps;
	uint32_t late;
	/* Energy by which the parts exceed the whole node, as found in this tick (remainder.h). */
	uint64_t disagreement_uj;
	/*
	 * A source in use failed, was late, had a counter rejected, or may lack energy before this tick. Idle
	 * power must not be learned from this tick.
	 */
	bool is_tainted;
	/*
	 * A bit 1 << enum source_id for each source that is used or configured, but lost: it is not open, or
	 * could not be read for SOURCES_AWAIT_NS.
	 */
	uint32_t lost;
	/* By sources_assess(): enum doubt of a domain whose source is lost and has no part. */
	uint8_t doubt[DOMAIN_N];
	uint64_t lag_ns; /* the largest lag of the sources in use */
	int failed;	 /* -errno of a source that could not be read at all; 0: there is none */
	enum source_id failed_id;
};

/*
 * How long to wait for a source that opened but could not be read yet. Sources of lower preference
 * wait too, so that they do not take its domains.
 */
#define SOURCES_AWAIT_NS UINT64_C(15000000000)

/*
 * Time between two requests to a BMC. Most BMCs have no new value sooner, and requests keep them
 * busy.
 */
#define SOURCES_SLOW_NS UINT64_C(5000000000)

/*
 * Reads all sources at NOW_NS (CLOCK_MONOTONIC), DT_NS after the last call. STATE[SOURCE_N] is from
 * the ledger page. The state of a source that is not open is cleared: otherwise its next reading
 * would charge all energy since to one tick. A domain stays with the first source that measured it while
 * that source fails, since the energy comes later, but not for good: if it shows no energy for
 * SOURCES_AWAIT_NS and three lags, the next source that does has the domain until slurmd is restarted.
 * OTHER is the whole node's energy minus all parts (remainder.h), or, without a source of the whole node,
 * what modules use beyond their parts, or what a source reports as OTHER. Logs once when a source fails or
 * falls silent, once when it is back, and once if a configured source is missing.
 */
void sources_read(struct sources *s, uint64_t now_ns, uint64_t dt_ns, uint32_t busy_ppm,
		  struct source_state *state, struct sources_reading *ret);

/* What must be known to assess sensors (standing.h), of the tick that sources_read() has read. */
struct sources_load {
	uint64_t busy_ns; /* CPU time of all processes in the tick, and by socket */
	const uint64_t *socket_ns;
	const uint32_t *socket_cpus;
	uint32_t cpus;
	const struct gpu_reading *gpu;
	size_t ngpus;
	const struct ledger_part *kept; /* what the ledger has of parts from before slurmd started */
	size_t nkept;
};
/*
 * Decides whether the sensors in use measured all that was used: sets doubt of the parts of R, and R->doubt.
 * To be called after each sources_read(). A sensor of the whole node that never counts is not used from the
 * next sources_read() on. Logs once when a sensor stands still, and once when it moves again.
 */
void sources_assess(struct sources *s, uint64_t now_ns, uint64_t dt_ns, const struct sources_load *load,
		    struct sources_reading *r);

/*
 * Lists RAPL's counters with CEEMS's names. Returns how many, at most MAX. Pointers are valid until
 * sources_close().
 */
size_t sources_zones(const struct sources *s, struct source_zone *ret, size_t max);

/* Gives the use of the GPUs at the last sources_read(). Returns the number of GPUs, at most MAX. */
size_t sources_gpus(const struct sources *s, struct gpu_reading *ret, size_t max);
/*
 * Gives the use of the MIG instances, which only one source knows. Returns their number. *RET is
 * borrowed until the next sources_read().
 */
size_t sources_instances(const struct sources *s, const struct gpu_instance_reading **ret);

/*
 * Returns the sizes of the GPUs that MIG divides; NULL: there are none. Borrowed until
 * the next sources_read().
 */
const struct gpu_slices *sources_slices(const struct sources *s);

/* The state of one source, for messages. Pointers are valid until the next sources_read(). */
struct sources_status {
	bool is_open;
	bool is_node;		    /* the energy of the whole node is taken from this source */
	bool has_modules;	    /* modules of a superchip are taken from this source */
	bool is_configured;	    /* ExternalSource, RedfishConf, IpmiSensor, or by name in EnergySources */
	bool is_lost;		    /* see struct sources_reading */
	uint64_t lag_ns;	    /* the largest age of its values */
	int rc;			    /* result of open(), or of the last read() */
	const char *why;	    /* why it is not open or cannot be read; "": it is open and can be read */
	const char *notes;	    /* lines about the sensors that it reads; may be "" */
	char about[160];	    /* text of describe(); may be "" */
	const struct reading *last; /* the last reading; NULL: none succeeded so far */
};
/* Gives the state of source ID. False: EnergySources does not ask for this source. */
bool sources_status(struct sources *s, enum source_id id, struct sources_status *ret) _must_check_;

#endif
