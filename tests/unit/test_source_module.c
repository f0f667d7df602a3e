/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/source_module.h"

#include <errno.h>
#include <unistd.h>

#include "scratch.h"
#include "src/libnode/sources.h"
#include "tap.h"

static char dir[] = SCRATCH_TEMPLATE;

static const struct {
	const char *name;
	const char *fake; /* NULL: there is none */
	enum source_id id;
	int rc;
	const char *why; /* behind the path */
} bad[] = {
	{ "no module", NULL, SOURCE_HWMON, -ENOENT, ": is not built or not installed" },
	{ "no ELF file", "", SOURCE_HWMON, -ELIBACC, ": file too short" },
	{ "a library is missing", "more", SOURCE_HWMON, -ELIBACC,
	  ": undefined symbol: fake_of_a_library" },
	{ "without the symbol", "nosym", SOURCE_HWMON, -EPROTO,
	  ": is no module: no ceems_source in it" },
	{ "of another version", "old", SOURCE_HWMON, -EPROTO,
	  ": is of another version of slurm-ceems" },
	{ "of another source", "good", SOURCE_IPMI, -EPROTO,
	  ": is the module of another source, hwmon" },
};

/* FAKE becomes the module of ID; "": a file of nothing. Returns its path. */
static const char *install(const char *fake, enum source_id id)
{
	static char path[PATH_MAX];
	char from[PATH_MAX];

	scratch_clear(dir);
	snprintf(path, sizeof(path), "%s/ceems_source_%s.so", dir, source_name(id));
	snprintf(from, sizeof(from), "%s/fake_source_%s.so", FAKE_SOURCES, fake ? fake : "");
	if (fake && !*fake)
		ok(scratch_write(path, "", 0), "an empty file");
	else if (fake && (chmod(from, 0755) < 0 || symlink(from, path) < 0)) /* whatever umask it has */
		diag("symlink %s: %s", path, strerror(errno));
	return path;
}

static void test_bad(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *path = install(bad[i].fake, bad[i].id);
		struct source_module *m = NULL;
		struct errmsg err = { 0 };
		const char *why;

		is_int(source_module_load(dir, bad[i].id, &m, &err), bad[i].rc, bad[i].name);
		ok(!m, "  nothing is loaded");
		why = strstr(err.text, path);
		is_str(why ? why + strlen(path) : err.text, bad[i].why, "  and it says why");
	}
	source_module_unload(NULL);
}

/* What slurmd runs as root is not for others to write. */
static void test_writers(void)
{
	static const struct {
		const char *name;
		mode_t dir_mode, mode;
		uid_t owner;
		int rc;
		const char *why;
	} t[] = {
		{ "all may write it", 0700, 0606, 0, -EPERM, ".so: others than its owner" },
		{ "its group may", 0700, 0660, 0, -EPERM, ".so: others than its owner" },
		{ "all may replace it", 0707, 0600, 0, -EPERM, "others than its owner" },
		{ "in a folder like /tmp", 01777, 0600, 0, -ELIBACC, "file too short" },
		{ "of another user", 0755, 0644, 65533, -EPERM, ".so: belongs to user 65533" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		const char *path = install("", SOURCE_HWMON);
		struct source_module *m = NULL;
		struct errmsg err = { 0 };

		if (t[i].owner && chown(path, t[i].owner, (gid_t)-1) < 0) {
			skip(2, t[i].name);
			continue;
		}
		if (chmod(path, t[i].mode) < 0 || chmod(dir, t[i].dir_mode) < 0)
			diag("chmod: %s", strerror(errno));
		is_int(source_module_load(dir, SOURCE_HWMON, &m, &err), t[i].rc, t[i].name);
		if (!ok(strstr(err.text, t[i].why) != NULL, "  and it says why"))
			diag("%s", err.text);
	}
	if (chmod(dir, 0700) < 0)
		diag("chmod: %s", strerror(errno));
}

static char logged[128];

static void keep_line(enum logger_level level, const char *line)
{
	(void)level;
	snprintf(logged, sizeof(logged), "%s", line);
}

static void test_good(void)
{
	struct settings settings = { 0 };
	struct source_env env;
	struct source_state state[SOURCE_N] = { 0 };
	struct sources_reading r;
	struct sources *s = NULL;
	struct errmsg err = { 0 };
	char what[64];

	install("good", SOURCE_HWMON);
	snprintf(settings.source_dir, sizeof(settings.source_dir), "%s", dir);
	logger_set_sink(keep_line);
	env = sources_env(&settings);
	is_int(sources_open("hwmon", NULL, 0, &env, &s, &err), 0, "a source in a module");
	is_str(err.text, "", "  is found");
	is_str(logged, "the fake is open", "  its lines come to our log");
	sources_describe(s, what, sizeof(what));
	is_str(what, "hwmon (a module)", "  it says what it is");
	sources_read(s, 1, 1, 0, state, &r);
	is_u64(r.nparts, 1, "  it is read");
	is_u64(r.part[0].energy_uj, 42, "  its energy");
	is_u64(r.part[0].unit, 1, "  its unit");
	is_u64(r.from[DOMAIN_CPU], SOURCE_HWMON, "  has its domain");
	is_str(state[SOURCE_HWMON].counter[0].name, "fake", "  and keeps a state");
	sources_close(s);

	is_int(sources_open("ipmi", NULL, 0, &env, &s, &err), 0, "one that is not installed");
	sources_describe(s, what, sizeof(what));
	is_str(what, "none", "  is not there");
	ok(strstr(err.text, "ipmi: /") && strstr(err.text, "not installed"), "  and why");
	sources_close(s);
	logger_set_sink(NULL);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_bad();
	test_writers();
	test_good();
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
