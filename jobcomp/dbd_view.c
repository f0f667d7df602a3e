/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/dbd_view.h"

bool dbd_view_is_doubtful(const struct dbd_view *v)
{
	return v->end && (v->is_saved || v->end < v->told_end || v->lacks_start || v->lacks_usage ||
			  v->has_older_step);
}

enum dbd_word dbd_view_word(const struct dbd_view *v)
{
	if (!v->end || v->has_open_step)
		return DBD_NOT_YET;
	/* steps that it was never told the end of, it never will be */
	if (v->all_told)
		return DBD_LAST;
	if (v->end < v->told_end)
		return DBD_NOT_YET;
	return dbd_view_is_doubtful(v) ? DBD_UNSURE : DBD_LAST;
}
