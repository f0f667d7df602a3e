/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NVML source on a stand-in library: what goes wrong first, then nodes of GPUs whose energy is
 * known. No real GPU is asked; nvml_api.h says where its facts are from.
 */
#include "fake_gpus.h"
#include "src/libutil/logger.h"

#define LIBRARY FAKE_DIR "/fake_nvml.so"
#define DEVICES_MAX 16 /* GPU_DEVICES_MAX of the helper */
#define OLD_LIBRARY FAKE_DIR "/fake_nvml_old.so"

static void init(struct fake_node *n, const char *library)
{
	fake_node_init(n, &source_nvml);
	n->env.nvml_library = library;
}

static void test_nothing_there(void)
{
	struct fake_node n;

	init(&n, "libnvidia-ml.so.1");
	ok(fake_node_open(&n) == -ENODEV, "no GPU: the library is not even looked for");
	n.env.nvml_library = "/nonexistent/libnvidia-ml.so.1";
	ok(fake_node_open(&n) == -ENXIO && strstr(n.err.text, "nonexistent"),
	   "a library that is not there is named");
	n.env.nvml_library = LIBRARY;
	ok(fake_node_open(&n) == -ENXIO && strstr(n.err.text, "nvmlInit"), "no driver");
	fake_node_write(&n, "");
	ok(fake_node_open(&n) == -ENODEV, "a driver without a GPU");
	fake_node_write(&n, "0 1000 0 0 0 0 lost\n");
	ok(fake_node_open(&n) < 0 && strstr(n.err.text, "none of 1"), "a node whose only GPU is lost: %s",
	   n.err.text);
	(void)fileio_mkdir_p(scratch_path(n.dir, "proc/driver/nvidia"), 0700, NULL);
	(void)scratch_write(scratch_path(n.dir, "proc/driver/nvidia/version"), "", 0);
	n.env.nvml_library = "libm.so.6";
	ok(fake_node_open(&n) == -ENXIO && strstr(n.err.text, "nvmlInit_v2"),
	   "a library of something else: %s", n.err.text);
	fake_node_fini(&n);
}

static void eight(struct fake_node *n, unsigned long long step_mj, const char *flags)
{
	char text[1024] = "";
	unsigned int i;

	/* the library's order is by PCI address, not by minor number */
	for (i = 8; i-- > 0;)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
			       "%u %llu 70000 %u 1024 81920 %s\n", i, 1000000000ULL * i + step_mj * (i + 1),
			       i * 10, flags);
	fake_node_write(n, text);
}

static void test_eight(void)
{
	struct gpu_reading gpu[GPUS_MAX];
	struct fake_node n;
	char text[128];
	unsigned int i;
	size_t ngpus;

	init(&n, LIBRARY);
	eight(&n, 0, "ok");
	ok(fake_node_open(&n) == 0, "eight GPUs: %s", n.err.text);
	n.ops->describe(n.source, text, sizeof(text));
	ok(!strcmp(text, "8 GPUs, NVIDIA Stand-in"), "described: %s", text);
	ok(fake_node_read(&n) == 0 && n.r.nparts == 8, "a part per GPU");
	for (i = 0; i < 8; i++) {
		if (n.uj[i] || n.r.part[i].domain != DOMAIN_GPU || n.r.part[i].quality != QUALITY_COUNTER ||
		    n.r.part[i].unit != 7 - i)
			break;
	}
	ok(i == 8, "the first reading sets the base; units are minor numbers");
	eight(&n, 100, "ok");
	ok(fake_node_read(&n) == 0, "read again");
	for (i = 0; i < 8 && n.uj[i] == 100000ULL * (i + 1); i++)
		;
	ok(i == 8, "each GPU has its own energy, to the microjoule");
	ngpus = n.ops->gpus(n.source, gpu, GPUS_MAX);
	ok(ngpus == 8 && gpu[0].unit == 7 && gpu[0].value[GPU_VALUE_BUSY_PPM] == 700000 &&
		   gpu[0].value[GPU_VALUE_MEM_USED_BYTES] == 1024ULL << 20 &&
		   gpu[0].value[GPU_VALUE_POWER_MW] == 70000 &&
		   !strcmp(gpu[0].uuid, "GPU-00000000-0000-0000-0000-000000000007"),
	   "how busy they are, memory, power, UUID");
	ok(n.ops->gpus(n.source, gpu, 3) == 3, "no more than asked for");
	fake_node_close(&n);
	eight(&n, 150, "ok,mig");
	ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0 && n.uj[7] == 1200000,
	   "after a restart it goes on from the saved counters");
	(void)n.ops->gpus(n.source, gpu, GPUS_MAX);
	ok(gpu[0].value[GPU_VALUE_BUSY_PPM] == GPU_VALUE_UNKNOWN,
	   "with MIG the busy time of the GPU is unknown");
	ok(n.rejected == 0 && n.wraps == 0, "nothing was rejected");
	fake_node_fini(&n);
}

/* Reads until GPU 0's use is of a time after this call, and not only of an instant. */
static void read_use(struct fake_node *n, struct gpu_reading *ret)
{
	uint64_t start_ns = clock_mono_ns();

	do
		(void)fake_node_read(n);
	while (n->ops->gpus(n->source, ret, 1) == 1 &&
	       (ret->from_ns < start_ns || ret->from_ns == ret->until_ns) &&
	       clock_mono_ns() - start_ns < 20 * NSEC_PER_SEC);
}

/* Reads until VALUE of the first GPU is unknown, as it is of one that is lost. */
static void read_until_unknown(struct fake_node *n, enum gpu_value value, struct gpu_reading *ret)
{
	do
		(void)n->ops->read(n->source, 0, 0, &n->state, &n->r);
	while (n->ops->gpus(n->source, ret, 1) == 1 && ret->value[value] != GPU_VALUE_UNKNOWN);
}

static void test_use(void)
{
	static const struct {
		const char *what, *flags;
		enum gpu_value value;
		uint64_t want;
	} rows[] = {
		{ "without GPM, busy is what is sampled", "ok", GPU_VALUE_BUSY_PPM, 300000 },
		{ "and nothing is known of SMs", "ok", GPU_VALUE_SM_PPM, GPU_VALUE_UNKNOWN },
		{ "no process", "ok", GPU_VALUE_PROCESSES, 0 },
		{ "two that compute and one that draws", "processes=2,drawing=1", GPU_VALUE_PROCESSES, 3 },
		{ "clock of the SMs", "ok", GPU_VALUE_SM_MHZ, 1980 },
		{ "of the memory", "ok", GPU_VALUE_MEM_MHZ, 2619 },
		{ "the power limit", "ok", GPU_VALUE_POWER_LIMIT_MW, 700000 },
		{ "idle clocks are not throttled", "reasons=1", GPU_VALUE_THROTTLED_PPM, 0 },
		{ "by the power cap", "reasons=4", GPU_VALUE_THROTTLED_POWER_PPM, 1000000 },
		{ "which is not heat", "reasons=4", GPU_VALUE_THROTTLED_HEAT_PPM, 0 },
		{ "by heat, in hardware", "reasons=72", GPU_VALUE_THROTTLED_HEAT_PPM, 1000000 },
		{ "by the hardware, without a cause", "reasons=8", GPU_VALUE_THROTTLED_PPM, 1000000 },
		{ "uncorrected ECC errors", "ecc=3", GPU_VALUE_ECC_ERRORS, 3 },
		{ "what a GPU does not support is not 0", "no-use", GPU_VALUE_PROCESSES, GPU_VALUE_UNKNOWN },
		{ "  nor its throttling", "no-use", GPU_VALUE_THROTTLED_PPM, GPU_VALUE_UNKNOWN },
		{ "XID errors before ceems-gpu are not counted", "xid=3", GPU_VALUE_XID_ERRORS, 0 },
		{ "unsupported ECC counts are not 0", "no-use", GPU_VALUE_ECC_ERRORS, GPU_VALUE_UNKNOWN },
	};
	struct gpu_reading gpu;
	struct fake_node n;
	const char *flags = "";
	char line[128];
	size_t i;

	init(&n, LIBRARY);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(flags, rows[i].flags) != 0) {
			flags = rows[i].flags;
			(void)snprintf(line, sizeof(line), "0 1000 70000 30 1024 81920 %s\n", flags);
			fake_node_write(&n, line);
			if (n.source)
				fake_node_close(&n);
			if (fake_node_open(&n) < 0)
				exit(99);
			(void)fake_node_read(&n);
			while (n.ops->gpus(n.source, &gpu, 1) == 1 && !gpu.until_ns)
				(void)fake_node_read(&n);
			ok(gpu.from_ns == gpu.until_ns, "%s: the first reading is of an instant", flags);
		}
		is_u64(gpu.value[rows[i].value], rows[i].want, rows[i].what);
	}
	fake_node_fini(&n);
}

static void test_xids(void)
{
	struct gpu_reading gpu;
	struct fake_node n;

	init(&n, LIBRARY);
	fake_node_write(&n, "0 1000 70000 30 1024 81920 xid=3\n");
	ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0, "a GPU that had XID errors");
	read_use(&n, &gpu);
	is_u64(gpu.value[GPU_VALUE_XID_ERRORS], 0, "those before are not counted");
	fake_node_write(&n, "0 1000 70000 30 1024 81920 xid=5\n");
	read_use(&n, &gpu);
	is_u64(gpu.value[GPU_VALUE_XID_ERRORS], 2, "two more");
	read_use(&n, &gpu);
	is_u64(gpu.value[GPU_VALUE_XID_ERRORS], 2, "each is counted once");
	fake_node_write(&n, "0 1000 70000 30 1024 81920 lost,xid=6\n");
	read_until_unknown(&n, GPU_VALUE_BUSY_PPM, &gpu);
	is_u64(gpu.value[GPU_VALUE_XID_ERRORS], 3,
	       "that of a GPU that fell off the bus, of which nothing else is known");
	fake_node_fini(&n);
	init(&n, OLD_LIBRARY);
	fake_node_write(&n, "0 1000 70000 30 1024 81920 xid=3\n");
	ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0, "a library without events");
	read_use(&n, &gpu);
	is_u64(gpu.value[GPU_VALUE_XID_ERRORS], GPU_VALUE_UNKNOWN, "is not one without errors");
	fake_node_fini(&n);
}

static void test_gpm(void)
{
	static const struct {
		enum gpu_value value;
		uint64_t want;
	} rows[] = {
		{ GPU_VALUE_BUSY_PPM, 505000 }, /* counted, not sampled */
		{ GPU_VALUE_SM_PPM, 400000 },
		{ GPU_VALUE_OCCUPANCY_PPM, 252500 },
		{ GPU_VALUE_TENSOR_PPM, 300000 },
		{ GPU_VALUE_DRAM_PPM, 1000000 },
		{ GPU_VALUE_FP64_PPM, GPU_VALUE_UNKNOWN }, /* more than all of it */
		{ GPU_VALUE_FP32_PPM, 0 },
		{ GPU_VALUE_FP16_PPM, GPU_VALUE_UNKNOWN }, /* not told */
		{ GPU_VALUE_PCIE_TX_BPS, 2097152 },
		{ GPU_VALUE_PCIE_RX_BPS, 3145728 },
		{ GPU_VALUE_NVLINK_RX_BPS, 524288 },
		{ GPU_VALUE_NVLINK_TX_BPS, 1048576 },
	};
	struct gpu_reading gpu, second;
	struct fake_node n;
	size_t i;

	init(&n, LIBRARY);
	fake_node_write(&n, "0 1000 70000 30 1024 81920 "
			    "gpm=1.50.5+2.40+3.25.25+5.30+10.100+11.250+12.0+20.2+21.3+60.0.5+61.1\n");
	ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0, "a GPU with GPM");
	read_use(&n, &gpu);
	ok(gpu.until_ns - gpu.from_ns >= 100 * NSEC_PER_MSEC,
	   "its second reading is of the time since the first");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		is_u64(gpu.value[rows[i].value], rows[i].want, gpu_value_name(rows[i].value));
	read_use(&n, &second);
	ok(second.from_ns > gpu.from_ns && second.value[GPU_VALUE_SM_PPM] == 400000,
	   "the next one is of a later time");
	fake_node_write(&n, "0 1000 70000 30 1024 81920 lost\n");
	read_until_unknown(&n, GPU_VALUE_SM_PPM, &gpu);
	ok(gpu.value[GPU_VALUE_BUSY_PPM] == GPU_VALUE_UNKNOWN &&
		   gpu.value[GPU_VALUE_POWER_MW] == GPU_VALUE_UNKNOWN,
	   "of a GPU that is lost nothing is known");
	fake_node_fini(&n);
}

/*
 * A helper whose use comes late after odd answers and at once after even ones: each tick sees one reading of
 * it, so that none is overwritten before anybody looked.
 */
static void test_gapless(void)
{
	static const char script[] =
		"#!/bin/sh\n"
		"printf 'meter G gpu 0 energy 2500\\ngpu G model\\nabout one\\nready\\n'\n"
		"n=0\n"
		"while read -r verb q; do\n"
		"	n=$((n + 1)) use=\"usage G $n $((n + 1)) busy_ppm=$n\"\n"
		"	if [ $((n % 2)) = 1 ]; then\n"
		"		printf 'reading %s G 1\\ndone %s\\n' $n $q\n"
		"		sleep 0.1\n"
		"		echo \"$use\"\n"
		"	else\n"
		"		printf 'reading %s G 1\\ndone %s\\n%s\\n' $n $q \"$use\"\n"
		"	fi\n"
		"done\n";
	const struct timespec pause = { .tv_nsec = 300000000 };
	struct gpu_reading gpu = { 0 };
	uint64_t until_ns = 1;
	struct fake_node n;
	unsigned int i;

	init(&n, LIBRARY);
	n.env.helper_dir = n.dir;
	if (fileio_write_atomic(scratch_path(n.dir, "ceems-gpu"), script, strlen(script), 0700, NULL) < 0)
		exit(99);
	ok(fake_node_open(&n) == 0, "a helper that is late with how a GPU is used: %s", n.err.text);
	for (i = 0; i < 200 && until_ns <= 4; i++) {
		(void)n.ops->read(n.source, NSEC_PER_SEC, 0, &n.state, &n.r);
		(void)n.ops->gpus(n.source, &gpu, 1);
		ok(!gpu.until_ns || gpu.until_ns == until_ns || gpu.from_ns == until_ns,
		   "each tick one of its readings");
		if (gpu.until_ns)
			until_ns = gpu.until_ns;
		(void)nanosleep(&pause, NULL);
	}
	ok(until_ns > 4, "all were seen");
	fake_node_fini(&n);
}

static bool has_slice(const struct gpu_slices *all, uint32_t i, const struct gpu_slice *want)
{
	return i < all->n && !memcmp(&all->slice[i], want, sizeof(*want));
}

static void test_mig(void)
{
	static const struct gpu_slice want[] = {
		{ .unit = 3, .gi = GPU_SLICE_WHOLE, .slices = 7, .gi_slices = 7, .mem_mb = 40192 },
		{ .unit = 3, .gi = 1, .slices = 3, .gi_slices = 3, .mem_mb = 20096 },
		{ .unit = 3, .gi = 2, .ci = 1, .slices = 1, .gi_slices = 4, .mem_mb = 20096 },
	};
	const struct gpu_slices *all;
	struct fake_node n;
	uint32_t i;

	init(&n, LIBRARY);
	fake_node_write(&n, "0 1000 0 0 0 0 ok\n"
			    "3 1000 0 0 0 0 mig=7.40192+1.0.3.3.20096+2.1.1.4.20096\n");
	ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0, "a GPU with MIG, and one without");
	all = n.ops->slices(n.source);
	for (i = 0; i < 3 && has_slice(all, i, &want[i]); i++)
		;
	ok(all->n == 3 && i == 3, "its size, and those of its instances");
	/* seen as lost, so that the file is then newer than the library in the kernel's clock of 4 ms, too */
	fake_node_write(&n, "0 1000 0 0 0 0 ok\n3 1000 0 0 0 0 lost\n");
	(void)fake_node_read_but(&n, 1u << 3);
	fake_node_write(&n, "0 1000 0 0 0 0 ok\n3 1000 0 0 0 0 reset,mig=7.40192+5.0.2.2.9984\n");
	while (all->n != 2)
		(void)n.ops->read(n.source, 0, 0, &n.state, &n.r);
	ok(all->slice[1].gi == 5 && all->slice[1].slices == 2, "divided anew, with a reset: other instances");
	fake_node_close(&n);
	n.env.nvml_library = OLD_LIBRARY;
	ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0 && !n.ops->slices(n.source)->n,
	   "a library from before MIG");
	fake_node_fini(&n);
}

static void is_instance(const struct fake_node *n, unsigned int gi, enum gpu_value v, uint64_t want,
			const char *what)
{
	const struct gpu_instance_reading *r;
	size_t count = n->ops->instances(n->source, &r);
	size_t i;

	for (i = 0; i < count && (r[i].unit != 3 || r[i].gi != gi); i++)
		;
	ok(i < count, "instance %u", gi);
	is_u64(i < count ? r[i].value[v] : 0, want, what);
}

static void test_mig_use(void)
{
	static const char line[] = "3 1000 70000 30 1024 40192 %s,processes=4,gpm=2.99+5.20,"
				   "mig=7.40192+1.0.3.3.20096+2.0.2.4.20096+2.1.1.4.20096\n";
	const struct gpu_instance_reading *none;
	struct gpu_reading gpu;
	struct fake_node n;
	char text[256];

	init(&n, LIBRARY);
	(void)snprintf(text, sizeof(text), line, "xid=1,xidgi=2");
	fake_node_write(&n, text);
	ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0, "a GPU with MIG and GPM");
	read_use(&n, &gpu);
	is_instance(&n, 1, GPU_VALUE_MEM_USED_BYTES, 100 << 20, "its own memory");
	is_instance(&n, 1, GPU_VALUE_MEM_TOTAL_BYTES, UINT64_C(20096) << 20, "of its own");
	is_instance(&n, 1, GPU_VALUE_SM_PPM, 100000, "its own SMs");
	is_instance(&n, 2, GPU_VALUE_SM_PPM, 200000, "another one's");
	is_instance(&n, 2, GPU_VALUE_TENSOR_PPM, 200000, "and other engines");
	is_instance(&n, 1, GPU_VALUE_PROCESSES, 1, "its processes");
	is_instance(&n, 2, GPU_VALUE_PROCESSES, 4, "of two compute instances: the sum");
	is_instance(&n, 2, GPU_VALUE_FP64_PPM, GPU_VALUE_UNKNOWN, "what it does not tell");
	is_u64(gpu.value[GPU_VALUE_SM_PPM], GPU_VALUE_UNKNOWN, "of the whole GPU nothing is known then");
	(void)snprintf(text, sizeof(text), line, "xid=3,xidgi=2");
	fake_node_write(&n, text);
	read_use(&n, &gpu);
	is_instance(&n, 2, GPU_VALUE_XID_ERRORS, 2, "errors of an instance");
	is_instance(&n, 1, GPU_VALUE_XID_ERRORS, 0, "are not the other's");
	is_u64(gpu.value[GPU_VALUE_XID_ERRORS], 2, "but the GPU's");
	(void)snprintf(text, sizeof(text), line, "lost");
	fake_node_write(&n, text);
	read_until_unknown(&n, GPU_VALUE_MEM_USED_BYTES, &gpu);
	ok(n.ops->instances(n.source, &none) == 0, "of a GPU that is lost nothing is known of its instances");
	fake_node_fini(&n);
}

static void test_old(void)
{
	struct fake_node n;
	char text[128];
	uint64_t first_ns;
	uint64_t span_ns;

	init(&n, OLD_LIBRARY);
	fake_node_write(&n, "0 0 100000 0 0 0 ok\n");
	ok(fake_node_open(&n) == 0, "a library without energy counters");
	n.ops->describe(n.source, text, sizeof(text));
	ok(strstr(text, "power of 1 integrated") != NULL, "the description says so: %s", text);
	ok(fake_node_read(&n) == 0 && n.r.part[0].quality == QUALITY_INTEGRATED, "integrated");
	n.uj[0] = 0;
	first_ns = n.r.part[0].until_ns;
	ok(fake_node_read(&n) == 0, "a second sample");
	span_ns = n.r.part[0].until_ns - first_ns;
	ok(fake_is_100_w(n.uj[0], span_ns), "100 W over %" PRIu64 " ns are a tenth in uJ", span_ns);
	fake_node_write(&n, "0 0 4000000000 0 0 0 ok\n");
	n.rejected = 0;
	do {
		(void)n.ops->read(n.source, 0, 0, &n.state, &n.r);
		fake_node_add(&n);
	} while (!n.rejected);
	fake_node_write(&n, "0 0 100000 0 0 0 ok\n");
	ok(fake_node_read(&n) == 0, "4 MW is no power of a GPU; the next sample is");
	span_ns = n.r.part[0].until_ns - first_ns;
	ok(fake_is_100_w(n.uj[0], span_ns), "and covers the time between");
	fake_node_close(&n);
	n.env.nvml_library = LIBRARY;
	fake_node_write(&n, "0 0 100000 0 0 0 no-counter\n");
	ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0 && n.r.part[0].quality == QUALITY_INTEGRATED,
	   "the same for a GPU that says it has no counter");
	fake_node_fini(&n);
}

/* What a part shows: its domain, unit, scope, module and quality, as text. */
static void shape_of(const struct reading *r, char *buf, size_t size)
{
	uint32_t i;

	buf[0] = '\0';
	for (i = 0; i < r->nparts; i++) {
		const struct part *p = &r->part[i];
		size_t used = strlen(buf);

		(void)snprintf(buf + used, size - used, "%s%s %u %s", used ? ", " : "",
			       domain_name((enum domain)p->domain), p->unit,
			       reading_quality_name((enum reading_quality)p->quality));
		used = strlen(buf);
		if (p->module)
			(void)snprintf(buf + used, size - used, " %s %d",
				       p->scope == SCOPE_MODULE ? "module" : "on", p->module - 1);
	}
}

/* GPU: 350 W; module: 600 W. */
static void test_superchips(void)
{
	static const struct {
		const char *what, *lines, *parts;
	} t[] = {
		{ "GH200, old driver: the counter is the module's", "0 1000 350000 0 0 0 gh200\n",
		  "gpu 0 integrated on 0, other 0 counter module 0" },
		{ "GH200, driver 535: power has scopes, too", "0 1000 350000 0 0 0 gh200,c2c,module=600000\n",
		  "gpu 0 integrated on 0, other 0 counter module 0" },
		{ "GH200, whose energy has scopes",
		  "0 1000 350000 0 0 0 gh200,c2c,module=600000,gpu-mj=583\n",
		  "gpu 0 counter on 0, other 0 counter module 0" },
		{ "the scope is ignored", "0 1000 350000 0 0 0 gh200,module=600000,gpu-mj=1000,one-scope\n",
		  "gpu 0 integrated on 0, other 0 counter module 0" },
		{ "a superchip with another name: the scope of its counter is not known",
		  "0 1000 350000 0 0 0 c2c,module=600000\n",
		  "gpu 0 integrated on 0, other 0 integrated module 0" },
		{ "a superchip without scopes (GB10)", "0 1000 350000 0 0 0 c2c\n", "gpu 0 integrated on 0" },
		{ "GH200 without power: only the module's counter is there",
		  "0 1000 0 0 0 0 gh200,no-power\n", "gpu 0 counter module 0" },
		{ "four GH200, in the library's order",
		  "1 1000 350000 0 0 0 gh200,near=1\n0 1000 350000 0 0 0 gh200,near=0\n",
		  ("gpu 1 integrated on 1, other 0 counter module 1, "
		   "gpu 0 integrated on 0, other 0 counter module 0") },
		{ "GB200: two GPUs tell of one module, which is counted once",
		  ("0 1000 350000 0 0 0 c2c,near=0,module=900000\n"
		   "1 1000 350000 0 0 0 c2c,near=0,module=900000\n"),
		  "gpu 0 integrated on 0, other 0 integrated module 0, gpu 1 integrated on 0" },
		{ "of two GPUs, whose sockets are not known, no module is used",
		  "0 1000 350000 0 0 0 gh200\n1 1000 350000 0 0 0 gh200\n",
		  "gpu 0 integrated, gpu 1 integrated" },
		{ "a GPU of a server that answers both scopes alike is no superchip",
		  "0 1000 350000 0 0 0 module=350000\n", "gpu 0 counter" },
	};
	struct fake_node n;
	char got[512];
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		init(&n, LIBRARY);
		fake_node_write(&n, t[i].lines);
		if (!ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0, "%s", t[i].what))
			diag("%s", n.err.text);
		shape_of(&n.r, got, sizeof(got));
		is_str(got, t[i].parts, "  its parts");
		ok(n.rejected == 0, "  nothing is rejected");
		fake_node_fini(&n);
	}
	init(&n, LIBRARY);
	fake_node_write(&n, "0 1000 350000 0 0 0 gh200,module=600000,gpu-mj=500\n");
	ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0, "GPU and module have counters");
	fake_node_write(&n, "0 7000 350000 0 0 0 gh200,module=600000,gpu-mj=4000\n");
	ok(fake_node_read(&n) == 0 && n.r.part[0].energy_uj + n.r.part[1].energy_uj > 0, "read again");
	ok(n.r.part[0].energy_uj == 3500000 && n.r.part[1].energy_uj == 6000000,
	   "the GPU has 3.5 J of the module's 6 J");
	fake_node_fini(&n);
}

/* Reads until a reading was rejected, or shows what was in the file when this was called. */
static void read_rejected(struct fake_node *n)
{
	uint64_t start_ns = clock_mono_ns();
	uint64_t before = n->rejected;

	do {
		(void)n->ops->read(n->source, NSEC_PER_SEC, 0, &n->state, &n->r);
		fake_node_add(n);
	} while (n->rejected == before && (!n->r.nparts || n->r.part[0].until_ns < start_ns) &&
		 clock_mono_ns() - start_ns < FAKE_DEADLINE_NS);
}

static void test_garbage(void)
{
	static const struct {
		const char *what;
		const char *lines; /* the next sample */
		const char *then;  /* and the one after it */
		uint64_t uj;	   /* after both, from 10 J */
		uint64_t from_mj;  /* without THEN: the counter goes on from here, 50 mJ in each reading */
	} rows[] = {
		{ "all ones", "0 18446744073709551615 0 0 0 0 ok\n", "0 10500 0 0 0 0 ok\n", 500000, 0 },
		{ "a jump of 1 GJ, and back", "0 1000010000 0 0 0 0 ok\n", "0 10500 0 0 0 0 ok\n", 500000,
		  0 },
		{ "a jump of 1 GJ that stays", "0 1000010000 0 0 0 0 ok\n", NULL, 8 * 50000, 1000010000 },
		{ "the driver was loaded again", "0 20 0 0 0 0 ok\n", NULL, 8 * 50000, 20 },
		{ "0 once", "0 0 0 0 0 0 ok\n", "0 10500 0 0 0 0 ok\n", 500000, 0 },
	};
	size_t i, k;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fake_node n;

		init(&n, LIBRARY);
		fake_node_write(&n, "0 10000 0 0 0 0 ok\n");
		ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0, "%s: at first 10 J", rows[i].what);
		fake_node_write(&n, rows[i].lines);
		do {
			(void)n.ops->read(n.source, 0, 0, &n.state, &n.r);
			fake_node_add(&n);
		} while (!n.rejected);
		ok(n.uj[0] == 0, "%s: rejected, and no joule of it", rows[i].what);
		for (k = 1; !rows[i].then && k <= 8; k++) {
			char text[64];

			(void)snprintf(text, sizeof(text), "0 %" PRIu64 " 0 0 0 0 ok\n",
				       rows[i].from_mj + 50 * k);
			fake_node_write(&n, text);
			read_rejected(&n);
		}
		if (rows[i].then)
			fake_node_write(&n, rows[i].then);
		ok(fake_node_read(&n) == 0 && n.uj[0] == rows[i].uj, "%s: then %" PRIu64 " uJ", rows[i].what,
		   rows[i].uj);
		fake_node_fini(&n);
	}
}

static void test_lost(void)
{
	struct fake_node n;

	init(&n, LIBRARY);
	fake_node_write(&n, "0 10000 0 0 0 0 ok\n1 10000 0 0 0 0 ok\n");
	ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0, "two GPUs");
	fake_node_write(&n, "0 10100 0 0 0 0 ok\n1 10100 0 0 0 0 lost\n");
	ok(fake_node_read_but(&n, 1u << 1) == 0 && n.uj[0] == 100000,
	   "one falls off the bus: the other goes on");
	ok(n.uj[1] == 0 && n.r.nparts == 2 && n.rejected > 0,
	   "its energy is missing, counted, and it keeps its part");
	fake_node_write(&n, "0 10200 0 0 0 0 lost\n1 10100 0 0 0 0 lost\n");
	while (n.ops->read(n.source, 0, 0, &n.state, &n.r) == 0)
		;
	ok(true, "both lost: the source cannot be read");
	fake_node_write(&n, "0 10200 0 0 0 0 ok\n1 10400 0 0 0 0 ok\n");
	ok(fake_node_read(&n) == 0 && n.uj[0] == 200000 && n.uj[1] == 400000,
	   "both are back, nothing is lost");
	fake_node_fini(&n);
}

static void test_new_library(void)
{
	struct fake_node n;

	init(&n, LIBRARY);
	fake_node_write(&n, "0 10000 0 0 0 0 ok\n1 10000 0 0 0 0 lost\n");
	ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0 && n.r.nparts == 1,
	   "a GPU that is lost from the beginning has no part");
	fake_node_write(&n, "0 10100 0 0 0 0 ok\n1 10000 0 0 0 0 ok\n");
	while (fake_node_read(&n) == 0 && n.r.nparts < 2)
		;
	ok(n.r.nparts == 2 && n.uj[0] == 100000 && n.uj[1] == 0,
	   "it is found later, at the end, and sets its base");
	fake_node_write(&n, "0 10200 0 0 0 0 ok\n1 10300 0 0 0 0 reset\n");
	ok(fake_node_read(&n) == 0 && n.uj[0] == 200000 && n.uj[1] == 300000,
	   "one that was reset is read again by a library that was opened anew");
	fake_node_fini(&n);
}

static unsigned int said_mute, said_excess;

static void count_lines(enum logger_level level, const char *line)
{
	said_mute += level == LOGGER_INFO && strstr(line, "neither power nor energy: 1") != NULL;
	said_excess += level == LOGGER_INFO && strstr(line, "beyond the first 16") != NULL;
}

/* Steps that begin and end one after the other do not have the driver asked at each. */
static void test_often(void)
{
	uint64_t seen_ns = 0;
	unsigned int samples;
	struct fake_node n;
	bool is_often = false;

	init(&n, LIBRARY);
	fake_node_write(&n, "0 10000 0 0 0 0 ok\n");
	ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0, "a GPU");
	for (samples = 0; samples < 4;) {
		uint64_t until_ns;

		(void)n.ops->read(n.source, 0, 0, &n.state, &n.r);
		until_ns = n.r.part[0].until_ns;
		if (until_ns == seen_ns)
			continue;
		is_often |= samples > 0 && until_ns - seen_ns < 50 * NSEC_PER_MSEC;
		seen_ns = until_ns;
		samples++;
	}
	ok(!is_often, "is not asked again for some time, however often it is read");
	fake_node_fini(&n);
}

/* What never shows anything is no fault of every tick; what there is no room for is told. */
static void test_left_out(void)
{
	struct fake_node n;
	char text[1024] = "";
	unsigned int i;

	init(&n, LIBRARY);
	fake_node_write(&n, "0 0 0 0 0 0 no-counter,no-power\n");
	ok(fake_node_open(&n) == -EOPNOTSUPP && strstr(n.err.text, "1 GPU, NVIDIA Stand-in: neither power"),
	   "a virtual GPU, which shows neither power nor energy, alone: %s", n.err.text);
	logger_set_sink(count_lines);
	fake_node_write(&n, "0 0 0 0 0 0 no-counter,no-power\n1 10000 0 0 0 0 ok\n");
	ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0 && n.r.nparts == 1 && n.r.part[0].unit == 1,
	   "beside another: it has no part");
	ok(fake_node_read(&n) == 0 && n.rejected == 0, "and nothing is rejected for it");
	ok(said_mute == 1 && !said_excess, "the log names it once");
	fake_node_close(&n);
	for (i = 0; i <= DEVICES_MAX; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u 10000 0 0 0 0 ok\n", i);
	fake_node_write(&n, text);
	ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0 && n.r.nparts == DEVICES_MAX,
	   "more GPUs than there are units for");
	ok(said_mute == 1 && said_excess == 1, "the log says that once, too");
	logger_set_sink(NULL);
	fake_node_fini(&n);
}

static void test_hang(void)
{
	struct fake_node n;
	uint64_t start_ns;
	int rc;

	init(&n, LIBRARY);
	fake_node_write(&n, "0 10000 0 0 0 0 ok\n1 10000 0 0 0 0 ok\n");
	ok(fake_node_open(&n) == 0 && fake_node_read(&n) == 0, "two GPUs");
	fake_node_write(&n, "0 10100 0 0 0 0 ok\n1 10100 0 0 0 0 hang\n");
	memset(n.uj, 0, sizeof(n.uj));
	start_ns = clock_mono_ns();
	do {
		rc = n.ops->read(n.source, 0, 0, &n.state, &n.r);
		if (rc == 0)
			fake_node_add(&n);
	} while (clock_mono_ns() - start_ns < 200 * NSEC_PER_MSEC ||
		 /* a reading that had begun before the call hung may still bring its energy */
		 (rc == 0 && (!n.r.part[0].until_ns || n.r.part[0].energy_uj) &&
		  clock_mono_ns() - start_ns < 20 * NSEC_PER_SEC));
	ok(rc == 0, "a call hangs: reading does not");
	ok(n.r.part[0].energy_uj == 0 && n.r.part[0].until_ns, "and says how far it got");
	start_ns = clock_mono_ns();
	fake_node_close(&n);
	ok(clock_mono_ns() - start_ns < 4 * NSEC_PER_SEC, "closing does not either");
	fake_node_write(&n, "0 10100 0 0 0 0 ok\n1 10200 0 0 0 0 ok\n");
	rc = fake_node_open(&n);
	ok(rc == 0, "the driver answers again: %d %s", rc, n.err.text);
	rc = fake_node_read(&n);
	ok(rc == 0, "all GPUs are read: %d", rc);
	is_u64(n.uj[0], 100000, "all energy of the first is there");
	is_u64(n.uj[1], 200000, "and of the one that hung");
	fake_node_fini(&n);
}

int main(void)
{
	test_nothing_there();
	test_eight();
	test_use();
	test_xids();
	test_gpm();
	test_gapless();
	test_mig();
	test_mig_use();
	test_old();
	test_superchips();
	test_garbage();
	test_lost();
	test_new_library();
	test_often();
	test_left_out();
	test_hang();
	return done_testing();
}
