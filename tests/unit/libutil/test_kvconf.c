/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/kvconf.h"

#include <errno.h>
#include <stdlib.h>

#include "src/libutil/fileio.h"
#include "tap.h"

struct conf {
	char name[8];
	bool on;
	uint64_t every_ns;
	uint64_t watts_mw;
	char path[8];
	char url[16];
};

static const struct kvconf_key keys[] = {
	{ "Name", kvconf_text, offsetof(struct conf, name), 8, "abc", "" },
	{ "On", kvconf_bool, offsetof(struct conf, on), 1, "no", "" },
	{ "Every", kvconf_duration, offsetof(struct conf, every_ns), 8, "1s", "" },
	{ "Watts", kvconf_milli, offsetof(struct conf, watts_mw), 8, "0", "" },
	{ "Path", kvconf_path, offsetof(struct conf, path), 8, "", "" },
	{ "Url", kvconf_https, offsetof(struct conf, url), 16, "https://a", "" },
};

static const struct {
	const char *text;
	const char *error; /* after the path; NULL: fine */
} files[] = {
	{ "Nome=x\n", ":1: Nome: unknown key; did you mean Name?" },
	{ "\n# c\nOn=perhaps\n", ":3: On: 'perhaps' is not yes or no" },
	{ "Name\n", ":1: no '='" },
	{ "Path=x\n", ":1: Path: 'x' is not an absolute path" },
	{ "Path=/1234567\n", ":1: Path: longer than 7 bytes" },
	{ "Url=\n", ":1: Url: does not begin with https://" },
	{ "Url=http://a\n", ":1: Url: does not begin with https://" },
	{ "Url=https://\n", ":1: Url: has no host" },
	{ "Url=https://a@b\n", ":1: Url: is not https://HOST or https://HOST:PORT" },
	{ "Url=https://a/b\n", ":1: Url: is not https://HOST or https://HOST:PORT" },
	{ "Url=https://a:1/?b\n", ":1: Url: is not https://HOST or https://HOST:PORT" },
	{ "Name=12345678\n", ":1: Name: longer than 7 bytes" },
	{ "Name=\"x\n", ":1: Name: closing quote missing" },
	{ "On=yes\nON=no\n", ":2: On: already set in line 1" },
	{ "Every=5 parsecs", ":1: Every: '5 parsecs' is not a duration (250ms, 1s, 5m, 2h, 1d)" },
	{ "Watts=99999999999999999999", ":1: Watts: '99999999999999999999' is too large" },
	{ "\xef\xbb\xbf# of Windows\nNome=x\n", ":2: Nome: unknown key; did you mean Name?" },
	{ "\xef\xbb\xbfName=x\n", NULL },
	{ "", NULL },
	{ "  name = \"a # b\"  # comment\nEvery=250ms\r\nPath=/x\nUrl=HTTPS://[::1]/\nWatts=12.5", NULL },
};

struct bad {
	unsigned int n;
	unsigned int line[4];
	char text[4][256];
};

static void note_bad(void *arg, unsigned int line, const char *text)
{
	struct bad *bad = arg;

	if (bad->n < ARRAY_SIZE(bad->line)) {
		bad->line[bad->n] = line;
		snprintf(bad->text[bad->n], sizeof(bad->text[0]), "%s", text);
	}
	bad->n++;
}

/* Every wrong line is reported, and the others take effect. */
static void test_all(const char *path)
{
	static const char text[] = "Nome=x\nName=\"ab\"\nOn\nEvery=soon\nWatts=2\nWATTS=3\nPath=/x\n";
	static const char *const want[] = { ":1: Nome: unknown key; did you mean Name?", ":3: no '='",
					    ":4: Every: 'soon' is not a duration (250ms, 1s, 5m, 2h, 1d)",
					    ":6: Watts: already set in line 5" };
	static const unsigned int line[] = { 1, 3, 4, 6 };
	struct errmsg err = { 0 };
	struct bad bad = { 0 };
	struct conf c = { 0 };
	size_t i;

	is_int(kvconf_read_all("/nowhere", keys, ARRAY_SIZE(keys), &c, note_bad, &bad, &err), -ENOENT,
	       "all: no file");
	if (fileio_write_atomic(path, text, strlen(text), 0600, &err))
		return;
	kvconf_defaults(keys, ARRAY_SIZE(keys), &c, &err);
	is_int(kvconf_read_all(path, keys, ARRAY_SIZE(keys), &c, note_bad, &bad, &err), 0,
	       "all: is read to its end");
	is_u64(bad.n, ARRAY_SIZE(want), "  with all that is wrong");
	for (i = 0; i < ARRAY_SIZE(want) && i < bad.n; i++) {
		is_u64(bad.line[i], line[i], "  in which line");
		is_str(bad.text[i] + strlen(path), want[i], "  and why");
	}
	is_str(c.name, "ab", "  a right line takes effect");
	is_str(c.path, "/x", "  also below it");
	is_u64(c.every_ns, 1000000000, "  and what is wrong has its default");
	is_u64(c.watts_mw, 2000, "  of two lines of a key the first counts");
}

int main(void)
{
	char dir[] = "/tmp/test_kvconf.XXXXXX";
	char path[64];
	struct errmsg err;
	struct conf c;
	size_t i;
	int rc;

	if (!mkdtemp(dir))
		return 99;
	snprintf(path, sizeof(path), "%s/f.conf", dir);
	rc = kvconf_read(path, keys, ARRAY_SIZE(keys), &c, &err);
	is_int(rc, -ENOENT, "no file is -ENOENT");
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		memset(&c, 0, sizeof(c));
		memset(&err, 0, sizeof(err));
		if (fileio_write_atomic(path, files[i].text, strlen(files[i].text), 0600, &err))
			return 99;
		kvconf_defaults(keys, ARRAY_SIZE(keys), &c, &err);
		rc = kvconf_read(path, keys, ARRAY_SIZE(keys), &c, &err);
		is_int(rc, files[i].error ? -EINVAL : 0, "return code");
		if (files[i].error)
			is_str(err.text + (rc ? strlen(path) : 0), files[i].error, "message");
	}
	is_str(c.name, "a # b", "quoted value");
	is_u64(c.every_ns, 250000000, "duration before a carriage return");
	is_u64(c.watts_mw, 12500, "decimal at the end without newline");
	is_str(c.path, "/x", "an absolute path");
	is_str(c.url, "HTTPS://[::1]", "an address, without the slash at its end");
	ok(fileio_write_atomic(path, "a\0b", 3, 0600, &err) == 0 &&
		   kvconf_read(path, keys, ARRAY_SIZE(keys), &c, &err) == -EINVAL,
	   "NUL byte");
	test_all(path);
	unlink(path);
	rmdir(dir);
	return done_testing();
}
