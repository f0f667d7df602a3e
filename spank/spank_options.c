/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/spank_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/libmeter/activity/hwevents.h"
#include "src/libutil/clock.h"
#include "src/libutil/parse.h"

#define TRACE_DEFAULT_NS NSEC_PER_SEC
#define TRACE_MIN_NS (10 * NSEC_PER_MSEC)
#define TRACE_MAX_NS (3600 * NSEC_PER_SEC)

static struct spank_request request;

/*
 * Returns the argument of an option; "" if there is none. Then the callback gets NULL in srun, "" in the
 * batch step, and the text "(null)" if the option came through the environment of an sbatch script.
 */
static const char *given(const char *arg)
{
	return arg && strcmp(arg, "(null)") != 0 ? arg : "";
}

/*
 * Warns of unknown events. They are not refused, because the nodes may have another architecture or a newer
 * libpfm4.
 */
static void warn_of_names(const struct perf_request *perf)
{
	struct errmsg err = { 0 };

	if (hwevents_check_names(perf, &err) == -ENOENT)
		slurm_error("ceems: --ceems-perf: %s: these events are counted only if libpfm4 on the nodes "
			    "knows them",
			    err.text);
}

/*
 * The callbacks return -1 for a wrong argument in srun and sbatch. In slurmstepd they return
 * 0: -1 would end the step.
 */
static int option_perf(int val, const char *arg, int remote)
{
	struct errmsg err = { 0 };

	(void)val;
	if (perf_request_parse(given(arg), &request.perf, &err) < 0) {
		slurm_error("ceems: --ceems-perf: %s", err.text);
		return remote ? 0 : -1;
	}
	if (!remote)
		warn_of_names(&request.perf);
	request.is_perf = true;
	return 0;
}

static int option_report(int val, const char *arg, int remote)
{
	(void)val;
	(void)arg;
	(void)remote;
	request.is_report = true;
	return 0;
}

static int option_trace(int val, const char *arg, int remote)
{
	const char *text = given(arg);
	uint64_t ns = TRACE_DEFAULT_NS;

	(void)val;
	if (*text && (parse_duration_ns(text, &ns) < 0 || ns < TRACE_MIN_NS || ns > TRACE_MAX_NS)) {
		slurm_error("ceems: --ceems-trace: '%s' is not a time from 10ms to 1h", text);
		return remote ? 0 : -1;
	}
	request.trace_ns = ns;
	return 0;
}

static int option_trace_context(int val, const char *arg, int remote)
{
	(void)val;
	(void)arg;
	(void)remote;
	request.is_trace_context = true;
	return 0;
}

static int option_profile(int val, const char *arg, int remote)
{
	struct errmsg err = { 0 };

	(void)val;
	if (profile_request_parse(given(arg), &request.profile, &err) < 0) {
		slurm_error("ceems: --ceems-profile: %s", err.text);
		return remote ? 0 : -1;
	}
	return 0;
}

/* The casts drop const: spank.h has char * for texts that Slurm only copies. */
static struct spank_option options[] = {
	{ .name = (char *)"ceems-perf",
	  .arginfo = (char *)"GROUP,..",
	  .usage = (char *)"count what the step's tasks do: hw (CPU counters, default), sw, io "
			   "(by file system), net (packets), sched, events:NAME,..",
	  .has_arg = 2,
	  .cb = option_perf },
	{ .name = (char *)"ceems-report",
	  .usage = (char *)"print energy, emissions, I/O, network and counters when the step ends",
	  .has_arg = 0,
	  .cb = option_report },
	{ .name = (char *)"ceems-trace",
	  .arginfo = (char *)"INTERVAL",
	  .usage = (char *)"write a file of power, energy, CPU, memory, GPU, I/O and counters over time "
			   "per step and node (10ms to 1h, default 1s)",
	  .has_arg = 2,
	  .cb = option_trace },
	{ .name = (char *)"ceems-trace-context",
	  .usage = (char *)"give the job's tasks a TRACEPARENT, so that spans of instrumented programs are "
			   "in the job's trace",
	  .has_arg = 0,
	  .cb = option_trace_context },
	{ .name = (char *)"ceems-profile",
	  .arginfo = (char *)"HZ,STACKS,offcpu,cycles,maps",
	  .usage = (char *)"write a file of what the step's tasks execute, sampled 1 to 999 times per "
			   "second of CPU time (default 99), per step and node; STACKS: user (default), "
			   "kernel, both; offcpu: also where threads wait; cycles: by the PMU's cycles, "
			   "not by time; maps: have Python, Java and Node.js write the names of their "
			   "functions",
	  .has_arg = 2,
	  .cb = option_profile },
};

int spank_options_register(spank_t sp)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(options); i++)
		if (spank_option_register(sp, &options[i]) != ESPANK_SUCCESS) {
			slurm_error("ceems: cannot register the option --%s; it is not available",
				    options[i].name);
			return -1;
		}
	return 0;
}

const struct spank_request *spank_options_request(void)
{
	return &request;
}
