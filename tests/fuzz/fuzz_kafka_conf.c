/* SPDX-License-Identifier: GPL-2.0-or-later */
/* KafkaConf. No value of a password gets into a message. */
#include "src/libsink/kafka/kafka_conf.h"
#include "tests/fuzz/fuzz.h"

#define SECRET "sasl.password=hunter2\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	struct errmsg err = { 0 };
	char *text = malloc(sizeof(SECRET) - 1 + size);
	int rc;

	assert(conf && text);
	memcpy(text, SECRET, sizeof(SECRET) - 1);
	memcpy(text + sizeof(SECRET) - 1, data, size);
	rc = kafka_conf_read(fuzz_file(text, sizeof(SECRET) - 1 + size), conf, &err);
	fuzz_check_error(rc, &err);
	assert(memmem(data, size, "hunter2", 7) || !strstr(err.text, "hunter2"));
	rd_kafka_conf_destroy(conf);
	free(text);
	return 0;
}
