/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_todo.c - hints, and the list of them at the end, grouped by the file to change.
 */
#include "src/cmd/check/check_todo.h"

#include <string.h>

#include "src/cmd/cmd.h"

/* What to restart after a change of each file, if it does not depend on the key. */
static const struct {
	const char *name;
	unsigned int restart;
} files[CHECK_FILE_N] = {
	[CHECK_SLURM_CONF] = { "slurm.conf", RESTART_SLURMCTLD | RESTART_SLURMD },
	[CHECK_CEEMS_CONF] = { "ceems.conf", RESTART_SLURMCTLD | RESTART_SLURMD | RESTART_RECORDER },
	/* each step reads it; `scontrol reconfigure` sends it to configless nodes */
	[CHECK_PLUGSTACK_CONF] = { "plugstack.conf", RESTART_RECONFIGURE },
	[CHECK_GRES_CONF] = { "gres.conf", RESTART_SLURMCTLD | RESTART_SLURMD },
	[CHECK_ACCT_GATHER_CONF] = { "acct_gather.conf", RESTART_SLURMCTLD | RESTART_SLURMD },
	[CHECK_SYSTEM] = { "system", 0 },
};

/* Keys of slurm.conf, and the daemons to restart after a change, by slurm.conf(5). */
static const struct {
	const char *key;
	unsigned int restart;
} slurm_keys[] = {
	{ "AccountingStorageTRES", RESTART_SLURMCTLD },
	{ "AccountingStorageType", RESTART_SLURMCTLD },
	{ "AccountingStoreFlags", RESTART_RECONFIGURE },
	{ "AcctGatherEnergyType", RESTART_SLURMCTLD | RESTART_SLURMD },
	{ "AcctGatherProfileType", RESTART_SLURMCTLD | RESTART_SLURMD },
	{ "JobAcctGatherFrequency", RESTART_RECONFIGURE },
	{ "JobAcctGatherType", RESTART_SLURMCTLD | RESTART_SLURMD },
	{ "JobCompType", RESTART_SLURMCTLD },
	{ "MailProg", RESTART_RECONFIGURE },
	{ "PlugStackConfig", RESTART_RECONFIGURE },
	{ "PluginDir", RESTART_SLURMCTLD | RESTART_SLURMD },
	{ "PrologFlags", RESTART_RECONFIGURE },
};

static const struct {
	unsigned int restart;
	const char *command;
	const char *where;
} restarts[] = {
	{ RESTART_SLURMCTLD, "systemctl restart slurmctld", "" },
	{ RESTART_SLURMD, "systemctl restart slurmd", "  # on all nodes" },
	{ RESTART_RECORDER, "systemctl restart ceems-recorder", "  # on the controller" },
	{ RESTART_RECONFIGURE, "scontrol reconfigure", "" },
};

const struct check_hint check_no_hint = { .text = NULL, .file = CHECK_SYSTEM };

struct check_hint check_hint_file(enum check_file file, const char *text)
{
	return (struct check_hint){ text, file, files[file].restart };
}

struct check_hint check_hint_system(const char *text)
{
	return check_hint_file(CHECK_SYSTEM, text);
}

/* The daemons that read SETTING are restarted. A step and a command read it anew. */
struct check_hint check_hint_setting(enum setting setting, const char *text)
{
	unsigned int readers = settings_readers(setting);
	struct check_hint hint = { text, CHECK_CEEMS_CONF, 0 };

	if (readers & BY_SLURMCTLD)
		hint.restart |= RESTART_SLURMCTLD;
	if (readers & BY_SLURMD)
		hint.restart |= RESTART_SLURMD;
	if (readers & BY_RECORDER)
		hint.restart |= RESTART_RECORDER;
	return hint;
}

struct check_hint check_hint_slurm(const char *key, const char *text)
{
	struct check_hint hint = check_hint_file(CHECK_SLURM_CONF, text);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(slurm_keys); i++)
		if (!strcmp(slurm_keys[i].key, key))
			hint.restart = slurm_keys[i].restart;
	return hint;
}

struct check_hint check_hint_restart(enum check_restart daemon)
{
	struct check_hint hint = { NULL, CHECK_SYSTEM, daemon };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(restarts); i++)
		if (restarts[i].restart == daemon)
			hint.text = restarts[i].command;
	return hint;
}

const char *check_todo_file_name(const struct check_hint *hint)
{
	return hint->text ? files[hint->file].name : NULL;
}

static bool is_repeated(const struct check *c, size_t i)
{
	size_t j;

	for (j = 0; j < i; j++)
		if (c->findings[j].hint.text && !strcmp(c->findings[j].hint.text, c->findings[i].hint.text))
			return true;
	return false;
}

/* Prints the hints that change FILE, and returns what to restart. */
static unsigned int print_file(const struct check *c, enum check_file file)
{
	unsigned int restart = 0;
	bool is_begun = false;
	size_t i;

	for (i = 0; i < c->nfindings; i++) {
		const struct check_hint *hint = &c->findings[i].hint;

		if (!hint->text || hint->file != file)
			continue;
		restart |= hint->restart;
		if (is_repeated(c, i) || (file == CHECK_SYSTEM && hint->restart))
			continue;
		if (!is_begun)
			cmd_print("  %s", files[file].name);
		is_begun = true;
		cmd_print("    %s", hint->text);
	}
	return restart;
}

void check_todo_print(const struct check *c)
{
	unsigned int restart = 0;
	bool is_needed = false;
	size_t i;

	for (i = 0; i < c->nfindings; i++)
		is_needed |= c->findings[i].hint.text != NULL;
	if (!is_needed)
		return;
	cmd_print("to do");
	for (i = 0; i < CHECK_FILE_N; i++)
		restart |= print_file(c, (enum check_file)i);
	/* daemons that are restarted read all files, so they need not be reconfigured */
	if ((restart & (RESTART_SLURMCTLD | RESTART_SLURMD)) == (RESTART_SLURMCTLD | RESTART_SLURMD))
		restart &= ~(unsigned int)RESTART_RECONFIGURE;
	if (restart)
		cmd_print("  then");
	for (i = 0; i < ARRAY_SIZE(restarts); i++)
		if (restart & restarts[i].restart)
			cmd_print("    %s%s", restarts[i].command, restarts[i].where);
}
