/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libstep/stepprofile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>

#include "src/libutil/clock.h"

/*
 * Arguments: those of STEPFILE_ARGS, HZ, STACKS, CGROUP, TASKS, for comments in the file JOB, STEP and NODE, and for
 * ProfilePushUrl QUEUE (empty: it is not set), QUEUE_BYTES, JOB_ID and CLUSTER.
 */
#define NARGS (STEPFILE_ARGS + 11)

struct stepprofile {
	struct stepfile file;
	uint64_t deadline_ns; /* until when to wait for the program's end; 0: it was not halted */
};

static char *format(const char *fmt, ...) _printf_(1, 2);

static char *format(const char *fmt, ...)
{
	char text[64];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return strdup(text);
}

/* Returns PID:RANK of each task, such as "1234:0,1235:1", or only the pids if ranks are not known. The caller frees it. */
static char *tasks_text(const struct stepprofile_setup *setup)
{
	const size_t size = setup->n * sizeof("4294967295:4294967295,") + 1;
	char *text = malloc(size);
	size_t used = 0, i;

	if (!text)
		return NULL;
	*text = '\0';
	for (i = 0; i < setup->n; i++) {
		used += (size_t)snprintf(text + used, size - used, "%s%d", i ? "," : "", (int)setup->pid[i]);
		if (setup->owner->rank)
			used += (size_t)snprintf(text + used, size - used, ":%" PRIu32, setup->owner->rank[i]);
	}
	return text;
}

static int make_arguments(const struct stepprofile_setup *setup, const struct ledger_slot *slot, char *arg[NARGS])
{
	const struct stepfile_setup program = {
		.what = "profile",
		.settings = setup->settings,
		.owner = setup->owner,
		.ledger = setup->ledger,
		.id = &slot->id,
		.dir = setup->settings->profile_dir,
		.size_max = STEPPROFILE_FILE_MAX,
	};
	uint32_t hz = slot->profile.hz;
	char step[16];
	size_t i;
	int rc = stepfile_arguments(&program, arg);

	if (rc < 0)
		return rc;
	if (hz > setup->settings->profile_max_hz)
		hz = (uint32_t)setup->settings->profile_max_hz;
	arg[6] = format("%" PRIu32, hz);
	arg[7] = format("%s%s", profile_request_stacks_name(slot->profile.stacks),
			slot->profile.stacks & PROFILE_REQUEST_CYCLES ? ",cycles" : "");
	/* the program, still root then, opens the folder by this path; so it need not inherit a descriptor */
	arg[8] = format("/proc/%d/fd/%d", (int)getpid(), setup->cgroup_fd);
	arg[9] = tasks_text(setup);
	arg[10] = strdup(setup->owner->job);
	arg[11] = strdup(ledger_step_name(slot->id.step_id, step, sizeof(step)));
	arg[12] = strdup(ledger_node(setup->ledger));
	arg[13] = strdup(*setup->settings->profile_push_url ? setup->settings->profile_push_dir : "");
	arg[14] = format("%" PRIu64, setup->settings->profile_push_max_bytes);
	arg[15] = format("%" PRIu32, slot->id.job_id);
	arg[16] = strdup(setup->owner->cluster ? setup->owner->cluster : "");
	for (i = STEPFILE_ARGS; i < NARGS; i++)
		if (!arg[i])
			return -ENOMEM;
	return 0;
}

int stepprofile_start(const struct stepprofile_setup *setup, struct stepprofile **ret, struct errmsg *err)
{
	struct ledger_slot *slot = ledger_slot(setup->ledger, setup->slot);
	char *arg[NARGS + 1] = { NULL };
	struct stepprofile *sp;
	size_t i;
	int rc;

	if (!strcmp(setup->settings->profile_dir, SETTINGS_NONE))
		return errmsg_set(err, -EPERM, "ProfileDir=" SETTINGS_NONE " in ceems.conf");
	if (setup->cgroup_fd < 0)
		return errmsg_set(err, -EOPNOTSUPP, "the step has no v2 cgroup");
	sp = calloc(1, sizeof(*sp));
	if (!sp)
		return errmsg_errno(err, -ENOMEM, "profile");
	if (!ledger_flag_if_few(setup->ledger, setup->slot, LEDGER_FLAG_PROFILE, STEPPROFILE_STEPS_MAX,
				STEPPROFILE_USER_STEPS_MAX)) {
		free(sp);
		return errmsg_set(err, -EBUSY, "%u other steps of this node, or %u of this user, are profiled",
				  STEPPROFILE_STEPS_MAX, STEPPROFILE_USER_STEPS_MAX);
	}
	stepfile_init(&sp->file, "profile", "the profile of this step ends there");
	rc = make_arguments(setup, slot, arg);
	if (rc == 0)
		rc = stepfile_start(&sp->file, arg, /* socket_bytes= */ 0);
	if (rc < 0)
		(void)errmsg_errno(err, rc, "cannot start %s", arg[0] ? arg[0] : "ceems-profile");
	for (i = 0; i < NARGS; i++)
		free(arg[i]);
	if (rc < 0) {
		atomic_fetch_and(&slot->flags, ~LEDGER_FLAG_PROFILE);
		free(sp);
		return rc;
	}
	*ret = sp;
	return 0;
}

void stepprofile_leave(struct stepprofile *sp)
{
	if (sp)
		stepfile_leave(&sp->file);
}

void stepprofile_halt(struct stepprofile *sp)
{
	if (!sp || sp->deadline_ns)
		return;
	sp->deadline_ns = clock_mono_ns() + STEPFILE_END_NS;
	(void)shutdown(sp->file.in, SHUT_WR);
}

void stepprofile_finish(struct stepprofile *sp)
{
	if (!sp)
		return;
	stepprofile_halt(sp);
	stepfile_end(&sp->file, sp->deadline_ns);
	free(sp);
}
