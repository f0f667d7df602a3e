/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sink mariadb when its server is locked, killed, read-only, full or not the right one (TLS): one line is
 * logged, the records wait in the store, and each is delivered once when the server works again.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <regex.h>

#include "mariadb_rig.h"
#include "src/librecord/record.h"
#include "src/libsink/mariadb/db_maintain.h"
#include "src/libsink/deliver.h"
#include "src/libutil/logger.h"
#include "src/libutil/util.h"
#include "store_rig.h"

#define LIMIT_NS (120 * SECOND) /* for what has to come sooner or later */

static struct store *store;
static struct deliver *deliver;
static struct settings settings; /* the sink's */
static char store_dir[PATH_MAX];
static char told[4096]; /* errors */
static unsigned int errors, infos;
static uint32_t last_job;

static void keep_log(enum logger_level level, const char *line)
{
	if (level == LOGGER_ERROR && !errors++)
		snprintf(told, sizeof(told), "%s", line);
	infos += level == LOGGER_INFO;
}

static void forget_log(void)
{
	told[0] = '\0';
	errors = infos = 0;
}

/* N more jobs of one step each. */
static void put(unsigned int n)
{
	for (; n; n--) {
		struct record *r = record_create();
		char key[RECORD_KEY_MAX];
		char *json = NULL;
		size_t len = 0;

		r->cluster = strdup("c1");
		r->job_id = ++last_job;
		r->submit = 1700000000 + last_job % 3 * 86400;
		r->steps_known = true;
		r->nsteps = 1;
		r->steps = calloc(1, sizeof(*r->steps));
		values_init(&r->steps[0].values);
		require(record_key(r, key, sizeof(key)) == 0);
		if (record_to_json(r, &json, &len, &rig.err) < 0)
			diag("%s", rig.err.text);
		else
			(void)store_rig_put(store, STORE_RECORD, key, json, len);
		free(json);
		record_destroy(r);
	}
}

static uint64_t acked(void)
{
	struct deliver_stats st;

	deliver_get_stats(deliver, &st);
	return st.acked;
}

/* A try, though it is not time for one yet. */
static int try_now(uint64_t timeout_ns)
{
	struct deliver_stats st;

	deliver_get_stats(deliver, &st);
	return deliver_run(deliver, st.next_try_mono_ns + 1, timeout_ns);
}

/* All that was put is there, once. */
static bool arrives(void)
{
	uint64_t deadline = clock_mono_ns() + LIMIT_NS;

	while (acked() < last_job && clock_mono_ns() < deadline)
		(void)try_now(5 * SECOND);
	return acked() == last_job && rig_number("SELECT COUNT(*) FROM ceems.job") == last_job &&
	       rig_number("SELECT COUNT(*) FROM ceems.step") == last_job;
}

static void open_all(void)
{
	store = store_rig_open(store_dir);
	if (deliver_create(store, store_dir, &sink_mariadb, &settings, &deliver, &rig.err) < 0)
		diag("%s", rig.err.text);
}

static void close_all(void)
{
	deliver_destroy(deliver);
	store_close(store);
}

static bool says(const char *pattern)
{
	regex_t re;
	bool yes;

	if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB))
		return false;
	yes = !regexec(&re, told, 0, NULL, 0);
	regfree(&re);
	return yes;
}

static void is_told(const char *what, const char *pattern)
{
	is_u64(errors, 1, what);
	ok(says(pattern), "%s", told);
}

/* --- what the server may do --------------------------------------------------------------- */

/* Rows are locked by somebody who does not come back soon. */
static void test_lock_wait(void)
{
	MYSQL *m = rig_connect(rig.settings.mariadb_defaults_file, "ceems", 0);

	put(20);
	ok(arrives(), "20 jobs arrive");
	mariadb_client_query(m, "START TRANSACTION", &rig.err);
	mariadb_client_query(m, "SELECT * FROM job FOR UPDATE", &rig.err);
	mariadb_client_query(m, "SELECT * FROM usage_open FOR UPDATE", &rig.err);
	forget_log();
	put(20);
	is_int(try_now(SECOND), 0, "rows are locked: nothing is delivered");
	is_int(try_now(SECOND), 0, "still locked");
	is_told("one error is logged", "ock wait timeout");
	mariadb_client_close(m);
	ok(arrives(), "then all arrive");
	is_u64(infos, 1, "and one line says so");
}

/*
 * Somebody has a step's row and wants usage_open, which the sink has; the sink wants the step's. One of them
 * dies; whichever it is, nothing is lost.
 */
static void test_deadlock(void)
{
	unsigned int victims = 0;
	unsigned int i;

	for (i = 0; i < 5; i++) {
		int status = 0;
		pid_t pid;
		int ready[2];
		char c;

		put(1);
		if (pipe(ready) < 0)
			return;
		pid = fork();
		if (!pid) {
			MYSQL *m = rig_connect(rig.settings.mariadb_defaults_file, "ceems", 0);
			char sql[256];
			bool died;

			mariadb_client_query(m, "START TRANSACTION", &rig.err);
			snprintf(sql, sizeof(sql),
				 "INSERT INTO step (record_key, step_id, submit_time) "
				 "VALUES ('c1/%u,%u,0/0', 0, FROM_UNIXTIME(%u))",
				 last_job, 1700000000 + last_job % 3 * 86400,
				 1700000000 + last_job % 3 * 86400);
			mariadb_client_query(m, sql, &rig.err);
			(void)!write(ready[1], "x", 1);
			/* heavier than the sink's transaction, so that this one is not the victim */
			while (rig_number("SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE "
					  "trx_state = 'LOCK WAIT'") != 1)
				nanosleep(&(struct timespec){ .tv_nsec = 110000000 }, NULL);
			died = mariadb_client_query(m, "SELECT * FROM job WHERE jobid > 0 FOR UPDATE",
						    &rig.err) < 0;
			mariadb_client_query(m, "ROLLBACK", &rig.err);
			_exit(died ? 1 : 0);
		}
		(void)!read(ready[0], &c, 1);
		close(ready[0]);
		close(ready[1]);
		if (!arrives())
			break;
		waitpid(pid, &status, 0);
		victims += WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	ok(i == 5, "deadlocks: all arrive (%u times the sink gave way)", victims);
}

/* Killed while a transaction is under way: all of it or nothing. */
static void test_killed(void)
{
	int i;

	for (i = 0; i < 3; i++) {
		pid_t pid;

		put(100);
		rig_query("CREATE TRIGGER ceems.slow BEFORE INSERT ON ceems.job FOR EACH ROW DO SLEEP(0.05)");
		pid = fork();
		if (!pid) {
			while (rig_number("SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE "
					  "trx_rows_modified > 3") < 1)
				nanosleep(&(struct timespec){ .tv_nsec = 110000000 }, NULL);
			kill(rig.server.pid, SIGKILL);
			_exit(0);
		}
		forget_log();
		while (waitpid(pid, NULL, WNOHANG) == 0)
			(void)try_now(20 * SECOND);
		mariadbd_stop(&rig.server, SIGKILL);
		(void)try_now(SECOND);
		ok(mariadbd_start(&rig.server), "the server is killed inside a batch and starts again");
		rig_query("DROP TRIGGER IF EXISTS ceems.slow");
		ok(arrives(), "all arrive, once");
	}
}

static void test_read_only(void)
{
	rig_query("SET GLOBAL read_only = 1");
	forget_log();
	put(10);
	is_int(try_now(3 * SECOND), 0, "the server is read-only");
	is_int(try_now(3 * SECOND), 0, "still");
	is_told("one error is logged", "read-only");
	rig_query("SET GLOBAL read_only = 0");
	ok(arrives(), "then all arrive");
	is_u64(infos, 1, "and one line says so");
}

/* The errors of a server whose disk is full, as its storage engine and its temporary files tell them. */
static void test_full(void)
{
	static const unsigned int codes[] = { 1114, 1021, 1026, 3 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(codes); i++) {
		char sql[256];

		snprintf(sql, sizeof(sql),
			 "CREATE TRIGGER ceems.full BEFORE INSERT ON ceems.step FOR EACH "
			 "ROW SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = %u, MESSAGE_TEXT = 'No space left'",
			 codes[i]);
		rig_query(sql);
		forget_log();
		put(10);
		is_int(try_now(3 * SECOND), 0, "the server's disk is full");
		is_int(try_now(3 * SECOND), 0, "still");
		is_told("one error is logged", "No space left");
		rig_query("DROP TRIGGER ceems.full");
		ok(arrives(), "then all arrive");
	}
}

/* Months come, go and are summed up beside a sink that is never idle. */
static void test_maintain(void)
{
	struct db_options o = { .retention_ns = 31 * 86400 * SECOND };
	uint64_t jobs;
	int status = -1;
	pid_t pid;

	ok(arrives(), "all arrive before maintenance");
	pid = fork();
	if (!pid) {
		int i;
		int rc = 0;

		for (i = 0; rc == 0 && i < 5; i++)
			rc = db_maintain_run(&rig.settings, &o, &rig.err);
		if (rc < 0)
			diag("%s", rig.err.text);
		_exit(rc < 0);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		put(20);
		(void)try_now(3 * SECOND);
	}
	is_int(status, 0, "maintenance beside a busy sink");
	while (acked() < last_job && try_now(5 * SECOND) >= 0)
		;
	jobs = rig_number("SELECT SUM(jobs) FROM ceems.usage_all");
	is_u64(jobs, last_job, "each job is counted once");
	is_int(db_maintain_run(&rig.settings, &o, &rig.err), 0, "maintenance again");
	is_u64(rig_number("SELECT SUM(jobs) FROM ceems.usage_all"), last_job,
	       "each job is still counted once");
}

/* --- TLS --------------------------------------------------------------------------------- */

#define SERVER "127.0.0.2"
/* the same server; not 127.0.0.1, whose name libmariadb 3.4 does not look at */
#define WRONG_NAME "127.0.0.10"

static bool make_certificates(void)
{
	char command[2048];

	snprintf(command, sizeof(command),
		 "cd %s && exec 2>tls.log && for ca in ca otherca; do "
		 "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout $ca.key -out $ca.pem "
		 "-subj /CN=$ca || exit 1; done; echo subjectAltName=IP:" SERVER " >names && "
		 "openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=db && "
		 "openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 "
		 "-extfile names -out server.pem && chmod 644 *.key",
		 rig.dir);
	return system(command) == 0;
}

/* CA may be NULL, MORE a line. */
static void conf_tls(const char *host, const char *ca, const char *more)
{
	char text[1024];
	int n = snprintf(text, sizeof(text),
			 "[client]\nhost=%s\nport=%s\nuser=tls\npassword=secret\n"
			 "%s\n",
			 host, strchr(rig.server.more[0], '=') + 1, more);

	if (ca)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "ssl-ca=%s/%s.pem\n", rig.dir, ca);
	scratch_write(settings.mariadb_defaults_file, text, (size_t)n);
}

static bool client_looks_if_told(void)
{
	return mysql_get_client_version() >= 30400;
}

/* Nothing is delivered to a server whose identity is not proved. */
static void refuses(const char *what, const char *pattern)
{
	forget_log();
	is_int(try_now(5 * SECOND), 0, what);
	is_int(try_now(5 * SECOND), 0, "still");
	is_told("one error is logged", pattern);
	ok(!strstr(told, "secret"), "without secrets");
	is_u64(rig_number("SELECT COUNT(*) FROM ceems.job"), last_job - 5, "and nothing went there");
	close_all();
	open_all();
}

static char check_text[2048];
static int check_wrong;

static void note_check(void *ctx, enum sink_health health, enum setting setting, const char *hint,
		       const char *text)
{
	size_t used = strlen(check_text);

	(void)ctx;
	(void)setting;
	check_wrong += health == SINK_WRONG;
	(void)snprintf(check_text + used, sizeof(check_text) - used, "%s -> %s\n", text, hint ? hint : "");
}

/* `ceems check`: what WHAT says does not heal by waiting, so it is an error, with a cure. */
static void check_finds(const char *what, const char *part)
{
	check_text[0] = '\0';
	check_wrong = 0;
	sink_mariadb.check(&settings, note_check, NULL);
	is_int(check_wrong, 1, what);
	ok(strstr(check_text, part) && strstr(check_text, "ssl-ca=<"), "its cause and cure: %s", check_text);
}

/* CERT may be NULL, then the server makes one if it can; so may OPTION. */
static bool server_with(const char *cert, const char *key, const char *option, const char *what)
{
	const char **more = rig.server.more + 2;

	mariadbd_stop(&rig.server, SIGTERM);
	if (cert) {
		*more++ = cert;
		*more++ = key;
	}
	*more++ = option;
	*more = NULL;
	return ok(mariadbd_start(&rig.server), "%s", what);
}

static void test_tls(void)
{
	static const char other[] = "[client]\nhost=" WRONG_NAME "\n";
	static char port[32], cert[160], key[160];
	const char *wrong_name = client_looks_if_told() ? "ostname" : "certificate";
	char include[160];
	MYSQL *m;
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = inet_addr(SERVER) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (!make_certificates()) {
		skip(1, "no openssl");
		return;
	}
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		diag("no port");
	close(fd);
	snprintf(port, sizeof(port), "--port=%u", ntohs(a.sin_port));
	snprintf(cert, sizeof(cert), "--ssl-cert=%s/server.pem", rig.dir);
	snprintf(key, sizeof(key), "--ssl-key=%s/server.key", rig.dir);
	rig.server.more[0] = port;
	rig.server.more[1] = "--bind-address=" SERVER "," WRONG_NAME;
	if (!server_with(cert, key, NULL, "a server with TLS"))
		return;
	rig_query("CREATE USER tls@'%' IDENTIFIED BY 'secret' REQUIRE SSL; GRANT ALL ON ceems.* TO tls@'%'");
	close_all();
	open_all();
	last_job = (uint32_t)rig_number("SELECT COUNT(*) FROM ceems.job");
	put(5);
	conf_tls(SERVER, "otherca", "");
	refuses("a certificate of another CA", "certificate");
	check_finds("a wrong CA is an error in ceems check", "ertificate");
	if (rig_query("SET GLOBAL require_secure_transport = 1")) {
		rig_query("CREATE USER plain@'%' IDENTIFIED BY 'secret'");
		conf_tls(SERVER, NULL, "skip-ssl\nuser=plain");
		check_finds("a server that demands TLS is one, too", "");
		rig_query("SET GLOBAL require_secure_transport = 0");
	}
	conf_tls(SERVER, "otherca", "ssl-verify-server-cert");
	refuses("another CA, and ssl-verify-server-cert without a value", "certificate");
	conf_tls(WRONG_NAME, "ca", "");
	refuses("a certificate for another name", wrong_name);
	conf_tls("localhost", "ca", "host=\t" WRONG_NAME " \r");
	refuses("of two host lines the last one counts", wrong_name);
	snprintf(include, sizeof(include), "!include %s/other.cnf", rig.dir);
	scratch_write(include + strlen("!include "), other, strlen(other));
	conf_tls("localhost", "ca", include);
	is_int(mariadb_client_check(settings.mariadb_defaults_file, NULL), -EINVAL,
	       "an included file, at which nobody would look, is refused");
	/* by us, or by the library itself */
	conf_tls(SERVER, "otherca", "ssl-verify-server-cert=0");
	refuses("another CA, with ssl-verify-server-cert=0", "certificate");
	conf_tls(WRONG_NAME, "ca", "ssl-verify-server-cert=0");
	refuses("another name, with ssl-verify-server-cert=0", "certificate|ostname");
	if (!client_looks_if_told()) {
		snprintf(include, sizeof(include), "socket=%s", rig.server.socket);
		conf_tls("'localhost' ", "ca", include);
		m = rig_connect(settings.mariadb_defaults_file, "ceems", 0);
		ok(m != NULL, "a socket has no name that could be compared");
		mariadb_client_close(m);
	}
	/* MySQL without grant tables has no network, and cannot prove that it knows a password */
	if (!mariadbd_is_mysql()) {
		server_with(cert, key, "--skip-grant-tables", "a server that accepts every password");
		conf_tls(SERVER, NULL, "ssl-verify-server-cert=1");
		refuses("which has a certificate of an unknown CA", "certificate");
	}
	if (client_looks_if_told() && !mariadbd_is_mysql()) {
		server_with(NULL, NULL, "--skip-grant-tables", "the same without a certificate file");
		refuses("which has a certificate that it made itself", "ertificate");
		server_with(NULL, NULL, NULL, "a server that knows the password, without a certificate file");
		forget_log();
		is_int(try_now(60 * SECOND), 5, "proves that it knows it: delivers without a CA");
		put(5);
	}
	server_with(cert, key, NULL, "the server with TLS again");
	close_all();
	open_all();
	conf_tls(SERVER, "ca", "");
	while (acked() < 5 && try_now(5 * SECOND) >= 0 && errors < 3)
		;
	is_u64(rig_number("SELECT COUNT(*) FROM ceems.job"), last_job, "the right CA and name: all arrive");
	is_u64(rig_number("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'tls'"), 1,
	       "by a user who must have TLS");
}

int main(void)
{
	const char *why = rig_start();

	logger_set_sink(keep_log);
	(void)signal(SIGPIPE, SIG_IGN); /* ceems-recorder ignores it */
	snprintf(store_dir, sizeof(store_dir), "%s/store", rig.dir);
	if (why) {
		skip(1, why);
	} else if (ok(rig_migrate(), "migrate") &&
		   rig_query("CREATE USER w@localhost IDENTIFIED BY 'secret'; GRANT ALL ON ceems.* TO "
			     "w@localhost")) {
		settings = rig.settings;
		rig_defaults_file("w.cnf", "w", "secret", settings.mariadb_defaults_file,
				  sizeof(settings.mariadb_defaults_file));
		open_all();
		test_lock_wait();
		test_deadlock();
		test_killed();
		test_read_only();
		test_full();
		test_tls();
		close_all();
		open_all();
		rig_query("DELETE FROM ceems.job; DELETE FROM ceems.step; DELETE FROM ceems.usage_open");
		last_job = 0;
		test_maintain();
		close_all();
	}
	rig_stop();
	return done_testing();
}
