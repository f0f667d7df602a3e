/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/settings.h"

#include <errno.h>
#include <stdlib.h>

#include "src/libutil/fileio.h"
#include "src/libutil/items.h"
#include "tap.h"

static const struct {
	const char *text;
	const char *error; /* behind the path */
} bad[] = {
	{ "SampleInterval=1ms", ":1: SampleInterval: '1ms' is not between 50ms and 1m" },
	{ "PUE=0.9", ":1: PUE: '0.9' is not between 1 and 5" },
	{ "TraceDir=traces", ":1: TraceDir: 'traces' is not an absolute path" },
	{ "LedgerDir=run/ceems", ":1: LedgerDir: 'run/ceems' is not an absolute path" },
	{ "Filesystems=home:/home,data:/data",
	  ":1: Filesystems: 'data' is not home, project, scratch or local" },
	{ "PerfDefault=hw,flops", ":1: PerfDefault: unknown group 'flops'; known are hw (default), "
				  "sw, io, net, sched, events:NAME,.." },
	{ "ForbidOptions=partition:debug:bpf",
	  ":1: ForbidOptions: 'bpf' is not hw, sw, io, net, sched, events, perf, "
	  "profile, trace or all" },
	{ "EmissionMaxAge=59s", ":1: EmissionMaxAge: '59s' is not between 1m and 31d" },
	{ "EmissionMaxAge=32d", ":1: EmissionMaxAge: '32d' is not between 1m and 31d" },
	{ "MarketFactor=5000.001", ":1: MarketFactor: '5000.001' is above any grid, in g/kWh" },
	{ "MarketFactor=0", ": MarketFactor needs MarketSource" },
	{ "EmbodiedGramsPerCpuHour=1001",
	  ":1: EmbodiedGramsPerCpuHour: '1001' is above 1000 g per hour of a CPU" },
	{ "EmbodiedGramsPerCpuHour=x", ":1: EmbodiedGramsPerCpuHour: 'x' is not a decimal" },
	{ "EmbodiedGramsPerCpuHour=1", ": EmbodiedGramsPerCpuHour needs EmbodiedSource" },
	{ "MariadbRetention=30d", ":1: MariadbRetention: '30d' is below 31d; 0 is for ever" },
	{ "TextfileMode=rw", ":1: TextfileMode: 'rw' is not a mode in octal, such as 0640" },
	{ "TextfileMode=0666",
	  ":1: TextfileMode: '0666' is not one of 0400 to 0644: others may read, not write" },
	{ "TextfileMode=77777777777777777777777",
	  ":1: TextfileMode: '77777777777777777777777' is not a mode in "
	  "octal, such as 0640" },
	{ "NvmlLibrary=/x", ":1: NvmlLibrary: unknown key" },
};

/* Lists whose names follow from a table: a new row needs no change here. */
static const struct {
	const char *text;
	const char *error; /* its beginning, behind the path */
} unlisted[] = {
	{ "EnergySources=rapl,magic", ":1: EnergySources: 'magic' is not one of auto, rapl, " },
	{ "Sinks=kafka, none", ":1: Sinks: 'none' is not one of file, kafka, " },
};

static void test_unlisted(const char *path)
{
	struct settings s;
	struct errmsg err;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(unlisted); i++) {
		fileio_write_atomic(path, unlisted[i].text, strlen(unlisted[i].text), 0600, &err);
		is_int(settings_load(path, &s, &err), -EINVAL, unlisted[i].text);
		if (!ok(!strncmp(err.text + strlen(path), unlisted[i].error, strlen(unlisted[i].error)),
			"file, line, key and the names that there are"))
			diag("%s", err.text);
	}
}

int main(void)
{
	char path[] = "/tmp/test_settings.XXXXXX";
	struct settings s;
	struct errmsg err;
	char configured[PATH_MAX];
	char item[16];
	const char *list;
	size_t i;
	int fd = mkstemp(path);

	if (fd < 0)
		return 99;
	close(fd);
	is_int(settings_load("/nonexistent/ceems.conf", &s, &err), -ENOENT, "no file");
	is_u64(s.sample_interval_ns, 1000000000, "the defaults are there all the same");
	is_u64(s.pue_milli, 1000, "PUE 1");
	is_u64(s.textfile_mode, 0644, "a mode in octal");
	is_str(s.kafka_topic, "ceems.jobs", "topic");
	is_u64(s.market_mg_per_kwh, SETTINGS_NO_MARKET, "no contract is not one of 0 g/kWh");
	is_u64(s.emission_max_age_ns, UINT64_C(21600000000000), "6 hours");
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		fileio_write_atomic(path, bad[i].text, strlen(bad[i].text), 0600, &err);
		is_int(settings_load(path, &s, &err), -EINVAL, bad[i].text);
		is_str(err.text + strlen(path), bad[i].error, "file, line, key and reason");
	}
	test_unlisted(path);
	list = "LedgerDir=/run/%n/x%n\nPUE=1.35\nModelIdleWatts=101.5\n"
	       "MarketFactor=0\nMarketSource=wind\nEmbodiedGramsPerCpuHour=0.0000015\n"
	       "EmbodiedSource=a footprint\n";
	fileio_write_atomic(path, list, strlen(list), 0600, &err);
	is_int(settings_load(path, &s, &err), 0, "a good one");
	is_u64(s.pue_milli, 1350, "PUE in thousandths");
	is_u64(s.model_idle_mw, 101500, "milliwatts");
	is_u64(s.market_mg_per_kwh, 0, "a contract of 0 g/kWh");
	is_u64(s.embodied_ug_per_cpu_hour, 2, "micrograms, rounded");
	is_str(s.sinks, "file", "records go to a file");
	list = "Sinks= file, mysql,\n";
	fileio_write_atomic(path, list, strlen(list), 0600, &err);
	is_int(settings_load(path, &s, &err), 0, "a list of sinks");
	is_str(s.sinks, "file,mariadb", "mysql is another name of mariadb");
	list = "LedgerDir=/run/%n/x%n\n";
	fileio_write_atomic(path, list, strlen(list), 0600, &err);
	is_int(settings_load(path, &s, &err), 0, "a path");
	is_int(settings_for_node(&s, "n1", &err), 0, "%n");
	is_str(s.ledger_dir, "/run/n1/xn1", "expanded");
	is_int(settings_path("/etc/slurm/slurm.conf", item, sizeof(item)), -ENAMETOOLONG, "no room");
	is_int(settings_path("/a/slurm.conf", s.ledger_dir, sizeof(s.ledger_dir)), 0, "a path");
	is_int(settings_path(NULL, configured, sizeof(configured)), 0, "none is known");
	/* a machine that tests run on may have one there */
	is_str(s.ledger_dir, access(configured, F_OK) ? "/a/ceems.conf" : configured,
	       "beside slurm.conf, unless it is only in the configured folder");
	ok(strstr(configured, "/ceems.conf"), "in the configured folder");
	list = " file, kafka ,,";
	ok(items_next(&list, item, sizeof(item)) && !strcmp(item, "file"), "first item");
	ok(items_next(&list, item, sizeof(item)) && !strcmp(item, "kafka"), "second");
	ok(!items_next(&list, item, sizeof(item)), "no third");
	unlink(path);
	return done_testing();
}
