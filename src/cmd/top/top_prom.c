/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/top/top_prom.h"

#include <errno.h>

#include "src/libutil/util.h"

int top_prom_read(struct prometheus *p, uint32_t job_id, struct top_frame *f, struct errmsg *err)
{
	_cleanup_free_ char *query = top_prom_query(job_id);
	json_t *series = NULL;
	int rc = query ? prometheus_query(p, query, &series, err) : errmsg_set(err, -ENOMEM, "out of memory");

	if (rc == 0)
		rc = top_prom_set(series, job_id, f, err);
	json_decref(series);
	return rc;
}
