/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RedfishConf. Its password gets into no message. */
#include <strings.h>

#include "src/helpers/redfish/redfish_conf.h"
#include "tests/fuzz/fuzz.h"

#define SECRET "Password=hunter2\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(sizeof(SECRET) - 1 + size);
	struct redfish_conf conf;
	struct errmsg err = { 0 };
	int rc;

	assert(text);
	memcpy(text, SECRET, sizeof(SECRET) - 1);
	memcpy(text + sizeof(SECRET) - 1, data, size);
	rc = redfish_conf_read(fuzz_file(text, sizeof(SECRET) - 1 + size), &conf, &err);
	fuzz_check_error(rc, &err);
	assert(memmem(data, size, "hunter2", 7) || !strstr(err.text, "hunter2"));
	if (rc == 0) {
		assert(!strncasecmp(conf.url, "https://", 8) && !strpbrk(conf.url + 8, "/@?#"));
		assert(conf.user[0] && !strcmp(conf.password, "hunter2"));
	}
	free(text);
	return 0;
}
