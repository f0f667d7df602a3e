/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acct_gather_energy/ceems - the functions that Slurm calls. In slurmd they run the sampler (slurmd_side.c),
 * in each slurmstepd they report its step (stepd_side.c), and in any other program, such as slurmctld and
 * sacct, they do nothing. No function returns an error, because a daemon ends if init() fails.
 */
#include "acct_gather/slurm_compat.h"

#include "acct_gather/slurmd_side.h"
#include "acct_gather/stepd_side.h"
#include "src/libutil/logger.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED const char plugin_name[] = "CEEMS energy and emissions accounting";
EXPORTED const char plugin_type[] = "acct_gather_energy/ceems";
EXPORTED const uint32_t plugin_version = SLURM_VERSION_NUMBER;

EXPORTED int init(void);
EXPORTED CEEMS_FINI_RETURNS fini(void);
EXPORTED int acct_gather_energy_p_update_node_energy(void);
EXPORTED int acct_gather_energy_p_get_data(enum acct_energy_type type, void *data);
EXPORTED int acct_gather_energy_p_set_data(enum acct_energy_type type, void *data);
EXPORTED void acct_gather_energy_p_conf_options(s_p_options_t **options, int *count);
EXPORTED void acct_gather_energy_p_conf_set(int context_id, s_p_hashtbl_t *table);
EXPORTED void acct_gather_energy_p_conf_values(CEEMS_LIST *data);

/*
 * Logs with Slurm's functions. In slurmstepd, error() also prints on the user's stderr; since our messages
 * are not for the user, an error is logged there as info.
 */
static void log_to_slurm(enum logger_level level, const char *line)
{
	if (level == LOGGER_ERROR && !running_in_slurmstepd())
		error("ceems: %s", line);
	else if (level != LOGGER_DEBUG)
		info("ceems: %s", line);
	else
		debug("ceems: %s", line);
}

int init(void)
{
	logger_set_sink(log_to_slurm);
	return SLURM_SUCCESS;
}

CEEMS_FINI_RETURNS fini(void)
{
	if (running_in_slurmd())
		slurmd_side_stop();
	else if (running_in_slurmstepd())
		stepd_side_end();
	CEEMS_FINI_RETURN;
}

int acct_gather_energy_p_update_node_energy(void)
{
	if (running_in_slurmd())
		slurmd_side_start();
	return SLURM_SUCCESS;
}

static void get_energy(acct_gather_energy_t *energy, bool is_tasks)
{
	if (running_in_slurmd()) {
		slurmd_side_start();
		slurmd_side_energy(energy);
	} else if (running_in_slurmstepd()) {
		stepd_side_energy(energy, is_tasks);
	}
}

int acct_gather_energy_p_get_data(enum acct_energy_type type, void *data)
{
	switch (type) {
	case ENERGY_DATA_JOULES_TASK:
	case ENERGY_DATA_STRUCT:
		get_energy(data, /* is_tasks= */ false);
		break;
	case ENERGY_DATA_NODE_ENERGY:
	case ENERGY_DATA_NODE_ENERGY_UP:
		get_energy(data, /* is_tasks= */ true);
		break;
	case ENERGY_DATA_LAST_POLL:
		*(time_t *)data = time(NULL);
		break;
	case ENERGY_DATA_SENSOR_CNT:
		*(uint16_t *)data = 1;
		break;
	default:
		break;
	}
	return SLURM_SUCCESS;
}

int acct_gather_energy_p_set_data(enum acct_energy_type type, void *data)
{
	if (type == ENERGY_DATA_STEP_PTR && running_in_slurmstepd())
		stepd_side_begin(data);
	else if (type == ENERGY_DATA_PROFILE && running_in_slurmstepd())
		stepd_side_profile();
	else if (type == ENERGY_DATA_RECONFIG && running_in_slurmd())
		/* slurmd has loaded the plugin again, so this reads the settings again */
		slurmd_side_start();
	return SLURM_SUCCESS;
}

/* The next three do nothing: all settings are in ceems.conf, none in acct_gather.conf. */
void acct_gather_energy_p_conf_options(s_p_options_t **options, int *count)
{
	(void)options;
	(void)count;
}

void acct_gather_energy_p_conf_set(int context_id, s_p_hashtbl_t *table)
{
	(void)context_id;
	(void)table;
}

void acct_gather_energy_p_conf_values(CEEMS_LIST *data)
{
	(void)data;
}
