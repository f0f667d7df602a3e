/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source.h - the interface of energy sources. A source is opened once, read at every tick, and closed
 * once. Each reading gives the energy since the reading before. The source itself handles wraps, resets
 * and implausible jumps of its counters.
 */
#ifndef CEEMS_SOURCE_H
#define CEEMS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libcore/domain.h"
#include "src/libcore/gpuvalue.h"
#include "src/libmeter/sensor/counter.h"
#include "src/libmeter/sensor/part.h"
#include "src/libutil/errmsg.h"

/*
 * The last raw values of a source's counters. They are kept in the node ledger, so that a restarted
 * slurmd goes on from them. NAME identifies the counter ("intel-rapl:0:1"), RAW is its last value.
 */
#define SOURCE_MAX_COUNTERS 128 /* 32 sockets with memory, and as many dies */
struct source_counter {
	char name[48];
	uint64_t raw;
};
struct source_state {
	uint32_t ncounters;
	uint32_t pad;
	struct source_counter counter[SOURCE_MAX_COUNTERS];
};

/*
 * What slurmstepds read of a source's counters while no slurmd did, since the tick at base_mono_ns.
 * Kept in the node ledger for the next slurmd.
 */
struct source_notes {
	uint64_t base_mono_ns;
	uint64_t last_mono_ns;
	uint32_t n;
	uint32_t pad;
	struct source_note {
		char name[48];
		struct counter_note note;
	} note[SOURCE_MAX_COUNTERS];
};

/* For sources: returns the raw value that is saved as NAME, or NULL. Valid until the next put or drop. */
uint64_t *source_state_find(struct source_state *state, const char *name);
/* Sets or adds the raw value NAME. -ENOSPC: no room; -ENAMETOOLONG. */
int source_state_put(struct source_state *state, const char *name, uint64_t raw);
void source_state_drop(struct source_state *state, const char *name);

/*
 * What a source measured. From its first good reading on, a source lists the same parts in the same order.
 * A part for which there is no new value has 0 uJ.
 */
struct reading {
	uint32_t nparts;
	struct part part[PARTS_MAX];
	uint32_t rejected; /* counters that were unreadable, or whose change was implausible */
	uint32_t wraps;
	uint32_t late; /* readings that were too old to be used */
};

/*
 * For sources: returns the part of this domain and unit. If R has no such part yet, it is added at the end,
 * with 0 uJ. Never NULL: beyond PARTS_MAX the last part is shared, so that no joule gets lost.
 */
struct part *reading_part(struct reading *r, enum domain d, unsigned int unit, enum reading_quality q);
/* The same for a part that contains others. MODULE as in struct part; 0 for SCOPE_NODE. */
struct part *reading_part_of(struct reading *r, enum part_scope scope, unsigned int module, enum domain d,
			     unsigned int unit, enum reading_quality q);

/* The last reading of how a GPU is used. */
struct gpu_reading {
	uint8_t unit;
	char model[64];
	char uuid[48];
	/*
	 * The time (CLOCK_MONOTONIC) that VALUE covers. If both are equal, VALUE is of that instant.
	 * 0: no reading yet.
	 */
	uint64_t from_ns, until_ns;
	uint64_t value[GPU_VALUE_N]; /* by enum gpu_value; GPU_VALUE_UNKNOWN: not known */
};

/* The sizes of a GPU that MIG divides and of its instances: one entry per compute instance. */
#define GPU_SLICES_MAX 128 /* 16 GPUs with 7 compute instances each */
#define GPU_SLICE_WHOLE 0xff
struct gpu_slice {
	uint8_t unit;
	uint8_t gi;	   /* number of the GPU instance; GPU_SLICE_WHOLE: the entry is about the whole GPU */
	uint8_t ci;	   /* number of the compute instance */
	uint8_t slices;	   /* compute slices */
	uint8_t gi_slices; /* compute slices of its GPU instance */
	uint8_t pad[3];
	uint32_t mem_mb; /* memory of the GPU instance */
};
struct gpu_slices {
	uint32_t n;
	struct gpu_slice slice[GPU_SLICES_MAX];
};

/* The last reading of a GPU instance (MIG). It covers the same time as the last reading of its GPU. */
struct gpu_instance_reading {
	uint8_t unit;
	uint8_t gi;
	uint8_t slices; /* compute slices */
	bool is_told;	/* only for the source: there is a reading since the last reading of the GPU */
	uint64_t value[GPU_VALUE_N];
};

/*
 * A counter of energy that ceems.prom shows. Its raw value is the one that struct source_state has for NAME.
 */
struct source_zone {
	const char *name;   /* "intel-rapl:0"; borrowed until close() */
	const char *folder; /* folder of the counter, with a slash at the end */
	const char *kind;   /* "package", "dram", "psys" */
	unsigned int index; /* number of the socket */
};

struct settings;

/* What a source is opened with. Pointers are borrowed until close(). */
struct source_env {
	/* for sources with keys of their own; tests of the others leave it NULL */
	const struct settings *settings;
	const char *sys_root;		  /* prefix of /sys and /proc */
	const struct source_notes *notes; /* of rapl's counters, used by open() only; NULL: none */
	uint64_t slow_interval_ns;	  /* time between two requests to a BMC */
	const char *nvml_library;	  /* name or path for dlopen() */
	const char *rocm_library; /* path of AMD SMI or ROCm SMI; "auto": the first that can be opened */
	const char *helper_dir;	  /* folder of the helper programs, which ask sensors that may hang */
	/* Optional: gets each line that a helper program writes, and HEARD_ARG. */
	void (*heard)(void *arg, enum source_id id, const char *line);
	void *heard_arg;
};

struct source; /* opaque, one per open source */

struct source_ops {
	enum source_id id;
	bool logs_failures; /* the source itself logs that read() failed, and that it works again */
	/*
	 * Returns 0; -ENODEV: this machine has no such sensor (logged as info); else another
	 * -errno. On failure ERR has the file and the reason, and the caller puts the source's name
	 * in front. If reading a sensor may take longer than reading a local file, the source uses
	 * a helper program (helper_source.h).
	 */
	int (*open)(const struct source_env *env, struct source **ret, struct errmsg *err);
	/*
	 * Reads all counters, DT_NS after the last call. BUSY_PPM is the node's CPU use since then.
	 * STATE has the raw values of the last call, perhaps in another process, and is updated. If it
	 * is empty, this reading is only the base for later ones and gives 0 uJ.
	 *
	 * read() opens no file, but may restart a helper that has ended. It waits at most 40 ms for an
	 * answer of a helper. A counter that cannot be read keeps its base and is counted in `rejected`;
	 * its next good reading gives all energy since the base. -EIO: no counter could be read.
	 */
	int (*read)(struct source *s, uint64_t dt_ns, uint32_t busy_ppm, struct source_state *state,
		    struct reading *ret);
	/* Optional: the use of the GPUs at the last read(). Returns the number of GPUs, at most MAX. */
	size_t (*gpus)(const struct source *s, struct gpu_reading *ret, size_t max);
	/* Optional: the use of the MIG instances. *RET is borrowed until the next read(). */
	size_t (*instances)(const struct source *s, const struct gpu_instance_reading **ret);
	/* Optional: the sizes of the GPUs that MIG divides. Borrowed until the next read(). */
	const struct gpu_slices *(*slices)(const struct source *s);
	/* Optional: lists the source's counters, grouped by kind. Returns how many, at most MAX. */
	size_t (*zones)(const struct source *s, struct source_zone *ret, size_t max);
	/*
	 * Writes one line, such as "2 packages, 2 dram, 262143.3 J range". An estimate must call itself so.
	 */
	void (*describe)(const struct source *s, char *buf, size_t size);
	/*
	 * Optional: returns why the source cannot be read; "": it can be read. Valid until the next read().
	 */
	const char *(*why)(const struct source *s);
	/* Optional: returns lines about the sensors that are read. Valid until the next read(). */
	const char *(*notes)(const struct source *s);
	/*
	 * Optional: returns the lag, the largest age of a value: the sensor's interval plus the
	 * time of its mean. NULL: 0.
	 */
	uint64_t (*lag)(const struct source *s);
	void (*close)(struct source *s);
};

#define SOURCE(id, name, ...) extern const struct source_ops source_##name;
#include "src/libcore/sources.def"
#undef SOURCE

/* All sources, in the order of preference. */
extern const struct source_ops *const source_builtin[];
extern const size_t source_nbuiltin;

#endif
