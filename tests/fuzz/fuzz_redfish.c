/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a BMC answers: values of both resources, links, members of a collection. */
#include "src/libmeter/sensor/counter.h"
#include "src/helpers/redfish_json.h"
#include "tests/fuzz/fuzz.h"

static void values(const char *text, size_t size, enum redfish_resource resource)
{
	struct redfish_values v = { 0 };
	struct errmsg err = { 0 };
	int rc = redfish_json_values(text, size, resource, &v, &err);

	fuzz_check_error(rc, &err);
	assert((rc == 0) == (v.has != 0));
	assert(v.power_mw <= COUNTER_PLATFORM_MAX_W * 1000);
}

static void check_link(int rc, const char *path, const struct errmsg *err)
{
	fuzz_check_error(rc, err);
	assert(rc < 0 || (!strncmp(path, "/redfish/", 9) && !strpbrk(path, " \r\n\t")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	char path[REDFISH_PATH_MAX];
	struct errmsg err = { 0 };

	values(text, size, REDFISH_ENVIRONMENT);
	values(text, size, REDFISH_POWER);
	check_link(redfish_json_link(text, size, "Chassis", path, sizeof(path), &err), path, &err);
	check_link(redfish_json_member(text, size, 1, path, sizeof(path), &err), path, &err);
	free(text);
	return 0;
}
