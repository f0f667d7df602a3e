/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ceems-gpu - reads GPUs through a vendor's library: `ceems-gpu nvml LIBRARY [SYSROOT]` answers slurmd
 * with the protocol of helper.h. If a call of the library hangs, slurmd kills this program and starts
 * it again.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "src/helpers/gpu/gpu.h"
#include "src/libutil/clock.h"
#include "src/libutil/helper.h"
#include "src/libutil/util.h"

/* The most power of a GPU; the same as COUNTER_PACKAGE_MAX_W. */
#define GPU_MAX_W 2500
/* And of a module: GB200's has a CPU and two GPUs. */
#define MODULE_MAX_W 6000

/* The time limit of a call; a driver that resets a GPU takes some seconds. */
#define CALL_MAX_S 60

/*
 * The use is read about once a second, energy at each question. Less than a second, since ticks
 * come a little early or late.
 */
#define USAGE_EVERY_NS (NSEC_PER_SEC * 9 / 10)

/* A GPU of seven compute instances, and itself. */
#define SLICES_MAX 8

/*
 * The pause before the library is closed and opened again after a device failed; it doubles each
 * time.
 */
#define RETRY_FIRST_NS NSEC_PER_SEC
#define RETRY_LAST_NS (600 * NSEC_PER_SEC)

/* A library that is opened anew counts anew. */
struct gpu_errors {
	bool is_known;
	uint64_t before; /* of libraries that are closed */
	uint64_t all;
};

/* The devices. Each keeps its index; a new one is added at the end. */
struct gpus {
	const struct gpu_library_ops *ops;
	const char *path;
	const char *root;
	void *library;
	size_t n;
	struct gpu_device device[GPU_DEVICES_MAX];
	struct gpu_sample sample[GPU_DEVICES_MAX];
	uint64_t used_ns[GPU_DEVICES_MAX]; /* when its use was last read; 0: never, or it failed since */
	struct gpu_errors xids[GPU_DEVICES_MAX];
	size_t reader
		[SOCKETS_MAX]; /* of the module of that socket: 1 + the device to ask; 0: there is none */
	size_t missing;	       /* that may be there the next time */
	int mute;	       /* that never show anything */
	int excess;	       /* that there is no room for */
	uint64_t usage_ns;
	uint64_t retry_at_ns;
	uint64_t retry_wait_ns;
};

/* --- the devices -------------------------------------------------------------------------- */

static void gpus_disconnect(struct gpus *g)
{
	size_t i;

	for (i = 0; i < g->n; i++)
		g->xids[i].before = g->xids[i].all;
	if (g->library)
		g->ops->close(g->library);
	g->library = NULL;
}

static size_t gpus_place(const struct gpus *g, const struct gpu_device *d)
{
	size_t i;

	for (i = 0; i < g->n; i++)
		if (!strcmp(g->device[i].id, d->id))
			break;
	return i;
}

static const char *gpus_kind(bool is_energy)
{
	return is_energy ? "energy" : "power";
}

/* True: the meter of the GPU is that of its module, since the GPU shows nothing else. */
static bool gpus_is_of_module(const struct gpu_device *d)
{
	return d->is_superchip && !d->own.kind;
}

static void gpus_declare(const struct gpu_device *d)
{
	if (gpus_is_of_module(d))
		helper_say("meter %s gpu %u %s %u module on=%u", d->id, d->unit,
			   gpus_kind(d->of_module.kind == GPU_METER_ENERGY), MODULE_MAX_W, d->module);
	else if (d->is_superchip && d->is_placed)
		helper_say("meter %s gpu %u %s %u on=%u", d->id, d->unit, gpus_kind(d->has_counter),
			   GPU_MAX_W, d->module);
	else
		helper_say("meter %s gpu %u %s %u", d->id, d->unit, gpus_kind(d->has_counter), GPU_MAX_W);
	helper_say("gpu %s %s", d->id, d->model);
}

/* All GPUs of a module show the same energy of it, so one of them is asked. */
static void gpus_declare_module(struct gpus *g, size_t i)
{
	const struct gpu_device *d = &g->device[i];

	if (!d->of_module.kind || gpus_is_of_module(d))
		return;
	if (!d->is_placed) {
		helper_say("note the energy of the module of %s is not used, since its socket is not known",
			   d->id);
		return;
	}
	if (g->reader[d->module])
		return;
	g->reader[d->module] = 1 + i;
	helper_say("meter module-%u other 0 %s %u module on=%u", d->module,
		   gpus_kind(d->of_module.kind == GPU_METER_ENERGY), MODULE_MAX_W, d->module);
}

/* Sends the sizes of all instances; those that are not sent again are gone. */
static void gpus_tell_slices(const struct gpus *g, const struct gpu_device *d)
{
	struct gpu_slice slice[SLICES_MAX];
	size_t n, i;

	if (!g->ops->slices || !d->handle)
		return;
	n = g->ops->slices(g->library, d, slice, SLICES_MAX);
	helper_say("slices %s", d->id);
	for (i = 0; i < n; i++)
		helper_say("slice %s %u %u %u %u %" PRIu32, d->id, slice[i].gi, slice[i].ci, slice[i].slices,
			   slice[i].gi_slices, slice[i].mem_mb);
}

/* An id is one word of a line. */
static void gpus_mend_id(struct gpu_device *d)
{
	char *p;

	for (p = d->id; *p; p++)
		if (*p == ' ')
			*p = '_';
}

static void gpus_take(struct gpus *g, struct gpu_device *found, size_t n)
{
	size_t i;

	for (i = 0; i < g->n; i++)
		g->device[i].handle = 0;
	for (i = 0; i < n; i++) {
		size_t k;

		gpus_mend_id(&found[i]);
		k = gpus_place(g, &found[i]);
		if (k == GPU_DEVICES_MAX)
			continue;
		if (k < g->n) { /* its meters stay as they are declared */
			g->device[k].handle = found[i].handle;
			continue;
		}
		g->device[k] = found[i];
		g->n++;
		gpus_declare(&found[i]);
		gpus_declare_module(g, k);
	}
}

/*
 * Reports the devices that are left out, once, so that those that cannot be measured do not make
 * each tick unreliable.
 */
static void gpus_tell_left_out(struct gpus *g, int mute, int excess)
{
	if (mute && mute != g->mute)
		helper_say("note GPUs that show neither power nor energy: %d", mute);
	if (excess && excess != g->excess)
		helper_say("note GPUs beyond the first %d, which are not measured: %d", GPU_DEVICES_MAX,
			   excess);
	g->mute = mute;
	g->excess = excess;
}

/* Returns how many devices it wrote. */
static int gpus_find(struct gpus *g, struct gpu_device found[GPU_DEVICES_MAX], struct errmsg *err)
{
	int count = g->ops->count(g->library, err);
	int why = 0;
	int mute = 0;
	int repeated = 0;
	int n = 0;
	int i;

	if (count < 0)
		return count;
	for (i = 0; i < count && n < GPU_DEVICES_MAX; i++) {
		int rc = g->ops->identify(g->library, (unsigned int)i, &found[n]);

		n += rc == 0;
		repeated += rc == -EALREADY;
		if (rc == -EOPNOTSUPP)
			mute++;
		else if (rc < 0 && rc != -EALREADY)
			why = rc;
	}
	g->missing = (size_t)(i - n - mute - repeated);
	if (n) {
		gpus_tell_left_out(g, mute, count - i);
		return n;
	}
	if (mute && !why)
		return errmsg_set(err, -EOPNOTSUPP,
				  "%d GPU%s%s%s: neither power nor energy is shown, so the energy of GPUs is "
				  "unknown",
				  mute, mute == 1 ? "" : "s", found[0].model[0] ? ", " : "", found[0].model);
	return why ? errmsg_errno(err, why, "none of %d GPUs can be asked", count) :
		     errmsg_set(err, -ENODEV, "the driver has no GPU");
}

static int gpus_connect(struct gpus *g, struct errmsg *err)
{
	struct gpu_device found[GPU_DEVICES_MAX];
	size_t i;
	int rc;

	memset(found, 0, sizeof(found));
	rc = g->ops->open(g->path, g->root, &g->library, err);
	if (rc < 0)
		return rc;
	rc = gpus_find(g, found, err);
	if (rc < 0) {
		gpus_disconnect(g);
		return rc;
	}
	gpus_take(g, found, (size_t)rc);
	for (i = 0; i < g->n; i++)
		gpus_tell_slices(g, &g->device[i]);
	return 0;
}

static void gpus_tell_about(const struct gpus *g)
{
	size_t by_power = 0, modules = 0, of_module = 0;
	char power[40] = "", module[40] = "", unknown[64] = "";
	size_t i;

	for (i = 0; i < g->n; i++) {
		of_module += gpus_is_of_module(&g->device[i]);
		by_power += !g->device[i].has_counter && !gpus_is_of_module(&g->device[i]);
	}
	for (i = 0; i < SOCKETS_MAX; i++)
		modules += g->reader[i] != 0;
	if (by_power)
		(void)snprintf(power, sizeof(power), "; power of %zu integrated", by_power);
	if (modules)
		(void)snprintf(module, sizeof(module), "; %zu module%s", modules, modules == 1 ? "" : "s");
	if (of_module)
		(void)snprintf(unknown, sizeof(unknown), "; %zu without a value but the module's", of_module);
	helper_say("about %zu GPU%s, %s%s%s%s%s%s", g->n, g->n == 1 ? "" : "s", g->device[0].model,
		   g->ops->library_name ? ", by " : "",
		   g->ops->library_name ? g->ops->library_name(g->library) : "", power, module, unknown);
}

/* --- a question --------------------------------------------------------------------------- */

static int gpus_read_module(const struct gpus *g, const struct gpu_device *d, const char *name)
{
	uint64_t t_ns = clock_mono_ns();
	uint64_t value = GPU_VALUE_UNKNOWN;
	int rc = g->library && d->handle ? g->ops->read_module(g->library, d, &value) : -ENODEV;

	if (rc < 0)
		helper_say("error %s %s", name, strerror(-rc));
	else
		helper_say("reading %" PRIu64 " %s %" PRIu64, t_ns, name, value);
	return rc;
}

static void gpus_read_energy(struct gpus *g, size_t i)
{
	const struct gpu_device *d = &g->device[i];
	struct gpu_sample *s = &g->sample[i];

	s->t_ns = clock_mono_ns();
	s->energy_uj = s->power_mw = GPU_VALUE_UNKNOWN;
	if (gpus_is_of_module(d)) {
		s->rc = gpus_read_module(g, d, d->id);
		return;
	}
	s->rc = g->library && d->handle ? g->ops->read_energy(g->library, d, s) : -ENODEV;
	if (s->rc < 0)
		helper_say("error %s %s", d->id, strerror(-s->rc));
	else
		helper_say("reading %" PRIu64 " %s %" PRIu64, s->t_ns, d->id,
			   d->has_counter ? s->energy_uj : s->power_mw);
	if (d->is_superchip && g->reader[d->module] == 1 + i) {
		char name[32];

		(void)snprintf(name, sizeof(name), "module-%u", d->module);
		(void)gpus_read_module(g, d, name);
	}
}

/* " busy_ppm=500000 ..." */
static const char *values_text(const uint64_t value[GPU_VALUE_N], char text[HELPER_LINE_MAX])
{
	size_t used = 0;
	unsigned int v;

	text[0] = '\0';
	for (v = 0; v < GPU_VALUE_N && used < HELPER_LINE_MAX; v++)
		if (value[v] != GPU_VALUE_UNKNOWN)
			used += (size_t)snprintf(text + used, HELPER_LINE_MAX - used, " %s=%" PRIu64,
						 gpu_value_name((enum gpu_value)v), value[v]);
	return text;
}

static void gpus_tell_instances(const struct gpus *g, const struct gpu_device *d)
{
	struct gpu_instance instance[SLICES_MAX];
	char text[HELPER_LINE_MAX];
	size_t n = g->ops->read_instances(g->library, d, instance, SLICES_MAX);
	size_t i;

	for (i = 0; i < n; i++)
		helper_say("instance %s %u %u%s", d->id, instance[i].gi, instance[i].slices,
			   values_text(instance[i].value, text));
}

/* Reads errors. The count is kept while the GPU is lost, so that no error is missed. */
static void gpus_read_errors(struct gpus *g, size_t i, uint64_t value[GPU_VALUE_N])
{
	struct gpu_errors *e = &g->xids[i];

	if (g->ops->read_errors && g->library && g->device[i].handle)
		g->ops->read_errors(g->library, &g->device[i], value);
	if (value[GPU_VALUE_XID_ERRORS] != GPU_VALUE_UNKNOWN) {
		e->is_known = true;
		e->all = e->before + value[GPU_VALUE_XID_ERRORS];
	}
	if (e->is_known)
		value[GPU_VALUE_XID_ERRORS] = e->all;
}

/*
 * Reads how busy GPU I is and which memory it uses. If the GPU does not answer, both are unknown.
 * The time without an answer is not counted later, either.
 */
static void gpus_read_usage(struct gpus *g, size_t i)
{
	const struct gpu_sample *s = &g->sample[i];
	uint64_t value[GPU_VALUE_N];
	uint64_t from_ns = g->used_ns[i], until_ns;
	char text[HELPER_LINE_MAX];

	gpu_values_forget(value);
	if (s->rc == 0) {
		value[GPU_VALUE_POWER_MW] = s->power_mw;
		g->ops->read_usage(g->library, &g->device[i], value);
	}
	gpus_read_errors(g, i, value);
	until_ns = clock_mono_ns();
	if (s->rc == 0 && g->ops->read_instances)
		gpus_tell_instances(g, &g->device[i]);
	helper_say("usage %s %" PRIu64 " %" PRIu64 "%s", g->device[i].id, from_ns ? from_ns : until_ns,
		   until_ns, values_text(value, text));
	g->used_ns[i] = s->rc == 0 ? until_ns : 0;
}

static bool gpus_is_any_failing(const struct gpus *g)
{
	size_t i;

	for (i = 0; i < g->n; i++)
		if (g->sample[i].rc < 0)
			return true;
	return !g->library || g->missing;
}

/*
 * Opens the library again if that is due: only then is a GPU seen that was reset, or a driver that
 * was reloaded. It takes seconds and disturbs the other GPUs, so it is done ever less often.
 */
static void gpus_reconnect_if_due(struct gpus *g)
{
	uint64_t now_ns = clock_mono_ns();
	struct errmsg err = { 0 };
	size_t i;

	if (!gpus_is_any_failing(g)) {
		g->retry_wait_ns = RETRY_FIRST_NS;
		g->retry_at_ns = 0;
		return;
	}
	if (!g->retry_at_ns)
		g->retry_at_ns = now_ns + g->retry_wait_ns;
	if (now_ns < g->retry_at_ns)
		return;
	for (i = 0; i < g->n; i++)
		if (g->sample[i].rc < 0)
			gpus_read_usage(g, i); /* errors that the library still holds */
	gpus_disconnect(g);
	(void)gpus_connect(g, &err); /* the error of each device says why it cannot be read */
	if (g->retry_wait_ns < RETRY_LAST_NS)
		g->retry_wait_ns *= 2;
	g->retry_at_ns = clock_mono_ns() + g->retry_wait_ns;
}

static void gpus_answer(struct gpus *g, const char *number)
{
	uint64_t begin_ns = helper_begin(CALL_MAX_S);
	size_t i;

	for (i = 0; i < g->n; i++)
		gpus_read_energy(g, i);
	helper_say("done %s", number);
	if (begin_ns - g->usage_ns >= USAGE_EVERY_NS) {
		g->usage_ns = begin_ns;
		for (i = 0; i < g->n; i++)
			gpus_read_usage(g, i);
	}
	gpus_reconnect_if_due(g);
	(void)helper_end(begin_ns);
}

/* ------------------------------------------------------------------------------------------ */

int main(int argc, char **argv)
{
	struct gpus g = { .retry_wait_ns = RETRY_FIRST_NS };
	struct errmsg err = { 0 };
	uint64_t begin_ns;
	char line[256];
	int rc;

	if ((argc == 3 || argc == 4) && !strcmp(argv[1], "nvml"))
		g.ops = &gpu_library_nvml;
	else if ((argc == 3 || argc == 4) && !strcmp(argv[1], "rocm"))
		g.ops = &gpu_library_rocm;
	if (!g.ops) {
		(void)fputs("usage: ceems-gpu nvml|rocm LIBRARY [SYSROOT]\n", stderr);
		return 2;
	}
	g.path = argv[2];
	g.root = argc == 4 ? argv[3] : "";
	helper_serve(/* is_nice= */ false); /* a step's end waits for it */
	begin_ns = helper_begin(CALL_MAX_S);
	rc = gpus_connect(&g, &err);
	(void)helper_end(begin_ns);
	if (rc < 0) {
		helper_say("%s %s",
			   rc == -ENODEV     ? "never" :
			   rc == -EOPNOTSUPP ? "mute" :
					       "refused",
			   err.text);
		return 1;
	}
	gpus_tell_about(&g);
	helper_say("ready");
	while (helper_listen(-1, line, sizeof(line)) == 1)
		if (!strncmp(line, "read ", 5))
			gpus_answer(&g, line + 5);
	/* the library is not closed, since that may hang and the process ends anyway */
	return 0;
}
