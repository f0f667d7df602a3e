/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_bpf.c - the BPF programs in `ceems check`: which groups are loaded and what they count, and
 * why the others are not.
 */
#include <errno.h>
#include <libgen.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

#include "src/cmd/check/check.h"
#include "src/libmeter/activity/probes.h"

/* What each group counts, and which option asks for it. */
static const struct {
	const char *counts;
	const char *asked_by; /* NULL: every step has it */
} groups[PROBES_GROUP_N] = {
	[PROBES_TASKS] = { "I/O, CPU time, switches and faults of tasks", NULL },
	[PROBES_TCP] = { "bytes and connections of TCP", NULL },
	[PROBES_IO] = { "I/O by file system", "--ceems-perf=io" },
	[PROBES_NET] = { "packets and UDP", "--ceems-perf=net" },
	[PROBES_HW] = { "hardware counters by BPF", "--ceems-perf" },
};

/* Returns what happens if GROUP is not loaded. */
static const char *instead(enum probes_group group)
{
	return group == PROBES_HW ? "perf counts them at a higher cost" : "it is n/a";
}

static void check_group(struct check *c, struct probes *p, enum probes_group group)
{
	const char *asked_by = groups[group].asked_by;
	enum probes_why why = probes_why(p, group);
	uint64_t lost = probes_lost(p, group), skipped = probes_skipped(p, group);
	char what[32];

	(void)snprintf(what, sizeof(what), "bpf %s", probes_group_name(group));
	if (why != PROBES_OK)
		check_note(c, what, "%s: %s; %s", groups[group].counts, probes_why_text(why), instead(group));
	else if (lost)
		check_warn(c, what,
			   check_hint_system("report this as a bug of slurm-ceems, "
					     "and say what the steps did"),
			   "%s: %llu events were not counted since the programs were loaded, because a map "
			   "was full",
			   groups[group].counts, (unsigned long long)lost);
	else if (skipped)
		check_warn(c, what,
			   check_hint_system(
				   "boot with preempt=none or preempt=voluntary where the kernel has "
				   "them; steps with lost events show lower bounds"),
			   "%s: the kernel skipped %llu events since the programs were loaded, because tasks "
			   "were preempted in a BPF program",
			   groups[group].counts, (unsigned long long)skipped);
	else if (asked_by)
		check_ok(c, what, "%s, for steps with %s", groups[group].counts, asked_by);
	else
		check_ok(c, what, "%s, for all steps%s", groups[group].counts,
			 group == PROBES_TCP && !(probes_features(p) & PROBES_HAS_LIVE_TCP) ?
				 ", as connections close" :
				 "");
}

static void check_use(struct check *c, struct probes *p)
{
	struct probes_count count;
	struct probes_dead dead;

	if (probes_count(p, &count, &dead) < 0)
		return;
	if (count.full)
		check_warn(c, "bpf", check_hint_system("run fewer steps at the same time on one node"),
			   "%llu steps were not counted, because all %u slots were taken",
			   (unsigned long long)count.full, PROBES_SLOTS);
	if (!count.users)
		check_warn(c, "bpf", check_hint_system("restart slurmd, or see its log"),
			   "%s: loaded, but no slurmd uses it", probes_dir(p));
	else
		check_ok(c, "bpf", "%s: %u steps counted now, %u programs attached", probes_dir(p),
			 count.slots, count.holds);
}

/*
 * Reports the slurmd of this node if it has no BPF program, though bpf() works for others: a filter of its
 * unit denies the call, and the programs that another slurmd loaded hide that. False: nothing was reported.
 */
static bool check_slurmd(struct check *c)
{
	char ledger[2 * PATH_MAX];
	pid_t pid;

	(void)snprintf(ledger, sizeof(ledger), "%s/%s.ledger", c->settings.ledger_dir, c->node);
	pid = check_process_mapping("slurmd", ledger);
	if (!pid || check_process_holds(pid, "anon_inode:bpf") != 0)
		return false;
	check_warn(
		c, "bpf",
		check_hint_system("SystemCallFilter= and CapabilityBoundingSet= of slurmd's unit must "
				  "allow bpf() and CAP_BPF, CAP_PERFMON; then restart slurmd"),
		"slurmd (process %d) has no BPF program: bpf() is denied to it, or its log says why; I/O and "
		"network are n/a",
		(int)pid);
	return true;
}

/* Reports why nothing is loaded, if it can be found out here. */
static void check_absent(struct check *c)
{
	const char *dir = c->settings.bpf_dir;
	char parent[PATH_MAX + 32];
	struct statfs fs;

	(void)snprintf(parent, sizeof(parent), "%s/sys/kernel/btf/vmlinux", c->settings.sys_root);
	if (access(parent, F_OK) < 0) {
		check_warn(c, "bpf",
			   check_hint_system("boot a kernel with CONFIG_DEBUG_INFO_BTF, "
					     "such as a distribution's"),
			   "this kernel has no BTF (%s): I/O and network are n/a", parent);
		return;
	}
	(void)snprintf(parent, sizeof(parent), "%s", dir);
	if (statfs(dirname(parent), &fs) < 0 || (unsigned long)fs.f_type != BPF_FS_MAGIC)
		check_warn(c, "bpf",
			   check_hint_system("mount -t bpf -o mode=700 bpf /sys/fs/bpf, then restart slurmd"),
			   "%s is not on a bpf file system: I/O and network are n/a", dir);
	else if (!check_slurmd(c))
		check_note(c, "bpf",
			   "%s: no programs are loaded; slurmd's plugin loads them, or logs why it cannot",
			   dir);
}

void check_bpf(struct check *c)
{
	struct errmsg err = { 0 };
	struct probes *p;
	unsigned int i;
	int rc;

	if (!*c->settings.bpf_dir) {
		check_note(c, "bpf", "BpfDir is empty: I/O and network are n/a");
		return;
	}
	if (check_is_hung(c, c->settings.bpf_dir))
		return;
	rc = probes_open(c->settings.bpf_dir, &p, &err);
	if (rc == -ENOENT) {
		check_absent(c);
		return;
	}
	if ((rc == -EACCES || rc == -EPERM) && geteuid() != 0) {
		check_note(c, "bpf", "%s: only root can read it", err.text);
		return;
	}
	if (rc < 0) {
		check_error(c, "bpf", check_hint_system("see ceems-bpf(8), and restart slurmd"), "%s",
			    err.text);
		return;
	}
	(void)check_slurmd(c);
	check_use(c, p);
	for (i = 0; i < PROBES_GROUP_N; i++)
		check_group(c, p, (enum probes_group)i);
	probes_close(p);
}
