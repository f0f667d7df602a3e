/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What /proc and cgroups say of CPU time and memory: /proc/stat, /proc/PID/stat, cpu.stat,
 * cpuacct.usage, memory.stat, meminfo.
 */
#include "src/libmeter/activity/cputime.h"
#include "src/libmeter/activity/memuse.h"
#include "src/libutil/fileio.h"
#include "src/libutil/procstat.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	int fd = fuzz_fd(data, size);
	struct procstat proc;
	uint32_t cpus = 0;
	uint64_t ns;

	if (cputime_node(fd, &ns, &cpus) == 0)
		assert(cpus);
	(void)fileio_pread_u64(fd, &ns);
	(void)procstat_parse(text, &proc);
	(void)cputime_parse_cpu_stat(text, &ns);
	(void)memuse_parse(text, /* is_v2= */ true, &ns);
	(void)memuse_parse(text, /* is_v2= */ false, &ns);
	(void)memuse_node(fd, &ns);
	free(text);
	return 0;
}
