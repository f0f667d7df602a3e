/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bpf/harvest_mon.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "bpf/harvest.h"
#include "bpf/harvest.skel.h"
#include "src/libmeter/harvest.h"

/* bpffs refuses names with dots */
#define STAGING "new_" HARVEST_DIR
#define VMLINUX_BTF "/sys/kernel/btf/vmlinux"

int harvest_mon_check_dir(const char *dir, struct errmsg *err)
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
	/* Not mounted by us: a mount would outlive whoever asked for it. */
	if ((unsigned long)fs.f_type != BPF_FS_MAGIC)
		return errmsg_set(err, -EOPNOTSUPP,
				  "%s is not on a bpf file system; where systemd does not mount "
				  "one: mount -t bpf bpf /sys/fs/bpf",
				  at);
	return 0;
}

/* --- libbpf's words ----------------------------------------------------------------------- */

/*
 * The first complaint has the cause, the later ones its consequences. Except that a loader without
 * rights fails to raise the memory limit first, which it need not on any kernel since 5.11.
 */
static char complaint[256];

static int listen(enum libbpf_print_level level, const char *fmt, va_list ap)
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
				  "cannot %s the programs, it takes CAP_BPF and CAP_PERFMON, or "
				  "CAP_SYS_ADMIN: %s: %s",
				  what, complaint, strerror(-rc));
	return errmsg_set(err, -EOPNOTSUPP, "this kernel does not %s the programs: %s: %s", what,
			  complaint, strerror(-rc));
}

/* --- what the kernel counts --------------------------------------------------------------- */

static bool has_member(const struct btf *btf, const struct btf_type *t, const char *name)
{
	const struct btf_member *m = btf_members(t);
	int i;

	for (i = 0; i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, m[i].name_off), name))
			return true;
	return false;
}

static uint32_t kernel_features(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *t;
	uint32_t features = 0;
	int id;

	if (!btf)
		return 0;
	id = btf__find_by_name_kind(btf, "task_io_accounting", BTF_KIND_STRUCT);
	t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	if (t && has_member(btf, t, "rchar"))
		features |= HARVEST_HAS_CHARS;
	if (t && has_member(btf, t, "read_bytes"))
		features |= HARVEST_HAS_STORAGE;
	btf__free(btf);
	return features;
}

/* --- loading ------------------------------------------------------------------------------ */

static int pin_path(char *path, size_t size, const char *dir, const char *name,
		    struct errmsg *err)
{
	if ((size_t)snprintf(path, size, "%s/" STAGING "%s%s", dir, *name ? "/" : "", name) >=
	    size)
		return errmsg_errno(err, -ENAMETOOLONG, "%s", dir);
	return 0;
}

static int pin_all(struct harvest_bpf *skel, const char *dir, struct errmsg *err)
{
	const struct {
		const char *name;
		struct bpf_map *map;
		struct bpf_link *link;
	} pin[] = {
		{ "meta", skel->maps.meta, NULL },
		{ "rows", skel->maps.rows, NULL },
		{ "cgroups", skel->maps.cgroups, NULL },
		{ "owners", skel->maps.owners, NULL },
		{ "users", skel->maps.users, NULL },
		{ "on_exit", NULL, skel->links.ceems_exit },
		{ "living", NULL, skel->links.ceems_living },
	};
	char path[PATH_MAX];
	size_t i;
	int rc;

	rc = pin_path(path, sizeof(path), dir, "", err);
	if (rc < 0)
		return rc;
	if (mkdir(path, 0700) < 0)
		return errmsg_errno(err, -errno, "cannot create %s", path);
	for (i = 0; i < ARRAY_SIZE(pin); i++) {
		rc = pin_path(path, sizeof(path), dir, pin[i].name, err);
		if (rc < 0)
			return rc;
		rc = pin[i].map ? bpf_map__pin(pin[i].map, path) :
				  bpf_link__pin(pin[i].link, path);
		if (rc < 0)
			return errmsg_errno(err, rc, "cannot pin %s", path);
	}
	return 0;
}

static int publish(const char *dir, struct errmsg *err)
{
	char from[PATH_MAX], to[PATH_MAX];
	int rc = pin_path(from, sizeof(from), dir, "", err);

	if (rc < 0)
		return rc;
	(void)snprintf(to, sizeof(to), "%s/" HARVEST_DIR, dir);
	if (rename(from, to) < 0)
		return errmsg_errno(err, -errno, "cannot rename %s to %s", from, to);
	return 0;
}

int harvest_mon_load(const char *dir, struct errmsg *err)
{
	struct harvest_meta meta = { .abi = HARVEST_ABI };
	struct harvest_bpf *skel;
	uint32_t zero = 0;
	int rc;

	if (access(VMLINUX_BTF, R_OK) < 0)
		return errmsg_set(err, -EOPNOTSUPP,
				  "this kernel does not describe itself (no " VMLINUX_BTF
				  ", CONFIG_DEBUG_INFO_BTF)");
	complaint[0] = '\0';
	(void)libbpf_set_print(listen);
	skel = harvest_bpf__open();
	if (!skel)
		return refused(err, -errno, "parse");
	rc = harvest_bpf__load(skel);
	if (rc < 0) {
		rc = refused(err, rc, "load");
		goto out;
	}
	meta.features = kernel_features();
	rc = bpf_map__update_elem(skel->maps.meta, &zero, sizeof(zero), &meta, sizeof(meta), 0);
	if (rc < 0) {
		rc = errmsg_errno(err, rc, "cannot write the map meta");
		goto out;
	}
	rc = harvest_bpf__attach(skel);
	if (rc < 0) {
		rc = refused(err, rc, "attach");
		goto out;
	}
	harvest_unpin(dir, STAGING); /* of a loader that was killed */
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		rc = errmsg_errno(err, -errno, "cannot create %s", dir);
	if (rc == 0)
		rc = pin_all(skel, dir, err);
	if (rc == 0)
		rc = publish(dir, err);
	if (rc < 0)
		harvest_unpin(dir, STAGING);
out:
	harvest_bpf__destroy(skel);
	return rc;
}
