/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TCP of steps against iperf3's own numbers, over loopback: a real program, many megabytes, several
 * connections, both directions, sendfile. iperf3 counts its streams; we also see its control
 * connection, which is some hundred bytes to some thousand (its results are sent as JSON).
 */
#define _GNU_SOURCE
#include "tcplab.h"

#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"
#include "src/libutil/util.h"

#define CONTROL_MAX 65536

static const struct run {
	const char *name;
	const char *args[6];
	unsigned int streams;
	bool is_reverse;
} runs[] = {
	{ "IPv4", { "-4", "-n", "256M" }, 1, false },
	{ "IPv6, 4 streams", { "-6", "-P", "4", "-n", "256M" }, 4, false },
	{ "IPv4, from the server", { "-4", "-R", "-n", "256M" }, 1, true },
	{ "sendfile", { "-4", "-Z", "-n", "256M" }, 1, false },
};

static void exec_server(void)
{
	(void)execlp("iperf3", "iperf3", "-s", "-1", "-p", "5201", (char *)NULL);
	_exit(97);
}

static void exec_client(const struct run *run, const char *json)
{
	const char *argv[16] = { "iperf3", "-J", "-p",
				 "5201",   "-c", strcmp(run->args[0], "-6") ? "127.0.0.1" : "::1" };
	int out = open(json, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	size_t n = 6, i;

	for (i = 0; i < ARRAY_SIZE(run->args) && run->args[i]; i++)
		argv[n++] = run->args[i];
	if (out < 0 || dup2(out, 1) < 0)
		_exit(98);
	(void)execvp(argv[0], (char *const *)argv);
	_exit(97);
}

/* Of the object KEY at the end of iperf3's report; 0: it is not there. */
static uint64_t bytes_of(const char *json, const char *key)
{
	const char *end = strstr(json, "\"end\":");
	const char *at = end ? strstr(end, key) : NULL;
	uint64_t bytes;

	at = at ? strstr(at, "\"bytes\":") : NULL;
	if (!at)
		return 0;
	at += strlen("\"bytes\":");
	at += strspn(at, " \t");
	return parse_u64_n(at, strspn(at, "0123456789"), &bytes) == 0 ? bytes : 0;
}

/* Is somebody listening? The file of the namespace that we are in, with ports in hex. */
static bool wait_for_server(void)
{
	uint64_t deadline = clock_mono_ns() + TIMEOUT_NS;
	const char *const files[] = { "/proc/self/net/tcp", "/proc/self/net/tcp6" };
	char line[512];
	size_t i;

	while (clock_mono_ns() < deadline) {
		for (i = 0; i < 2; i++) {
			FILE *f = fopen(files[i], "re");
			bool found = false;

			while (f && fgets(line, sizeof(line), f))
				found |= strstr(line, ":1451 ") && strstr(line, " 0A ");
			if (f)
				(void)fclose(f);
			if (found)
				return true;
		}
		(void)usleep(5000);
	}
	return false;
}

static void check(const struct run *run, const struct step *client, const struct step *server,
		  const char *json)
{
	const struct step *sender = run->is_reverse ? server : client;
	const struct step *receiver = run->is_reverse ? client : server;
	uint64_t sent = bytes_of(json, "\"sum_sent\":");
	uint64_t received = bytes_of(json, "\"sum_received\":");
	struct seen a = look(sender), b = look(receiver);

	diag("%s: iperf3 %" PRIu64 " sent, %" PRIu64 " received; we %" PRIu64 " and %" PRIu64 ", %" PRIu64
	     " retransmitted",
	     run->name, sent, received, a.sent, b.received, a.retransmitted);
	/*
	 * Its sender counts what it gave the kernel, its receiver what it read until it was told the
	 * end: bytes are on their way between the two, and are dropped if it closes before.
	 */
	ok(sent && a.sent <= sent + CONTROL_MAX && a.sent >= received, "%s: bytes sent", run->name);
	ok(received && b.received <= a.sent && b.received >= received, "%s: bytes received", run->name);
	is_u64(b.sent, a.received, "the other way both ends agree");
	is_u64(a.connections, run->streams + 1, "connections");
	is_u64(b.connections, run->streams + 1, "on both sides");
}

static void test_run(const struct run *run)
{
	struct step client, server;
	char path[PATH_MAX];
	char *json = NULL;
	pid_t pid[2];
	bool well;
	size_t len;

	(void)snprintf(path, sizeof(path), "%s/iperf3.json", tcplab.scratch);
	if (!ok(step_open(&client, "client") && step_open(&server, "server"), "two steps"))
		return;
	pid[0] = start(&server);
	if (pid[0] == 0) {
		int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

		(void)dup2(nowhere, 1);
		exec_server();
	}
	ok(wait_for_server(), "%s: a server", run->name);
	pid[1] = start(&client);
	if (pid[1] == 0)
		exec_client(run, path);
	well = ended_well(pid[1]);
	if (!well)
		(void)kill(pid[0], SIGKILL);
	well &= ended_well(pid[0]);
	if (ok(well && fileio_read_alloc(path, 1 << 24, &json, &len, NULL) == 0, "%s: iperf3 ends",
	       run->name))
		check(run, &client, &server, json);
	free(json);
	(void)unlink(path);
	step_close(&client);
	step_close(&server);
}

int main(void)
{
	const char *why;
	size_t i;

	if (system("iperf3 --version >/dev/null 2>&1") != 0)
		return skip_all("iperf3 is not installed");
	why = tcplab_open();
	if (why)
		return tap_failed ? done_testing() : skip_all(why);
	for (i = 0; i < ARRAY_SIZE(runs); i++)
		test_run(&runs[i]);
	tcplab_close();
	return done_testing();
}
