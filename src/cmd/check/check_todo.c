/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_todo.c - prints the hints, grouped by the file to change. A hint belongs to the file that its text names, or
 * whose key it names.
 */
#include "src/cmd/check/check_todo.h"

#include <ctype.h>
#include <string.h>

#include "src/cmd/cmd.h"

enum restart {
	SLURMCTLD = 1 << 0,
	SLURMD = 1 << 1,
	RECORDER = 1 << 2,
	RECONFIGURE = 1 << 3,
};

enum file { SLURM_CONF, CEEMS_CONF, PLUGSTACK_CONF, GRES_CONF, CGROUP_CONF, ACCT_GATHER_CONF, SYSTEM, FILE_N };

/* The daemons to restart after a change of each file. For the first two files, this depends on the key. */
static const struct {
	const char *name;
	unsigned int restart;
} files[FILE_N] = {
	[SLURM_CONF] = { "slurm.conf", SLURMCTLD | SLURMD },
	[CEEMS_CONF] = { "ceems.conf", SLURMCTLD | SLURMD | RECORDER },
	[PLUGSTACK_CONF] = { "plugstack.conf", RECONFIGURE }, /* each step reads it; `scontrol reconfigure`
								 sends it to configless nodes */
	[GRES_CONF] = { "gres.conf", SLURMCTLD | SLURMD },
	[CGROUP_CONF] = { "cgroup.conf", SLURMD },
	[ACCT_GATHER_CONF] = { "acct_gather.conf", SLURMCTLD | SLURMD },
	[SYSTEM] = { "system", 0 },
};

/* Keys of slurm.conf, and the daemons to restart after a change, by slurm.conf(5). */
static const struct {
	const char *key;
	unsigned int restart;
} slurm_keys[] = {
	{ "AccountingStorageTRES", SLURMCTLD },
	{ "AccountingStorageType", SLURMCTLD },
	{ "AccountingStoreFlags", RECONFIGURE },
	{ "AcctGatherEnergyType", SLURMCTLD | SLURMD },
	{ "AcctGatherProfileType", SLURMCTLD | SLURMD },
	{ "JobAcctGatherFrequency", RECONFIGURE },
	{ "JobAcctGatherType", SLURMCTLD | SLURMD },
	{ "JobCompType", SLURMCTLD },
	{ "PlugStackConfig", RECONFIGURE },
	{ "PluginDir", SLURMCTLD | SLURMD },
	{ "PrologFlags", RECONFIGURE },
};

static const struct {
	unsigned int restart;
	const char *command;
	const char *where;
} restarts[] = {
	{ SLURMCTLD, "systemctl restart slurmctld", "" },
	{ SLURMD, "systemctl restart slurmd", "  # on all nodes" },
	{ RECORDER, "systemctl restart ceems-recorder", "  # on the controller" },
	{ RECONFIGURE, "scontrol reconfigure", "" },
};

struct todo {
	enum file file;
	unsigned int restart;
};

/*
 * Returns true if WORD (LEN bytes of HINT) is NAME, or, after "in" or "out of", a path that ends
 * with NAME.
 */
static bool is_named(const char *hint, const char *word, size_t len, const char *name)
{
	size_t n = strlen(name);
	bool is_place = word - hint >= 3 && (!strncmp(word - 3, "in ", 3) || !strncmp(word - 3, "of ", 3));

	if (len < n || strncmp(word + len - n, name, n) != 0)
		return false;
	return len == n || (is_place && word[len - n - 1] == '/');
}

/* Returns the daemons to restart after a change of SETTING: those that read it. A step and a command read it anew. */
static unsigned int restart_of_setting(enum setting setting)
{
	unsigned int readers = settings_readers(setting);

	return (readers & BY_SLURMCTLD ? SLURMCTLD : 0u) | (readers & BY_SLURMD ? SLURMD : 0u) |
	       (readers & BY_RECORDER ? RECORDER : 0u);
}

static bool todo_of_word(const char *hint, const char *word, size_t len, struct todo *ret)
{
	size_t i;

	for (i = 0; i < SYSTEM; i++)
		if (is_named(hint, word, len, files[i].name)) {
			*ret = (struct todo){ (enum file)i, files[i].restart };
			return true;
		}
	for (i = 0; i < ARRAY_SIZE(slurm_keys); i++)
		if (strlen(slurm_keys[i].key) == len && !strncmp(word, slurm_keys[i].key, len)) {
			*ret = (struct todo){ SLURM_CONF, slurm_keys[i].restart };
			return true;
		}
	for (i = 0; i < settings_nkeys; i++)
		if (strlen(settings_keys[i].name) == len && !strncmp(word, settings_keys[i].name, len)) {
			*ret = (struct todo){ CEEMS_CONF, restart_of_setting((enum setting)i) };
			return true;
		}
	return false;
}

/* Finds what HINT changes, by its first word that names a file or a key. */
static struct todo todo_of(const char *hint)
{
	struct todo todo = { SYSTEM, 0 };
	const char *word;
	size_t len;
	size_t i;

	if (!strncmp(hint, "optional ", 9))
		return (struct todo){ PLUGSTACK_CONF, files[PLUGSTACK_CONF].restart };
	for (i = 0; i < ARRAY_SIZE(restarts); i++)
		if (!strcmp(hint, restarts[i].command))
			todo.restart = restarts[i].restart;
	for (word = hint; *word; word += len + (word[len] != '\0')) {
		len = strcspn(word, " =,;:()");
		if (len && todo_of_word(hint, word, len, &todo))
			break;
	}
	return todo;
}

const char *check_todo_file_name(const char *hint)
{
	return hint ? files[todo_of(hint).file].name : NULL;
}

static bool is_repeated(const struct check *c, size_t i)
{
	size_t j;

	for (j = 0; j < i; j++)
		if (c->findings[j].hint && !strcmp(c->findings[j].hint, c->findings[i].hint))
			return true;
	return false;
}

/* Prints the hints that change FILE, and returns the daemons to restart. */
static unsigned int print_file(const struct check *c, enum file file)
{
	unsigned int restart = 0;
	bool is_begun = false;
	size_t i;

	for (i = 0; i < c->nfindings; i++) {
		const char *hint = c->findings[i].hint;
		struct todo todo;

		if (!hint || is_repeated(c, i))
			continue;
		todo = todo_of(hint);
		if (todo.file != file)
			continue;
		restart |= todo.restart;
		if (file == SYSTEM && todo.restart)
			continue;
		if (!is_begun)
			cmd_print("  %s", files[file].name);
		is_begun = true;
		cmd_print("    %s", hint);
	}
	return restart;
}

void check_todo_print(const struct check *c)
{
	unsigned int restart = 0;
	bool is_needed = false;
	size_t i;

	for (i = 0; i < c->nfindings; i++)
		is_needed |= c->findings[i].hint != NULL;
	if (!is_needed)
		return;
	cmd_print("to do");
	for (i = 0; i < FILE_N; i++)
		restart |= print_file(c, (enum file)i);
	/* daemons that are restarted read all files, so they need not be reconfigured */
	if ((restart & (SLURMCTLD | SLURMD)) == (SLURMCTLD | SLURMD))
		restart &= ~(unsigned int)RECONFIGURE;
	if (restart)
		cmd_print("  then");
	for (i = 0; i < ARRAY_SIZE(restarts); i++)
		if (restart & restarts[i].restart)
			cmd_print("    %s%s", restarts[i].command, restarts[i].where);
}
