/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kvconf.h - files in slurm.conf's style. A line is Key=Value. '#' starts a comment. Keys may be in
 * any case, with blanks around '='. A value ends at the line's end or at an unquoted '#'. "double
 * quotes" keep blanks and '#'. One table per file drives parsing, help and tests.
 */
#ifndef CEEMS_KVCONF_H
#define CEEMS_KVCONF_H

#include <stddef.h>

#include "src/libutil/errmsg.h"

struct kvconf_key {
	const char *name;
	/*
	 * Turns VALUE (whole, unquoted) into the field at FIELD; 0 or -errno with the reason in
	 * ERR ("not a duration"). File, line and key are added by the parser.
	 */
	int (*parse)(const char *value, void *field, const struct kvconf_key *key,
		     struct errmsg *err);
	size_t offset;	       /* of the field in the caller's struct */
	size_t size;	       /* of the field: the bound for text */
	const char *initial;   /* default, in the file's own syntax; NULL: field is left alone */
	const char *help;      /* one sentence */
};

/* Parsers for the usual field types. */
int kvconf_text(const char *value, void *field, const struct kvconf_key *key,
		struct errmsg *err); /* char[size] */
int kvconf_bool(const char *value, void *field, const struct kvconf_key *key,
		struct errmsg *err); /* bool */
int kvconf_u64(const char *value, void *field, const struct kvconf_key *key,
	       struct errmsg *err); /* uint64_t */
int kvconf_duration(const char *value, void *field, const struct kvconf_key *key,
		    struct errmsg *err); /* uint64_t, ns */
int kvconf_size(const char *value, void *field, const struct kvconf_key *key,
		struct errmsg *err); /* uint64_t, bytes */
int kvconf_milli(const char *value, void *field, const struct kvconf_key *key,
		 struct errmsg *err); /* uint64_t, thousandths of a decimal: watts -> mW */
int kvconf_path(const char *value, void *field, const struct kvconf_key *key,
		struct errmsg *err); /* char[size]: an absolute path, or empty */
/* char[size]: "https://HOST[:PORT]", from which a '/' at its end is cut. */
int kvconf_https(const char *value, void *field, const struct kvconf_key *key,
		 struct errmsg *err);

/* Writes every key's default into DATA. A default that does not parse is a bug: -EINVAL. */
int kvconf_defaults(const struct kvconf_key *keys, size_t nkeys, void *data,
		    struct errmsg *err);

/*
 * Reads PATH over DATA (kvconf_defaults() first). -ENOENT when there is no file; -EPERM when
 * others may write it (trust_is_ours()). On -EINVAL
 * the error says "PATH:LINE: KEY: reason"; the first bad line ends the reading and DATA is
 * then half-written: throw it away. A key given twice is an error, as two values mean that
 * one of them is not in force.
 */
int kvconf_read(const char *path, const struct kvconf_key *keys, size_t nkeys, void *data,
		struct errmsg *err);

/* What is wrong with one line, "PATH:LINE: KEY: reason"; LINE 0: with the file as a whole. */
typedef void kvconf_error_fn(void *arg, unsigned int line, const char *text);

/*
 * The same for a caller that looks for all mistakes. Each bad line goes to ON_ERROR with ARG and
 * leaves its field unchanged; the other lines are read. Returns 0, however many lines were bad.
 * ON_ERROR is NULL: kvconf_read().
 */
int kvconf_read_all(const char *path, const struct kvconf_key *keys, size_t nkeys, void *data,
		    kvconf_error_fn *on_error, void *arg, struct errmsg *err);

#endif
