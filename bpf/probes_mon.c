/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bpf/probes_mon.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "bpf/kernel_has.h"
#include "bpf/probes.h"
#include "bpf/probes.skel.h"
#include "src/libmeter/activity/probes.h"

/* It is pinned by that name. */
_Static_assert(sizeof(struct probes_bpf__bss) == PROBES_CACHE * sizeof(__u64),
	       "nothing but the cache is in .bss");

/* bpffs refuses names with dots */
#define STAGING "new_" PROBES_DIR

int probes_mon_check_dir(const char *dir, struct errmsg *err)
{
	char parent[PATH_MAX];
	struct statfs fs;
	const char *at = dir;

	if (strlen(dir) >= sizeof(parent))
		return errmsg_errno(err, -ENAMETOOLONG, "%s", dir);
	if (statfs(dir, &fs) < 0) {
		memcpy(parent, dir, strlen(dir) + 1);
		at = dirname(parent);
		if (statfs(at, &fs) < 0)
			return errmsg_errno(err, -EOPNOTSUPP, "%s does not exist", at);
	}
	/* not mounted here, since a mount would outlive the process that asked for it */
	if ((unsigned long)fs.f_type != BPF_FS_MAGIC)
		return errmsg_set(err, -EOPNOTSUPP,
				  "%s is not on a bpf file system; where systemd does not mount "
				  "one: mount -t bpf -o mode=700 bpf /sys/fs/bpf",
				  at);
	return 0;
}

/* --- libbpf's words ----------------------------------------------------------------------- */

/*
 * libbpf's first error message, which has the cause; later ones are consequences. Messages about
 * raising the memory limit are skipped: without rights that fails first, and no kernel since 5.11
 * needs it.
 */
static char complaint[256];

static int _printf_(2, 0) listen(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (level == LIBBPF_WARN && !complaint[0]) {
		(void)vsnprintf(complaint, sizeof(complaint), fmt, ap);
		complaint[strcspn(complaint, "\n")] = '\0';
		if (strstr(complaint, "RLIMIT_MEMLOCK"))
			complaint[0] = '\0';
	}
	return 0;
}

static int refused(struct errmsg *err, int rc, const char *what)
{
	if (rc == -EPERM || rc == -EACCES)
		return errmsg_set(err, -EOPNOTSUPP,
				  "cannot %s the BPF programs: CAP_BPF and CAP_PERFMON are needed, or "
				  "CAP_SYS_ADMIN: %s: %s",
				  what, complaint, strerror(-rc));
	return errmsg_set(err, -EOPNOTSUPP, "this kernel does not %s the BPF programs: %s: %s", what,
			  complaint, strerror(-rc));
}

/* --- the groups --------------------------------------------------------------------------- */

/*
 * The groups. For a new one, add a row here, its names in probes.h, and an #include in
 * probes.bpf.c.
 *
 * PREFIX: begins of the names of its programs and maps. Those that were not loaded are not pinned.
 *
 * PROBE finds out by features, never by version (kernel_has.h), whether the kernel supports the
 * group. It returns the reason if not, or PROBES_OK. It may leave out single programs with
 * drop_program(), set constants in SKEL->rodata, and add to META->features. It need not test what the
 * verifier tests: a group that does not load is left out, and the others are loaded.
 */
struct group {
	const char *prefix[4];
	enum probes_why (*probe)(const struct kernel_has *k, struct probes_bpf *skel,
				 struct probes_meta *meta);
};

static void drop_program(struct probes_bpf *skel, const char *name)
{
	struct bpf_program *p = bpf_object__find_program_by_name(skel->obj, name);

	if (p)
		(void)bpf_program__set_autoload(p, false);
}

/*
 * Chooses the program for the exit of tasks: that of the perf event where the kernel could skip the other.
 * Without tracefs or links of perf events it is the other, and probes_skipped() tells what it skips.
 */
static void choose_exit(const struct kernel_has *k, struct probes_bpf *skel, struct probes_meta *meta)
{
	__u32 id = kernel_has_preemptible_tracepoints(k) ? kernel_has_event("sched/sched_process_exit") : 0;

	drop_program(skel, id ? "task_exit" : "task_exit__event");
	meta->event[LINK_TASK_EXIT] = id;
}

static enum probes_why probe_tasks(const struct kernel_has *k, struct probes_bpf *skel,
				   struct probes_meta *meta)
{
	choose_exit(k, skel, meta);
	if (kernel_has_v1_freezer()) {
		skel->rodata->has_v1_freezer = true;
		meta->features |= PROBES_HAS_V1;
	}
	if (kernel_has_member(k, "task_io_accounting", "rchar"))
		meta->features |= PROBES_HAS_CHARS;
	if (kernel_has_member(k, "task_io_accounting", "read_bytes"))
		meta->features |= PROBES_HAS_STORAGE;
	if (kernel_has_member(k, "sched_info", "run_delay"))
		meta->features |= PROBES_HAS_RUN_DELAY;
	return PROBES_OK;
}

/*
 * Whether listing marked sockets is safe. Kernels whose elements have a state (7.x) set the pointer that
 * bpf_sk_storage_map's show() follows to NULL when a socket goes, without holding up the iterator: it reads
 * address 0x88, and the kernel kills the reader or panics. Seen with 7.2.13.
 */
static bool can_list_sockets(const struct kernel_has *k)
{
	return kernel_has_iterator(k, "bpf_iter_bpf_sk_storage_map") &&
	       !kernel_has_member(k, "bpf_local_storage_elem", "state");
}

/*
 * TCP needs a tracepoint. Where sockets cannot be listed, one is counted when it closes. Without marks on
 * them, there is no list either.
 */
static enum probes_why probe_tcp(const struct kernel_has *k, struct probes_bpf *skel,
				 struct probes_meta *meta)
{
	bool has_marks = kernel_has_function(k, "bpf_sk_storage_get_tracing"); /* 5.11, 8e4597c627fb */

	if (kernel_has_tracepoint(k, "inet_sock_set_state") < 3)
		return PROBES_NO_HOOK;
	if (!kernel_has_member(k, "sock", "sk_cgrp_data"))
		return PROBES_NO_FIELD;
	skel->rodata->has_marks = has_marks;
	if (has_marks && can_list_sockets(k))
		meta->features |= PROBES_HAS_LIVE_TCP;
	else
		drop_program(skel, "sockets");
	/* without marks, the second program would count twice; such a kernel does not need it */
	if (!has_marks)
		drop_program(skel, "tcp_state_again");
	return PROBES_OK;
}

static enum probes_why probe_net(const struct kernel_has *k, struct probes_bpf *skel,
				 struct probes_meta *meta)
{
	(void)k;
	(void)skel;
	(void)meta;
	/* 0: a kernel without CONFIG_CGROUP_BPF */
	return libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_CGROUP_SKB, NULL) == 0 ? PROBES_NO_HOOK : PROBES_OK;
}

/* All of these must exist; otherwise bytes would be missing without notice. */
static const char *const io_functions[] = {
	"vfs_read", "vfs_write", "vfs_readv", "vfs_writev", "do_sendfile", "do_splice", "vfs_copy_file_range",
};

static enum probes_why probe_io(const struct kernel_has *k, struct probes_bpf *skel, struct probes_meta *meta)
{
	int args = kernel_has_tracepoint(k, "io_uring_complete");
	bool has_cqe = kernel_has_tracepoint_arg(k, "io_uring_complete", 2, "io_uring_cqe");
	/*
	 * the second argument is the request; at this position since 5.18, with 5 arguments or more
	 */
	bool has_res = !has_cqe && args >= 5;
	size_t i;

	if (!kernel_has_fexit(k))
		return PROBES_NO_HOOK;
	for (i = 0; i < ARRAY_SIZE(io_functions); i++)
		if (!kernel_has_function(k, io_functions[i]))
			return PROBES_NO_HOOK;
	if (!kernel_has_function(k, "aio_read") || !kernel_has_function(k, "aio_write")) {
		drop_program(skel, "io_aio_read"); /* CONFIG_AIO is off */
		drop_program(skel, "io_aio_write");
	}
	if (!has_res)
		drop_program(skel, "io_uring__res");
	if (!has_cqe)
		drop_program(skel, "io_uring__cqe");
	if (has_res || has_cqe)
		meta->features |= PROBES_HAS_URING;
	return PROBES_OK;
}

/*
 * Chooses the program for this kernel's arguments of sched_switch. The group needs
 * tp_btf/sched_switch, and the map flag that keeps counters when the process that made them ends.
 */
static enum probes_why probe_hw(const struct kernel_has *k, struct probes_bpf *skel, struct probes_meta *meta)
{
	(void)meta;
	if (!kernel_has_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, sizeof(__u32), sizeof(__u32),
			    BPF_F_PRESERVE_ELEMS))
		return PROBES_NO_HELPER;
	if (kernel_has_tracepoint_arg(k, "sched_switch", 1, "task_struct"))
		drop_program(skel, "hw_switch__state_first");
	else if (kernel_has_tracepoint_arg(k, "sched_switch", 2, "task_struct"))
		drop_program(skel, "hw_switch");
	else
		return PROBES_NO_HOOK;
	return PROBES_OK;
}

static const struct group groups[PROBES_GROUP_N] = {
	[PROBES_TASKS] = { { "task_", "living" }, probe_tasks },
	[PROBES_TCP] = { { "tcp_", "sockets" }, probe_tcp },
	[PROBES_IO] = { { "io_", "fs_" }, probe_io },
	[PROBES_NET] = { { "net_" }, probe_net },
	[PROBES_HW] = { { "hw_" }, probe_hw },
};

static bool is_of(const struct group *g, const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(g->prefix) && g->prefix[i]; i++)
		if (!strncmp(name, g->prefix[i], strlen(g->prefix[i])))
			return true;
	return false;
}

static void leave_out(struct probes_bpf *skel, const struct group *g)
{
	struct bpf_program *prog;
	struct bpf_map *map;

	bpf_object__for_each_program(prog, skel->obj)
		if (is_of(g, bpf_program__name(prog)))
			(void)bpf_program__set_autoload(prog, false);
	bpf_object__for_each_map(map, skel->obj)
		if (is_of(g, bpf_map__name(map)))
			(void)bpf_map__set_autocreate(map, false);
}

/* --- loading ------------------------------------------------------------------------------ */

/* The number of shards. More than CPUs are useless, and each needs memory for all slots. */
static __u32 count_shards(void)
{
	int cpus = libbpf_num_possible_cpus();
	__u32 shards = 1;

	while (shards < PROBES_SHARDS_MAX && (int)shards < cpus)
		shards *= 2;
	return shards;
}

static void size_maps(struct probes_bpf *skel, __u32 shards)
{
	struct bpf_map *map;
	__u32 rows, row_size;

	skel->rodata->shard_mask = shards - 1;
	bpf_object__for_each_map(map, skel->obj) {
		rows = probes_rows_of_slot(bpf_map__name(map), shards);
		if (!rows)
			continue;
		(void)bpf_map__set_max_entries(map, (PROBES_SLOTS + 1) * rows);
		row_size = probes_row_size(bpf_map__name(map), shards);
		if (row_size != bpf_map__value_size(map))
			(void)bpf_map__set_value_size(map, row_size);
	}
}

/*
 * Loads the object with the groups that are PROBES_OK in *META after their probe. A refusal by a
 * probe is stored in *META; a refusal by the verifier is the return code.
 */
static int try_load(const struct kernel_has *k, struct probes_meta *meta, struct probes_bpf **ret)
{
	struct probes_bpf *skel = probes_bpf__open();
	size_t i;
	int rc;

	if (!skel)
		return -errno;
	meta->features = 0;
	size_maps(skel, meta->shards);
	for (i = 0; i < PROBES_GROUP_N; i++) {
		if (meta->why[i] == PROBES_OK && groups[i].probe)
			meta->why[i] = (__u8)groups[i].probe(k, skel, meta);
		if (meta->why[i] != PROBES_OK)
			leave_out(skel, &groups[i]);
	}
	if (meta->why[PROBES_IO] == PROBES_OK && !kernel_has_fexit_again(k))
		meta->features |= PROBES_FEXIT_ONCE;
	rc = probes_bpf__load(skel);
	if (rc < 0) {
		probes_bpf__destroy(skel);
		return rc;
	}
	*ret = skel;
	return 0;
}

/* Returns true if GROUP can be loaded alone. */
static bool loads_alone(const struct kernel_has *k, const struct probes_meta *meta, enum probes_group group)
{
	struct probes_meta alone = *meta;
	struct probes_bpf *skel;
	size_t i;

	for (i = 0; i < PROBES_GROUP_N; i++)
		if (i != PROBES_TASKS && i != group)
			alone.why[i] = PROBES_NOT_BUILT;
	if (try_load(k, &alone, &skel) < 0)
		return false;
	probes_bpf__destroy(skel);
	return true;
}

static int probes_mon_load_object(const struct kernel_has *k, struct probes_meta *meta,
				  struct probes_bpf **ret)
{
	int rc = try_load(k, meta, ret);
	size_t i;

	if (rc == 0)
		return 0;
	for (i = 0; i < PROBES_GROUP_N; i++)
		if (i != PROBES_TASKS && meta->why[i] == PROBES_OK &&
		    !loads_alone(k, meta, (enum probes_group)i))
			meta->why[i] = PROBES_NO_HELPER;
	complaint[0] = '\0';
	return try_load(k, meta, ret);
}

/* --- pinning ------------------------------------------------------------------------------ */

static int pin_path(char *path, size_t size, const char *dir, const char *prefix, const char *name,
		    struct errmsg *err)
{
	/* "NAME__what" is one of several programs NAME, of which at most one was loaded */
	const char *end = strstr(name, "__");
	int len = end ? (int)(end - name) : (int)strlen(name);

	if ((size_t)snprintf(path, size, "%s/" STAGING "%s%s%.*s", dir, *name ? "/" : "", prefix, len,
			     name) >= size)
		return errmsg_errno(err, -ENAMETOOLONG, "%s", dir);
	return 0;
}

/* NULL: not for others. */
static const char *pin_name(const struct probes_bpf *skel, const struct bpf_map *map)
{
	if (map == skel->maps.data_meta)
		return "meta";
	if (map == skel->maps.bss)
		return "cache";
	return bpf_map__is_internal(map) ? NULL : bpf_map__name(map);
}

static int pin_all(struct probes_bpf *skel, const char *dir, struct errmsg *err)
{
	struct bpf_program *prog;
	struct bpf_map *map;
	char path[PATH_MAX];
	int rc;

	rc = pin_path(path, sizeof(path), dir, "", "", err);
	if (rc < 0)
		return rc;
	if (mkdir(path, 0700) < 0)
		return errmsg_errno(err, -errno, "cannot create %s", path);
	bpf_object__for_each_map(map, skel->obj) {
		/* libbpf 1.4 and later have an fd also for a map that was not made */
		if (!pin_name(skel, map) || !bpf_map__autocreate(map) || bpf_map__fd(map) < 0)
			continue;
		rc = pin_path(path, sizeof(path), dir, "", pin_name(skel, map), err);
		if (rc == 0)
			rc = bpf_map__pin(map, path);
		if (rc < 0)
			return errmsg_errno(err, rc, "cannot pin %s", path);
	}
	bpf_object__for_each_program(prog, skel->obj) {
		if (bpf_program__fd(prog) < 0)
			continue;
		rc = pin_path(path, sizeof(path), dir, "prog_", bpf_program__name(prog), err);
		if (rc == 0)
			rc = bpf_program__pin(prog, path);
		if (rc < 0)
			return errmsg_errno(err, rc, "cannot pin %s", path);
	}
	return 0;
}

static int probes_mon_publish(const char *dir, struct errmsg *err)
{
	char from[PATH_MAX], to[PATH_MAX];
	int rc = pin_path(from, sizeof(from), dir, "", "", err);

	if (rc < 0)
		return rc;
	(void)snprintf(to, sizeof(to), "%s/" PROBES_DIR, dir);
	if (rename(from, to) < 0)
		return errmsg_errno(err, -errno, "cannot rename %s to %s", from, to);
	return 0;
}

static int put_there(struct probes_bpf *skel, const struct probes_meta *meta, const char *dir,
		     struct errmsg *err)
{
	__u32 zero = 0;
	int rc = bpf_map__update_elem(skel->maps.data_meta, &zero, sizeof(zero), meta, sizeof(*meta), 0);

	if (rc < 0)
		return errmsg_errno(err, rc, "cannot write the map meta");
	probes_unpin(dir, STAGING); /* of a loader that was killed */
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return errmsg_errno(err, -errno, "cannot create %s", dir);
	rc = pin_all(skel, dir, err);
	if (rc == 0)
		rc = probes_mon_publish(dir, err);
	if (rc < 0)
		probes_unpin(dir, STAGING);
	return rc;
}

int probes_mon_load(const char *dir, struct errmsg *err)
{
	struct probes_meta meta = {
		.abi = PROBES_ABI,
		.generation = 1, /* 0 is that of an empty cache */
		.shards = count_shards(),
	};
	struct probes_bpf *skel;
	struct kernel_has *k;
	size_t i;
	int rc = kernel_has_open(&k, err);

	if (rc < 0)
		return rc;
	for (i = 0; i < PROBES_GROUP_N; i++)
		meta.why[i] = groups[i].probe ? PROBES_OK : PROBES_NOT_BUILT;
	complaint[0] = '\0';
	(void)libbpf_set_print(listen);
	rc = probes_mon_load_object(k, &meta, &skel);
	kernel_has_close(k);
	if (rc < 0)
		return refused(err, rc, "load");
	rc = put_there(skel, &meta, dir, err);
	probes_bpf__destroy(skel);
	return rc;
}
