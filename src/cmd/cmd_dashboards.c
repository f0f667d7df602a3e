/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_dashboards.c - ceems dashboards: runs the queries of the Grafana dashboards on the site's Prometheus
 * server. Reports which panels would be empty, and why.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/cmd/prometheus.h"
#include "src/libcore/metric.h"

#define NAME_SIZE 64
#define VALUE_SIZE 256
#define VARIABLES_MAX 32
#define METRICS_MAX 512

struct variable {
	char name[NAME_SIZE];
	char value[VALUE_SIZE];
	bool is_given; /* set by --set, and so kept for all dashboards */
};

/* A metric, and whether Prometheus has a series of that name. */
struct asked_metric {
	char name[128];
	bool is_there;
};

struct dashboards_check {
	struct prometheus *prometheus;
	struct variable variable[VARIABLES_MAX];
	size_t nvariables;
	struct asked_metric metric[METRICS_MAX];
	size_t nmetrics;
	const char *dashboard; /* title of the dashboard that is being checked */
	unsigned int panels, empty, partly, failed, elsewhere;
};

/* --- why there is no data ------------------------------------------------------------------ */

/* Intel's driver has only the energy of a GPU. */
#define LIBRARY_GPU "GPUs that NVML, AMD SMI or ROCm SMI sees (EnergySources in ceems.conf)"
#define ANY_GPU "GPUs that NVML, AMD SMI, ROCm SMI or Intel's driver sees (EnergySources in ceems.conf)"

/* Why a metric may be missing. The first row whose pattern matches the metric says what exports it. */
static const struct {
	const char *pattern;
	const char *brings;
} reason[] = {
	{ "ceems_compute_unit_gpu_no_process*", "jobs on GPUs of NVIDIA: NVML lists processes" },
	{ "ceems_compute_unit_gpu_throttled*", "jobs on GPUs of NVIDIA: NVML says why clocks are low" },
	{ "ceems_compute_unit_gpu_[fpnstd]*", "jobs on GPUs of NVIDIA from Hopper on: NVML's GPM" },
	{ "ceems_compute_unit_gpu_held*", "jobs on " ANY_GPU },
	{ "ceems_compute_unit_gpu_*", "jobs on " LIBRARY_GPU },
	{ "ceems_gpu_info", ANY_GPU },
	{ "ceems_gpu_energy*", ANY_GPU },
	{ "ceems_gpu_power_watts", ANY_GPU },
	{ "ceems_gpu_*", LIBRARY_GPU },
	{ "*_pressure_*", "a v2 cgroup and a kernel with PSI (RHEL: booted with psi=1)" },
	{ "ceems_compute_unit_cpu_throttled*", "a v2 cgroup with the CPU controller" },
	{ "ceems_compute_unit_cpu_*_seconds*", "a CPU accounting cgroup for each step" },
	{ "ceems_compute_unit_memory_total_bytes",
	  "memory that Slurm allocates (SelectTypeParameters=CR_..._Memory)" },
	{ "ceems_compute_unit_memory_*",
	  "a memory cgroup for each step (ConstrainRAMSpace=yes in cgroup.conf)" },
	{ "*_market_*", "MarketFactor in ceems.conf" },
	{ "ceems_compute_unit_emissions_*", "Country or EmissionSeriesFile in ceems.conf" },
	{ "ceems_node_emissions_*", "Country or EmissionSeriesFile in ceems.conf" },
	{ "ceems_emission_factor_age_*", "EmissionSeriesFile in ceems.conf" },
	{ "ceems_emission_factor_*", "Country or EmissionSeriesFile in ceems.conf" },
	{ "ceems_compute_unit_io_*",
	  "the BPF programs: on a node, `ceems check` says why they are not loaded" },
	{ "ceems_ebpf_*", "the BPF programs: on a node, `ceems check` says why they are not loaded" },
	{ "ceems_perf_*", "the BPF programs: on a node, `ceems check` says why they are not loaded" },
	{ "ceems_node_*idle_power_watts", "a node that was idle for a while, or IdleWatts in ceems.conf" },
	{ "ceems_compute_unit*", "jobs that run, and TextfileJobs=yes in ceems.conf" },
	{ "ceems_recorder_*",
	  "ceems-recorder with TextfileDir in ceems.conf, and a node_exporter on the controller" },
	{ "ceems_controller_*",
	  "jobcomp/ceems, with TextfileDir in ceems.conf, and a node_exporter on the controller" },
	{ "ceems_factors_*",
	  "`ceems factors update` on a host with TextfileDir in ceems.conf and a node_exporter" },
	{ "ceems_*", "TextfileDir in ceems.conf, and a node_exporter that reads that folder" },
	{ "node_textfile_*", "a node_exporter with --collector.textfile.directory" },
};

static const char *metric_brings(const char *name)
{
	unsigned int m;
	size_t i;

	metric_foreach(m) {
		if (strcmp(metric_table[m].prom, name))
			continue;
		switch (metric_table[m].demand) {
		case DEMAND_HW:
			return "steps with --ceems-perf=hw on a machine with a PMU";
		case DEMAND_IO:
			return "steps with --ceems-perf=io, and function hooks in the kernel";
		case DEMAND_NET:
			return "steps with --ceems-perf=net";
		default:
			break;
		}
		break;
	}
	for (i = 0; i < ARRAY_SIZE(reason); i++)
		if (!fnmatch(reason[i].pattern, name, 0))
			return reason[i].brings;
	return "not a metric of slurm-ceems";
}

/*
 * Returns true if Prometheus has the metric NAME, or if it cannot be asked: then the panel's query fails,
 * too, with a message. Asks once for each metric.
 */
static bool is_metric_there(struct dashboards_check *c, const char *name)
{
	struct asked_metric *m = &c->metric[c->nmetrics];
	char promql[sizeof(m->name) + 16];
	json_t *series = NULL;
	bool is_there;
	size_t i;

	for (i = 0; i < c->nmetrics; i++)
		if (!strcmp(c->metric[i].name, name))
			return c->metric[i].is_there;
	(void)snprintf(promql, sizeof(promql), "count(%s)", name);
	is_there = prometheus_query(c->prometheus, promql, &series, NULL) < 0 || json_array_size(series) > 0;
	json_decref(series);
	if (c->nmetrics < METRICS_MAX) {
		(void)snprintf(m->name, sizeof(m->name), "%s", name);
		m->is_there = is_there;
		c->nmetrics++;
	}
	return is_there;
}

static bool is_name_char(char ch)
{
	return isalnum((unsigned char)ch) || ch == '_' || ch == ':';
}

/*
 * Finds the next metric of slurm-ceems or node_exporter in the query *AT, and moves
 * *AT behind it. False: none.
 */
static bool next_metric(const char **at, char name[128])
{
	const char *s = *at;
	size_t len;

	while (*s) {
		for (len = 0; is_name_char(s[len]); len++)
			;
		if (!len) {
			s++;
		} else if (len < 128 && (!strncmp(s, "ceems_", 6) || !strncmp(s, "node_", 5))) {
			(void)snprintf(name, 128, "%.*s", (int)len, s);
			*at = s + len;
			return true;
		} else {
			s += len;
		}
	}
	return false;
}

/* Writes the first metric of PROMQL that is missing, and what exports it. */
static void explain(struct dashboards_check *c, const char *promql, char *buf, size_t size)
{
	char name[128];

	while (next_metric(&promql, name)) {
		if (is_metric_there(c, name))
			continue;
		(void)snprintf(buf, size, "no %s; it needs %s", name, metric_brings(name));
		return;
	}
	(void)snprintf(buf, size, "the metrics exist, but not with these variables, or not now");
}

/* --- variables ----------------------------------------------------------------------------- */

static struct variable *find_variable(struct dashboards_check *c, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < c->nvariables; i++)
		if (strlen(c->variable[i].name) == len && !strncmp(c->variable[i].name, name, len))
			return &c->variable[i];
	return NULL;
}

static void set_variable(struct dashboards_check *c, const char *name, const char *value, bool is_given)
{
	struct variable *v = find_variable(c, name, strlen(name));

	if (v && v->is_given)
		return;
	if (!v && c->nvariables == VARIABLES_MAX)
		return;
	if (!v)
		v = &c->variable[c->nvariables++];
	(void)snprintf(v->name, sizeof(v->name), "%s", name);
	(void)snprintf(v->value, sizeof(v->value), "%s", value);
	v->is_given = is_given;
}

/* Returns the value for a variable that Grafana itself sets. NULL: Grafana has no such variable. */
static const char *builtin_value(const char *name, size_t len)
{
	static const struct {
		const char *name, *value;
	} builtin[] = {
		{ "__rate_interval", "5m" },
		{ "__interval", "1m" },
		{ "__range", "1h" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(builtin); i++)
		if (strlen(builtin[i].name) == len && !strncmp(builtin[i].name, name, len))
			return builtin[i].value;
	return NULL;
}

/* Returns TEXT with $NAME and ${NAME:FORMAT} replaced; the caller frees it. NULL: out of memory. */
static char *substituted(struct dashboards_check *c, const char *text)
{
	char *out = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&out, &size);

	if (!f)
		return NULL;
	while (*text) {
		const char *name = text + 1, *value;
		struct variable *v;
		size_t len = 0;
		bool braced;

		if (*text != '$') {
			fputc(*text++, f);
			continue;
		}
		braced = *name == '{';
		name += braced;
		while (isalnum((unsigned char)name[len]) || name[len] == '_')
			len++;
		v = find_variable(c, name, len);
		value = v ? v->value : builtin_value(name, len);
		if (!value) {
			fputc(*text++, f);
			continue;
		}
		fputs(value, f);
		text = name + len;
		if (braced)
			text += strcspn(text, "}");
		text += braced && *text == '}';
	}
	if (fclose(f)) {
		free(out);
		return NULL;
	}
	return out;
}

/* Evaluates the query label_values(SELECTOR, LABEL): writes the value of the label that most series have. */
static bool first_value(struct dashboards_check *c, const char *query, char *buf, size_t size)
{
	const char *comma = strrchr(query, ',');
	char label[NAME_SIZE], promql[1024];
	struct errmsg err = { 0 };
	json_t *series = NULL;
	const char *value;
	int n;

	if (strncmp(query, "label_values(", 13) || !comma ||
	    sscanf(comma + 1, " %63[a-zA-Z0-9_]", label) != 1)
		return false;
	n = snprintf(promql, sizeof(promql), "topk(1, count by (%s) (%.*s))", label,
		     (int)(comma - query - 13), query + 13);
	if (n < 0 || (size_t)n >= sizeof(promql))
		return false;
	if (prometheus_query(c->prometheus, promql, &series, &err) < 0) {
		(void)cmd_error("%s: %s", c->dashboard, err.text);
		c->failed++;
		return false;
	}
	value = json_string_value(
		json_object_get(json_object_get(json_array_get(series, 0), "metric"), label));
	if (value)
		(void)snprintf(buf, size, "%s", value);
	json_decref(series);
	return value != NULL;
}

static void read_variable(struct dashboards_check *c, const json_t *variable)
{
	const char *name = json_string_value(json_object_get(variable, "name"));
	const json_t *query = json_object_get(variable, "query");
	char value[VALUE_SIZE] = "";
	char *promql;

	if (!name || !json_is_object(query)) /* the variable is a data source, or a query to MariaDB */
		return;
	if (json_is_true(json_object_get(variable, "includeAll"))) {
		set_variable(c, name, ".*", /* is_given= */ false);
		return;
	}
	if (find_variable(c, name, strlen(name)) && find_variable(c, name, strlen(name))->is_given)
		return;
	promql = substituted(c, json_string_value(json_object_get(query, "query")) ?: "");
	if (promql && !first_value(c, promql, value, sizeof(value)))
		cmd_print("%s: the variable $%s has no value; give one with --set %s=VALUE", c->dashboard,
			  name, name);
	free(promql);
	set_variable(c, name, value, /* is_given= */ false);
}

/* --- panels -------------------------------------------------------------------------------- */

/* Returns 1 if EXPR has data, 0 with the reason in WHY if not, -EBADMSG or another error. */
static int ask(struct dashboards_check *c, const char *expr, char *why, size_t size)
{
	char *promql = substituted(c, expr);
	struct errmsg err = { 0 };
	json_t *series = NULL;
	int rc = promql ? prometheus_query(c->prometheus, promql, &series, &err) : -ENOMEM;

	if (rc < 0)
		(void)snprintf(why, size, "%s", err.text);
	else if (json_array_size(series) > 0)
		rc = 1;
	else
		explain(c, promql, why, size);
	json_decref(series);
	free(promql);
	return rc;
}

static int check_panel(struct dashboards_check *c, const json_t *panel)
{
	const json_t *targets = json_object_get(panel, "targets"), *target;
	const char *title = json_string_value(json_object_get(panel, "title"));
	unsigned int asked = 0, with_data = 0;
	char why[1024] = "", first[1024] = "";
	size_t i;
	int rc;

	json_array_foreach(targets, i, target) {
		const char *expr = json_string_value(json_object_get(target, "expr"));

		if (!expr) {
			c->elsewhere++;
			return 0;
		}
		rc = ask(c, expr, why, sizeof(why));
		asked++;
		if (rc == -EBADMSG) {
			c->failed++;
			(void)cmd_error("%s, %s: %s", c->dashboard, title ? title : "", why);
		} else if (rc < 0) {
			return cmd_error("%s", why);
		}
		with_data += rc > 0;
		if (!rc && !*first)
			memcpy(first, why, sizeof(first));
	}
	if (!asked)
		return 0;
	c->panels++;
	if (with_data == asked)
		return 0;
	if (with_data)
		c->partly++;
	else
		c->empty++;
	cmd_print("%s, %s: %s%s", c->dashboard, title ? title : "",
		  with_data ? "in part: " : "empty: ", first);
	return 0;
}

static int check_dashboard(struct dashboards_check *c, const json_t *dashboard)
{
	const json_t *variables = json_object_get(json_object_get(dashboard, "templating"), "list"), *v;
	const json_t *panels = json_object_get(dashboard, "panels"), *panel;
	size_t i;

	json_array_foreach(variables, i, v)
		read_variable(c, v);
	json_array_foreach(panels, i, panel)
		if (check_panel(c, panel) != 0)
			return CMD_FAILED;
	return CMD_OK;
}

/* --- the command --------------------------------------------------------------------------- */

static int is_json(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return len > 5 && !strcmp(e->d_name + len - 5, ".json");
}

/* Checks the dashboard PATH, or only prints its line if C is NULL. */
static int one_file(struct dashboards_check *c, const char *path)
{
	json_error_t error;
	json_t *dashboard = json_load_file(path, 0, &error);
	const char *title = json_string_value(json_object_get(dashboard, "title"));
	int rc = CMD_OK;

	if (!title) {
		rc = cmd_error("%s: %s", path, dashboard ? "not a dashboard of Grafana" : error.text);
	} else if (!c) {
		cmd_print("%-28s %s", title, path);
	} else {
		c->dashboard = title;
		rc = check_dashboard(c, dashboard);
	}
	json_decref(dashboard);
	return rc;
}

static int all_files(struct dashboards_check *c, const char *dir)
{
	char path[PATH_MAX];
	struct dirent **entry;
	int n = scandir(dir, &entry, is_json, alphasort);
	int rc = n == 0 ? cmd_error("%s: no dashboards", dir) : CMD_OK;
	int i;

	if (n < 0)
		return cmd_error("%s: %s", dir, strerror(errno));
	for (i = 0; i < n; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, entry[i]->d_name);
		if (rc == CMD_OK)
			rc = one_file(c, path);
		free(entry[i]);
	}
	free(entry);
	return rc;
}

static int check_all(struct dashboards_check *c, const char *url, const char *ca_file, const char *dir)
{
	struct errmsg err = { 0 };
	int rc;

	if (prometheus_create(url, ca_file, &c->prometheus, &err) < 0)
		return cmd_error("%s", err.text);
	rc = all_files(c, dir);
	prometheus_destroy(c->prometheus);
	if (rc != CMD_OK)
		return rc;
	cmd_print("%u panels ask Prometheus: %u have data, %u in part, %u are empty. %u ask MariaDB and "
		  "were not tried.",
		  c->panels, c->panels - c->partly - c->empty, c->partly, c->empty, c->elsewhere);
	return c->failed ? CMD_FAILED : CMD_OK;
}

static bool parse_set(struct dashboards_check *c, const char *text)
{
	const char *equals = strchr(text, '=');
	char name[NAME_SIZE];

	if (!equals || equals == text || (size_t)(equals - text) >= sizeof(name) ||
	    strlen(equals) > VALUE_SIZE) {
		fprintf(stderr, "ceems dashboards: --set needs NAME=VALUE\n");
		return false;
	}
	(void)snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
	set_variable(c, name, equals + 1, /* is_given= */ true);
	return true;
}

static const struct cmd_option dashboards_options[] = {
	{ NULL, 0, NULL, "What to do" },
	{ "check", 'c', "URL", "ask this Prometheus all queries" },
	{ "set", 's', "NAME=VALUE", "with --check: value of a dashboard's variable" },
	{ "ca-file", 'a', "FILE", "with --check: trust the certificates in this file" },
	{ "dir", 'd', "DIR", "the dashboards are in this folder" },
	{ 0 },
};

static int cmd_dashboards_run(const struct cmd_info *self, int argc, char **argv)
{
	const char *url = NULL, *ca_file = "", *dir = CEEMS_DATADIR "/grafana";
	struct dashboards_check *c = calloc(1, sizeof(*c));
	int rc, opt;

	if (!c)
		return cmd_error("out of memory");
	rc = -1;
	while (rc < 0 && (opt = cmd_getopt(argc, argv, dashboards_options, 0)) >= 0) {
		if (opt == 'a')
			ca_file = optarg;
		else if (opt == 'c')
			url = optarg;
		else if (opt == 'd')
			dir = optarg;
		else if (opt == 's')
			rc = parse_set(c, optarg) ? -1 : CMD_USAGE;
		else
			rc = cmd_usage(self, opt == 'h' ? CMD_OK : CMD_USAGE);
	}
	if (rc < 0 && optind < argc)
		rc = cmd_usage(self, CMD_USAGE);
	if (rc < 0)
		rc = url ? check_all(c, url, ca_file, dir) : all_files(NULL, dir);
	free(c);
	return rc;
}

const struct cmd_info cmd_dashboards = {
	"dashboards",
	"[OPTION...]",
	cmd_dashboards_run,
	dashboards_options,
	"ceems dashboards --check http://localhost:9090 --set jobid=1234",
};
