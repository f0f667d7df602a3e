/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ceems-ipmi - asks the BMC for the node's power, again and again, and writes what helper.h
 * promises. A program of its own, so that a BMC that hangs hangs nobody else, and that slurmd
 * maps no libfreeipmi (GPL-3.0-or-later, which makes this program that as a whole).
 */
#define _GNU_SOURCE /* memfd_create */
#include <linux/capability.h>
#include <errno.h>
#include <freeipmi/freeipmi.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "src/libutil/confine.h"
#include "src/libutil/helper.h"
#include "src/libutil/parse.h"
#include "src/libutil/util.h"

/* No single node draws more: COUNTER_PLATFORM_MAX_W. */
#define NODE_MAX_W 25000

#define EXCHANGE_MAX_S 60
#define SDR_MAX_S 120

/*
 * After PATIENCE failures in a row, which the source bridges (IPMI_GAP_INTERVALS), each further one
 * doubles the pause, up to BACKOFF_MAX intervals.
 */
#define PATIENCE 3
#define BACKOFF_MAX 16

struct options {
	const char *device;
	const char *sensor; /* "dcmi", or a name in the SDR */
	uint64_t interval_ms;
	bool once;
};

struct bmc {
	ipmi_ctx_t ipmi;
	ipmi_sdr_ctx_t sdr;
	ipmi_sensor_read_ctx_t reader;
	uint8_t record[IPMI_SDR_MAX_RECORD_LENGTH];
	unsigned int record_len;
	/* time stamp of the last DCMI reading, which shows whether the next reading is a new one */
	uint64_t stamp;
	bool stamp_moves;
};

/* The result of a request to the BMC. */
enum outcome {
	OUTCOME_VALUE,
	OUTCOME_ERROR,
	OUTCOME_NEVER,
};

/* Send slurmd a line and evaluate to the outcome for the caller. */
#define error_outcome(...) (helper_say("error - " __VA_ARGS__), OUTCOME_ERROR)
#define never_outcome(...) (helper_say("never " __VA_ARGS__), OUTCOME_NEVER)

/* --- DCMI --------------------------------------------------------------------------------- */

static enum outcome outcome_of_error(const struct bmc *b, const char *what)
{
	int code = ipmi_ctx_errnum(b->ipmi);
	bool never = code == IPMI_ERR_COMMAND_INVALID_OR_UNSUPPORTED ||
		     code == IPMI_ERR_COMMAND_INVALID_FOR_SELECTED_INTERFACE;

	if (never)
		return never_outcome("%s: %s", what, ipmi_ctx_errormsg(b->ipmi));
	return error_outcome("%s: %s", what, ipmi_ctx_errormsg(b->ipmi));
}

/*
 * Returns true if the reading is an old one, by its time stamp. Many BMCs never set the stamp, so
 * it counts only after it has changed once.
 */
static bool is_seen_before(struct bmc *b, uint64_t stamp)
{
	bool same = stamp == b->stamp;

	b->stamp_moves |= b->stamp && !same;
	b->stamp = stamp;
	return same && b->stamp_moves;
}

static enum outcome outcome_of_answer(struct bmc *b, fiid_obj_t rs, uint64_t *ret_mw)
{
	uint64_t watts, stamp, active;

	if (FIID_OBJ_GET(rs, "current_power", &watts) < 0 || FIID_OBJ_GET(rs, "time_stamp", &stamp) < 0 ||
	    FIID_OBJ_GET(rs, "power_reading_state.power_measurement", &active) < 0)
		return error_outcome("DCMI power reading: incomplete answer");
	if (active != IPMI_DCMI_POWER_READING_STATE_POWER_MEASUREMENT_ACTIVE)
		return error_outcome("DCMI power reading: measurement is not active");
	if (!watts)
		return error_outcome("DCMI power reading: 0 W");
	if (is_seen_before(b, stamp))
		return error_outcome("DCMI power reading: the time stamp has not changed");
	*ret_mw = watts * 1000;
	return OUTCOME_VALUE;
}

static enum outcome ask_dcmi(struct bmc *b, uint64_t *ret_mw)
{
	fiid_obj_t rs = fiid_obj_create(tmpl_cmd_dcmi_get_power_reading_rs);
	enum outcome o;

	if (!rs)
		return error_outcome("out of memory");
	if (ipmi_cmd_dcmi_get_power_reading(b->ipmi, IPMI_DCMI_POWER_READING_MODE_SYSTEM_POWER_STATISTICS,
					    /* mode_attributes= */ 0, rs) < 0)
		o = outcome_of_error(b, "DCMI power reading");
	else
		o = outcome_of_answer(b, rs, ret_mw);
	fiid_obj_destroy(rs);
	return o;
}

/* --- a sensor of the SDR ------------------------------------------------------------------ */

/* Keeps the record of the sensor if it is the one asked for. */
static int keep_if_named(ipmi_sdr_ctx_t sdr, struct bmc *b, const char *name)
{
	char id[IPMI_SDR_MAX_SENSOR_NAME_LENGTH + 1] = "";
	uint16_t record_id;
	uint8_t type;
	int len = ipmi_sdr_cache_record_read(sdr, b->record, sizeof(b->record));

	if (len <= 0)
		return 0;
	b->record_len = (unsigned int)len;
	if (ipmi_sdr_parse_record_id_and_type(sdr, b->record, b->record_len, &record_id, &type) < 0 ||
	    type != IPMI_SDR_FORMAT_FULL_SENSOR_RECORD)
		return 0;
	if (ipmi_sdr_parse_id_string(sdr, b->record, b->record_len, id, sizeof(id) - 1) < 0)
		return 0;
	return !strcmp(id, name);
}

static bool is_in_watts(const struct bmc *b)
{
	uint8_t percentage, modifier, rate, unit, modifier_unit;

	return ipmi_sdr_parse_sensor_units(b->sdr, b->record, b->record_len, &percentage, &modifier, &rate,
					   &unit, &modifier_unit) == 0 &&
	       !percentage && modifier == IPMI_SDR_MODIFIER_UNIT_NONE && rate == IPMI_SENSOR_RATE_UNIT_NONE &&
	       unit == IPMI_SENSOR_UNIT_WATTS;
}

/*
 * Loads the SDR. libfreeipmi's cache must be a file; this one has no name and disappears with the
 * process.
 */
static enum outcome load_sdr(struct bmc *b)
{
	_cleanup_close_ int fd = memfd_create("sdr", MFD_CLOEXEC);
	char path[32];

	if (fd < 0)
		return error_outcome("memfd_create: %s", strerror(errno));
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (ipmi_sdr_cache_create(b->sdr, b->ipmi, path, IPMI_SDR_CACHE_CREATE_FLAGS_OVERWRITE, NULL, NULL) <
		    0 ||
	    ipmi_sdr_cache_open(b->sdr, NULL, path) < 0)
		return error_outcome("SDR: %s", ipmi_sdr_ctx_errormsg(b->sdr));
	return OUTCOME_VALUE;
}

static enum outcome find_sensor(struct bmc *b, const char *name)
{
	uint16_t count = 0;
	bool found = false;
	uint16_t i;

	if (ipmi_sdr_cache_record_count(b->sdr, &count) < 0 || ipmi_sdr_cache_first(b->sdr) < 0)
		return error_outcome("SDR: %s", ipmi_sdr_ctx_errormsg(b->sdr));
	for (i = 0; i < count && !found; i++) {
		found = keep_if_named(b->sdr, b, name);
		if (!found && ipmi_sdr_cache_next(b->sdr) != 1)
			break;
	}
	if (!found)
		return never_outcome("no sensor '%s' in the SDR (%u records)", name, count);
	if (!is_in_watts(b))
		return never_outcome("the sensor '%s' is not in watts", name);
	return OUTCOME_VALUE;
}

static enum outcome ask_sensor(struct bmc *b, const char *name, uint64_t *ret_mw)
{
	double *watts = NULL;
	uint16_t events; /* has to be taken */
	double w;

	if (ipmi_sensor_read(b->reader, b->record, b->record_len,
			     /* shared_sensor_number_offset= */ 0, NULL, &watts, &events) <= 0 ||
	    !watts)
		return error_outcome("sensor '%s': %s", name, ipmi_sensor_read_ctx_errormsg(b->reader));
	w = *watts;
	free(watts);
	if (!(w > 0 && w < 1e6)) /* also what is no number */
		return error_outcome("sensor '%s': %g W", name, w);
	*ret_mw = (uint64_t)llround(w * 1000);
	return OUTCOME_VALUE;
}

/* --- the BMC ------------------------------------------------------------------------------ */

static enum outcome bmc_open(struct bmc *b, const struct options *o)
{
	enum outcome rc;
	uint64_t begin_ns;

	b->ipmi = ipmi_ctx_create();
	b->sdr = ipmi_sdr_ctx_create();
	if (!b->ipmi || !b->sdr)
		return error_outcome("out of memory");
	/* the device alone: no probing of ports and memory for other interfaces */
	if (ipmi_ctx_open_inband(b->ipmi, IPMI_DEVICE_OPENIPMI, /* disable_auto_probe= */ 1, 0, 0, o->device,
				 0, IPMI_FLAGS_DEFAULT) < 0)
		return error_outcome("%s: %s", o->device, ipmi_ctx_errormsg(b->ipmi));
	if (!strcmp(o->sensor, "dcmi"))
		return OUTCOME_VALUE;
	b->reader = ipmi_sensor_read_ctx_create(b->ipmi);
	if (!b->reader)
		return error_outcome("out of memory");
	begin_ns = helper_begin(SDR_MAX_S);
	rc = load_sdr(b);
	(void)helper_end(begin_ns);
	return rc == OUTCOME_VALUE ? find_sensor(b, o->sensor) : rc;
}

static void bmc_close(struct bmc *b)
{
	if (b->reader)
		ipmi_sensor_read_ctx_destroy(b->reader);
	if (b->sdr)
		ipmi_sdr_ctx_destroy(b->sdr);
	if (b->ipmi) {
		(void)ipmi_ctx_close(b->ipmi);
		ipmi_ctx_destroy(b->ipmi);
	}
}

static enum outcome ipmi_ask(struct bmc *b, const struct options *o)
{
	uint64_t begin_ns = helper_begin(EXCHANGE_MAX_S);
	uint64_t mw = 0;
	enum outcome rc;
	uint64_t t_ns;

	rc = strcmp(o->sensor, "dcmi") ? ask_sensor(b, o->sensor, &mw) : ask_dcmi(b, &mw);
	t_ns = helper_end(begin_ns);
	if (rc == OUTCOME_VALUE)
		helper_say("reading %" PRIu64 " ipmi %" PRIu64, t_ns, mw);
	return rc;
}

static unsigned int ipmi_backoff(unsigned int failures)
{
	unsigned int factor = 1;

	for (; failures > PATIENCE && factor < BACKOFF_MAX; failures--)
		factor *= 2;
	return factor;
}

static int ipmi_run(struct bmc *b, const struct options *o)
{
	unsigned int failures = 0;
	enum outcome rc;

	do {
		rc = ipmi_ask(b, o);
		if (rc == OUTCOME_NEVER)
			break;
		failures = rc == OUTCOME_VALUE ? 0 : failures + 1;
	} while (!o->once && helper_sleep(o->interval_ms * ipmi_backoff(failures)));
	return rc == OUTCOME_VALUE ? 0 : 1;
}

static void ipmi_declare(const struct options *o)
{
	helper_say("meter ipmi other 0 power %d node", NODE_MAX_W);
	helper_say("about node: %s, integrated, every %" PRIu64 " ms",
		   strcmp(o->sensor, "dcmi") ? o->sensor : "DCMI power reading", o->interval_ms);
}

static int ipmi_usage(void)
{
	(void)fputs("usage: ceems-ipmi [--device /dev/ipmi0] [--sensor dcmi|NAME] "
		    "[--interval-ms N] [--once]\n",
		    stderr);
	return 2;
}

static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option known[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "sensor", required_argument, NULL, 's' },
		{ "interval-ms", required_argument, NULL, 'i' },
		{ "once", no_argument, NULL, '1' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (c) {
		case 'd':
			o->device = optarg;
			break;
		case 's':
			o->sensor = optarg;
			break;
		case 'i':
			if (parse_u64(optarg, &o->interval_ms) < 0 || o->interval_ms < 100 ||
			    o->interval_ms > 600000)
				return -EINVAL;
			break;
		case '1':
			o->once = true;
			break;
		default:
			return -EINVAL;
		}
	}
	return optind == argc ? 0 : -EINVAL;
}

int main(int argc, char **argv)
{
	struct options o = { "/dev/ipmi0", "dcmi", .interval_ms = 5000 };
	struct bmc b = { 0 };
	int rc = 1;

	if (parse_options(argc, argv, &o) < 0)
		return ipmi_usage();
	helper_serve(/* is_nice= */ true);
	(void)confine_caps(CONFINE_CAP(CAP_SYS_RAWIO)); /* for ports of the BMC */
	ipmi_declare(&o);
	if (bmc_open(&b, &o) == OUTCOME_VALUE)
		rc = ipmi_run(&b, &o);
	bmc_close(&b);
	return rc;
}
