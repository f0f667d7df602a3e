/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/sink_module.h"

#include <errno.h>
#include <unistd.h>

#include "scratch.h"
#include "src/libsink/deliver.h"
#include "src/libutil/clock.h"
#include "src/libutil/module.h"
#include "tap.h"

static char dir[] = SCRATCH_TEMPLATE;
static struct settings settings;
static char errors[2048], lines[2048];

static void keep_line(enum logger_level level, const char *line)
{
	char *to = level == LOGGER_ERROR ? errors : lines;
	size_t used = strlen(to);

	(void)snprintf(to + used, sizeof(errors) - used, "%s\n", line);
}

/* The fake of that name becomes the module of NAME. */
static void install(const char *fake, const char *name)
{
	char path[PATH_MAX];
	char from[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/ceems_sink_%s.so", dir, name);
	(void)snprintf(from, sizeof(from), "%s/fake_sink_%s.so", FAKE_SINKS, fake);
	(void)unlink(path);
	/* whatever umask it was built with */
	if (chmod(from, 0755) < 0 || symlink(from, path) < 0)
		diag("symlink %s: %s", path, strerror(errno));
}

/* What the loader itself finds wrong is in test_source_module. */
static void test_bad(void)
{
	static const struct {
		const char *what, *fake, *name;
		int rc;
		const char *why;
	} bad[] = {
		{ "no module", NULL, "kafka", -ENOENT, ": is not built or not installed" },
		{ "one of another version", "old", "kafka", -EPROTO,
		  ": is of another version of slurm-ceems" },
		{ "one of another sink", "good", "mariadb", -EPROTO,
		  ": is the module of another sink, kafka" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		const struct sink_module *m = NULL;
		struct errmsg err = { 0 };

		if (bad[i].fake)
			install(bad[i].fake, bad[i].name);
		is_int(sink_module_load(&settings, bad[i].name, &m, &err), bad[i].rc, bad[i].what);
		ok(!m && strstr(err.text, bad[i].why), "  and it says why: %s", err.text);
	}
	scratch_clear(dir);
}

static void test_names(void)
{
	ok(sink_find("file") == &sink_file, "file is no module");
	ok(sink_find("kafka") && sink_find("mariadb"), "kafka and mariadb are found before they are there");
	ok(!sink_find("amqp"), "others are not");
}

/* The records of a sink whose module comes later. */
static void test_late(void)
{
	const struct sink_ops *ops = sink_find("kafka");
	char spool_dir[PATH_MAX];
	struct deliver_stats stats;
	struct deliver *d = NULL;
	struct spool *s = NULL;
	struct errmsg err = { 0 };
	uint64_t now;

	(void)snprintf(spool_dir, sizeof(spool_dir), "%s/spool", dir);
	is_int(mkdir(spool_dir, 0700), 0, "a folder");
	is_int(spool_open(spool_dir, 1 << 20, &s, &err), 0, "a spool");
	is_int(deliver_create(s, ops, &settings, &d, &err), 0, "without its module a sink has its cursor");
	ok(strstr(errors, "kafka: cannot open: ") && strstr(errors, "not installed; records wait in"),
	   "  and one line in the log");
	is_int(spool_append(s, SPOOL_RECORD, "k", "{}", 2, &err), 0, "a record comes");
	is_int(spool_sync(s, &err), 0, "  to the disk");
	errors[0] = '\0';
	now = clock_mono_ns() + 3600 * NSEC_PER_SEC;
	is_int(deliver_run(d, now, NSEC_PER_SEC), 0, "  and waits");
	is_str(errors, "", "  silently");
	install("good", "kafka");
	now += 3600 * NSEC_PER_SEC;
	is_int(deliver_run(d, now, NSEC_PER_SEC), 1, "the module comes, and the record goes");
	ok(strstr(lines, "the fake is open") != NULL, "  its lines come to our log");
	deliver_get_stats(d, &stats);
	ok(stats.acked == 1 && !stats.is_down, "  as with any sink");
	deliver_destroy(d);
	ok(strstr(lines, "the fake is closed") != NULL, "it is closed");
	spool_close(s);
}

static bool is_mapped(const char *name)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[PATH_MAX + 128];
	bool found = false;

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, name))
			found = true;
	if (f)
		(void)fclose(f);
	return found;
}

/* The daemon's plugin may be unmapped then, and the module is not. */
static void test_refused(void)
{
	const struct sink_module *m = NULL;
	struct sink *k = NULL;
	struct errmsg err = { 0 };

	install("good", "kafka");
	is_int(sink_module_load(&settings, "kafka", &m, &err), 0, "a module");
	(void)snprintf(settings.kafka_topic, sizeof(settings.kafka_topic), "jobs");
	is_int(sink_find("kafka")->open(&settings, &k, &err), -EINVAL, "its sink does not open");
	lines[0] = '\0';
	m->ops->close(NULL);
	is_str(lines, "", "  and what is left of it does not come to our log");
	settings.kafka_topic[0] = '\0';
	ok(is_mapped("/fake_sink_good.so"), "  it is mapped");
	sink_modules_unmap();
	ok(!is_mapped("/fake_sink_good.so"), "  until all are let go, however often it was loaded");
	is_int(sink_module_load(&settings, "kafka", &m, &err), 0, "a module that is pinned");
	module_pin(m);
	sink_modules_unmap();
	ok(is_mapped("/fake_sink_good.so"), "  stays");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	memcpy(settings.sink_dir, dir, sizeof(dir));
	logger_set_sink(keep_line);
	test_bad();
	test_names();
	test_late();
	test_refused();
	(void)snprintf(errors, sizeof(errors), "%s/spool", dir);
	scratch_clear(errors);
	(void)rmdir(errors);
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
