/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ROCm source on stand-ins for ROCm SMI and for each ABI of AMD SMI, as far as it is not the NVML source:
 * what both share is tested in test_nvml.c.
 */
#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>

#include "fake_gpus.h"
#include "rnd.h"
#include "src/libutil/util.h"
#include "src/libutil/wide_math.h"
#include "tests/fake/fake_gpu.h"

#define ROCM_SMI FAKE_DIR "/fake_rocm.so"
#define AMD_SMI(abi) FAKE_DIR "/fake_amdsmi" #abi ".so"
#define NODES "/sys/class/kfd/kfd/topology/nodes"

static const struct library {
	const char *path;
	const char *name;
} libraries[] = {
	{ ROCM_SMI, "ROCm SMI" },      { AMD_SMI(24), "AMD SMI 24" }, { AMD_SMI(25), "AMD SMI 25" },
	{ AMD_SMI(26), "AMD SMI 26" }, { AMD_SMI(27), "AMD SMI 27" },
};
static const struct library *library = libraries; /* of the test that runs */

static void init(struct fake_node *n)
{
	fake_node_init(n, &source_rocm);
	n->env.rocm_library = library->path;
}

static void make_folders(const char *root, const char *path)
{
	char whole[PATH_MAX];
	char *p;

	(void)snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (p = whole + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		(void)mkdir(whole, 0700);
	}
	(void)mkdir(whole, 0700);
}

/* Writes LINES, and the topology of the kernel driver: node 0 is a CPU, then the GPUs in turn. */
static void write_gpus(struct fake_node *n, const char *lines)
{
	struct fake_gpu all[FAKE_GPUS_MAX];
	char path[PATH_MAX];
	char text[512];
	int ngpus, i;

	fake_node_write(n, lines);
	ngpus = fake_gpus(all);
	for (i = 0; i <= ngpus; i++) {
		const struct fake_gpu *g = &all[i > 0 ? i - 1 : 0];

		(void)snprintf(text, sizeof(text), "cpu_cores_count 8\ndrm_render_minor 0\n");
		if (i > 0)
			(void)snprintf(text, sizeof(text),
				       "device_id %u\nlocation_id %llu\ndomain 0\ndrm_render_minor %u\n"
				       "unique_id %llu\n",
				       fake_is(g, "mi250") ? 0x740c : 0x74a1, fake_bdf(g), 128 + g->minor,
				       fake_is(g, "no-id") ? 0 : FAKE_AMD_ID + g->minor);
		(void)snprintf(path, sizeof(path), NODES "/%d", i);
		make_folders(n->dir, path);
		(void)snprintf(path, sizeof(path), "%s" NODES "/%d/properties", n->dir, i);
		if (!scratch_write(path, text, strlen(text)))
			exit(99);
	}
}

static void test_nothing_there(void)
{
	struct fake_node n;

	init(&n);
	n.env.rocm_library = "librocm_smi64.so";
	ok(fake_node_open(&n) == -ENODEV, "no GPU: the library is not even looked for");
	n.env.rocm_library = FAKE_DIR "/fake_nvml.so";
	ok(fake_node_open(&n) == -ENXIO && strstr(n.err.text, "rsmi_init"), "a library of something else");
	n.env.rocm_library = AMD_SMI(28);
	fake_node_write(&n, "0 100 0 0 0 0 ok\n");
	ok(fake_node_open(&n) == -ENXIO && strstr(n.err.text, "ABI 28"), "AMD SMI of an unknown ABI: %s",
	   n.err.text);
	(void)unlink(n.file);
	n.env.rocm_library = library->path;
	ok(fake_node_open(&n) == -ENXIO, "no driver");
	fake_node_write(&n, "");
	ok(fake_node_open(&n) == -ENODEV, "a driver without a GPU");
	write_gpus(&n, "0 100 0 0 0 0 lost\n");
	ok(fake_node_open(&n) == -ENXIO, "a GPU that does not answer");
	fake_node_write(&n, "0 100 0 0 0 0 no-counter,no-power\n");
	ok(fake_node_open(&n) == -EOPNOTSUPP, "one that shows neither power nor energy");
	fake_node_fini(&n);
}

static void test_counters(void)
{
	struct gpu_reading gpu[GPUS_MAX];
	char about[160];
	struct fake_node n;

	init(&n);
	write_gpus(&n, "1 1000000 90000 50 1024 65536 ok\n0 70 80000 7 0 65536 no-id\n");
	ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0 && n.r.nparts == 2, "two GPUs");
	n.ops->describe(n.source, about, sizeof(about));
	ok(strstr(about, library->name) != NULL, "the library is named: %s", about);
	ok(n.r.part[0].unit == 1 && n.r.part[1].unit == 0 && n.r.part[0].quality == QUALITY_COUNTER,
	   "renderD128 is unit 0");
	fake_node_write(&n, "1 1001000 90000 50 1024 65536 ok\n0 170 80000 7 0 65536 no-id\n");
	ok(fake_node_read(&n) == 0 && n.uj[1] == 15259, "1000 counts of 15.259 uJ");
	/* 70 are 1068.13 uJ, 170 are 2594.03 */
	ok(n.uj[0] == 2594 - 1068, "no fraction is lost on the way");
	ok(n.ops->gpus(n.source, gpu, GPUS_MAX) == 2 && gpu[0].value[GPU_VALUE_BUSY_PPM] == 500000 &&
		   gpu[0].value[GPU_VALUE_MEM_USED_BYTES] == 1024ULL << 20 &&
		   gpu[0].value[GPU_VALUE_POWER_MW] == 90000 &&
		   gpu[0].value[GPU_VALUE_POWER_LIMIT_MW] == 560000 &&
		   gpu[0].value[GPU_VALUE_PROCESSES] == GPU_VALUE_UNKNOWN &&
		   !strcmp(gpu[0].uuid, "AMD-abcdef0000000001-1") && !strcmp(gpu[1].uuid, "AMD-renderD128"),
	   "how busy, memory, power and its cap, id; what the library does not tell is unknown");
	fake_node_fini(&n);
}

/* One counter, shown by each partition or by the first of them; the library's order is not the kernel's. */
static void test_partitions(void)
{
	static const char *const flags[] = { "socket=12", "socket=12,no-counter,no-power" };
	unsigned int i, p;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		char before[1024], after[1024];
		struct fake_node n;

		init(&n);
		(void)snprintf(before, sizeof(before),
			       "16 500 0 0 0 0 ok\n1 1000000 0 0 0 0 socket=12\n56 700 0 0 0 0 ok\n");
		(void)snprintf(after, sizeof(after),
			       "16 600 0 0 0 0 ok\n1 1001000 0 0 0 0 socket=12\n56 900 0 0 0 0 ok\n");
		for (p = 0; p < 8; p++) {
			if (p == 1)
				continue;
			(void)snprintf(before + strlen(before), sizeof(before) - strlen(before),
				       "%u 1000000 0 0 0 0 %s\n", p, flags[i]);
			(void)snprintf(after + strlen(after), sizeof(after) - strlen(after),
				       "%u 1001000 0 0 0 0 %s\n", p, flags[i]);
		}
		write_gpus(&n, before);
		ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0 && n.r.nparts == 3,
		   "%s: eight partitions are one GPU", flags[i]);
		fake_node_write(&n, after);
		ok(fake_node_read(&n) == 0 && n.uj[0] == 15259, "its counter is counted once");
		ok(n.uj[16] == 9155 - 7629 && n.uj[56] == 13733 - 10681,
		   "GPUs of render nodes beyond sixteen have their own: %llu %llu",
		   (unsigned long long)n.uj[16], (unsigned long long)n.uj[56]);
		ok(!n.rejected, "nothing is missing");
		fake_node_fini(&n);
	}
}

static void test_garbage(void)
{
	struct fake_node n;

	init(&n);
	write_gpus(&n, "0 100 0 0 0 0 ok\n");
	ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0, "a GPU");
	fake_node_write(&n, "0 200 0 101 9 1 no-resolution\n");
	while (n.ops->read(n.source, 0, 0, &n.state, &n.r) == 0)
		;
	ok(true, "a counter without a resolution cannot be read");
	fake_node_write(&n, "0 18446744073709551615 0 0 0 0 ok\n");
	do {
		(void)n.ops->read(n.source, 0, 0, &n.state, &n.r);
		fake_node_add(&n);
	} while (!n.rejected);
	fake_node_write(&n, "0 1100 0 0 0 0 ok\n");
	ok(fake_node_read(&n) == 0 && n.uj[0] == 16784 - 1525,
	   "all ones are rejected; then all energy is there");
	fake_node_fini(&n);
}

static void test_power(void)
{
	static const char *const flags[] = { "no-counter", "no-counter,no-average" };
	size_t i;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct fake_node n;
		char line[64];
		uint64_t first_ns;

		init(&n);
		(void)snprintf(line, sizeof(line), "0 0 100000 0 0 0 %s\n", flags[i]);
		write_gpus(&n, line);
		ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0 &&
			   n.r.part[0].quality == QUALITY_INTEGRATED,
		   "%s", flags[i]);
		n.uj[0] = 0;
		first_ns = n.r.part[0].until_ns;
		ok(fake_node_read(&n) == 0 && fake_is_100_w(n.uj[0], n.r.part[0].until_ns - first_ns),
		   "100 W over some time");
		fake_node_fini(&n);
	}
}

/*
 * Two dies have one counter, at the first die: that is the energy of both, whose unit is the first render
 * node (test_gpushare.c: each die has half of it). If a die is missing, the other one has no neighbour.
 */
static void test_two_dies(void)
{
	const struct gpu_instance_reading *die;
	struct gpu_reading gpu[GPUS_MAX];
	struct fake_node n;

	init(&n);
	write_gpus(&n, "1 0 0 0 0 0 mi250,no-average,no-power\n0 1000 80000 0 0 0 mi250\n"
		       "2 1000 90000 10 7 65536 mi250\n3 0 0 90 1 65536 mi250\n");
	ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0 && n.r.nparts == 2 && n.r.part[0].unit == 0 &&
		   n.r.part[1].unit == 2,
	   "four dies are two GPUs, also if a second die is listed first");
	fake_node_write(&n, "1 0 0 0 0 0 mi250,no-average,no-power\n0 2000 80000 0 0 0 mi250\n"
			    "2 3000 90000 10 7 65536 mi250\n3 0 0 90 1 65536 mi250\n");
	ok(fake_node_read(&n) == 0 && n.uj[0] == 15259 && n.uj[2] == 30518 && !n.uj[1] && !n.uj[3],
	   "each with the energy of both dies");
	ok(!n.rejected, "nothing is missing");
	ok(n.ops->gpus(n.source, gpu, GPUS_MAX) == 2 && gpu[1].value[GPU_VALUE_BUSY_PPM] == 500000 &&
		   gpu[1].value[GPU_VALUE_MEM_USED_BYTES] == 8ULL << 20 &&
		   gpu[1].value[GPU_VALUE_MEM_TOTAL_BYTES] == 128ULL << 30,
	   "the use is that of both dies");
	ok(n.ops->instances(n.source, &die) == 4 && die[3].unit == 2 && die[3].gi == 1 &&
		   die[3].value[GPU_VALUE_BUSY_PPM] == 900000 &&
		   die[3].value[GPU_VALUE_MEM_USED_BYTES] == 1ULL << 20 && die[2].gi == 0 &&
		   die[2].value[GPU_VALUE_BUSY_PPM] == 100000,
	   "and that of each");
	fake_node_fini(&n);

	init(&n);
	write_gpus(&n, "1 0 0 0 0 0 mi250\n");
	ok(fake_node_open(&n) == -EOPNOTSUPP, "a second die alone is not measured: no 0 J");
	fake_node_fini(&n);
}

/* --- many random truths --------------------------------------------------------------------- */

#define TRUTHS 1000
#define GPUS 4

/* A ceems-gpu that the test asks itself, since slurmd's side waits between two questions. */
struct asked {
	pid_t pid;
	FILE *to, *from;
};

static struct asked ask_begin(const char *path, const char *root)
{
	struct asked a = { 0 };
	int in[2], out[2];

	if (pipe(in) < 0 || pipe(out) < 0)
		exit(99);
	a.pid = fork();
	if (a.pid == 0) {
		(void)dup2(in[0], STDIN_FILENO);
		(void)dup2(out[1], STDOUT_FILENO);
		(void)close(in[1]);
		(void)close(out[0]);
		(void)execl(HELPER_DIR "/ceems-gpu", "ceems-gpu", "rocm", path, root, (char *)NULL);
		_exit(127);
	}
	(void)close(in[0]);
	(void)close(out[1]);
	a.to = fdopen(in[1], "w");
	a.from = fdopen(out[0], "r");
	return a;
}

static void ask_end(struct asked *a)
{
	(void)kill(a->pid, SIGKILL);
	(void)waitpid(a->pid, NULL, 0);
	(void)fclose(a->to);
	(void)fclose(a->from);
}

/* Appends "ID VALUE;" or "ID error;" of each GPU to TEXT. */
static void ask(struct asked *a, char *text, size_t size)
{
	char line[512], id[64];
	unsigned long long value;
	size_t used = 0;

	text[0] = '\0';
	(void)fputs("read 1\n", a->to);
	(void)fflush(a->to);
	while (fgets(line, sizeof(line), a->from) && strncmp(line, "done ", 5) != 0) {
		if (sscanf(line, "reading %*u %63s %llu", id, &value) == 2)
			used += (size_t)snprintf(text + used, size - used, "%s %llu;", id, value);
		else if (sscanf(line, "error %63s", id) == 1)
			used += (size_t)snprintf(text + used, size - used, "%s error;", id);
	}
}

static uint64_t next_count(uint64_t now)
{
	switch (rnd(6)) {
	case 0:
		return now; /* stands still */
	case 1:
		return rnd(1000000); /* starts anew */
	case 2:
		return now - rnd(now + 1); /* goes back */
	case 3:
		return now + rnd(UINT32_MAX) * 1000000; /* jumps */
	default:
		return now + rnd(1000000);
	}
}

/* What is true: LINES of the stand-in's file, and what each library must answer. */
static void next_truth(uint64_t count[GPUS], char *lines, size_t nlines, char *want, size_t nwant)
{
	static const char *const flags[] = { "ok", "ok", "ok", "lost", "no-resolution" };
	size_t used = 0, used_want = 0;
	unsigned int i;

	for (i = 0; i < GPUS; i++) {
		const char *flag = flags[rnd(ARRAY_SIZE(flags))];

		count[i] = next_count(count[i]);
		used += (size_t)snprintf(lines + used, nlines - used, "%u %llu 100000 0 0 0 %s\n", i,
					 (unsigned long long)count[i], flag);
		used_want += (size_t)snprintf(want + used_want, nwant - used_want, "AMD-%016llx-%u ",
					      FAKE_AMD_ID + i, i);
		if (strcmp(flag, "ok") != 0)
			used_want += (size_t)snprintf(want + used_want, nwant - used_want, "error;");
		else
			used_want += (size_t)snprintf(want + used_want, nwant - used_want, "%llu;",
						      (unsigned long long)((u128)count[i] * 15259 / 1000));
	}
}

static void test_random_truths(void)
{
	struct asked a[ARRAY_SIZE(libraries)];
	uint64_t count[GPUS] = { 0 };
	unsigned int wrong = 0;
	const char *env = getenv("ROCM_SEED");
	struct fake_node n;
	unsigned int t;
	size_t i;

	rng = (env ? strtoull(env, NULL, 0) : clock_wall_ns()) | 1;
	diag("%d random truths; again with ROCM_SEED=%" PRIu64, TRUTHS, rng);
	init(&n);
	write_gpus(&n, "0 1 1 0 0 0 ok\n1 1 1 0 0 0 ok\n2 1 1 0 0 0 ok\n3 1 1 0 0 0 ok\n");
	for (i = 0; i < ARRAY_SIZE(libraries); i++) {
		char line[512] = "";

		a[i] = ask_begin(libraries[i].path, n.dir);
		while (strcmp(line, "ready\n") != 0 && fgets(line, sizeof(line), a[i].from))
			;
	}
	for (t = 0; t < TRUTHS && !wrong; t++) {
		char lines[512], want[512], got[512];

		next_truth(count, lines, sizeof(lines), want, sizeof(want));
		if (!scratch_write(n.file, lines, strlen(lines)))
			exit(99);
		for (i = 0; i < ARRAY_SIZE(libraries); i++) {
			ask(&a[i], got, sizeof(got));
			if (!strcmp(got, want))
				continue;
			diag("%s:\n%s got  %s\n want %s", libraries[i].name, lines, got, want);
			wrong++;
		}
	}
	ok(!wrong, "%d random truths: each library answers what the counters show, and nothing else", TRUTHS);
	for (i = 0; i < ARRAY_SIZE(libraries); i++)
		ask_end(&a[i]);
	scratch_clear(n.dir);
	(void)rmdir(n.dir);
}

int main(void)
{
	for (; library < libraries + ARRAY_SIZE(libraries); library++) {
		diag("%s", library->name);
		test_nothing_there();
		test_counters();
		test_partitions();
		test_two_dies();
		test_garbage();
		test_power();
	}
	library = libraries;
	test_random_truths();
	return done_testing();
}
