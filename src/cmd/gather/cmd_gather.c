/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_gather.c - ceems gather: an archive of how the sensors, GPUs, cgroups, kernel and CPUs of this node
 * look, for developers who do not have such a machine. tests/fixtures/import makes a fixture of it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ceems_config.h"
#include "src/cmd/cmd.h"
#include "src/cmd/gather/gather.h"
#include "src/libutil/clock.h"

static const char readme[] =
	"This archive was made by \"ceems gather\" of slurm-ceems " PACKAGE_VERSION ".\n"
	"\n"
	"first/   files of /sys and /proc that describe sensors, GPUs, cgroups, kernel and CPUs\n"
	"second/  counters of them, some seconds later\n"
	"said/    what each sensor that slurm-ceems knows says of itself\n"
	"bmc/     answers of the BMC (Redfish), if there is RedfishConf\n"
	"\n"
	"Names of this machine, addresses and serial numbers are masked with 0 and x.\n";

static int gather_all(struct gather *g, bool with_sensors, struct errmsg *err)
{
	const struct timespec pause = clock_ns_to_timespec(2 * NSEC_PER_SEC);
	char text[sizeof(readme)];
	int rc;

	memcpy(text, readme, sizeof(readme));
	rc = gather_add(g, "README", text, sizeof(readme) - 1, err);
	if (rc == 0)
		rc = gather_files(g, "first", false, err);
	if (rc == 0 && !with_sensors)
		(void)nanosleep(&pause, NULL); /* in which counters move */
	if (rc == 0 && with_sensors)
		rc = gather_said(g, err);
	if (rc == 0 && with_sensors)
		rc = gather_bmc(g, err);
	if (rc == 0)
		rc = gather_files(g, "second", true, err);
	return rc;
}

static const struct cmd_option gather_options[] = {
	{ NULL, 0, NULL, "Output" },
	{ "output", 'o', "FILE", "the archive; default: ceems-gather.tar.gz" },
	{ NULL, 0, NULL, "Input" },
	{ "config", 'c', "FILE", "ceems.conf" },
	{ "files-only", 'f', NULL, "do not open sensors, GPU libraries and the BMC" },
	{ 0 },
};

static int cmd_gather_run(const struct cmd_info *self, int argc, char **argv)
{
	const char *output = GATHER_TOP ".tar.gz", *conf = NULL;
	bool with_sensors = true;
	struct settings settings;
	struct gather g = { .settings = &settings };
	struct errmsg err = { 0 };
	int c, rc;

	while ((c = cmd_getopt(argc, argv, gather_options, 0)) >= 0) {
		if (c == 'o')
			output = optarg;
		else if (c == 'c')
			conf = optarg;
		else if (c == 'f')
			with_sensors = false;
		else
			return cmd_usage(self, c == 'h' ? CMD_OK : CMD_USAGE);
	}
	if (optind < argc)
		return cmd_usage(self, CMD_USAGE);
	if (cmd_load_settings(conf, &settings) != CMD_OK)
		return CMD_FAILED;
	if (geteuid() != 0)
		(void)cmd_error("without root, the archive lacks counters that only root may read");
	cmd_node_name(g.host, sizeof(g.host));
	if (gather_tar_create(output, &g.tar, &err) < 0)
		return cmd_error("%s", err.text);
	rc = gather_all(&g, with_sensors, &err);
	if (rc == 0)
		rc = gather_tar_close(g.tar, &err);
	else
		gather_tar_drop(g.tar);
	if (rc < 0)
		return cmd_error("%s", err.text);
	cmd_print("%s: %zu files and links%s", output, g.files,
		  g.hung ? "; some did not answer, see above" : "");
	cmd_print("names, addresses and serial numbers are masked; look before you send it: tar xzf %s",
		  output);
	return CMD_OK;
}

const struct cmd_info cmd_gather = {
	"gather", "[OPTION...]", cmd_gather_run, gather_options, "ceems gather -o xeon.tar.gz",
};
