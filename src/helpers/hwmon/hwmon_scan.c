/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* strverscmp */
#include "src/helpers/hwmon/hwmon_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <sensors/error.h>
#include <sensors/sensors.h>
#include <setjmp.h>
#include <string.h>

#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"
#include "src/libutil/util.h"

struct list {
	struct hwmon_sensor *item;
	size_t n;
};

/* --- a guest's manners -------------------------------------------------------------------- */

/* When memory is short libsensors ends the program, unless its hook does not return. */
static _Thread_local jmp_buf short_of_memory;

static void on_fatal(const char *proc, const char *text)
{
	(void)proc;
	(void)text;
	longjmp(short_of_memory, 1);
}

static void on_parse_error(const char *text, const char *file, int line)
{
	(void)text;
	(void)file;
	(void)line;
}

/* --- what a sensor is called -------------------------------------------------------------- */

/* The text of "<chip's folder>/<feature>_<what>", without the blanks at its end. */
static bool read_text(const sensors_chip_name *chip, const char *feature, const char *what, char *buf,
		      size_t size)
{
	char path[PATH_MAX];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s_%s", chip->path, feature, what) >= sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : fileio_pread_all(fd, buf, size);
	while (n > 0 && strchr(" \t\n", buf[n - 1]))
		buf[--n] = '\0';
	return n > 0;
}

/* acpi_power_meter has no label; Grace's firmware names its rails in the OEM information. */
static void read_label(const sensors_chip_name *chip, const char *feature, char *buf, size_t size)
{
	if (!read_text(chip, feature, "label", buf, size) && !read_text(chip, feature, "oem_info", buf, size))
		(void)snprintf(buf, size, "%s", feature);
}

static bool is_battery(const sensors_chip_name *chip, const char *feature)
{
	char text[8];
	bool yes = false;

	return read_text(chip, feature, "is_battery", text, sizeof(text)) && parse_bool(text, &yes) == 0 &&
	       yes;
}

/*
 * The folder of the attributes: hwmonN or, with older kernels' drivers, the device that it links to
 * (ACPI000D:00). libsensors names two ACPI meters alike.
 */
static void read_device(const sensors_chip_name *chip, char *buf, size_t size)
{
	const char *p = strstr(chip->path, "/hwmon/");

	if (p)
		p += strlen("/hwmon/");
	else
		p = strrchr(chip->path, '/') ? strrchr(chip->path, '/') + 1 : chip->path;
	(void)snprintf(buf, size, "%.*s", (int)strcspn(p, "/"), p);
}

static unsigned int nth_of(const sensors_chip_name *chip)
{
	const sensors_chip_name *other;
	unsigned int nth = 0;
	int nr = 0;

	while ((other = sensors_get_detected_chips(NULL, &nr)))
		nth += !strcmp(other->prefix, chip->prefix) && other->addr < chip->addr;
	return nth;
}

/* --- finding them ------------------------------------------------------------------------- */

/* What the sensor averages itself is nearer to the truth than an instant. */
static const sensors_subfeature *value_of(const sensors_chip_name *chip, const sensors_feature *f)
{
	const sensors_subfeature *value;

	if (f->type == SENSORS_FEATURE_ENERGY)
		return sensors_get_subfeature(chip, f, SENSORS_SUBFEATURE_ENERGY_INPUT);
	value = sensors_get_subfeature(chip, f, SENSORS_SUBFEATURE_POWER_AVERAGE);
	/* its driver sleeps in each read() of the average, see hwmon_chip.c */
	if (!value || !strcmp(chip->prefix, "fam15h_power"))
		value = sensors_get_subfeature(chip, f, SENSORS_SUBFEATURE_POWER_INPUT);
	return value;
}

static int add_feature(struct list *l, const sensors_chip_name *chip, const sensors_feature *f)
{
	const sensors_subfeature *value = value_of(chip, f);
	struct hwmon_sensor s = { .is_energy = f->type == SENSORS_FEATURE_ENERGY };
	struct hwmon_sensor *item;

	if (!value)
		return 0;
	if ((size_t)snprintf(s.path, sizeof(s.path), "%s/%s", chip->path, value->name) >= sizeof(s.path))
		return 0; /* not below /sys */
	(void)snprintf(s.chip, sizeof(s.chip), "%s", chip->prefix);
	(void)snprintf(s.feature, sizeof(s.feature), "%s", f->name);
	read_device(chip, s.device, sizeof(s.device));
	read_label(chip, s.feature, s.label, sizeof(s.label));
	s.is_battery = is_battery(chip, s.feature);
	s.nth = nth_of(chip);
	item = realloc(l->item, (l->n + 1) * sizeof(*item));
	if (!item)
		return -ENOMEM;
	item[l->n++] = s;
	l->item = item;
	return 0;
}

static int add_all(struct list *l)
{
	const sensors_chip_name *chip;
	const sensors_feature *f;
	int nr = 0;
	int rc = 0;

	while (rc == 0 && (chip = sensors_get_detected_chips(NULL, &nr))) {
		int fnr = 0;

		while (rc == 0 && (f = sensors_get_features(chip, &fnr)))
			if (f->type == SENSORS_FEATURE_ENERGY || f->type == SENSORS_FEATURE_POWER)
				rc = add_feature(l, chip, f);
	}
	return rc;
}

/*
 * Without sensors3.conf: a site's labels there are for people, and would change what a sensor is
 * taken for.
 */
static int hwmon_scan_chips(FILE *no_conf, struct list *l, struct errmsg *err)
{
	int rc = sensors_init(no_conf);

	if (rc != 0)
		return errmsg_set(err, -EIO, "libsensors: %s", sensors_strerror(rc));
	rc = add_all(l);
	sensors_cleanup();
	return rc < 0 ? errmsg_errno(err, rc, "libsensors") : 0;
}

static int by_kind_and_name(const void *a, const void *b)
{
	const struct hwmon_sensor *x = a;
	const struct hwmon_sensor *y = b;

	if (x->is_energy != y->is_energy)
		return x->is_energy ? -1 : 1;
	return strverscmp(x->path, y->path);
}

int hwmon_scan(struct hwmon_sensor **ret, size_t *ret_n, struct errmsg *err)
{
	void (*old_fatal)(const char *, const char *) = sensors_fatal_error;
	void (*old_parse)(const char *, const char *, int) = sensors_parse_error_wfn;
	_cleanup_fclose_ FILE *no_conf = fopen("/dev/null", "re");
	struct list *l = calloc(1, sizeof(*l)); /* not on the stack, which longjmp() spoils */
	int rc;

	if (!l || !no_conf) {
		free(l);
		return errmsg_errno(err, -ENOMEM, "libsensors");
	}
	sensors_fatal_error = on_fatal;
	sensors_parse_error_wfn = on_parse_error;
	/* after the jump the library's own lists are in no known state, and so are left alone */
	if (setjmp(short_of_memory) == 0)
		rc = hwmon_scan_chips(no_conf, l, err);
	else
		rc = errmsg_errno(err, -ENOMEM, "libsensors");
	sensors_fatal_error = old_fatal;
	sensors_parse_error_wfn = old_parse;
	if (rc == 0) {
		if (l->n)
			qsort(l->item, l->n, sizeof(*l->item), by_kind_and_name);
		*ret = TAKE_PTR(l->item);
		*ret_n = l->n;
	}
	free(l->item);
	free(l);
	return rc;
}
