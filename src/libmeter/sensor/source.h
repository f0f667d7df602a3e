/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source.h - one interface for everything that yields energy. A source is opened once, read at
 * every tick, closed once. The sampler asks each source for the energy since the reading before.
 * The source handles wraps, resets and implausible jumps; the sampler never sees them.
 */
#ifndef CEEMS_SOURCE_H
#define CEEMS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libcore/domain.h"
#include "src/libcore/gpuvalue.h"
#include "src/libutil/errmsg.h"

/*
 * Raw counters survive slurmd in the node ledger, so that the sampler goes on after a restart
 * where it stopped. NAME identifies the counter ("intel-rapl:0:1"), RAW is its last value.
 */
#define SOURCE_MAX_COUNTERS 64
struct source_counter {
	char name[48];
	uint64_t raw;
};
struct source_state {
	uint32_t ncounters;
	uint32_t pad;
	struct source_counter counter[SOURCE_MAX_COUNTERS];
};

/* For sources: the raw value kept as NAME, or NULL. Valid until the next put or drop. */
uint64_t *source_state_find(struct source_state *state, const char *name);
/* Sets or adds it; -ENOSPC: no room, -ENAMETOOLONG. */
int source_state_put(struct source_state *state, const char *name, uint64_t raw);
void source_state_drop(struct source_state *state, const char *name);

/* How a reading was made; every output shows that beside the number. */
enum reading_quality {
	QUALITY_COUNTER,    /* the sensor counts energy itself */
	QUALITY_INTEGRATED, /* power, integrated over time by the trapezoid rule */
	QUALITY_ESTIMATE,   /* no sensor: a model */
};
const char *reading_quality_name(enum reading_quality q); /* "counter", "integrated", ... */

/*
 * What one unit of a domain used. From its first successful reading on, a source shows the same
 * parts in the same order. A part that has nothing new shows 0 uJ.
 */
struct reading_part {
	uint8_t domain;	 /* enum domain */
	uint8_t quality; /* enum reading_quality */
	/*
	 * DOMAIN_OTHER only: this is all that the node uses, what other sources read included.
	 * Who combines the sources makes the remainder of it (remainder.h).
	 */
	bool is_whole_node;
	/*
	 * The energy since the reading before is unknown: this is the first reading, the gap was
	 * too long, or the counter began again. It is 0 uJ, and counting starts here.
	 */
	bool is_new_base;
	uint8_t unit;	    /* socket or GPU, see domain.h; 0 for DOMAIN_OTHER */
	uint64_t energy_uj; /* used since the last reading, or, at the first, since the saved state */
	uint64_t idle_mw;   /* idle power, if the source knows it by itself (the model); 0: no */
	/*
	 * The time (CLOCK_MONOTONIC) up to which energy_uj reaches, for sensors slower than the
	 * tick. A power sample of 4 s ago says nothing about the last 4 s. 0: up to this reading.
	 */
	uint64_t until_ns;
};

#define READING_PARTS_MAX 64
struct reading {
	uint32_t nparts;
	struct reading_part part[READING_PARTS_MAX];
	uint32_t rejected; /* counters whose step was implausible or unreadable */
	uint32_t wraps;
	uint32_t late;	   /* readings that were too old to be used: stale is stale */
};

/*
 * For sources: the part of that unit, added at the end with 0 uJ if it is not there yet. Never
 * NULL: beyond READING_PARTS_MAX the last part is shared, so that no joule gets lost.
 */
struct reading_part *reading_part(struct reading *r, enum domain d, unsigned int unit,
				  enum reading_quality q);

/* The last reading of how a GPU is used. */
struct gpu_reading {
	uint8_t unit;
	char model[64];
	char uuid[48];
	/* VALUE is of the time between them (CLOCK_MONOTONIC), or of that instant if they are equal; 0: no reading yet */
	uint64_t from_ns, until_ns;
	uint64_t value[GPU_VALUE_N]; /* by enum gpu_value; or GPU_VALUE_UNKNOWN */
};

/* The sizes of a GPU that MIG divides and of its instances: one entry per compute instance. */
#define GPU_SLICES_MAX 128 /* 16 GPUs with 7 compute instances each */
#define GPU_SLICE_WHOLE 0xff
struct gpu_slice {
	uint8_t unit;
	uint8_t gi; /* GPU_SLICE_WHOLE: the GPU itself */
	uint8_t ci;
	uint8_t slices;	   /* of compute */
	uint8_t gi_slices; /* that its GPU instance has */
	uint8_t pad[3];
	uint32_t mem_mb; /* of the GPU instance */
};
struct gpu_slices {
	uint32_t n;
	struct gpu_slice slice[GPU_SLICES_MAX];
};

/* The last reading of a GPU instance (MIG), of the time of its GPU's. */
struct gpu_instance_reading {
	uint8_t unit;
	uint8_t gi;
	uint8_t slices; /* of compute */
	bool is_told;	/* since the last reading of the GPU; the source's own */
	uint64_t value[GPU_VALUE_N];
};

/* A counter that shows joules itself, for ceems.prom. Its value is in the source's state, by its name. */
struct source_zone {
	const char *name;   /* "intel-rapl:0"; borrowed until close() */
	const char *folder; /* where it is found, with a slash at the end */
	const char *kind;   /* "package", "dram", "psys" */
	unsigned int index; /* of the package */
};

/* What a source may look at besides its own files. Pointers are borrowed until close(). */
struct source_env {
	const char *sys_root;	   /* prefix of /sys and /proc */
	uint64_t model_idle_mw;	   /* 0: by CPU model */
	uint64_t model_max_mw;
	const char *external_file; /* empty: none */
	const char *redfish_conf;  /* empty: none */
	const char *ipmi_sensor;   /* "dcmi", or the name of a power sensor in the SDR */
	uint64_t slow_interval_ns; /* between two questions to a BMC */
	const char *nvml_library;  /* for dlopen() */
	const char *rocm_library;
	const char *helper_dir; /* of the programs that ask what may hang */
};

struct source; /* opaque, one per open source */

struct source_ops {
	enum source_id id;
	const char *name;   /* "rapl", as in EnergySources */
	bool is_estimate;   /* always said beside the number */
	/* Which of those that show the whole node `auto` takes: the lowest; 0: it does not show that. */
	unsigned int node_rank;
	bool logs_failures; /* by itself: what read() could not read or use, and that it can again */
	/*
	 * 0; -ENODEV: nothing of that kind here (info, not an error); else -errno. ERR says
	 * which file and why in either case; the name of the source is put before it. A sensor that may
	 * take longer than a local file is read by a helper program: helper_source.h.
	 */
	int (*open)(const struct source_env *env, struct source **ret, struct errmsg *err);
	/*
	 * Reads all counters. STATE is in and out. An empty STATE makes the reading set the base
	 * and yield 0. Later STATE has what the last call left, perhaps in another process. DT_NS
	 * is the time since then; BUSY_PPM the node's CPU use in it. No allocation, no open(2), no
	 * waiting but a few milliseconds for a helper that is prompt. A failed counter keeps its
	 * old base and is counted in `rejected`. Its energy comes with the next good reading. -EIO:
	 * no counter could be read.
	 */
	int (*read)(struct source *s, uint64_t dt_ns, uint32_t busy_ppm,
		    struct source_state *state, struct reading *ret);
	/* Optional: what the GPUs did, of the last read(). Returns how many, at most MAX. */
	size_t (*gpus)(const struct source *s, struct gpu_reading *ret, size_t max);
	/* Optional: the same of their instances. Borrowed until the next read(). */
	size_t (*instances)(const struct source *s, const struct gpu_instance_reading **ret);
	/* Optional: the GPUs that are divided. Borrowed until the next read(). */
	const struct gpu_slices *(*slices)(const struct source *s);
	/* Optional: its counters, each once, those of one kind together. Returns how many, at most MAX. */
	size_t (*zones)(const struct source *s, struct source_zone *ret, size_t max);
	/* One line: "2 packages, 2 dram, 262143.3 J range"; an estimate says that it is one. */
	void (*describe)(const struct source *s, char *buf, size_t size);
	/* Optional: what keeps it from being read, "": nothing; and lines about what it reads. Live until the next read(). */
	const char *(*why)(const struct source *s);
	const char *(*notes)(const struct source *s);
	/* How old what it shows may be at most: its own interval, and what it is a mean over. NULL: it is read as it is. */
	uint64_t (*lag)(const struct source *s);
	void (*close)(struct source *s);
};

extern const struct source_ops source_external;
extern const struct source_ops source_cray;
extern const struct source_ops source_rapl;
extern const struct source_ops source_hwmon;
extern const struct source_ops source_nvml;
extern const struct source_ops source_rocm;
extern const struct source_ops source_redfish;
extern const struct source_ops source_ipmi;
extern const struct source_ops source_model;

/* The table: all there are, in the order that `auto` prefers them for a domain. */
extern const struct source_ops *const source_builtin[];
extern const size_t source_nbuiltin;

#endif
