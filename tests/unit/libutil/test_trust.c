/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which files a daemon trusts: owners and modes, of a file by itself and through each reader of
 * configuration, emission factors and secrets.
 */
#include "src/libutil/trust.h"

#include <errno.h>

#include "scratch.h"
#include "src/libemission/emission.h"
#include "src/libemission/factor_series.h"
#include "src/libutil/kvconf.h"
#include "src/libutil/util.h"
#include "tap.h"

#define STRANGER 12345

static char dir[] = SCRATCH_TEMPLATE;
static char folder[PATH_MAX];
static char path[PATH_MAX];
static struct errmsg err;

/* What trust_is_ours() says of a file of UID with MODE in a folder of FOLDER_UID. */
static int ours(uid_t folder_uid, mode_t folder_mode, uid_t uid, mode_t mode)
{
	struct stat st;

	err.text[0] = '\0';
	if (chown(folder, folder_uid, 0) < 0 || chmod(folder, folder_mode) < 0 || chown(path, uid, 0) < 0 ||
	    chmod(path, mode) < 0 || stat(path, &st) < 0)
		return -errno;
	return trust_is_ours(path, &st, &err);
}

static void test_ours(void)
{
	static const struct {
		const char *what;
		uid_t folder_uid;
		mode_t folder_mode;
		uid_t uid;
		mode_t mode;
		int rc;
		const char *err;
	} t[] = {
		{ "root's", 0, 0755, 0, 0644, 0, NULL },
		{ "root's, in a stranger's folder", STRANGER, 0755, 0, 0644, 0, NULL },
		{ "the folder's owner's", STRANGER, 0755, STRANGER, 0644, 0, NULL },
		{ "a stranger's", 0, 0755, STRANGER, 0644, -EPERM, "belongs to user 12345" },
		{ "a stranger's, as in /tmp", 0, 01777, STRANGER, 0600, -EPERM, "chown root" },
		{ "the group may write", 0, 0755, 0, 0664, -EPERM, "chmod go-w" },
		{ "all may write", 0, 0755, 0, 0646, -EPERM, "chmod go-w" },
		{ "all may write the folder owner's", STRANGER, 0755, STRANGER, 0666, -EPERM, "chmod go-w" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		is_int(ours(t[i].folder_uid, t[i].folder_mode, t[i].uid, t[i].mode), t[i].rc, t[i].what);
		if (t[i].err)
			ok(strstr(err.text, t[i].err) && strstr(err.text, path), "%s", err.text);
	}
	(void)ours(0, 0755, 0, 0644);
}

/* KafkaConf, MariadbDefaultsFile and the files of headers: root uses those of others as others only. */
static void test_own(void)
{
	struct stat st;

	(void)ours(STRANGER, 0755, STRANGER, 0600);
	is_int(stat(path, &st), 0, "a file of SlurmUser in its own folder");
	is_int(trust_is_own(path, &st, &err), -EPERM, "  root does not read it");
	ok(strstr(err.text, "belongs to user 12345, so root does not read it") != NULL, "  %s", err.text);
	is_int(trust_is_own_secret(path, &st, &err), -EPERM, "  nor a secret from it");
	(void)ours(0, 0755, 0, 0640);
	(void)stat(path, &st);
	is_int(trust_is_own(path, &st, &err), 0, "root's own is read");
	is_int(trust_is_own_secret(path, &st, &err), -EACCES, "  but for a secret that the group reads");
	(void)ours(0, 0755, 0, 0644);
}

/* ceems.conf of SlurmUser, which slurmd and slurmctld read. */
static void test_ours_for(void)
{
	struct stat st;

	(void)ours(0, 0755, STRANGER, 0644);
	is_int(stat(path, &st), 0, "a file of SlurmUser in a folder of root");
	is_int(trust_is_ours_for(STRANGER, path, &st, &err), 0, "  slurmctld takes it");
	is_int(trust_is_ours_for(0, path, &st, &err), -EPERM, "  slurmd does not");
	ok(strstr(err.text, "chown root") != NULL, "  what to type: %s", err.text);
	(void)ours(STRANGER, 0755, STRANGER, 0644);
	is_int(trust_is_ours_for(0, path, &st, &err), 0, "  in SlurmUser's own folder both do");
	(void)ours(0, 0755, 0, 0644);
}

static void test_secret(void)
{
	struct stat st = { .st_mode = S_IFREG | 0600, .st_uid = STRANGER };

	is_int(trust_is_secret("f", &st, &err), 0, "0600: nobody else reads the secret");
	is_int(trust_is_private("f", &st, &err), -EACCES, "but another user's file is not private");
	st.st_uid = 0;
	is_int(trust_is_private("f", &st, &err), 0, "root's file is");
	st.st_mode = S_IFREG | 0640;
	is_int(trust_is_secret("f", &st, &err), -EACCES, "0640: the group reads the secret");
	is_str(err.text, "f: others may use it; chmod 0600", "what to type");
}

/* Writes TEXT to a file, which READER accepts if the file can be trusted. */
static void test_reader(const char *what, const char *text, int (*reader)(void))
{
	ok(scratch_write(path, text, strlen(text)), "%s", what);
	(void)ours(0, 0755, 0, 0644);
	is_int(reader(), 0, "root's file of mode 0644 is read");
	(void)ours(0, 0755, 0, 0666);
	is_int(reader(), -EPERM, "one of mode 0666 is refused");
	(void)ours(0, 0755, STRANGER, 0644);
	is_int(reader(), -EPERM, "another user's is refused");
	ok(strstr(err.text, path) != NULL, "%s", err.text);
}

static int read_conf(void)
{
	static const struct kvconf_key keys[] = {
		{ .name = "Key", .parse = kvconf_u64, .size = sizeof(uint64_t) },
	};
	uint64_t value;

	return kvconf_read(path, keys, ARRAY_SIZE(keys), &value, &err);
}

static int read_table(void)
{
	struct emission_factor f;

	return emission_lookup(path, "FR", &f, &err);
}

static int read_series(void)
{
	struct factor_series s = { 0 };
	int rc = factor_series_read(path, &s, &err);

	factor_series_fini(&s);
	return rc;
}

int main(void)
{
	if (geteuid() != 0)
		return skip_all("only root can give a file away");
	if (!mkdtemp(dir))
		return 1;
	(void)snprintf(folder, sizeof(folder), "%s/folder", dir);
	(void)snprintf(path, sizeof(path), "%s/file", folder);
	if (mkdir(folder, 0755) < 0 || !scratch_write(path, "", 0))
		return 1;
	test_ours();
	test_ours_for();
	test_own();
	test_secret();
	test_reader("configuration", "Key=5\n", read_conf);
	test_reader("emission factors", "iso2,iso3,year,gco2e_per_kwh,country\nFR,FRA,2024,44.2,France\n",
		    read_table);
	test_reader("factors over time", FACTOR_SERIES_HEAD "\n", read_series);
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
