/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/cmd/report/report.h"

FILE *report_open(const struct report_options *o)
{
	FILE *out = o->out ? fopen(o->out, "we") : stdout;

	if (!out)
		(void)cmd_error("%s: %s", o->out, strerror(errno));
	return out;
}

int report_close(const struct report_options *o, FILE *out, int rc)
{
	bool is_lost = ferror(out) != 0;

	if (out != stdout && fclose(out) != 0)
		is_lost = true;
	if (rc < 0)
		return cmd_error("out of memory");
	return is_lost && o->out ? cmd_error("cannot write %s: %s", o->out, strerror(errno)) : CMD_OK;
}
