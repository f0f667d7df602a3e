/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intel's discrete GPUs: the hwmon devices "xe" and "i915" of the kernel (Documentation/ABI/testing/
 * sysfs-driver-intel-xe-hwmon and -i915-hwmon). energyN_input is in uJ. xe has the card (label "card", N is
 * 1) and the package (label "pkg", N is 2), or one of them; the card contains the package. i915 has the
 * device, without a label, and devices "i915_gtN" for the tiles, which it contains.
 *
 * A reading wakes a GPU that sleeps (runtime suspend), which costs energy and up to some hundred
 * milliseconds. So a GPU that sleeps is not read. The files of a GPU that is awake are read from a register.
 *
 * The register has 32 bits of 61 uJ. The driver adds up what it has counted, but only when somebody reads:
 * if nobody does for the time of a wrap, 262 kJ are missing. In its sleep a GPU may lose the register, which
 * the driver takes for a wrap. After either, counting begins anew.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "src/libmeter/sensor/counter_state.h"
#include "src/libmeter/sensor/drm.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"
#include "src/libutil/util.h"

#define HWMON "/sys/class/hwmon"

/* Each has two values in the state: its base and its age. */
#define CARDS_MAX (SOURCE_MAX_COUNTERS / 2 - 4)

/* What COUNTER_PACKAGE_MAX_W needs for 2^32 units of 2^-14 J is 105 s. */
#define WRAP_NS (100 * NSEC_PER_SEC)

struct card {
	char counter[40]; /* name in the state: "xe:0000:4d:00.0" */
	bool is_package;  /* the counter is that of the package only */
	int energy_fd;
	int status_fd; /* of power/runtime_status; -1: the GPU never sleeps */
	bool is_asleep;
	struct counter c;
	uint64_t good_ns; /* when the last reading was good; 0: it was not */
	struct gpu_reading gpu;
};

struct source {
	struct card card[CARDS_MAX];
	size_t n;
	char notes[512];
};

/* --- open --------------------------------------------------------------------------------- */

static int open_in(const char *root, const char *folder, const char *file)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, file);
	return fileio_open_at_root(root, path);
}

static int read_in(const char *root, const char *folder, const char *file, char *buf, size_t size)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, file);
	return fileio_read_line(root, path, buf, size);
}

/* Opens the counter of the card or else of the package. */
static int open_energy(const char *root, const char *folder, bool *ret_is_package)
{
	static const char *const numbers[] = { "1", "2" };
	int fd = -ENOENT;
	size_t i;

	for (i = 0; fd < 0 && i < ARRAY_SIZE(numbers); i++) {
		char file[32], label[16];
		int rc;

		(void)snprintf(file, sizeof(file), "energy%s_label", numbers[i]);
		rc = read_in(root, folder, file, label, sizeof(label));
		*ret_is_package = rc == 0 && !strcmp(label, "pkg");
		if (rc == 0 && !*ret_is_package && strcmp(label, "card") != 0)
			continue;
		(void)snprintf(file, sizeof(file), "energy%s_input", numbers[i]);
		fd = open_in(root, folder, file);
	}
	return fd;
}

/* The address of the PCI device, to which the link leads. */
static int read_pci(const char *root, const char *folder, char *buf, size_t size)
{
	char path[PATH_MAX], to[PATH_MAX];
	const char *name;
	ssize_t n;

	if ((size_t)snprintf(path, sizeof(path), "%s%s/device", strcmp(root, "/") ? root : "", folder) >=
	    sizeof(path))
		return -ENAMETOOLONG;
	n = readlink(path, to, sizeof(to) - 1);
	if (n < 0)
		return -errno;
	to[n] = '\0';
	name = strrchr(to, '/') ? strrchr(to, '/') + 1 : to;
	return (size_t)snprintf(buf, size, "%s", name) < size ? 0 : -ENAMETOOLONG;
}

static void add_card(struct source *s, const char *root, const char *folder, const char *driver)
{
	struct card *c = &s->card[s->n];
	char device[PATH_MAX];
	char pci[24], id[16] = "";
	uint64_t minor;

	if (s->n == CARDS_MAX)
		return;
	*c = (struct card){ .c = { .range_uj = UINT64_MAX, .max_w = COUNTER_PACKAGE_MAX_W } };
	(void)snprintf(device, sizeof(device), "%s/device", folder);
	if (read_pci(root, folder, pci, sizeof(pci)) < 0 || drm_render_minor(root, device, &minor) < 0)
		return; /* without a render node nobody can use it */
	c->energy_fd = open_energy(root, folder, &c->is_package);
	if (c->energy_fd < 0)
		return;
	c->status_fd = open_in(root, device, "power/runtime_status");
	minor -= DRM_FIRST_RENDER_NODE;
	c->gpu.unit = (uint8_t)(minor < GPUS_MAX ? minor : GPUS_MAX - 1);
	(void)read_in(root, device, "device", id, sizeof(id));
	(void)snprintf(c->gpu.model, sizeof(c->gpu.model), "Intel GPU %s", id);
	(void)snprintf(c->gpu.uuid, sizeof(c->gpu.uuid), "INTEL-%s", pci);
	(void)snprintf(c->counter, sizeof(c->counter), "%s:%s", driver, pci);
	gpu_values_forget(c->gpu.value);
	s->n++;
}

static int by_unit(const void *a, const void *b)
{
	const struct card *x = a;
	const struct card *y = b;

	return (int)x->gpu.unit - (int)y->gpu.unit;
}

static void add_cards(struct source *s, const char *root)
{
	char path[PATH_MAX];
	const struct dirent *e;
	DIR *d;

	(void)snprintf(path, sizeof(path), "%s" HWMON, strcmp(root, "/") ? root : "");
	d = opendir(path);
	while (d && (e = readdir(d))) {
		char folder[PATH_MAX], driver[16];

		(void)snprintf(folder, sizeof(folder), HWMON "/%s", e->d_name);
		if (e->d_name[0] != '.' && read_in(root, folder, "name", driver, sizeof(driver)) == 0 &&
		    (!strcmp(driver, "xe") || !strcmp(driver, "i915")))
			add_card(s, root, folder, driver);
	}
	if (d)
		(void)closedir(d);
	qsort(s->card, s->n, sizeof(s->card[0]), by_unit);
}

static void intelgpu_close(struct source *s)
{
	size_t i;

	for (i = 0; s && i < s->n; i++) {
		(void)close(s->card[i].energy_fd);
		if (s->card[i].status_fd >= 0)
			(void)close(s->card[i].status_fd);
	}
	free(s);
}

static int intelgpu_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	struct source *s = calloc(1, sizeof(*s));

	if (!s)
		return errmsg_errno(err, -ENOMEM, "cards");
	add_cards(s, env->sys_root);
	if (!s->n) {
		intelgpu_close(s);
		return errmsg_set(err, -ENODEV, "no energy counter of xe or i915 in " HWMON);
	}
	*ret = s;
	return 0;
}

/* --- read --------------------------------------------------------------------------------- */

/* Also while it falls asleep or wakes up, since the reader would have to wait. */
static bool is_asleep(const struct card *c)
{
	char text[32];

	if (c->status_fd < 0 || fileio_pread_all(c->status_fd, text, sizeof(text)) < 0)
		return false;
	return !strncmp(text, "suspend", strlen("suspend")) || !strncmp(text, "resuming", strlen("resuming"));
}

/* Neither xe nor i915 shows the power: it is the mean since the last reading. */
static void set_power(struct card *c, int rc, uint64_t used_uj, uint64_t dt_ns, uint64_t now_ns)
{
	c->gpu.value[GPU_VALUE_POWER_MW] = GPU_VALUE_UNKNOWN;
	if (rc == 0 && c->good_ns && dt_ns)
		c->gpu.value[GPU_VALUE_POWER_MW] = used_uj * 1000000 / dt_ns;
	c->gpu.from_ns = c->good_ns ? c->good_ns : now_ns;
	c->gpu.until_ns = now_ns;
	c->good_ns = rc >= 0 ? now_ns : 0;
}

/* Returns 0, 1 (the base) or -errno. -EAGAIN: the GPU sleeps. */
static int read_card(struct card *c, uint64_t dt_ns, struct source_state *state, struct part *part)
{
	uint64_t now_ns = clock_mono_ns();
	uint64_t uj = 0, used_uj = 0;
	bool wrapped;
	int rc;

	c->is_asleep = is_asleep(c);
	if (c->is_asleep || c->c.age_ns + dt_ns > WRAP_NS) {
		counter_state_forget(&c->c, state, c->counter);
		c->c.age_ns = 0;
		c->good_ns = 0;
	}
	if (c->is_asleep) {
		set_power(c, -EAGAIN, 0, dt_ns, now_ns);
		return -EAGAIN;
	}
	rc = fileio_pread_u64(c->energy_fd, &uj);
	rc = counter_state_advance(&c->c, state, c->counter, rc, uj, dt_ns, &used_uj, &wrapped);
	set_power(c, rc, used_uj, dt_ns, now_ns);
	if (rc == 0)
		part->energy_uj += used_uj;
	part->is_new_base |= rc == 1;
	return rc;
}

static void note_sleepers(struct source *s)
{
	size_t used = 0;
	size_t i;

	s->notes[0] = '\0';
	for (i = 0; i < s->n; i++) {
		char line[96];
		int len;

		if (!s->card[i].is_asleep)
			continue;
		len = snprintf(line, sizeof(line),
			       "GPU %u sleeps and is not read, since that would wake it\n",
			       s->card[i].gpu.unit);
		if (used + (size_t)len >= sizeof(s->notes))
			break;
		memcpy(s->notes + used, line, (size_t)len + 1);
		used += (size_t)len;
	}
	if (used)
		s->notes[used - 1] = '\0';
}

static int intelgpu_read(struct source *s, uint64_t dt_ns, uint32_t busy_ppm, struct source_state *state,
			 struct reading *ret)
{
	struct reading out = { 0 };
	size_t good = 0;
	size_t i;

	(void)busy_ppm;
	for (i = 0; i < s->n; i++) {
		struct card *c = &s->card[i];
		int rc = read_card(c, dt_ns, state,
				   reading_part(&out, DOMAIN_GPU, c->gpu.unit, QUALITY_COUNTER));

		good += rc >= 0 || rc == -EAGAIN;
		out.rejected += rc < 0 && rc != -EAGAIN;
	}
	note_sleepers(s);
	if (!good)
		return -EIO;
	*ret = out;
	return 0;
}

static size_t intelgpu_gpus(const struct source *s, struct gpu_reading *ret, size_t max)
{
	size_t n = s->n < max ? s->n : max;
	size_t i;

	for (i = 0; i < n; i++)
		ret[i] = s->card[i].gpu;
	return n;
}

static void intelgpu_describe(const struct source *s, char *buf, size_t size)
{
	size_t packages = 0;
	char text[48] = "";
	size_t i;

	for (i = 0; i < s->n; i++)
		packages += s->card[i].is_package;
	if (packages)
		(void)snprintf(text, sizeof(text), ", package only of %zu", packages);
	(void)snprintf(buf, size, "%zu GPU%s, %s%s", s->n, s->n == 1 ? "" : "s", s->card[0].gpu.model, text);
}

static const char *intelgpu_notes(const struct source *s)
{
	return s->notes;
}

const struct source_ops source_intelgpu = {
	.id = SOURCE_INTELGPU,
	.open = intelgpu_open,
	.read = intelgpu_read,
	.gpus = intelgpu_gpus,
	.describe = intelgpu_describe,
	.notes = intelgpu_notes,
	.close = intelgpu_close,
};
