/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libstep/stepprofile.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>

#include "src/libutil/clock.h"

struct stepprofile {
	struct stepfile file;
	uint64_t deadline_ns; /* until when to wait for the program's end; 0: it was not halted */
};

static void set_tasks(const struct stepprofile_setup *setup, char *arg[])
{
	const size_t size = setup->n * sizeof("4294967295:4294967295,") + 1;
	_cleanup_free_ char *text = malloc(size);
	size_t used = 0, i;

	if (!text)
		return;
	*text = '\0';
	for (i = 0; i < setup->n; i++) {
		used += (size_t)snprintf(text + used, size - used, "%s%d", i ? "," : "", (int)setup->pid[i]);
		if (setup->owner->rank)
			used += (size_t)snprintf(text + used, size - used, ":%" PRIu32,
						 setup->owner->rank[i]);
	}
	step_arg_set(arg, STEP_ARG_TASKS, "%s", text);
}

static int make_command(const struct stepprofile_setup *setup, const struct ledger_slot *slot,
			struct stepfile_command *ret)
{
	const struct settings *settings = setup->settings;
	const struct stepfile_setup program = {
		.what = "profile",
		.settings = settings,
		.owner = setup->owner,
		.ledger = setup->ledger,
		.id = &slot->id,
		.dir = settings->profile_dir,
		.size_max = STEPPROFILE_FILE_MAX,
	};
	const char *stacks = profile_request_stacks_name(slot->profile.stacks);
	const char *queue = *settings->profile_push_url ? settings->profile_push_dir : "";
	const char *cluster = setup->owner->cluster ? setup->owner->cluster : "";
	char step[16];
	char **arg = ret->arg;
	uint32_t hz = slot->profile.hz;
	size_t a;
	int rc = stepfile_command_make(&program, ret);

	if (rc < 0)
		return rc;
	if (hz > settings->profile_max_hz)
		hz = (uint32_t)settings->profile_max_hz;
	step_arg_set(arg, STEP_ARG_HZ, "%" PRIu32, hz);
	step_arg_set(arg, STEP_ARG_STACKS, "%s%s", stacks,
		     slot->profile.stacks & PROFILE_REQUEST_CYCLES ? ",cycles" : "");
	/* the program, still root then, opens the folder by this path; so it need not inherit a descriptor */
	step_arg_set(arg, STEP_ARG_CGROUP, "/proc/%d/fd/%d", (int)getpid(), setup->cgroup_fd);
	set_tasks(setup, arg);
	step_arg_set(arg, STEP_ARG_JOB, "%s", setup->owner->job);
	step_arg_set(arg, STEP_ARG_STEP, "%s", ledger_step_name(slot->id.step_id, step, sizeof(step)));
	step_arg_set(arg, STEP_ARG_NODE, "%s", ledger_node(setup->ledger));
	step_arg_set(arg, STEP_ARG_QUEUE, "%s", queue);
	step_arg_set(arg, STEP_ARG_QUEUE_BYTES, "%" PRIu64, settings->profile_push_max_bytes);
	step_arg_set(arg, STEP_ARG_JOB_ID, "%" PRIu32, slot->id.job_id);
	step_arg_set(arg, STEP_ARG_CLUSTER, "%s", cluster);
	ret->nargs = STEP_ARGS_PROFILE;
	for (a = 0; a < STEP_ARGS_PROFILE; a++)
		if (!arg[a])
			return -ENOMEM;
	return 0;
}

int stepprofile_start(const struct stepprofile_setup *setup, struct stepprofile **ret, struct errmsg *err)
{
	struct ledger_slot *slot = ledger_slot(setup->ledger, setup->slot);
	struct stepfile_command command = { 0 };
	struct stepprofile *sp;
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
		return errmsg_set(err, -EBUSY,
				  "%u other steps of this node, or %u of this user, are profiled",
				  STEPPROFILE_STEPS_MAX, STEPPROFILE_USER_STEPS_MAX);
	}
	stepfile_init(&sp->file, "profile", "the profile of this step ends there");
	rc = make_command(setup, slot, &command);
	if (rc == 0)
		rc = stepfile_start(&sp->file, &command, /* socket_bytes= */ 0);
	if (rc < 0)
		(void)errmsg_errno(err, rc, "cannot start %s",
				   command.program ? command.program : "ceems-profile");
	stepfile_command_clear(&command);
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

void stepprofile_finish(struct stepprofile *sp, struct errmsg *ret_lost)
{
	if (!sp)
		return;
	stepprofile_halt(sp);
	stepfile_end(&sp->file, sp->deadline_ns);
	stepfile_take_lost(&sp->file, ret_lost);
	free(sp);
}
