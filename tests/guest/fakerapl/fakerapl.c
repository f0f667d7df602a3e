// SPDX-License-Identifier: GPL-2.0
/*
 * fakerapl - registers simulated RAPL zones with the kernel's powercap core, for an emulated guest:
 * package-N, core and dram for each package, and one psys. A counter advances only by a write to
 *
 *	/sys/module/fakerapl/parameters/advance    "ZONE UJ"	 0:1 2500000
 *	/sys/module/fakerapl/parameters/fail       "ZONE ERRNO"  0:1 5; 0 ends it
 *
 * so that the energy is known to the microjoule, however slow the guest's clock runs. ZONE is
 * what follows "intel-rapl:" in a zone's name: 0 and 1 for packages, 0:0 core, 0:1 dram, then psys.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/powercap.h>
#include <linux/spinlock.h>

#define CONTROL_TYPE "intel-rapl"
#define PACKAGES_MAX 4
#define ZONES_MAX (3 * PACKAGES_MAX + 1)

static unsigned int packages = 2;
module_param(packages, uint, 0444);
MODULE_PARM_DESC(packages, "sockets, 1 to 4");

static bool psys = true;
module_param(psys, bool, 0444);
MODULE_PARM_DESC(psys, "is there a zone for the whole platform");

static ulong start_uj;
module_param(start_uj, ulong, 0444);
MODULE_PARM_DESC(start_uj, "what every counter begins with");

static ulong range_uj = 262143328850UL;
module_param(range_uj, ulong, 0444);
MODULE_PARM_DESC(range_uj, "a counter's last value before 0");

struct fake_zone {
	struct powercap_zone pz;
	u64 energy_uj;
	int error;
};

static struct powercap_control_type *control_type;
static struct fake_zone zones[ZONES_MAX];
static unsigned int nzones;
static DEFINE_SPINLOCK(zones_lock); /* energy_uj, error, nzones */

static int fake_energy_uj(struct powercap_zone *pz, u64 *ret)
{
	struct fake_zone *z = container_of(pz, struct fake_zone, pz);
	int rc;

	spin_lock(&zones_lock);
	rc = -z->error;
	*ret = z->energy_uj;
	spin_unlock(&zones_lock);
	return rc;
}

static int fake_max_energy_range_uj(struct powercap_zone *pz, u64 *ret)
{
	*ret = range_uj;
	return 0;
}

/* The zones are static: there is nothing to give back. */
static int fake_release(struct powercap_zone *pz)
{
	return 0;
}

static const struct powercap_zone_ops fake_zone_ops = {
	.get_energy_uj = fake_energy_uj,
	.get_max_energy_range_uj = fake_max_energy_range_uj,
	.release = fake_release,
};

/* The powercap core takes no zone without a constraint. */
static int fake_get_limit(struct powercap_zone *pz, int id, u64 *ret)
{
	*ret = 250000000;
	return 0;
}

static int fake_get_window(struct powercap_zone *pz, int id, u64 *ret)
{
	*ret = 976562;
	return 0;
}

static int fake_set(struct powercap_zone *pz, int id, u64 value)
{
	return -EACCES;
}

static const char *fake_constraint_name(struct powercap_zone *pz, int id)
{
	return "long_term";
}

static const struct powercap_zone_constraint_ops fake_constraint_ops = {
	.get_power_limit_uw = fake_get_limit,
	.set_power_limit_uw = fake_set,
	.get_time_window_us = fake_get_window,
	.set_time_window_us = fake_set,
	.get_name = fake_constraint_name,
};

/* --- what a test writes ---------------------------------------------------------------------- */

/* "ZONE NUMBER" */
static int parse(const char *text, struct fake_zone **ret_zone, u64 *ret)
{
	char name[24];
	unsigned int i;

	if (sscanf(text, "%23s %llu", name, ret) != 2)
		return -EINVAL;
	for (i = 0; i < nzones; i++) {
		if (!strcmp(dev_name(&zones[i].pz.dev) + strlen(CONTROL_TYPE ":"), name)) {
			*ret_zone = &zones[i];
			return 0;
		}
	}
	return -ENOENT;
}

static int advance_set(const char *text, const struct kernel_param *kp)
{
	struct fake_zone *z;
	u64 step;
	int rc;

	spin_lock(&zones_lock);
	rc = parse(text, &z, &step);
	if (!rc && step > range_uj)
		rc = -ERANGE;
	if (!rc) {
		z->energy_uj += step;
		if (z->energy_uj > range_uj)
			z->energy_uj -= (u64)range_uj + 1;
	}
	spin_unlock(&zones_lock);
	return rc;
}

static int fail_set(const char *text, const struct kernel_param *kp)
{
	struct fake_zone *z;
	u64 error;
	int rc;

	spin_lock(&zones_lock);
	rc = parse(text, &z, &error);
	if (!rc && error >= MAX_ERRNO)
		rc = -ERANGE;
	if (!rc)
		z->error = error;
	spin_unlock(&zones_lock);
	return rc;
}

static const struct kernel_param_ops advance_ops = { .set = advance_set };
module_param_cb(advance, &advance_ops, NULL, 0200);
static const struct kernel_param_ops fail_ops = { .set = fail_set };
module_param_cb(fail, &fail_ops, NULL, 0200);

/* --- registering ----------------------------------------------------------------------------- */

/* The parent comes before its children, so the way back is the other way round. */
static void unregister_all(void)
{
	unsigned int n = nzones;

	spin_lock(&zones_lock);
	nzones = 0;
	spin_unlock(&zones_lock);
	while (n-- > 0)
		powercap_unregister_zone(control_type, &zones[n].pz);
	powercap_unregister_control_type(control_type);
}

static struct powercap_zone *add_zone(const char *name, struct powercap_zone *parent)
{
	struct fake_zone *z = &zones[nzones];
	struct powercap_zone *pz;

	z->energy_uj = start_uj;
	pz = powercap_register_zone(&z->pz, control_type, name, parent, &fake_zone_ops, 1,
				    &fake_constraint_ops);
	if (!IS_ERR(pz))
		nzones++;
	return pz;
}

static struct powercap_zone *add_package(unsigned int n)
{
	struct powercap_zone *package, *child;
	char name[24];

	snprintf(name, sizeof(name), "package-%u", n);
	package = add_zone(name, NULL);
	if (IS_ERR(package))
		return package;
	child = add_zone("core", package);
	if (IS_ERR(child))
		return child;
	return add_zone("dram", package);
}

static int __init fakerapl_init(void)
{
	struct powercap_zone *pz = NULL;
	unsigned int i;

	if (packages < 1 || packages > PACKAGES_MAX || start_uj > range_uj)
		return -EINVAL;
	control_type = powercap_register_control_type(NULL, CONTROL_TYPE, NULL);
	if (IS_ERR(control_type))
		return PTR_ERR(control_type);
	for (i = 0; i < packages && !IS_ERR(pz); i++)
		pz = add_package(i);
	if (psys && !IS_ERR(pz))
		pz = add_zone("psys", NULL);
	if (IS_ERR(pz)) {
		unregister_all();
		return PTR_ERR(pz);
	}
	return 0;
}

static void __exit fakerapl_exit(void)
{
	unregister_all();
}

module_init(fakerapl_init);
module_exit(fakerapl_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("RAPL zones whose counters a test moves");
