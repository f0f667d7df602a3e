/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the metric values mean, and where the numbers are from:
 *
 * cycles, instructions, branches, branch misses: the kernel's generic events, which take the fixed
 *	counters where there are any. Not on Arm, where "branches" was PC_WRITE_RETIRED before 6.3.
 *
 * cache references and misses: of the last level, as far as a core can tell its own. AMD's L3 counter
 *	counts for all cores that share the L3, and the kernel's generic cache events are those of the
 *	L2 there. So on AMD, references are the fills of a core's L1 data cache from beyond its L2, and
 *	misses are the fills from beyond its L3. Instruction fetches, and prefetches that stop in the
 *	L2, are not counted.
 *
 * FP operations: by the vendor's own definition, where a fused multiply-add is two.
 *	Intel	"each count represents N computation operations ... FM(N)ADD/SUB instructions count
 *		twice" (FP_ARITH_INST_RETIRED in the SDM, vol. 3B, chapter 20, and in the perfmon event
 *		files). Masked-out lanes count too; x87, AMX and half precision do not.
 *	AMD	PMCx003, Retired SSE/AVX FLOPs, "MacFLOPs: ... each MAC operation is counted as 2
 *		FLOPS" (PPR of families 17h, 19h and 1Ah). It grows by up to 64 a cycle, for which the
 *		kernel takes two counters (5738891229a2, 5.6).
 *	Arm	FP_FIXED_OPS_SPEC counts operations, a multiply-add as two; FP_SCALE_OPS_SPEC those of
 *		SVE per 128 bits of vector (Arm ARM, D13.11), so times the CPU's vector length: 256 bits
 *		on V1, 128 on N2 and V2. Both are of instructions executed, also of those a wrong
 *		guess executed for nothing. N1 counts only instructions, from which the operations are
 *		not known.
 *
 * memory: lines of 64 bytes that a core's loads, stores (which read the line first) and prefetches
 *	brought from memory. Writes to memory cannot be counted per core. So this is read
 *	bandwidth.
 *	Skylake-X, Cascade Lake: reads that missed the L3, including those that another socket's cache
 *		answered.
 *	Ice Lake-SP and later: OCR READS_TO_CORE.DRAM, local and remote.
 *	clients of Intel, Arm: misses of the last level.
 *	AMD: fills of the L1 data cache from memory; Zen 4 and 5 with extension memory (CXL).
 *
 * Groups: four counters at most besides cycles and instructions, as that is all that a core has with
 * SMT on before Ice Lake (Intel), less one for the NMI watchdog on AMD (of six, FLOP takes two).
 * Small ones share the PMU: on Ice Lake two of the three are on it at any time.
 *
 * CPUs: intel-family.h, arch/x86/kernel/cpu/amd.c, arch/arm64/include/asm/cputype.h.
 */
#include "src/libmeter/activity/hwevents_table.h"

#include "src/libutil/util.h"

#define LINE 64 /* bytes */

/* clang-format off */
#define GENERIC(metric_, group_, what_)                                                  \
	{ .name = "PERF_COUNT_HW_" #what_, .metric = METRIC_##metric_, .group = (group_), \
	  .factor = 1, .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_##what_ }
/* more members may follow */
#define RAW(metric_, group_, factor_, config_)                                           \
	.metric = METRIC_##metric_, .group = (group_), .factor = (factor_),              \
	.type = PERF_TYPE_RAW, .config = (config_)

#define CYCLES_AND_INSTRUCTIONS                                                          \
	GENERIC(CYCLES, 0, CPU_CYCLES), GENERIC(INSTRUCTIONS, 0, INSTRUCTIONS)
#define GENERIC_BRANCHES                                                                 \
	GENERIC(BRANCHES, 0, BRANCH_INSTRUCTIONS), GENERIC(BRANCH_MISSES, 0, BRANCH_MISSES)

/* --- Intel -------------------------------------------------------------------------------- */

#define INTEL_CACHE                                                                      \
	{ .name = "LONGEST_LAT_CACHE:REFERENCE",                                         \
	  .other_name = "LONGEST_LAT_CACHE:REFERENCES",                                  \
	  RAW(CACHE_REFERENCES, 1, 1, 0x4f2e) },                                         \
	{ .name = "LONGEST_LAT_CACHE:MISS", RAW(CACHE_MISSES, 1, 1, 0x412e) }
/* each miss brings a line: "hardware prefetches to the L1 and L2" are in it, to the L3 not */
#define INTEL_MEMORY_BY_MISSES                                                           \
	{ .name = "LONGEST_LAT_CACHE:MISS", RAW(MEMORY_BYTES, 1, LINE, 0x412e) }
#define INTEL_FLOP                                                                       \
	{ .name = "FP_ARITH_INST_RETIRED:SCALAR_SINGLE:SCALAR_DOUBLE",                   \
	  .other_name = "FP_ARITH_INST_RETIRED:SCALAR",                                  \
	  RAW(FP_OPERATIONS, 2, 1, 0x03c7) },                                            \
	{ .name = "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE",                            \
	  RAW(FP_OPERATIONS, 2, 2, 0x04c7) },                                            \
	{ .name = "FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE:256B_PACKED_DOUBLE",         \
	  .other_name = "FP_ARITH_INST_RETIRED:4_FLOPS",                                 \
	  RAW(FP_OPERATIONS, 2, 4, 0x18c7) }
#define INTEL_FLOP_AVX512                                                                \
	INTEL_FLOP,                                                                      \
	{ .name = "FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE:512B_PACKED_DOUBLE",         \
	  .other_name = "FP_ARITH_INST_RETIRED:8_FLOPS",                                 \
	  RAW(FP_OPERATIONS, 2, 8, 0x60c7) },                                            \
	{ .name = "FP_ARITH_INST_RETIRED:512B_PACKED_SINGLE",                            \
	  RAW(FP_OPERATIONS, 1, 16, 0x80c7) }
#define INTEL_FLOP_AVX2                                                                  \
	INTEL_FLOP,                                                                      \
	{ .name = "FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE",                            \
	  RAW(FP_OPERATIONS, 2, 8, 0x20c7) }

/* Data, code and ownership, demand and prefetch; L3 miss, local and over any hop; any snoop. */
#define SKYLAKE_X_ROWS                                                                   \
	{ CYCLES_AND_INSTRUCTIONS, GENERIC_BRANCHES, INTEL_CACHE,                        \
	  { .name = "OFFCORE_RESPONSE.ALL_READS.L3_MISS.ANY_SNOOP", .is_vendors = true,  \
	    RAW(MEMORY_BYTES, 1, LINE, 0x01b7), .config1 = 0x3fbc0007f7 },               \
	  INTEL_FLOP_AVX512 }
#define SAPPHIRE_RAPIDS_ROWS                                                             \
	{ CYCLES_AND_INSTRUCTIONS, GENERIC_BRANCHES, INTEL_CACHE,                        \
	  { .name = "OCR:READS_TO_CORE_DRAM",                                            \
	    RAW(MEMORY_BYTES, 1, LINE, 0x012a), .config1 = 0x73c004477 },                \
	  INTEL_FLOP_AVX512 }

/* --- AMD ---------------------------------------------------------------------------------- */

#define AMD_FLOP(config_)                                                                \
	{ .name = "RETIRED_SSE_AVX_FLOPS:ANY", RAW(FP_OPERATIONS, 2, 1, config_) }

/* L2 < what is beyond it; L3 and caches of the die: 2, memory: 8 and 40, another die's cache: 10 */
#define ZEN2_BEYOND_L2                                                                   \
	"LS_MABRESP_LCL_CACHE:LS_MABRESP_LCL_DRAM:LS_MABRESP_RMT_CACHE:LS_MABRESP_RMT_DRAM"
#define ZEN2_BEYOND_DIE "LS_MABRESP_LCL_DRAM:LS_MABRESP_RMT_CACHE:LS_MABRESP_RMT_DRAM"
#define ZEN2_MEMORY "LS_MABRESP_LCL_DRAM:LS_MABRESP_RMT_DRAM"

#define FILLS "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:"

/* Zen 4's words for Zen 5 too, of which libpfm4 4.13 knows nothing: PPR of family 1Ah, PMCx044 */
#define ZEN4_ROWS(flop_)                                                                 \
	{ CYCLES_AND_INSTRUCTIONS, GENERIC_BRANCHES,                                     \
	  { .name = FILLS "LOCAL_CCX:NEAR_CACHE_NEAR_FAR:DRAM_IO_NEAR:"                  \
			    "FAR_CACHE_NEAR_FAR:DRAM_IO_FAR:ALT_MEM_NEAR_FAR",           \
	    RAW(CACHE_REFERENCES, 1, 1, 0xde44) },                                       \
	  { .name = FILLS "NEAR_CACHE_NEAR_FAR:DRAM_IO_NEAR:FAR_CACHE_NEAR_FAR:"         \
			    "DRAM_IO_FAR:ALT_MEM_NEAR_FAR",                              \
	    RAW(CACHE_MISSES, 1, 1, 0xdc44) },                                           \
	  { .name = FILLS "DRAM_IO_NEAR:DRAM_IO_FAR:ALT_MEM_NEAR_FAR",                   \
	    RAW(MEMORY_BYTES, 1, LINE, 0xc844) },                                        \
	  AMD_FLOP(flop_) }

/* --- Arm ---------------------------------------------------------------------------------- */

#define ARM_BRANCHES                                                                     \
	{ .name = "BR_RETIRED", .sysfs = "br_retired", RAW(BRANCHES, 0, 1, 0x21) },      \
	{ .name = "BR_MIS_PRED_RETIRED", .sysfs = "br_mis_pred_retired",                 \
	  RAW(BRANCH_MISSES, 0, 1, 0x22) }
#define ARM_CACHE                                                                        \
	{ .name = "LL_CACHE_RD", .sysfs = "ll_cache_rd",                                 \
	  RAW(CACHE_REFERENCES, 1, 1, 0x36) },                                           \
	{ .name = "LL_CACHE_MISS_RD", .sysfs = "ll_cache_miss_rd",                       \
	  RAW(CACHE_MISSES, 1, 1, 0x37) },                                               \
	{ .name = "LL_CACHE_MISS_RD", .sysfs = "ll_cache_miss_rd",                       \
	  RAW(MEMORY_BYTES, 1, LINE, 0x37) }
#define ARM_FLOP(vectors_)                                                               \
	{ .name = "FP_SCALE_OPS_SPEC", RAW(FP_OPERATIONS, 2, vectors_, 0x80c0) },        \
	{ .name = "FP_FIXED_OPS_SPEC", RAW(FP_OPERATIONS, 2, 1, 0x80c1) }

const struct hwevents_machine hwevents_table[] = {
	{ "skx", "skx", 'I', 6, { { 0x55, 0x55 } }, SKYLAKE_X_ROWS }, /* and Cascade, Cooper Lake */
	{ "icx", "icx", 'I', 6, { { 0x6a, 0x6a }, { 0x6c, 0x6c } },
	  { CYCLES_AND_INSTRUCTIONS, GENERIC_BRANCHES, INTEL_CACHE,
	    { .name = "OCR:READS_TO_CORE_DRAM",
	      RAW(MEMORY_BYTES, 1, LINE, 0x01b7), .config1 = 0x73c000477 },
	    INTEL_FLOP_AVX512 } },
	/* and Emerald Rapids */
	{ "spr", "spr", 'I', 6, { { 0x8f, 0x8f }, { 0xcf, 0xcf } }, SAPPHIRE_RAPIDS_ROWS },
	/* Intel's file for Granite Rapids has the same codes; libpfm4 4.13 does not have it */
	{ "gnr", "spr", 'I', 6, { { 0xad, 0xae } }, SAPPHIRE_RAPIDS_ROWS },
	/* clients: Skylake, Kaby, Coffee, Comet Lake */
	{ "skl", "skl", 'I', 6,
	  { { 0x4e, 0x4e }, { 0x5e, 0x5e }, { 0x8e, 0x8e }, { 0x9e, 0x9e }, { 0xa5, 0xa6 } },
	  { CYCLES_AND_INSTRUCTIONS, GENERIC_BRANCHES, INTEL_CACHE, INTEL_MEMORY_BY_MISSES,
	    INTEL_FLOP_AVX2 } },
	/* clients: Ice, Tiger, Rocket Lake */
	{ "icl", "icl", 'I', 6, { { 0x7d, 0x7e }, { 0x8c, 0x8d }, { 0xa7, 0xa7 } },
	  { CYCLES_AND_INSTRUCTIONS, GENERIC_BRANCHES, INTEL_CACHE, INTEL_MEMORY_BY_MISSES,
	    INTEL_FLOP_AVX512 } },

	{ "zen2", "amd64_fam17h_zen2", 'A', 0x17, { { 0x30, 0xaf } },
	  { CYCLES_AND_INSTRUCTIONS, GENERIC_BRANCHES,
	    { .name = "DATA_CACHE_REFILLS_FROM_SYSTEM:" ZEN2_BEYOND_L2,
	      RAW(CACHE_REFERENCES, 1, 1, 0x5a43) },
	    { .name = "DATA_CACHE_REFILLS_FROM_SYSTEM:" ZEN2_BEYOND_DIE,
	      RAW(CACHE_MISSES, 1, 1, 0x5843) },
	    { .name = "DATA_CACHE_REFILLS_FROM_SYSTEM:" ZEN2_MEMORY,
	      RAW(MEMORY_BYTES, 1, LINE, 0x4843) },
	    { .name = "HARDWARE_PREFETCH_DATA_CACHE_FILLS:" ZEN2_MEMORY,
	      RAW(MEMORY_BYTES, 1, LINE, 0x485a) },
	    { .name = "SOFTWARE_PREFETCH_DATA_CACHE_FILLS:" ZEN2_MEMORY,
	      RAW(MEMORY_BYTES, 2, LINE, 0x4859) },
	    AMD_FLOP(0x0f03) } },
	{ "zen3", "amd64_fam19h_zen3", 'A', 0x19, { { 0x00, 0x0f }, { 0x20, 0x5f } },
	  { CYCLES_AND_INSTRUCTIONS, GENERIC_BRANCHES,
	    { .name = FILLS "INT_CACHE:EXT_CACHE_LCL:MEM_IO_LCL:EXT_CACHE_RMT:MEM_IO_RMT",
	      RAW(CACHE_REFERENCES, 1, 1, 0x5e44) },
	    { .name = FILLS "EXT_CACHE_LCL:MEM_IO_LCL:EXT_CACHE_RMT:MEM_IO_RMT",
	      RAW(CACHE_MISSES, 1, 1, 0x5c44) },
	    { .name = FILLS "MEM_IO_LCL:MEM_IO_RMT", RAW(MEMORY_BYTES, 1, LINE, 0x4844) },
	    AMD_FLOP(0x0f03) } },
	{ "zen4", "amd64_fam19h_zen4", 'A', 0x19, { { 0x10, 0x1f }, { 0x60, 0xaf } },
	  ZEN4_ROWS(0x1f03) }, /* with bfloat16 */
	{ "zen5", "", 'A', 0x1a, { { 0x00, 0x4f }, { 0x60, 0x7f } }, ZEN4_ROWS(0x0f03) },

	{ "neoverse-n1", "arm_n1", 'R', 8, { { 0xd0c, 0xd0c } },
	  { CYCLES_AND_INSTRUCTIONS, ARM_BRANCHES, ARM_CACHE } },
	{ "neoverse-v1", "arm_v1", 'R', 8, { { 0xd40, 0xd40 } },
	  { CYCLES_AND_INSTRUCTIONS, ARM_BRANCHES, ARM_CACHE, ARM_FLOP(2) } },
	{ "neoverse-n2", "arm_n2", 'R', 8, { { 0xd49, 0xd49 } },
	  { CYCLES_AND_INSTRUCTIONS, ARM_BRANCHES, ARM_CACHE, ARM_FLOP(1) } },
	{ "neoverse-v2", "arm_v2", 'R', 8, { { 0xd4f, 0xd4f } }, /* Grace, Graviton 4 */
	  { CYCLES_AND_INSTRUCTIONS, ARM_BRANCHES, ARM_CACHE, ARM_FLOP(1) } },

	{ "generic", "", 0, 0, { { 0, 0 } },
	  { CYCLES_AND_INSTRUCTIONS, GENERIC_BRANCHES,
	    GENERIC(CACHE_REFERENCES, 1, CACHE_REFERENCES),
	    GENERIC(CACHE_MISSES, 1, CACHE_MISSES) } },
};
/* clang-format on */
const size_t hwevents_table_n = ARRAY_SIZE(hwevents_table);

static bool is_of(const struct hwevents_machine *m, const struct cpuinfo *cpu)
{
	size_t i;

	if (!m->vendor)
		return true;
	if (m->vendor != cpu->vendor || m->family != cpu->family)
		return false;
	for (i = 0; i < HWEVENTS_MODELS && (!i || m->model[i].last); i++)
		if (cpu->model >= m->model[i].first && cpu->model <= m->model[i].last)
			return true;
	return false;
}

const struct hwevents_machine *hwevents_machine(const struct cpuinfo *cpu)
{
	size_t i;

	for (i = 0; i + 1 < hwevents_table_n; i++)
		if (is_of(&hwevents_table[i], cpu))
			break;
	return &hwevents_table[i];
}

size_t hwevents_rows(const struct hwevents_machine *m)
{
	size_t n;

	for (n = 0; n < HWEVENTS_MAX && m->row[n].name[0]; n++)
		;
	return n;
}
