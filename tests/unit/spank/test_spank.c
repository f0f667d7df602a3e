/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The SPANK plugin as Slurm loads it, by dlopen(). This program has fakes of the few functions of
 * Slurm that it calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ceems_config.h"
#ifdef HAVE_SPANK
#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "src/libcore/forbid.h"
#include "src/libledger/ledger.h"
#include "tap.h"

#define FAKE __attribute__((visibility("default")))

/* --- Slurm, as far as the plugin knows it --------------------------------------------------- */

static struct {
	long api;
	enum spank_context context;
	struct spank_option option[5];
	unsigned int noptions;
	bool may_register;
	pid_t pid; /* 0: no task */
	uint32_t tasks;
	char error[1024], said[8192];
	char job_variable[128];	    /* CEEMS_TRACEPARENT of the job; empty: none */
	char task_variable[4][300]; /* "NAME=value" of the step */
} fake;

static void _printf_(3, 0) append(char *to, size_t size, const char *fmt, va_list ap)
{
	size_t used = strlen(to);

	if (used && used < size - 1)
		to[used++] = '\n';
	(void)vsnprintf(to + used, size - used, fmt, ap);
}

FAKE long slurm_api_version(void)
{
	return fake.api << 16;
}

FAKE spank_context_t spank_context(void)
{
	return fake.context;
}

FAKE spank_err_t spank_option_register(spank_t sp, struct spank_option *opt)
{
	(void)sp;
	if (!fake.may_register || fake.noptions == 5)
		return ESPANK_BAD_ARG;
	fake.option[fake.noptions++] = *opt;
	return ESPANK_SUCCESS;
}

FAKE spank_err_t spank_get_item(spank_t sp, spank_item_t item, ...)
{
	spank_err_t rc = ESPANK_SUCCESS;
	va_list ap;

	(void)sp;
	va_start(ap, item);
	if (item == S_TASK_PID && fake.pid)
		*va_arg(ap, pid_t *) = fake.pid;
	else if (item == S_TASK_PID)
		rc = ESPANK_NOT_TASK;
	else
		*va_arg(ap, uint32_t *) = item == S_JOB_LOCAL_TASK_COUNT ? fake.tasks :
					  item == S_JOB_NODEID		 ? 0 :
									   7;
	va_end(ap);
	return rc;
}

FAKE void slurm_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	append(fake.error, sizeof(fake.error), fmt, ap);
	va_end(ap);
}

FAKE void slurm_info(const char *fmt, ...)
{
	(void)fmt;
}

FAKE void slurm_debug(const char *fmt, ...)
{
	(void)fmt;
}

FAKE void slurm_spank_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	append(fake.said, sizeof(fake.said), fmt, ap);
	va_end(ap);
}

FAKE spank_err_t spank_job_control_setenv(spank_t sp, const char *name, const char *value, int overwrite)
{
	(void)sp;
	if (strcmp(name, "CEEMS_TRACEPARENT") != 0 || !overwrite)
		return ESPANK_BAD_ARG;
	(void)snprintf(fake.job_variable, sizeof(fake.job_variable), "%s", value);
	return ESPANK_SUCCESS;
}

FAKE spank_err_t spank_job_control_unsetenv(spank_t sp, const char *name)
{
	(void)sp;
	(void)name;
	fake.job_variable[0] = '\0';
	return ESPANK_SUCCESS;
}

/* Of the step; NULL: there is none. */
static const char *task_variable(const char *name)
{
	size_t len = strlen(name);
	unsigned int i;

	for (i = 0; i < 4; i++)
		if (!strncmp(fake.task_variable[i], name, len) && fake.task_variable[i][len] == '=')
			return fake.task_variable[i] + len + 1;
	return NULL;
}

static void set_task_variable(const char *name, const char *value)
{
	char *old = (char *)(uintptr_t)task_variable(name);
	unsigned int i = 0;

	while (!old && i < 3 && *fake.task_variable[i])
		i++;
	if (old)
		i = (unsigned int)((size_t)(old - fake.task_variable[0]) / sizeof(fake.task_variable[0]));
	(void)snprintf(fake.task_variable[i], sizeof(fake.task_variable[i]), "%s=%s", name, value);
}

FAKE spank_err_t spank_getenv(spank_t sp, const char *name, char *buf, int len)
{
	const char *value = task_variable(name);

	(void)sp;
	if (!value)
		return ESPANK_ENV_NOEXIST;
	return snprintf(buf, (size_t)len, "%s", value) >= len ? ESPANK_NOSPACE : ESPANK_SUCCESS;
}

FAKE spank_err_t spank_setenv(spank_t sp, const char *name, const char *value, int overwrite)
{
	(void)sp;
	(void)overwrite;
	set_task_variable(name, value);
	return ESPANK_SUCCESS;
}

/* --- the plugin ----------------------------------------------------------------------------- */

static char path[4096];
static char scratch[] = "/tmp/test_spank-XXXXXX";
static char conf[64];

/* A fresh copy, whose statics have nothing of the test before. */
static void *load(enum spank_context context)
{
	void *so;

	memset(&fake, 0, sizeof(fake));
	fake.api = 38;
	fake.context = context;
	fake.may_register = true;
	fake.tasks = 1;
	so = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!so)
		diag("%s", dlerror());
	return so;
}

static int hook(void *so, const char *name)
{
	spank_f *f = (spank_f *)dlsym(so, name);
	char *argv[] = { conf };

	return f ? f((spank_t)&fake, 1, argv) : -1;
}

static int option(const char *name, const char *arg, int remote)
{
	unsigned int i;

	for (i = 0; i < fake.noptions; i++)
		if (!strcmp(fake.option[i].name, name))
			return fake.option[i].cb(fake.option[i].val, arg, remote);
	return -1000;
}

static void write_conf(const char *lines)
{
	FILE *f = fopen(conf + strlen("conf="), "we");

	if (!f || fprintf(f, "LedgerDir=%s/ledger\n%sBpfDir=\nStepCgroup=no\n", scratch, lines) < 0 ||
	    fclose(f))
		ok(false, "ceems.conf can be written");
}

/* --- tests ---------------------------------------------------------------------------------- */

static void test_version(void)
{
	static const struct {
		long api;
		unsigned int version;
	} t[] = {
		{ 38, SLURM_VERSION_NUM(22, 5, 0) },  { 39, SLURM_VERSION_NUM(23, 2, 0) },
		{ 40, SLURM_VERSION_NUM(23, 11, 0) }, { 41, SLURM_VERSION_NUM(24, 5, 0) },
		{ 42, SLURM_VERSION_NUM(24, 11, 0) }, { 43, SLURM_VERSION_NUM(25, 5, 0) },
		{ 44, SLURM_VERSION_NUM(25, 11, 0) }, { 45, SLURM_VERSION_NUM(26, 5, 0) },
		{ 1000, SLURM_VERSION_NUMBER },	      { 0, SLURM_VERSION_NUMBER },
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		const unsigned int *version;
		void *so;

		memset(&fake, 0, sizeof(fake));
		fake.api = t[i].api;
		so = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
		version = so ? dlsym(so, "plugin_version") : NULL;
		is_u64(version ? *version >> 8 : 0, t[i].version >> 8,
		       "plugin_version is the host's major.minor");
		if (so)
			(void)dlclose(so);
	}
}

static void test_options(void)
{
	static const struct {
		const char *arg;
		int rc, remote_rc;
	} t[] = {
		{ "flops", -1, 0 },
		{ "hw,,,flops", -1, 0 },
		{ NULL, 0, 0 },
		{ "", 0, 0 },
		{ "(null)", 0, 0 },
		{ "hw", 0, 0 },
		{ "sw,io,net,hw", 0, 0 },
		{ "sched", 0, 0 },
		{ "io,events:a,b", 0, 0 },
	};
	static const struct {
		const char *arg;
		int rc;
	} interval[] = {
		{ NULL, 0 },   { "", 0 },     { "(null)", 0 }, { "10ms", 0 }, { "1h", 0 },  { "2", 0 },
		{ "9ms", -1 }, { "61m", -1 }, { "0", -1 },     { "1 s", -1 }, { "-1", -1 }, { "often", -1 },
	};
	void *so = load(S_CTX_LOCAL);
	size_t i;

	fake.may_register = false;
	is_int(hook(so, "slurm_spank_init"), 0, "no options: Slurm goes on");
	ok(strstr(fake.error, "--ceems-perf") != NULL, "and the log says so");
	fake.may_register = true;
	is_int(hook(so, "slurm_spank_init"), 0, "init in srun");
	is_u64(fake.noptions, 5, "five options");
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		fake.error[0] = '\0';
		is_int(option("ceems-perf", t[i].arg, 0), t[i].rc, t[i].arg ? t[i].arg : "no argument");
		if (t[i].rc)
			ok(strstr(fake.error, "flops") &&
				   strstr(fake.error, "hw (default), sw, io, net, sched, events:"),
			   "names it and what is known: %s", fake.error);
		is_int(option("ceems-perf", t[i].arg, 1), t[i].remote_rc, "never in a step");
	}
#ifdef HAVE_LIBPFM
	fake.error[0] = '\0';
	is_int(option("ceems-perf", "events:foo,perf::PERF_COUNT_SW_PAGE_FAULTS", 0), 0,
	       "an event that no CPU has is not refused");
	is_str(fake.error,
	       "ceems: --ceems-perf: libpfm4 knows no event foo: these events are counted only if libpfm4 "
	       "on the nodes knows them",
	       "  but the user is told");
	fake.error[0] = '\0';
	is_int(option("ceems-perf", "events:foo", 1), 0, "the step accepts it as well");
	is_str(fake.error, "", "  and says nothing");
#endif
	is_int(option("ceems-report", NULL, 0), 0, "report");
	for (i = 0; i < sizeof(interval) / sizeof(interval[0]); i++) {
		fake.error[0] = '\0';
		is_int(option("ceems-trace", interval[i].arg, 0), interval[i].rc,
		       interval[i].arg ? interval[i].arg : "a trace, no argument");
		is_int(strstr(fake.error, "is not a time from 10ms to 1h") != NULL, interval[i].rc != 0,
		       "  names the bounds");
		is_int(option("ceems-trace", interval[i].arg, 1), 0, "  never in a step");
	}
	is_int(option("ceems-profile", NULL, 0), 0, "a profile, no argument");
	is_int(option("ceems-profile", "(null)", 0), 0, "  from a script");
	is_int(option("ceems-profile", "49,both", 0), 0, "  with rate and stacks");
	fake.error[0] = '\0';
	is_int(option("ceems-profile", "1000", 0), -1, "  too fast");
	ok(strstr(fake.error, "a rate from 1 to 999") != NULL, "  names the bounds: %s", fake.error);
	is_int(option("ceems-profile", "1000", 1), 0, "  never in a step");
	is_int(hook(so, "slurm_spank_init_post_opt"), 0, "nothing more in srun");
	is_int(hook(so, "slurm_spank_exit"), 0, "exit");
	(void)dlclose(so);

	so = load(S_CTX_JOB_SCRIPT);
	is_int(hook(so, "slurm_spank_init"), 0, "init in a prolog");
	is_u64(fake.noptions, 0, "no options there");
	(void)dlclose(so);
}

static pid_t child_stopped(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)raise(SIGSTOP);
		(void)execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	(void)waitpid(pid, NULL, WUNTRACED);
	return pid;
}

static void child_run(pid_t pid)
{
	(void)kill(pid, SIGCONT);
	(void)waitpid(pid, NULL, 0);
}

static void run_step(void *so, const char *groups, bool report)
{
	pid_t pid = child_stopped();

	fake.pid = pid;
	is_int(hook(so, "slurm_spank_init"), 0, "init");
	if (groups)
		(void)option("ceems-perf", groups, 1);
	if (report)
		(void)option("ceems-report", NULL, 1);
	is_int(hook(so, "slurm_spank_init_post_opt"), 0, "init_post_opt");
	is_int(hook(so, "slurm_spank_task_post_fork"), 0, "task_post_fork");
	child_run(pid);
	is_int(hook(so, "slurm_spank_task_exit"), 0, "task_exit");
	is_int(hook(so, "slurm_spank_exit"), 0, "exit");
}

static void test_bad_conf(void)
{
	void *so = load(S_CTX_REMOTE);

	write_conf("PUE=0.5\n");
	run_step(so, "sw", true);
	ok(strstr(fake.error, "ceems.conf:2: PUE") != NULL, "file, line, key: %s", fake.error);
	is_str(fake.said, "", "no report");
	(void)dlclose(so);

	so = load(S_CTX_REMOTE);
	(void)unlink(conf + strlen("conf="));
	run_step(so, NULL, false);
	ok(fake.error[0], "conf= names no file: %s", fake.error);
	(void)dlclose(so);

	so = load(S_CTX_REMOTE);
	write_conf("PerfDefault=flops\n");
	run_step(so, NULL, true);
	ok(strstr(fake.error, "ceems.conf:2: PerfDefault: ") != NULL, "%s", fake.error);
	(void)dlclose(so);
}

static void test_without_ledger(void)
{
	void *so = load(S_CTX_REMOTE);

	write_conf("");
	run_step(so, NULL, false);
	is_str(fake.said, "", "silent unless asked");
	is_str(fake.error, "", "no ledger is no error");
	(void)dlclose(so);

	so = load(S_CTX_REMOTE);
	run_step(so, "sw", true);
	ok(strstr(fake.said, "task clock") && strstr(fake.said, "not measured"),
	   "its own table, without energy");
	(void)dlclose(so);

	so = load(S_CTX_REMOTE);
	(void)hook(so, "slurm_spank_init");
	(void)option("ceems-trace", "1s", 1);
	run_step(so, NULL, false);
	ok(strstr(fake.said, "this step is not traced: energy is not accounted on ") != NULL, "no trace: %s",
	   fake.said);
	(void)dlclose(so);

	so = load(S_CTX_REMOTE); /* extern: no task, and no exit of one */
	is_int(hook(so, "slurm_spank_init_post_opt"), 0, "extern");
	is_int(hook(so, "slurm_spank_task_post_fork"), 0, "post_fork without a task");
	is_int(hook(so, "slurm_spank_exit"), 0, "exit");
	is_str(fake.error, "", "no complaint");
	(void)dlclose(so);
}

/* --- contain_spank ------------------------------------------------------------------------- */

static int call(void *so_and_hook)
{
	void **p = so_and_hook;

	return hook(p[0], p[1]);
}

/* As Slurm 24.05 does with contain_spank: memory is shared, file descriptors are not. */
static int hook_contained(void *so, const char *name)
{
	static char stack[1 << 18];
	void *arg[] = { so, (void *)name };
	int status = -1;
	pid_t pid = clone(call, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, arg);

	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

static unsigned int fds(void)
{
	unsigned int n = 0;
	int fd;

	for (fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_contained(void)
{
	void *so = load(S_CTX_REMOTE);
	unsigned int before;

	write_conf("");
	fake.pid = child_stopped();
	is_int(hook(so, "slurm_spank_init"), 0, "init");
	(void)option("ceems-perf", "hw,io,net", 1);
	(void)option("ceems-report", NULL, 1);
	is_int(hook(so, "slurm_spank_init_post_opt"), 0, "init_post_opt");
	before = fds();
	is_int(hook_contained(so, "slurm_spank_task_post_fork"), 0, "post_fork in a container");
	child_run(fake.pid);
	is_int(hook_contained(so, "slurm_spank_task_exit"), 0, "task_exit in a container");
	ok(strstr(fake.said, "n/a (not measured)") != NULL, "nothing could be counted");
	is_int(hook(so, "slurm_spank_exit"), 0, "exit");
	is_u64(fds(), before, "no file descriptor of somebody else's was closed");
	(void)dlclose(so);
}

/* A step's slot on node n1, as acct_gather claims it, with LINES in ceems.conf. */
struct claimed {
	struct ledger *l;
	struct ledger_slot *slot;
	unsigned int n;
};

static bool claim_slot(struct claimed *c, const char *lines)
{
	const struct ledger_identity id = { .job_id = 7, .job_cpus = 1, .step_cpus = 1 };
	struct errmsg err = { 0 };
	char dir[64];
	bool fresh;

	(void)snprintf(dir, sizeof(dir), "%s/ledger", scratch);
	(void)setenv("SLURMD_NODENAME", "n1", 1);
	write_conf(lines);
	if (!ok(ledger_create(dir, "n1", &c->l, &fresh, &err) == 0, "ledger %s", err.text))
		return false;
	is_int(ledger_claim(c->l, &id, &c->n), 0, "claim, as acct_gather does");
	c->slot = ledger_slot(c->l, c->n);
	return true;
}

static void leave_slot(struct claimed *c)
{
	char file[64];

	ledger_leave(c->l, c->n);
	ledger_close(c->l);
	(void)snprintf(file, sizeof(file), "%s/ledger/n1.ledger", scratch);
	(void)unlink(file);
}

static void test_with_ledger(const char *groups, const char *perf_default, uint32_t requested)
{
	struct claimed c = { 0 };
	void *so = load(S_CTX_REMOTE);

	if (!claim_slot(&c, perf_default))
		return;
	run_step(so, groups, true);
	is_str(fake.said, "", "with a ledger acct_gather prints the report, not SPANK");
	is_u64(c.slot->flags, LEDGER_FLAG_REPORT | (groups ? LEDGER_FLAG_PERF : 0), "flags");
	is_u64(c.slot->request.groups, requested, "what was asked for");
	if (c.slot->values.reason[METRIC_TASK_CLOCK] == REASON_NO_PERMISSION)
		skip(1, "no permission to count");
	else
		ok(values_has(&c.slot->values, METRIC_TASK_CLOCK) == ((requested & PERF_GROUP_SW) != 0),
		   "counters are in the slot if asked for");
	ok(values_has(&c.slot->values, METRIC_CYCLES) ||
		   c.slot->values.reason[METRIC_CYCLES] != REASON_NOT_MEASURED,
	   "why cycles are missing: %s", metric_reason_text(c.slot->values.reason[METRIC_CYCLES]));
	is_u64(atomic_load(&c.slot->values_seq), 2, "they were published once");
	(void)dlclose(so);
	leave_slot(&c);
}

/*
 * A step whose profile acct_gather could not start, with FLAGS in its slot, which the
 * user must read as REASON.
 */
static void test_unprofiled(uint32_t flags, const char *reason)
{
	struct claimed c = { 0 };
	void *so = load(S_CTX_REMOTE);

	if (!claim_slot(&c, ""))
		return;
	atomic_fetch_or(&c.slot->flags, flags);
	(void)hook(so, "slurm_spank_init");
	(void)option("ceems-profile", "49", 1);
	run_step(so, NULL, false);
	is_str(fake.said, reason,
	       *reason ? "the user reads why there is no profile" : "nothing is said if there is one");
	(void)dlclose(so);
	leave_slot(&c);
}

/* --- ForbidOptions --------------------------------------------------------------------------- */

/* A step that asks for three options. */
static void ask_for_all(void *so)
{
	(void)hook(so, "slurm_spank_init");
	(void)option("ceems-trace", "1s", 1);
	(void)option("ceems-profile", "49", 1);
	run_step(so, "sw,io", false);
}

static void test_forbidden(void)
{
	struct claimed c = { 0 };
	void *so;

	if (!claim_slot(&c, "ForbidOptions=partition:debug:all\n"))
		return;
	c.slot->forbidden = PERF_GROUP_IO | FORBID_PROFILE;
	so = load(S_CTX_REMOTE);
	ask_for_all(so);
	is_u64(c.slot->request.groups, PERF_GROUP_SW, "a forbidden group is not asked for");
	is_u64(c.slot->profile.hz, 0, "nor is a profile");
	is_u64(c.slot->trace_ns, UINT64_C(1000000000), "a trace is, since acct_gather does not forbid it");
	is_str(fake.said,
	       "ceems: this job's partition or account may not use --ceems-perf=io --ceems-profile",
	       "the user is told once");
	(void)dlclose(so);

	c.slot->forbidden = FORBID_TRACE;
	c.slot->trace_ns = 0;
	so = load(S_CTX_REMOTE);
	run_step(so, "sw", false);
	is_str(fake.said, "", "a step that does not ask is told nothing");
	(void)dlclose(so);
	leave_slot(&c);

	so = load(S_CTX_REMOTE);
	write_conf("ForbidOptions=partition:debug:io+trace,account:guests:profile\n");
	ask_for_all(so);
	is_str(fake.said,
	       "ceems: some partitions or accounts may not use --ceems-perf=io --ceems-profile "
	       "--ceems-trace; energy is not accounted on n1, so those of this job are not known",
	       "without acct_gather, each rule holds");
	(void)dlclose(so);

	so = load(S_CTX_REMOTE);
	write_conf("PerfDefault=sw\nForbidOptions=partition:debug:sw\n");
	run_step(so, NULL, true);
	ok(*fake.said && !strstr(fake.said, "task clock") && !strstr(fake.said, "may not use"),
	   "PerfDefault's groups, too, silently: %s", fake.said);
	(void)dlclose(so);
	(void)unsetenv("SLURMD_NODENAME");
}

/* --- traces ---------------------------------------------------------------------------------- */

#define T "0af7651916cd43dd8448eb211c80319c"
#define PARENT "00-" T "-b7ad6b7169203331-01"
#define BEGINS "-0000000000000000-01"

/* A submission with PARENT (NULL: none) as TRACEPARENT; what the job carries is in fake.job_variable. */
static void submit(enum spank_context context, const char *parent, bool is_asked)
{
	void *so = load(context);

	if (parent)
		(void)setenv("TRACEPARENT", parent, 1);
	else
		(void)unsetenv("TRACEPARENT");
	(void)strcpy(fake.job_variable, "stale");
	(void)hook(so, "slurm_spank_init");
	if (is_asked)
		(void)option("ceems-trace-context", NULL, 0);
	is_int(hook(so, "slurm_spank_init_post_opt"), 0, "init_post_opt at submission");
	(void)dlclose(so);
}

static void test_trace_submit(void)
{
	static const char *const bad[] = { "", "$(reboot)", "00-" T "-b7ad6b7169203331-01-x", "\x1b]0;x\a" };
	char first[64];
	size_t i;

	(void)unsetenv("SLURM_JOB_ID");
	(void)setenv("SLURM_SPANK_CEEMS_TRACEPARENT", "of another job", 1);
	submit(S_CTX_ALLOCATOR, NULL, /* is_asked= */ false);
	is_str(fake.job_variable, "", "sbatch without a trace: the job has none");
	ok(!getenv("SLURM_SPANK_CEEMS_TRACEPARENT"), "  not even that of the job it was called in");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		submit(S_CTX_ALLOCATOR, bad[i], /* is_asked= */ false);
		is_str(fake.job_variable, "", "one that is not valid is ignored");
		is_str(fake.error, "ceems: TRACEPARENT is not valid and is ignored",
		       "  with one line, without its text");
	}
	submit(S_CTX_LOCAL, PARENT, /* is_asked= */ false);
	is_str(fake.job_variable, PARENT, "srun with one: the job has it");
	is_str(getenv("SLURM_SPANK_CEEMS_TRACEPARENT"), PARENT, "  and its tasks");
	is_str(getenv("TRACEPARENT"), PARENT, "  the user's is as it was");
	submit(S_CTX_ALLOCATOR, PARENT, /* is_asked= */ true);
	is_str(fake.job_variable, PARENT, "the option does not replace it");
	submit(S_CTX_ALLOCATOR, NULL, /* is_asked= */ true);
	ok(strlen(fake.job_variable) == 55 && !strcmp(fake.job_variable + 35, BEGINS),
	   "without one, a trace begins: %s", fake.job_variable);
	(void)strcpy(first, fake.job_variable);
	submit(S_CTX_ALLOCATOR, "bad", /* is_asked= */ true);
	ok(strcmp(fake.job_variable, first) != 0 && !strcmp(fake.job_variable + 35, BEGINS),
	   "each has its own");

	(void)setenv("SLURM_JOB_ID", "5", 1);
	submit(S_CTX_LOCAL, PARENT, /* is_asked= */ true);
	is_str(fake.job_variable, "stale", "srun in a job submits none");
	is_str(fake.error, "", "  whose trace goes on");
	(void)unsetenv("SLURM_SPANK_CEEMS_TRACEPARENT");
	submit(S_CTX_LOCAL, PARENT, /* is_asked= */ true);
	ok(strstr(fake.error, "this job has no trace") != NULL, "or cannot begin: %s", fake.error);
	(void)unsetenv("SLURM_JOB_ID");
	(void)unsetenv("TRACEPARENT");
}

/* CARRIED and OWN, of NULL: none, are the step's variables. What it has then. */
static const char *trace_step(const char *carried, const char *own)
{
	static char now[64];
	void *so = load(S_CTX_REMOTE);

	set_task_variable("SLURM_CLUSTER_NAME", "c1");
	if (carried)
		set_task_variable("SLURM_SPANK_CEEMS_TRACEPARENT", carried);
	if (own)
		set_task_variable("TRACEPARENT", own);
	write_conf("");
	(void)hook(so, "slurm_spank_init");
	(void)hook(so, "slurm_spank_init_post_opt");
	(void)hook(so, "slurm_spank_exit");
	(void)snprintf(now, sizeof(now), "%s",
		       task_variable("TRACEPARENT") ? task_variable("TRACEPARENT") : "none");
	(void)dlclose(so);
	return now;
}

static void test_trace_step(void)
{
	/* the first 8 bytes of SHA-256("c1/7,0.7"), as doc/traces.md says */
	static const char of_step[] = "00-" T "-3aab249e94442114-01";

	is_str(trace_step(NULL, NULL), "none", "a job without a trace: its tasks have none");
	is_str(trace_step(NULL, PARENT), PARENT, "  or what they had");
	is_str(trace_step(PARENT, PARENT), of_step, "with one: below their step");
	is_str(trace_step("00-" T BEGINS, NULL), of_step, "one that begins with the job, too");
	is_str(trace_step(PARENT, "junk"), of_step, "in place of one that is not valid");
	is_str(trace_step(PARENT, "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
	       "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	       "a trace that the script began goes on");
	is_str(trace_step("junk", NULL), "none", "what is carried is read as strictly");
}

int main(void)
{
	const char *top = getenv("top_builddir");
	char dir[64];

	(void)snprintf(path, sizeof(path), "%s/spank/.libs/spank_ceems.so", top ? top : "../..");
	if (!mkdtemp(scratch))
		return skip_all("no scratch folder");
	(void)snprintf(conf, sizeof(conf), "conf=%s/ceems.conf", scratch);
	(void)unsetenv("SLURMD_NODENAME");
	test_version();
	test_options();
	test_bad_conf();
	test_without_ledger();
	test_unprofiled(LEDGER_FLAG_PROFILE, "");
	test_unprofiled(
		LEDGER_FLAG_UNPROFILED,
		"ceems: --ceems-profile: this step is not profiled: n1 cannot (slurmd's log says why)");
	test_unprofiled(
		LEDGER_FLAG_UNPROFILED | LEDGER_FLAG_CROWDED,
		"ceems: --ceems-profile: this step is not profiled: n1 already profiles 64 other steps, "
		"or 32 of yours");
	test_with_ledger(NULL, "", 0);
	test_with_ledger("sw", "", PERF_GROUP_SW);
	test_with_ledger(NULL, "PerfDefault=hw\n", PERF_GROUP_HW | PERF_GROUP_SW);
	test_with_ledger("sw", "PerfDefault=io\n", PERF_GROUP_SW);
	test_contained();
	test_forbidden();
	test_trace_submit();
	test_trace_step();
	(void)unlink(conf + strlen("conf="));
	(void)snprintf(dir, sizeof(dir), "%s/ledger", scratch);
	(void)rmdir(dir);
	(void)rmdir(scratch);
	return done_testing();
}
#else
#include "tap.h"

int main(void)
{
	return skip_all("the SPANK plugin is not built");
}
#endif
