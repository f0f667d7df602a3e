/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source redfish against a BMC of our own, bmc.py, over real HTTPS. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "scratch.h"
#include "src/libcore/settings.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/helpers/redfish/redfish_client.h"
#include "src/helpers/redfish/redfish_json.h"
#include "tap.h"

#define SECRET "hunter2"
#define INTERVAL_NS (50 * NSEC_PER_MSEC)
#define PATIENCE_NS (60 * NSEC_PER_SEC)

extern char **environ;

static char dir[] = SCRATCH_TEMPLATE;
static const struct source_ops *ops;
static unsigned int port;

/* --- secrets in messages ------------------------------------------------------------------ */

static atomic_bool is_secret_out;

static void look(const char *text)
{
	if (strstr(text, SECRET) || strstr(text, "token-")) {
		diag("a secret: %s", text);
		atomic_store(&is_secret_out, true);
	}
}

static void sink(enum logger_level level, const char *line)
{
	(void)level;
	look(line);
}

/* --- the configuration -------------------------------------------------------------------- */

#define USER "User=ceems\nPassword=\"" SECRET "\\ #x\"\n"

static const struct {
	const char *name;
	const char *text;
	mode_t mode;
	int rc;
	const char *why;
} bad_confs[] = {
	{ "empty", "", 0600, -EINVAL, "URL is missing" },
	{ "no password", "URL=https://bmc\nUser=x\n", 0600, -EINVAL, "Password is missing" },
	{ "others may read it", "URL=https://bmc\n" USER, 0604, -EACCES, "chmod 0600" },
	{ "the group may read it", "URL=https://bmc\n" USER, 0640, -EACCES, "chmod 0600" },
	{ "in the clear", "URL=http://bmc\n" USER, 0600, -EINVAL, ":1: URL: does not begin" },
	{ "no host", "URL=https://\n" USER, 0600, -EINVAL, ":1: URL: has no host" },
	{ "a path", "URL=https://bmc/redfish\n" USER, 0600, -EINVAL, ":1: URL: is not" },
	{ "a user in it", "URL=https://a:" SECRET "@bmc\n", 0600, -EINVAL, ":1: URL: is not" },
	{ "another scheme", "URL=file:///etc/passwd\n" USER, 0600, -EINVAL, ":1: URL:" },
	{ "PowerControl", "PowerControl=0,x\n", 0600, -EINVAL,
	  ":1: PowerControl: 'x' is not a number below 16" },
	{ "no PowerControl", "PowerControl=\n", 0600, -EINVAL, ":1: PowerControl: is empty" },
	{ "auth", "Auth=digest\n", 0600, -EINVAL, ":1: Auth: 'digest' is not" },
	{ "a short fingerprint", "Fingerprint=sha256//abc\n", 0600, -EINVAL,
	  ":1: Fingerprint: 'sha256//abc' is not sha256// and 44 characters" },
	{ "a fingerprint that is a file", "Fingerprint=/etc/key.pem\n", 0600, -EINVAL, ":1: Fingerprint:" },
	{ "PowerAt without quotes", "PowerAt=/redfish/v1/Chassis/1/Sensors/x#/Reading\n", 0600, -EINVAL,
	  ":1: PowerAt: '/redfish/v1/Chassis/1/Sensors/x' is not \"/redfish/PATH#/NAME\", with the quotes" },
	{ "PowerAt elsewhere", "PowerAt=\"/etc#/x\"\n", 0600, -EINVAL, ":1: PowerAt: '/etc' is not below" },
	{ "relative CAFile", "CAFile=x.pem\n", 0600, -EINVAL, ":1: CAFile: 'x.pem' is not" },
	{ "no '='", "Password " SECRET "\n", 0600, -EINVAL, ":1: no '='" },
	{ "unknown key", "Verify=no\n", 0600, -EINVAL, ":1: Verify: unknown key" },
};

static const char *write_conf(const char *text, mode_t mode)
{
	const char *path = scratch_path(dir, "redfish.conf");

	if (!scratch_write(path, text, strlen(text)) || chmod(path, mode) < 0)
		diag("%s: %s", path, strerror(errno));
	return path;
}

static void test_conf(void)
{
	struct redfish_conf c;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad_confs); i++) {
		struct errmsg err = { 0 };
		const char *path = write_conf(bad_confs[i].text, bad_confs[i].mode);

		is_int(redfish_conf_read(path, &c, &err), bad_confs[i].rc, bad_confs[i].name);
		if (!ok(!strncmp(err.text, path, strlen(path)) && strstr(err.text, bad_confs[i].why),
			"  file and reason are named"))
			diag("%s", err.text);
		look(err.text);
	}
	is_int(redfish_conf_read("/nowhere", &c, NULL), -ENOENT, "no file");
	is_int(redfish_conf_read(write_conf("URL=HTTPS://[::1]:8443/\nauth=BASIC\n" USER, 0600), &c, NULL), 0,
	       "a good one");
	is_str(c.url, "HTTPS://[::1]:8443", "  its address, without the slash");
	is_str(c.password, SECRET "\\ #x", "  its password, of any characters");
	ok(c.basic_auth && !c.chassis[0] && !c.ca_file[0], "  the rest");
}

/* --- answers ------------------------------------------------------------------------------ */

static const struct {
	const char *json;
	enum redfish_resource resource;
	int rc;
	unsigned int has;
	uint64_t value; /* of the kind in HAS that is first */
} answers[] = {
	{ "", REDFISH_POWER, -EINVAL, 0, 0 },
	{ "<html></html>", REDFISH_POWER, -EINVAL, 0, 0 },
	{ "{\"PowerControl\":[{\"PowerConsumedWatts\":4", REDFISH_POWER, -EINVAL, 0, 0 },
	{ "[1,2]", REDFISH_POWER, -EINVAL, 0, 0 },
	{ "{}", REDFISH_POWER, -ENODATA, 0, 0 },
	{ "{\"PowerControl\":[]}", REDFISH_POWER, -ENODATA, 0, 0 },
	{ "{\"PowerControl\":{}}", REDFISH_POWER, -ENODATA, 0, 0 },
	{ "{\"PowerControl\":[{\"PowerConsumedWatts\":null}]}", REDFISH_POWER, -ENODATA, 0, 0 },
	{ "{\"PowerControl\":[{\"PowerConsumedWatts\":0}]}", REDFISH_POWER, -ENODATA, 0, 0 },
	{ "{\"PowerControl\":[{\"PowerConsumedWatts\":-5}]}", REDFISH_POWER, -ERANGE, 0, 0 },
	{ "{\"PowerControl\":[{\"PowerConsumedWatts\":\"400 W\"}]}", REDFISH_POWER, -ERANGE, 0, 0 },
	{ "{\"PowerControl\":[{\"PowerConsumedWatts\":\"\"}]}", REDFISH_POWER, -ERANGE, 0, 0 },
	{ "{\"PowerControl\":[{\"PowerConsumedWatts\":\"-400\"}]}", REDFISH_POWER, -ERANGE, 0, 0 },
	{ "{\"PowerControl\":[{\"PowerConsumedWatts\":\"4.0.0\"}]}", REDFISH_POWER, -ERANGE, 0, 0 },
	{ "{\"PowerControl\":[{\"PowerConsumedWatts\":\"25001\"}]}", REDFISH_POWER, -ERANGE, 0, 0 },
	{ "{\"PowerControl\":[{\"PowerConsumedWatts\":\"400\"}]}", REDFISH_POWER, 0, 1u << REDFISH_CONSUMED,
	  400000 },
	{ "{\"PowerControl\":{\"PowerConsumedWatts\":400}}", REDFISH_POWER, 0, 1u << REDFISH_CONSUMED,
	  400000 },
	{ "{\"PowerControl\":[null,{\"PowerConsumedWatts\":400}]}", REDFISH_POWER, 0, 1u << REDFISH_CONSUMED,
	  400000 },
	/* the first of several is missing: another may be a part */
	{ "{\"PowerControl\":[null,{\"PowerConsumedWatts\":60},{\"PowerConsumedWatts\":7}]}", REDFISH_POWER,
	  -ENODATA, 0, 0 },
	{ "{\"PowerControl\":[{\"Name\":\"Limit\"},{\"PowerConsumedWatts\":60}]}", REDFISH_POWER, -ENODATA, 0,
	  0 },
	/* a member that is there twice */
	{ "{\"@odata.type\":\"a\",\"@odata.type\":\"b\",\"@odata.type\":\"c\",\"PowerControl\":[{"
	  "\"PowerConsumedWatts\":400}]}",
	  REDFISH_POWER, 0, 1u << REDFISH_CONSUMED, 400000 },
	{ "{\"PowerControl\":[{\"PowerConsumedWatts\":400,\"PowerConsumedWatts\":40}]}", REDFISH_POWER,
	  -EINVAL, 0, 0 },
	/* bytes that are not UTF-8, in a name */
	{ "{\"PowerControl\":[{\"Name\":\"\xe9\xff\",\"PowerConsumedWatts\":400}]}", REDFISH_POWER, 0,
	  1u << REDFISH_CONSUMED, 400000 },
	{ "{\"error\":{}}\n{\"PowerControl\":[{\"PowerConsumedWatts\":400}]}", REDFISH_POWER, -EINVAL, 0, 0 },
	{ "{\"PowerControl\":[{\"PowerConsumedWatts\":true}]}", REDFISH_POWER, -ERANGE, 0, 0 },
	{ "{\"PowerControl\":[{\"PowerConsumedWatts\":25001}]}", REDFISH_POWER, -ERANGE, 0, 0 },
	{ "{\"PowerControl\":[{\"PowerConsumedWatts\":1e300}]}", REDFISH_POWER, -ERANGE, 0, 0 },
	{ "{\"PowerControl\":[{\"PowerConsumedWatts\":1e999}]}", REDFISH_POWER, -EINVAL, 0, 0 },
	{ "{\"PowerControl\":[{\"PowerConsumedWatts\":NaN}]}", REDFISH_POWER, -EINVAL, 0, 0 },
	{ "{\"PowerWatts\":{\"Reading\":\"NaN\"}}", REDFISH_ENVIRONMENT, -ERANGE, 0, 0 },
	{ "{\"PowerWatts\":400}", REDFISH_ENVIRONMENT, -ENODATA, 0, 0 },
	{ "{\"EnergyJoules\":{\"Reading\":-1}}", REDFISH_ENVIRONMENT, -ERANGE, 0, 0 },
	/* the bad value is left out, the other is used */
	{ "{\"EnergyJoules\":{\"Reading\":-1},\"PowerWatts\":{\"Reading\":400}}", REDFISH_ENVIRONMENT, 0,
	  1u << REDFISH_WATTS, 400000 },
	{ "{\"EnergyJoules\":{\"Reading\":1e14}}", REDFISH_ENVIRONMENT, -ERANGE, 0, 0 },
	{ "{\"EnergykWh\":{\"Reading\":3e6}}", REDFISH_ENVIRONMENT, -ERANGE, 0, 0 },
	{ "{\"EnergyJoules\":{\"Reading\":0},\"EnergykWh\":{\"Reading\":0}}", REDFISH_ENVIRONMENT, -ENODATA,
	  0, 0 },
	{ "{\"PowerControl\":[{\"PowerConsumedWatts\":400.25},{\"PowerConsumedWatts\":9}]}", REDFISH_POWER, 0,
	  1u << REDFISH_CONSUMED, 400250 },
	{ "{\"PowerControl\":[{\"PowerMetrics\":{\"AverageConsumedWatts\":399}}]}", REDFISH_POWER, 0,
	  1u << REDFISH_AVERAGE, 399000 },
	{ "{\"PowerWatts\":{\"Reading\":412}}", REDFISH_ENVIRONMENT, 0, 1u << REDFISH_WATTS, 412000 },
	{ "{\"EnergyJoules\":{\"Reading\":1000.5},\"PowerWatts\":{\"Reading\":null}}", REDFISH_ENVIRONMENT, 0,
	  1u << REDFISH_JOULES, 1000500000 },
	{ "{\"EnergykWh\":{\"Reading\":2.5},\"PowerWatts\":{\"Reading\":400}}", REDFISH_ENVIRONMENT, 0,
	  1u << REDFISH_WATTS | 1u << REDFISH_KWH, 400000 },
	{ "{\"EnergykWh\":{\"Reading\":2}}", REDFISH_ENVIRONMENT, 0, 1u << REDFISH_KWH,
	  UINT64_C(7200000000000) },
};

static void test_answers(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		struct redfish_values v = { 0 };
		unsigned int kind = 0;

		is_int(redfish_json_values(answers[i].json, strlen(answers[i].json), answers[i].resource, 1,
					   &v, NULL),
		       answers[i].rc, answers[i].json);
		while (kind < REDFISH_KINDS - 1 && !(v.has & 1u << kind))
			kind++;
		ok(v.has == answers[i].has && (!v.has || v.value[kind] == answers[i].value),
		   "  what it says");
	}
}

static const struct {
	const char *json;
	int rc;
} links[] = {
	{ "{}", -ENOENT },
	{ "{\"Chassis\":null}", -ENOENT },
	{ "{\"Chassis\":{\"@odata.id\":5}}", -ENOENT },
	{ "{\"Chassis\":{\"@odata.id\":\"https://evil/redfish/v1\"}}", -EINVAL },
	{ "{\"Chassis\":{\"@odata.id\":\"//evil/redfish/v1\"}}", -EINVAL },
	{ "{\"Chassis\":{\"@odata.id\":\"@evil/\"}}", -EINVAL },
	{ "{\"Chassis\":{\"@odata.id\":\"/redfish/v1/\\r\\nX: y\"}}", -EINVAL },
	{ "{\"Chassis\":{\"@odata.id\":\"/redfish/../admin\"}}", -EINVAL },
	{ "{\"Chassis\":{\"@odata.id\":\"/redfish/v1/Drive Bay \xc3\xa9\"}}", 0 },
};

static void test_links(void)
{
	char path[REDFISH_PATH_MAX] = "";
	size_t i;

	for (i = 0; i < ARRAY_SIZE(links); i++)
		is_int(redfish_json_link(links[i].json, strlen(links[i].json), "Chassis", path, sizeof(path),
					 NULL),
		       links[i].rc, links[i].json);
	is_str(path, "/redfish/v1/Drive%20Bay%20%C3%A9", "  the link, as an address has it");
}

/* --- the BMC ------------------------------------------------------------------------------ */

static pid_t bmc;
static int bmc_stdin = -1;

/* NAME.pem and NAME's key for SAN; the key of all is key.pem. */
static bool make_certificate(const char *name, const char *key, const char *san)
{
	char command[PATH_MAX];

	(void)snprintf(command, sizeof(command),
		       "cd %s && openssl req -x509 -newkey ec -pkeyopt "
		       "ec_paramgen_curve:prime256v1 -nodes -keyout %s -out %s -days 2 "
		       "-subj /CN=bmc -addext subjectAltName=%s 2>/dev/null",
		       dir, key, name, san);
	return system(command) == 0;
}

/* Starts it with DIR/cert.pem; its port. */
static unsigned int start_bmc(void)
{
	char *argv[] = { (char *)BMC, dir, NULL };
	posix_spawn_file_actions_t files;
	unsigned int n = 0;
	int in[2], out[2];
	FILE *f;

	if (pipe(in) < 0 || pipe(out) < 0)
		return 0;
	(void)fcntl(in[1], F_SETFD, FD_CLOEXEC); /* or it holds its own input open */
	(void)fcntl(out[0], F_SETFD, FD_CLOEXEC);
	(void)posix_spawn_file_actions_init(&files);
	(void)posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
	(void)posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
	if (posix_spawn(&bmc, BMC, &files, NULL, argv, environ))
		bmc = 0;
	(void)posix_spawn_file_actions_destroy(&files);
	(void)close(in[0]);
	(void)close(out[1]);
	bmc_stdin = in[1];
	f = fdopen(out[0], "r");
	if (!f || fscanf(f, "%u", &n) != 1)
		n = 0;
	if (f)
		(void)fclose(f);
	return n;
}

static void stop_bmc(void)
{
	(void)close(bmc_stdin);
	if (bmc)
		(void)waitpid(bmc, NULL, 0);
	bmc = 0;
}

/* Replaced in one step: the BMC reads it at any time. */
static void set(const char *name, const char *text)
{
	if (fileio_write_atomic(scratch_path(dir, name), text, strlen(text), 0600, NULL) < 0)
		diag("%s: %s", name, strerror(errno));
}

/* How many requests of the log begin with WHAT. */
static size_t requests(const char *what)
{
	char *text = scratch_read(scratch_path(dir, "log"), NULL);
	size_t n = 0;
	char *line;

	for (line = text; line && *line; line += strcspn(line, "\n"), line += *line == '\n')
		n += !strncmp(line, what, strlen(what));
	free(text);
	return n;
}

/* --- one source --------------------------------------------------------------------------- */

struct run {
	struct source *source;
	struct source_state state;
	uint64_t energy_uj;
	uint64_t from_ns, until_ns; /* of the first reading and the last */
	uint64_t rejected, late;
	uint64_t bases;
	uint8_t quality;
	uint64_t opened_ns;
};

/* CONF behind the address and the user. */
static int run_open(struct run *r, const char *mode, const char *conf, struct errmsg *err)
{
	static struct settings settings;
	struct source_env env = { .settings = &settings,
				  .slow_interval_ns = INTERVAL_NS,
				  .helper_dir = HELPER_DIR,
				  .sys_root = dir };
	char text[PATH_MAX + 256];
	int rc;

	memset(r, 0, sizeof(*r));
	r->opened_ns = clock_mono_ns();
	set("mode", mode);
	(void)unlink(scratch_path(dir, "log"));
	(void)snprintf(text, sizeof(text), "URL=https://127.0.0.1:%u\n" USER "%s\n", port, conf);
	(void)snprintf(settings.redfish_conf, sizeof(settings.redfish_conf), "%s", write_conf(text, 0600));
	rc = ops->open(&env, &r->source, err);
	look(err->text);
	return rc;
}

static int run_read(struct run *r)
{
	struct reading reading = { 0 };
	int rc = ops->read(r->source, INTERVAL_NS, 0, &r->state, &reading);
	const struct part *p = &reading.part[0];

	if (rc < 0)
		return rc;
	if (reading.nparts != 1 || p->domain != DOMAIN_OTHER || p->scope == SCOPE_UNIT)
		return -EPROTO;
	r->energy_uj += p->energy_uj;
	r->quality = p->quality;
	r->rejected += reading.rejected;
	r->late += reading.late;
	r->bases += p->is_new_base;
	if (!r->from_ns) { /* it may have several samples: what was used up to it is left out */
		r->from_ns = p->until_ns;
		r->energy_uj = 0;
	}
	r->until_ns = p->until_ns;
	return 0;
}

static void nap(void)
{
	struct timespec ts = clock_ns_to_timespec(10 * NSEC_PER_MSEC);

	(void)nanosleep(&ts, NULL);
}

/* Reads until *N is MIN or more; each reading fails or succeeds. */
static bool run_until(struct run *r, const uint64_t *n, uint64_t min)
{
	uint64_t deadline = clock_mono_ns() + PATIENCE_NS;

	while (*n < min && clock_mono_ns() < deadline) {
		(void)run_read(r);
		nap();
	}
	return *n >= min;
}

static bool wait_requests(const char *what, size_t n)
{
	uint64_t deadline = clock_mono_ns() + PATIENCE_NS;

	while (requests(what) < n && clock_mono_ns() < deadline)
		nap();
	return requests(what) >= n;
}

static void run_close(struct run *r)
{
	uint64_t start = clock_mono_ns();

	ops->close(r->source);
	r->source = NULL;
	/* it is to be within one second; transfers may take ten */
	ok(clock_mono_ns() - start < 4 * NSEC_PER_SEC, "  close() does not wait for the BMC");
}

static char trust[PATH_MAX + 16]; /* "CAFile=..." of the BMC's own certificate */

/* It is a source from the start, and says TEXT of why it cannot be read. */
static bool run_says(struct run *r, const char *mode, const char *conf, const char *text)
{
	uint64_t deadline = clock_mono_ns() + PATIENCE_NS;
	struct errmsg err = { 0 };

	if (!is_int(run_open(r, mode, conf, &err), 0, mode)) {
		diag("%s", err.text);
		return false;
	}
	while (!strstr(ops->why(r->source), text) && clock_mono_ns() < deadline) {
		(void)run_read(r);
		nap();
	}
	look(ops->why(r->source));
	if (ok(strstr(ops->why(r->source), text) != NULL, "  says: %s", text))
		return true;
	diag("%s", ops->why(r->source));
	return false;
}

/* --- what goes well ----------------------------------------------------------------------- */

static void test_power(const char *mode, const char *values, const char *conf, const char *property)
{
	struct errmsg err = { 0 };
	char text[400];
	struct run r;

	set("values.json", values);
	if (!is_int(run_open(&r, mode, conf, &err), 0, mode[0] ? mode : "power")) {
		diag("%s", err.text);
		return;
	}
	ok(run_until(&r, &r.energy_uj, 1), "  energy comes");
	ok(r.quality == QUALITY_INTEGRATED, "  integrated");
	/* 400 W, to the microjoule, unless this machine was too slow for the interval */
	if (!r.late && !r.rejected)
		is_u64(r.energy_uj, (r.until_ns - r.from_ns) * 4 / 10, "  400 W");
	ops->describe(r.source, text, sizeof(text));
	look(text);
	ok(strstr(text, property) && strstr(text, "integrated"), "  described: %s", text);
	is_u64(ops->lag(r.source), INTERVAL_NS, "  up to an interval old");
	run_close(&r);
}

#define CONSUMED "PowerConsumedWatts of chassis Node PowerControl[0], "

static void test_sessions(void)
{
	char conf[PATH_MAX + 64];
	struct run r;

	test_power("", "{\"PowerConsumedWatts\":400}", trust, CONSUMED);
	is_u64(requests("POST"), 1, "one session for all");
	test_power("environment", "{\"PowerWatts\":{\"Reading\":400}}", trust,
		   "PowerWatts of chassis Node, ");
	is_u64(requests("GET /redfish/v1/Chassis/Node/Power"), 1, "Power is read once, for the list");
	(void)snprintf(conf, sizeof(conf), "%s\nAuth=basic", trust);
	test_power("basic", "{\"PowerConsumedWatts\":400}", conf, CONSUMED);
	is_u64(requests("POST"), 0, "basic authentication needs no session");
	(void)snprintf(conf, sizeof(conf), "%s\nChassis=Node", trust);
	test_power("", "{\"PowerConsumedWatts\":400}", conf, CONSUMED);
	is_u64(requests("GET /redfish/v1/Chassis/Riser"), 0, "another chassis is not asked");
	(void)snprintf(conf, sizeof(conf), "%s\nChassis=Riser", trust);
	if (run_says(&r, "", conf, "no chassis Riser shows power or energy"))
		run_close(&r);
}

/* Where the service root says, and where most have them if it does not. */
static void test_links_sessions(void)
{
	struct run r;

	test_power("moved", "{\"PowerConsumedWatts\":400}", trust, CONSUMED);
	is_u64(requests("POST /redfish/v1/Managers/BMC/Sessions"), 1, "a session where Links.Sessions says");
	ok(wait_requests("DELETE /redfish/v1/Managers/BMC/Sessions/", 1), "  ended there");
	test_power("unlinked", "{\"PowerConsumedWatts\":400}", trust, CONSUMED);
	test_power("closed", "{\"PowerConsumedWatts\":400}", trust, CONSUMED);
	if (run_says(&r, "sessionless", trust, "Sessions: opens no session (HTTP 404): try Auth=basic"))
		run_close(&r);
	if (run_says(&r, "limit", trust, "has no room for a session (HTTP 503)"))
		run_close(&r);
	if (run_says(&r, "forbid", trust, "user ceems may not read it (HTTP 403)"))
		run_close(&r);
}

/* Redirects to the same host are followed. The password is sent to no other host. */
static void test_redirects(void)
{
	struct run r;

	test_power("slash", "{\"PowerConsumedWatts\":400}", trust, CONSUMED);
	is_u64(requests("POST /redfish/v1/SessionService/Sessions/"), 1,
	       "a redirect within the host is followed");
	if (run_says(&r, "circle", trust,
		     "HTTP 301 is not followed: it leads to another host or in a circle"))
		run_close(&r);
	if (run_says(&r, "redirect", trust,
		     "HTTP 302 is not followed: it leads to another host or in a circle"))
		run_close(&r);
}

/* Connections that a process started now would have as well. */
static size_t inherited_connections(void)
{
	struct dirent *e;
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	while (d && (e = readdir(d))) {
		struct sockaddr_storage a;
		socklen_t len = sizeof(a);
		int fd = atoi(e->d_name);

		n += e->d_name[0] != '.' && getsockname(fd, (struct sockaddr *)&a, &len) == 0 &&
		     a.ss_family == AF_INET && !(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	}
	if (d)
		(void)closedir(d);
	return n;
}

static void test_expiry(void)
{
	struct errmsg err = { 0 };
	struct run r;

	set("values.json", "{\"PowerConsumedWatts\":400}");
	is_int(run_open(&r, "", trust, &err), 0, "a session");
	ok(run_until(&r, &r.energy_uj, 1), "  at work");
	is_u64(inherited_connections(), 0, "  whose connection is not a job's");
	set("mode", "expire");
	ok(wait_requests("POST", 2), "  is renewed when it expired");
	r.energy_uj = 0;
	ok(run_until(&r, &r.energy_uj, 1), "  and the energy goes on");
	is_u64(r.rejected, 0, "  no reading was rejected");
	run_close(&r);
}

static void test_counters(void)
{
	struct errmsg err = { 0 };
	char text[400];
	struct run r;

	set("values.json", "{\"EnergyJoules\":{\"Reading\":1000.5},\"PowerWatts\":{\"Reading\":9}}");
	is_int(run_open(&r, "environment", trust, &err), 0, "a counter of joules");
	ok(run_until(&r, &r.until_ns, 1), "  answers");
	is_u64(r.energy_uj, 0, "  its first value is the base");
	set("values.json", "{\"EnergyJoules\":{\"Reading\":1300.75}}");
	ok(run_until(&r, &r.energy_uj, 1), "  goes on");
	is_u64(r.energy_uj, 300250000, "  by what it says");
	set("values.json", "{\"EnergyJoules\":{\"Reading\":900000000}}");
	ok(run_until(&r, &r.rejected, 1), "  an impossible step is rejected");
	is_u64(r.energy_uj, 300250000, "  and no energy");
	ops->describe(r.source, text, sizeof(text));
	ok(strstr(text, "EnergyJoules") && strstr(text, ", counter"), "  described");
	run_close(&r);

	set("values.json", "{\"EnergykWh\":{\"Reading\":12.5}}");
	is_int(run_open(&r, "environment", trust, &err), 0, "a counter of kilowatt hours");
	ok(run_until(&r, &r.until_ns, 1), "  answers");
	set("values.json", "{\"EnergykWh\":{\"Reading\":12.501}}");
	ok(run_until(&r, &r.energy_uj, 1), "  goes on");
	is_u64(r.energy_uj, UINT64_C(3600000000), "  by a watt hour");
	is_u64(r.bases, 1, "  after one base reading");
	run_close(&r);
}

/* slurmd starts after it was down for long, and the BMC does not answer yet. */
static void test_late_first(void)
{
	/* as far back as this machine's clock goes */
	const uint64_t away_ns = clock_mono_ns() / 2;
	const uint64_t away_j = 500 * (away_ns / NSEC_PER_SEC);
	struct source_state kept;
	struct errmsg err = { 0 };
	struct reading unused;
	char values[128];
	struct run r;

	set("values.json", "{\"EnergyJoules\":{\"Reading\":1000}}");
	is_int(run_open(&r, "environment", trust, &err), 0, "a counter before a restart");
	ok(run_until(&r, &r.until_ns, 1), "  answers");
	kept = r.state;
	run_close(&r);
	(void)snprintf(values, sizeof(values), "{\"EnergyJoules\":{\"Reading\":%" PRIu64 "}}", 1000 + away_j);
	set("values.json", values);
	is_int(run_open(&r, "error", trust, &err), 0, "after it");
	r.state = kept;
	*source_state_find(&r.state, "redfish:EnergyJoules ns") -= away_ns;
	r.from_ns = 1; /* all counts */
	is_int(ops->read(r.source, away_ns, 0, &r.state, &unused), -EIO, "  it is late");
	set("mode", "environment");
	ok(run_until(&r, &r.energy_uj, 1), "  and comes");
	is_u64(r.energy_uj, away_j * 1000000, "  with the energy of that time");
	run_close(&r);
}

/* --- what goes wrong ---------------------------------------------------------------------- */

static const struct {
	const char *mode;
	const char *raw;
} troubles[] = {
	{ "error", "" },
	{ "html", "" },
	{ "huge", "" },
	{ "redirect", "" },
	{ "elsewhere", "" },
	{ "limit", "" },
	{ "raw", "{\"PowerControl\":[{\"PowerConsumedWatts\":4" },
	{ "raw", "" },
};

/* From the first answer on: nothing is read, until it is over. */
static void test_troubles(void)
{
	size_t i;

	set("values.json", "{\"PowerConsumedWatts\":400}");
	for (i = 0; i < ARRAY_SIZE(troubles); i++) {
		struct errmsg err = { 0 };
		struct run r;

		set("raw", troubles[i].raw);
		is_int(run_open(&r, troubles[i].mode, trust, &err), 0, troubles[i].mode);
		is_int(run_read(&r), -EIO, "  nothing to read");
		/* logged after the BMC looked at its mode */
		(void)wait_requests(strcmp(troubles[i].mode, "limit") ? "GET" : "POST", 1);
		set("mode", "");
		ok(run_until(&r, &r.energy_uj, 1), "  and when it is over, it is found");
		ok(r.rejected > 0, "  the failures are counted");
		run_close(&r);
	}
}

static const char *const absurd[] = { "-5", "null", "\"400 W\"", "1e300", "NaN", "{}", "25001" };

/* In the middle: what is absurd is counted and is no energy. */
static void test_absurd(void)
{
	struct errmsg err = { 0 };
	struct run r;
	size_t i;

	is_int(run_open(&r, "", trust, &err), 0, "absurd values");
	ok(run_until(&r, &r.energy_uj, 1), "  after a good one");
	for (i = 0; i < ARRAY_SIZE(absurd); i++) {
		char raw[128];

		(void)snprintf(raw, sizeof(raw), "{\"PowerControl\":[{\"PowerConsumedWatts\":%s}]}",
			       absurd[i]);
		set("raw", raw);
		set("mode", "raw");
		r.rejected = 0;
		ok(run_until(&r, &r.rejected, 1), "  %s is rejected", absurd[i]);
		set("mode", "");
		r.energy_uj = 0;
		ok(run_until(&r, &r.energy_uj, 1), "  and it goes on");
	}
	ok(r.energy_uj <= (r.until_ns - r.from_ns) * 4 / 10 + 1, "  never above 400 W");
	set("mode", "error");
	r.late = 0;
	ok(run_until(&r, &r.late, 1), "  one that stays away is late");
	run_close(&r);
}

/* The client by itself: its session ends with it, and it does not insist on a password. */
static void test_client(void)
{
	struct redfish_client *c = NULL;
	struct errmsg err = { 0 };
	struct redfish_conf conf;
	const char *text;
	struct run r;
	size_t len;

	(void)signal(SIGPIPE, SIG_IGN); /* which the source's thread blocks */
	if (run_open(&r, "", trust, &err) == 0)
		ops->close(r.source);
	(void)unlink(scratch_path(dir, "log"));
	is_int(redfish_conf_read(scratch_path(dir, "redfish.conf"), &conf, &err), 0, "a client");
	is_int(redfish_client_create(&conf, -1, &c, &err), 0, "  is made");
	is_int(redfish_client_get(c, "/redfish/v1/Nothing", &text, &len, &err), -ENOENT,
	       "  asks for what is not there");
	is_int(redfish_client_get(c, "/redfish/v1/", &text, &len, &err), 0, "  and what is");
	redfish_client_destroy(c);
	ok(wait_requests("DELETE /redfish/v1/SessionService/Sessions/", 1), "  and logs out");
	set("mode", "refuse");
	(void)unlink(scratch_path(dir, "log"));
	is_int(redfish_client_create(&conf, -1, &c, &err), 0, "a client whose login is refused");
	is_int(redfish_client_get(c, "/redfish/v1/", &text, &len, &err), -EACCES, "  gets -EACCES");
	look(err.text);
	is_u64(requests("POST"), 1, "  after one try: more would lock the user out");
	redfish_client_destroy(c);
	redfish_conf_wipe(&conf);
	(void)signal(SIGPIPE, SIG_DFL);
}

/* What `ceems gather` keeps: each answer with its status, whole. */
static void test_all_answers(void)
{
	char command[2 * PATH_MAX], line[4096];
	bool has_root = false, has_power = false;
	struct errmsg err = { 0 };
	struct run r;
	FILE *out;
	int in[2];

	require(pipe(in) == 0);
	(void)fcntl(in[1], F_SETFD, FD_CLOEXEC);
	set("values.json", "{\"PowerConsumedWatts\":400}");
	if (run_open(&r, "", trust, &err) == 0)
		ops->close(r.source);
	(void)snprintf(command, sizeof(command), "%s/ceems-redfish --answers --sys-root %s %s 2>&1 <&%d",
		       HELPER_DIR, dir, scratch_path(dir, "redfish.conf"), in[0]);
	out = popen(command, "r");
	while (out && fgets(line, sizeof(line), out)) {
		long status = 0;
		size_t len = 0;
		char path[128] = "";

		if (sscanf(line, "answer %ld %zu %127s", &status, &len, path) != 3)
			continue;
		has_root |= status == 200 && len > 2 && !strcmp(path, "/redfish/v1/");
		has_power |= status == 200 && len > 2 && !strcmp(path, "/redfish/v1/Chassis/Node/Power");
	}
	ok(has_root, "--answers writes the service root");
	ok(has_power, "  and the resource with the power");
	if (out)
		(void)pclose(out);
	(void)close(in[0]);
	(void)close(in[1]);
}

/* Said, tried again with ever longer pauses, and over when the BMC takes the login. */
static void test_refused(void)
{
	struct run r;
	size_t tries;

	if (!run_says(&r, "refuse", trust, "login of user ceems is refused (HTTP 401)"))
		return;
	ok(wait_requests("POST", 2), "  it is tried again");
	tries = requests("POST");
	ok(clock_mono_ns() - r.opened_ns > (tries - 1) * 30 * INTERVAL_NS,
	   "  after %zu tries at most 1 in 30 intervals", tries);
	set("mode", "");
	ok(run_until(&r, &r.energy_uj, 1), "  and is read once the BMC takes it");
	is_str(ops->why(r.source), "", "  nothing is wrong any more");
	run_close(&r);
}

#define NOT_TRUSTED ": CAFile must have the BMC's certificate or its issuer's"
#define OTHER_NAME ": URL must have the certificate's name of the BMC, or trust its key by Fingerprint"

static void test_certificates(void)
{
	char conf[PATH_MAX + 16];
	struct run r;

	if (run_says(&r, "", "", NOT_TRUSTED))
		run_close(&r);
	(void)snprintf(conf, sizeof(conf), "CAFile=%s/other.pem", dir);
	if (run_says(&r, "", conf, NOT_TRUSTED))
		run_close(&r);
	(void)snprintf(conf, sizeof(conf), "CAFile=%s/missing.pem", dir);
	if (run_says(&r, "", conf, NOT_TRUSTED))
		run_close(&r);
	is_u64(requests(""), 0, "  nothing was asked");
}

/* The SHA-256 of the public key in the certificate NAME, as a line of the configuration. */
static void fingerprint_of(const char *name, char *conf, size_t size)
{
	char command[PATH_MAX];
	_cleanup_free_ char *text = NULL;

	(void)snprintf(command, sizeof(command),
		       "cd %s && openssl x509 -in %s -pubkey -noout | openssl pkey -pubin -outform DER | "
		       "openssl dgst -sha256 -binary | base64 >pin",
		       dir, name);
	if (system(command) == 0)
		text = scratch_read(scratch_path(dir, "pin"), NULL);
	(void)snprintf(conf, size, "Fingerprint=sha256//%s", text ? text : "");
}

/* With its fingerprint, the key is trusted without CAFile and whatever name the certificate has. */
static void test_fingerprint(void)
{
	char conf[256];
	struct run r;

	fingerprint_of("cert.pem", conf, sizeof(conf));
	test_power("", "{\"PowerConsumedWatts\":400}", conf, CONSUMED);
	fingerprint_of("other.pem", conf, sizeof(conf));
	if (run_says(&r, "", conf, ": the BMC has another key than Fingerprint says"))
		run_close(&r);
	is_u64(requests(""), 0, "  before anything is asked");
}

/* Of another name, but trusted: the address has to be in it. */
static void test_wrong_name(void)
{
	struct run r;

	stop_bmc();
	if (!ok(make_certificate("cert.pem", "key.pem", "DNS:bmc.example") && (port = start_bmc()),
		"a BMC with a certificate of another name"))
		return;
	if (run_says(&r, "", trust, OTHER_NAME))
		run_close(&r);
	is_u64(requests(""), 0, "  before anything is asked");
	test_fingerprint();
}

/* --- which chassis count ------------------------------------------------------------------ */

#define LINK(path) "{\"@odata.id\":\"/redfish/v1/" path "\"}"
#define AT(path) "\"/redfish/v1/" path "\":"
#define WATTS(path, watts) "," AT(path "/EnvironmentMetrics") "{\"PowerWatts\":{\"Reading\":" watts "}}"
#define METRICS(path) "\"EnvironmentMetrics\":" LINK(path "/EnvironmentMetrics")

/* An enclosure with two blades, one of which has a tray of GPUs with a meter of its own; and a heater. */
/* clang-format off */
static const char enclosure[] =
	"{" AT("Systems") "{\"Members\":[" LINK("Systems/S1") "," LINK("Systems/S2") "]},"
	AT("Systems/S1") "{\"UUID\":\"00112233-4455-6677-8899-aabbccddeeff\",\"Links\":{\"Chassis\":["
		LINK("Chassis/B1") "," LINK("Chassis/Enc") "," LINK("Chassis/Tray") ","
		LINK("Chassis/Psu") "]}},"
	AT("Systems/S2") "{\"UUID\":\"00000000-0000-0000-0000-000000000000\",\"Links\":{\"Chassis\":["
		LINK("Chassis/B2") "]}},"
	AT("Chassis") "{\"Members\":[" LINK("Chassis/Enc") "," LINK("Chassis/B1") "," LINK("Chassis/B2") ","
		LINK("Chassis/Tray") "," LINK("Chassis/Psu") "]},"
	AT("Chassis/Enc") "{" METRICS("Chassis/Enc") ",\"Links\":{\"ComputerSystems\":["
		LINK("Systems/S1") ","
		LINK("Systems/S2") "]}},"
	AT("Chassis/B1") "{" METRICS("Chassis/B1") ",\"Links\":{\"ContainedBy\":" LINK("Chassis/Enc") "}},"
	AT("Chassis/B2") "{" METRICS("Chassis/B2") ",\"Links\":{\"ContainedBy\":" LINK("Chassis/Enc") "}},"
	AT("Chassis/Tray") "{" METRICS("Chassis/Tray") ",\"Links\":{\"ContainedBy\":"
		LINK("Chassis/B1/") "}},"
	AT("Chassis/Psu") "{" METRICS("Chassis/Psu") ",\"Power\":" LINK("Chassis/Psu/Power") "},"
	AT("Chassis/Psu/Power") "{\"PowerControl\":[{\"Name\":\"All\",\"PowerConsumedWatts\":20},"
		"{\"Name\":\"Half\\nof\",\"PowerConsumedWatts\":10}]}"
	WATTS("Chassis/Enc", "1000") WATTS("Chassis/B1", "380") WATTS("Chassis/B2", "500")
	WATTS("Chassis/Tray", "100") WATTS("Chassis/Psu", "20") "}";
/* clang-format on */

static const struct {
	const char *what;
	const char *conf;
	const char *uuid;
	uint64_t watts; /* 0: WHY is said instead */
	const char *why;
} sums[] = {
	{ "by UUID", "", "00112233-4455-6677-8899-AABBCCDDEEFF", 400, "PowerWatts of chassis B1 + Psu, " },
	{ "by UUID in SMBIOS' order", "", "33221100-5544-7766-8899-aabbccddeeff", 400, "B1 + Psu, " },
	{ "by the system's name", "System=S2", "", 500, "PowerWatts of chassis B2, " },
	{ "by the chassis' names", "Chassis=B2,Tray", "", 600, "PowerWatts of chassis B2 + Tray, " },
	{ "all, by name, once", "Chassis=Enc,B1,Tray", "", 1000, "PowerWatts of chassis Enc, " },
	{ "an unknown UUID", "", "ffffffff-4455-6677-8899-aabbccddeeff", 0,
	  "none of its 2 systems (S1, S2) has this machine's UUID ffffffff-4455-6677-8899-aabbccddeeff: "
	  "set System" },
	{ "a UUID that was never set, on both sides", "", "00000000-0000-0000-0000-000000000000", 0,
	  "none of its 2 systems (S1, S2) has this machine's UUID (not known): set System" },
	{ "a system that is not there", "System=S3", "", 0, "no system S3; it has S1, S2" },
	{ "a chassis that is not there", "Chassis=X", "", 0, "no chassis X; it has Enc, B1, B2, Tray, Psu" },
};

static const char *const listed[] = {
	("chassis Enc: PowerWatts 1000.0 W: not counted, "
	 "it belongs to several systems; Chassis=Enc counts it\n"),
	"chassis B1: PowerWatts 380.0 W: counted, by PowerWatts\n",
	"chassis Tray: PowerWatts 100.0 W: not counted, it is within chassis B1\n",
	"chassis Psu: PowerWatts 20.0 W: counted, by PowerWatts\n",
	"chassis Psu PowerControl[0] (All): PowerConsumedWatts 20.0 W: not counted\n",
	"chassis Psu PowerControl[1] (Half?of): PowerConsumedWatts 10.0 W: not counted\n",
};

static void test_sums(void)
{
	char conf[PATH_MAX + 64];
	size_t i, k;

	(void)mkdir(scratch_path(dir, "sys"), 0700);
	(void)mkdir(scratch_path(dir, "sys/class"), 0700);
	(void)mkdir(scratch_path(dir, "sys/class/dmi"), 0700);
	(void)mkdir(scratch_path(dir, "sys/class/dmi/id"), 0700);
	set("tree.json", enclosure);
	for (i = 0; i < ARRAY_SIZE(sums); i++) {
		struct errmsg err = { 0 };
		char text[400];
		struct run r;

		set("sys/class/dmi/id/product_uuid", sums[i].uuid);
		(void)snprintf(conf, sizeof(conf), "%s\n%s", trust, sums[i].conf);
		diag("%s", sums[i].what);
		if (!sums[i].watts) {
			if (run_says(&r, "", conf, sums[i].why))
				run_close(&r);
			continue;
		}
		if (!is_int(run_open(&r, "", conf, &err), 0, sums[i].what))
			continue;
		ok(run_until(&r, &r.energy_uj, 1), "  energy comes");
		if (!r.late && !r.rejected)
			is_u64(r.energy_uj, (r.until_ns - r.from_ns) * sums[i].watts / 1000,
			       "  all of it, once");
		ops->describe(r.source, text, sizeof(text));
		ok(strstr(text, sums[i].why) != NULL, "  described: %s", text);
		for (k = 0; i == 0 && k < ARRAY_SIZE(listed); k++)
			if (!ok(strstr(ops->notes(r.source), listed[k]) != NULL, "  lists: %s", listed[k]))
				diag("%s", ops->notes(r.source));
		run_close(&r);
	}
	(void)unlink(scratch_path(dir, "tree.json"));
}

static void test_controls(void)
{
	char conf[PATH_MAX + 64];
	struct errmsg err = { 0 };
	char text[400];
	struct run r;

	set("values.json", "{\"Name\":\"Server\",\"PowerConsumedWatts\":400}");
	(void)snprintf(conf, sizeof(conf), "%s\nPowerControl=0,1", trust);
	if (!is_int(run_open(&r, "", conf, &err), 0, "two entries of PowerControl by number"))
		return;
	ok(run_until(&r, &r.energy_uj, 1), "  energy comes");
	if (!r.late && !r.rejected)
		is_u64(r.energy_uj, (r.until_ns - r.from_ns) * 407 / 1000, "  added up");
	ops->describe(r.source, text, sizeof(text));
	ok(strstr(text, "PowerConsumedWatts of chassis Node PowerControl[0] PowerControl[1]") != NULL, "  %s",
	   text);
	run_close(&r);

	set("values.json", "{\"PowerMetrics\":{\"IntervalInMin\":2,\"AverageConsumedWatts\":400}}");
	if (!is_int(run_open(&r, "", trust, &err), 0, "a BMC that shows a mean only"))
		return;
	ok(run_until(&r, &r.energy_uj, 1), "  energy comes");
	ops->describe(r.source, text, sizeof(text));
	ok(strstr(text, "AverageConsumedWatts of chassis Node") != NULL, "  is named as it is");
	is_u64(ops->lag(r.source), INTERVAL_NS + 120 * NSEC_PER_SEC, "  and lags by its window as well");
	ok(strstr(ops->notes(r.source),
		  "PowerControl[1] (CPUs): PowerConsumedWatts 7.0 W: not counted, usually "
		  "part of the first entry; PowerControl=1 counts it") != NULL,
	   "  the other entry is listed");
	run_close(&r);
}

/* --- what does not answer ----------------------------------------------------------------- */

/* Slow, hanging, not there: it is a source, and can be closed at any time. */
static void test_dead(const char *mode)
{
	struct errmsg err = { 0 };
	char text[400];
	struct run r;

	is_int(run_open(&r, mode, trust, &err), 0, mode);
	is_int(run_read(&r), -EIO, "  nothing to read");
	ops->describe(r.source, text, sizeof(text));
	ok(strstr(text, "has not answered yet"), "  and the description says why");
	run_close(&r);
}

static void test_silent_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(a);
	unsigned int bmc_port = port;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ok(bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 && listen(fd, 5) == 0 &&
		   getsockname(fd, (struct sockaddr *)&a, &len) == 0,
	   "a port that says nothing");
	port = ntohs(a.sin_port);
	test_dead("no handshake");
	(void)close(fd);
	test_dead("no connection");
	port = bmc_port;
}

static size_t count_entries(const char *path)
{
	struct dirent *e;
	DIR *d = opendir(path);
	size_t n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		(void)closedir(d);
	return n;
}

static void test_all(void)
{
	size_t fds = count_entries("/proc/self/fd");

	test_sessions();
	test_links_sessions();
	test_redirects();
	test_sums();
	test_controls();
	test_expiry();
	test_counters();
	test_late_first();
	test_troubles();
	test_absurd();
	test_client();
	test_all_answers();
	test_refused();
	test_certificates();
	test_fingerprint();
	test_dead("hang");
	test_dead("drip");
	test_silent_port();
	is_u64(count_entries("/proc/self/fd"), fds, "all descriptors are closed");
	is_u64(count_entries("/proc/self/task"), 1, "all threads have ended");
	test_wrong_name();
}

int main(void)
{
	static const struct settings no_bmc;
	struct source_env env = { .settings = &no_bmc };
	struct source *s;

	if (!mkdtemp(dir))
		return 1;
	(void)signal(SIGPIPE, SIG_DFL); /* nobody may raise it here */
	ops = &source_redfish;
	logger_set_sink(sink);
	is_int(ops->open(&env, &s, NULL), -ENODEV, "no RedfishConf");
	test_conf();
	test_answers();
	test_links();
	(void)snprintf(trust, sizeof(trust), "CAFile=%s/cert.pem", dir);
	if (access("/usr/bin/python3", X_OK) < 0 ||
	    !make_certificate("cert.pem", "key.pem", "IP:127.0.0.1") ||
	    !make_certificate("other.pem", "other.key", "IP:127.0.0.1"))
		skip(1, "no python3 or openssl for a BMC");
	else if (ok((port = start_bmc()), "the BMC starts"))
		test_all();
	stop_bmc();
	ok(!atomic_load(&is_secret_out), "no password and no token in any message");
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
