/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sink_row CONF DIR: delivers two records, from a new store in the folder DIR, to the sink that CONF names.
 */
#include <stdio.h>
#include <string.h>

#include "src/libsink/deliver.h"
#include "src/libutil/clock.h"

static int deliver_two(struct store *store, const char *dir, const struct settings *s, struct errmsg *err)
{
	static const char json[] = "{}";
	struct deliver *d;
	int rc = store_set_sinks(store, s->sinks, err);

	if (rc == 0)
		rc = store_begin(store, err);
	if (rc == 0)
		rc = store_record_append(store, STORE_RECORD, "c/1/0", json, strlen(json), /* ended= */ 0,
					 NULL, err);
	if (rc == 0)
		rc = store_record_append(store, STORE_RECORD, "c/2/0", json, strlen(json), /* ended= */ 0,
					 NULL, err);
	if (rc == 0)
		rc = store_commit(store, err);
	if (rc == 0)
		rc = deliver_create(store, dir, sink_find(s->sinks), s, &d, err);
	if (rc == 0) {
		printf("settled %d\n", deliver_run(d, clock_mono_ns(), NSEC_PER_SEC));
		deliver_destroy(d);
	}
	return rc;
}

int main(int argc, char **argv)
{
	struct store_options o = { .dir = argc == 3 ? argv[2] : NULL };
	struct errmsg err = { 0 };
	struct store *store = NULL;
	struct settings s;
	int rc = -1;

	if (argc == 3)
		rc = settings_load(argv[1], &s, &err);
	if (rc == 0)
		rc = store_open(&o, &store, &err);
	if (rc == 0)
		rc = deliver_two(store, o.dir, &s, &err);
	if (rc < 0)
		fprintf(stderr, "%s\n", err.text);
	store_close(store);
	return rc < 0;
}
