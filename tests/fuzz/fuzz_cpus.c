/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which CPU is where: a list of CPUs as cpusets have it, then physical_package_id and
 * thread_siblings_list of a few.
 */
#include "src/libmeter/activity/cpuset.h"
#include "src/libmeter/activity/smt.h"
#include "src/libmeter/sensor/topology.h"
#include "src/libutil/fileio.h"
#include "tests/fuzz/fuzz.h"

#define CPUS 4

static void parse_list(const uint8_t *part, size_t len)
{
	char *text = fuzz_text(part, len);
	uint32_t cpus[CPUS];
	size_t n = 0;
	size_t i;

	if (cpuset_parse(text, CPUS, cpus, &n) == 0) {
		assert(n <= CPUS);
		for (i = 0; i < n; i++)
			assert(cpus[i] < CPUS && (!i || cpus[i] > cpus[i - 1]));
	}
	free(text);
}

static void write_cpu(struct fuzz_parts *in, unsigned int cpu)
{
	static const char *const files[] = { "physical_package_id", "thread_siblings_list" };
	const uint8_t *part;
	char dir[512];
	size_t len;
	size_t i;

	(void)snprintf(dir, sizeof(dir), "%s/sys/devices/system/cpu/cpu%u/topology", fuzz_dir(), cpu);
	assert(fileio_mkdir_p(dir, 0700, NULL) == 0);
	for (i = 0; i < 2; i++) {
		part = fuzz_next(in, &len);
		fuzz_write(dir, files[i], part, len);
	}
}

static void check_topology(void)
{
	struct topology *t = NULL;
	uint32_t sum = 0;
	unsigned int i;

	assert(topology_read(fuzz_dir(), CPUS, &t) == 0 && t->ncpus >= CPUS);
	for (i = 0; i < t->ncpus; i++)
		assert(t->cpu_socket[i] < SOCKETS_MAX);
	for (i = 0; i < SOCKETS_MAX; i++)
		sum += t->socket_cpus[i];
	assert(sum && sum <= t->ncpus);
	free(t);
}

static void check_smt(void)
{
	static const uint64_t busy[2][CPUS] = { { 0 }, { 5, 500000000, UINT64_MAX, 1 } };
	struct smt *s = NULL;
	uint32_t i;

	assert(smt_open(fuzz_dir(), CPUS, &s) == 0);
	smt_update(s, busy[0], 1);
	smt_update(s, busy[1], 1000000001);
	for (i = 0; i < CPUS; i++)
		assert(smt_worth(s, i) <= SMT_ONE && smt_worth(s, i) > SMT_ONE / 2);
	smt_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_parts in = { data, size };
	const uint8_t *part;
	unsigned int cpu;
	size_t len;

	part = fuzz_next(&in, &len);
	parse_list(part, len);
	for (cpu = 0; cpu < CPUS; cpu++)
		write_cpu(&in, cpu);
	check_topology();
	check_smt();
	return 0;
}
