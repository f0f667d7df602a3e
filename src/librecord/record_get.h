/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_get.h - one member of an object in JSON into a C variable, which stays as it is where the
 * member is absent or null: both are unknown. -EINVAL names the member. Private to librecord.
 */
#ifndef CEEMS_RECORD_GET_H
#define CEEMS_RECORD_GET_H

#include "src/librecord/jsonin.h"
#include "src/librecord/record.h"

/* -EINVAL, "record: NAME: WHAT". */
int record_bad(struct errmsg *err, const char *name, const char *what);

/* NULL for absent and for null, and when O is NULL. */
struct jsonin_value *record_member(struct jsonin_value *o, const char *name);

/* Of the texts that "escaped" of the record or step names, makes the bytes they were. */
int record_unescape(struct jsonin_value *o, struct errmsg *err);

int record_get_text(struct jsonin_value *o, const char *name, char **ret, struct errmsg *err);
/* Into a fixed buffer; what does not fit is cut. */
int record_get_buf(struct jsonin_value *o, const char *name, char *buf, size_t size,
		   struct errmsg *err);
int record_get_maybe(struct jsonin_value *o, const char *name, struct maybe_u64 *ret,
		     struct errmsg *err);
int record_get_u32(struct jsonin_value *o, const char *name, uint32_t *ret, struct errmsg *err);
/* A number in units, as an integer of SCALE-ths. */
int record_get_scaled(struct jsonin_value *o, const char *name, uint64_t scale,
		      struct maybe_u64 *ret, struct errmsg *err);
int record_get_time(struct jsonin_value *o, const char *name, uint64_t *ret, struct errmsg *err);
int record_get_exit(struct jsonin_value *o, const char *name, int32_t *ret_code,
		    int32_t *ret_signal, struct errmsg *err);
int record_get_object(struct jsonin_value *o, const char *name, struct jsonin_value **ret,
		      struct errmsg *err);

#endif
