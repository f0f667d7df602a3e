/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a BMC answers: values of both resources, links, members of a collection. */
#include "src/libmeter/sensor/counter.h"
#include "src/helpers/redfish/redfish_json.h"
#include "tests/fuzz/fuzz.h"

static void values(const char *text, size_t size, enum redfish_resource resource)
{
	struct redfish_values v = { 0 };
	struct errmsg err = { 0 };
	int rc = redfish_json_values(text, size, resource, 5, &v, &err);

	fuzz_check_error(rc, &err);
	assert((rc == 0) == (v.has != 0));
	assert(v.value[REDFISH_WATTS] <= COUNTER_PLATFORM_MAX_W * 1000);
}

static void check_link(int rc, const char *path, const struct errmsg *err)
{
	fuzz_check_error(rc, err);
	assert(rc < 0 || (!strncmp(path, "/redfish/", 9) && !strpbrk(path, " \r\n\t")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct redfish_paths paths = { 0 };
	char path[REDFISH_PATH_MAX];
	struct errmsg err = { 0 }, skipped;
	unsigned int first;
	uint64_t mw = 0;
	size_t n = 0;

	values(text, size, REDFISH_ENVIRONMENT);
	values(text, size, REDFISH_POWER);
	check_link(redfish_json_link(text, size, "Chassis", path, sizeof(path), &err), path, &err);
	if (redfish_json_links(text, size, "Members", &paths, &n, &skipped, &err) == 0)
		assert(!n || skipped.text[0]);
	for (n = 0; n < paths.n; n++)
		check_link(0, paths.path[n], &err);
	redfish_paths_free(&paths);
	check_link(redfish_json_next(text, size, path, sizeof(path), &err), path, &err);
	if (redfish_json_find_oem(text, size, path, sizeof(path), &mw))
		assert(redfish_json_pointed(text, size, path, &mw, &err) == 0 && mw);
	(void)redfish_json_text(text, size, "PowerControl.0.Name", path, 16);
	assert(!strpbrk(path, "\n\r") && strlen(path) < 16);
	(void)redfish_json_controls(text, size, &first);
	assert(first < REDFISH_CONTROLS || first < size);
	free(text);
	return 0;
}
