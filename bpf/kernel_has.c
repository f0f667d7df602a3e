/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bpf/kernel_has.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"
#include "src/libutil/util.h"

#define VMLINUX_BTF "/sys/kernel/btf/vmlinux"
/* The deepest nesting of anonymous members; the kernel has 3. */
#define NESTING_MAX 8

struct kernel_has {
	struct btf *btf;
	int fexit_attached; /* how often, of two tries, a trial program could be attached */
};

/* Loads a tracing program for FUNCTION that does nothing. Negative: the kernel refuses it. */
static int load_trial(const struct btf *btf, const char *function, enum bpf_attach_type type)
{
	/* r0 = 0; exit */
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = type);
	int id = btf__find_by_name_kind(btf, function, BTF_KIND_FUNC);

	if (id < 0)
		return -ENOENT;
	opts.attach_btf_id = (__u32)id;
	return bpf_prog_load(BPF_PROG_TYPE_TRACING, "trial", "GPL", nothing, ARRAY_SIZE(nothing), &opts);
}

/*
 * Loads and attaches a trial program. Loading alone is no proof: arm64 before 6.4 (2aa6ac03516d)
 * cannot call programs from functions. The function is one that is hardly ever called.
 */
static int try_fexit(const struct btf *btf)
{
	_cleanup_close_ int prog = load_trial(btf, "vfs_copy_file_range", BPF_TRACE_FEXIT);
	int link, times = 0;

	while (prog >= 0 && times < 2) {
		link = bpf_raw_tracepoint_open(NULL, prog);
		if (link < 0)
			break;
		(void)close(link);
		times++;
	}
	return times;
}

int kernel_has_open(struct kernel_has **ret, struct errmsg *err)
{
	struct kernel_has *k;

	if (access(VMLINUX_BTF, R_OK) < 0)
		return errmsg_set(err, -EOPNOTSUPP, "no " VMLINUX_BTF ", which needs CONFIG_DEBUG_INFO_BTF");
	k = calloc(1, sizeof(*k));
	if (!k)
		return errmsg_errno(err, -ENOMEM, "BTF");
	k->btf = btf__load_vmlinux_btf();
	if (!k->btf) {
		free(k);
		return errmsg_errno(err, -EOPNOTSUPP, "cannot read the kernel's BTF");
	}
	k->fexit_attached = try_fexit(k->btf);
	*ret = k;
	return 0;
}

void kernel_has_close(struct kernel_has *k)
{
	if (!k)
		return;
	btf__free(k->btf);
	free(k);
}

/* --- types -------------------------------------------------------------------------------- */

static const struct btf_type *kernel_has_find(const struct kernel_has *k, const char *name, __u32 kind)
{
	int id = btf__find_by_name_kind(k->btf, name, kind);

	return id > 0 ? btf__type_by_id(k->btf, (__u32)id) : NULL;
}

static bool has_member(const struct btf *btf, const struct btf_type *t, const char *name, int depth)
{
	const struct btf_member *m = btf_members(t);
	const struct btf_type *inner;
	const char *own;
	int i;

	for (i = 0; i < btf_vlen(t); i++) {
		own = btf__name_by_offset(btf, m[i].name_off);
		if (!strcmp(own, name))
			return true;
		inner = *own ? NULL : btf__type_by_id(btf, m[i].type);
		if (inner && btf_is_composite(inner) && depth < NESTING_MAX &&
		    has_member(btf, inner, name, depth + 1))
			return true;
	}
	return false;
}

bool kernel_has_member(const struct kernel_has *k, const char *type, const char *member)
{
	const struct btf_type *t = kernel_has_find(k, type, BTF_KIND_STRUCT);

	return t && has_member(k->btf, t, member, 0);
}

bool kernel_has_function(const struct kernel_has *k, const char *name)
{
	return kernel_has_find(k, name, BTF_KIND_FUNC) != NULL;
}

/* typedef void (*btf_trace_NAME)(void *, ARGUMENTS): include/trace/bpf_probe.h */
static const struct btf_type *tracepoint(const struct kernel_has *k, const char *name)
{
	char typedef_name[128];
	const struct btf_type *t;

	if ((size_t)snprintf(typedef_name, sizeof(typedef_name), "btf_trace_%s", name) >=
	    sizeof(typedef_name))
		return NULL;
	t = kernel_has_find(k, typedef_name, BTF_KIND_TYPEDEF);
	t = t ? btf__type_by_id(k->btf, t->type) : NULL;
	if (!t || !btf_is_ptr(t))
		return NULL;
	t = btf__type_by_id(k->btf, t->type);
	return t && btf_is_func_proto(t) && btf_vlen(t) > 0 ? t : NULL;
}

int kernel_has_tracepoint(const struct kernel_has *k, const char *name)
{
	const struct btf_type *t = tracepoint(k, name);

	return t ? (int)btf_vlen(t) - 1 : -ENOENT;
}

bool kernel_has_tracepoint_arg(const struct kernel_has *k, const char *name, unsigned int arg,
			       const char *type)
{
	const struct btf_type *t = tracepoint(k, name);

	if (!t || arg + 1 >= btf_vlen(t))
		return false;
	t = btf__type_by_id(k->btf, btf_params(t)[arg + 1].type);
	if (!t || !btf_is_ptr(t))
		return false;
	t = btf__type_by_id(k->btf, t->type);
	while (t && btf_is_mod(t))
		t = btf__type_by_id(k->btf, t->type);
	return t && btf_is_struct(t) && !strcmp(btf__name_by_offset(k->btf, t->name_off), type);
}

bool kernel_has_preemptible_tracepoints(const struct kernel_has *k)
{
	/* the second name is that of kernels with lockdep */
	return kernel_has_function(k, "init_srcu_struct_fast") ||
	       kernel_has_function(k, "__init_srcu_struct_fast");
}

__u32 kernel_has_event(const char *name)
{
	static const char *const tracefs[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char path[128], line[32];
	uint64_t id;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tracefs); i++) {
		(void)snprintf(path, sizeof(path), "%s/events/%s/id", tracefs[i], name);
		if (fileio_read_line(NULL, path, line, sizeof(line)) == 0 && parse_u64(line, &id) == 0 &&
		    id <= UINT32_MAX)
			return (__u32)id;
	}
	return 0;
}

/* --- trials ------------------------------------------------------------------------------- */

bool kernel_has_fexit(const struct kernel_has *k)
{
	return k->fexit_attached > 0;
}

bool kernel_has_fexit_again(const struct kernel_has *k)
{
	return k->fexit_attached > 1;
}

bool kernel_has_iterator(const struct kernel_has *k, const char *function)
{
	_cleanup_close_ int prog = load_trial(k->btf, function, BPF_TRACE_ITER);

	return prog >= 0;
}

bool kernel_has_map(enum bpf_map_type type, __u32 key_size, __u32 value_size, __u32 flags)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = flags);
	int fd = bpf_map_create(type, "trial", key_size, value_size, 1, &opts);

	if (fd < 0)
		return false;
	(void)close(fd);
	return true;
}

bool kernel_has_v1_freezer(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/cgroups", "re");
	unsigned int hierarchy = 0;
	char line[256];

	/*
	 * columns: name, number of the v1 hierarchy or 0, ... (cgroups(7)); the same in all mount
	 * namespaces
	 */
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "freezer %u", &hierarchy) == 1)
			break;
	return hierarchy != 0;
}
