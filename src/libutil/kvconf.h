/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kvconf.h - reads configuration files in slurm.conf's style: one Key=Value per line. Keys may be
 * in any case, with blanks around '='. '#' starts a comment. A value in "double quotes" may contain
 * blanks and '#'. One table of keys per file drives the parser, the help text and the tests.
 */
#ifndef CEEMS_KVCONF_H
#define CEEMS_KVCONF_H

#include <stddef.h>

#include "src/libutil/errmsg.h"

struct kvconf_key {
	const char *name;
	/*
	 * Parses VALUE (whole and unquoted) into the field at FIELD. Returns 0, or -errno with the
	 * reason in ERR ("not a duration"); kvconf adds file, line and key to the reason.
	 */
	int (*parse)(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err);
	size_t offset; /* of the field in the caller's struct */
	size_t size;   /* of the field in bytes; the limit for text */
	/* default, written as in the file; NULL: kvconf_defaults() leaves the field alone */
	const char *initial;
	const char *help; /* one sentence */
};

/* Returns the name of the key that NAME most likely misspells; NULL: no key is close. */
const char *kvconf_nearest(const struct kvconf_key *keys, size_t nkeys, const char *name);

/* Parsers for common field types; the comment behind each names the type of the field. */
int kvconf_text(const char *value, void *field, const struct kvconf_key *key,
		struct errmsg *err); /* char[size] */
int kvconf_bool(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err); /* bool */
int kvconf_u64(const char *value, void *field, const struct kvconf_key *key,
	       struct errmsg *err); /* uint64_t */
int kvconf_duration(const char *value, void *field, const struct kvconf_key *key,
		    struct errmsg *err); /* uint64_t, ns */
int kvconf_size(const char *value, void *field, const struct kvconf_key *key,
		struct errmsg *err); /* uint64_t, bytes */
int kvconf_milli(const char *value, void *field, const struct kvconf_key *key,
		 /* uint64_t, thousandths of the value in the file: watts become mW */
		 struct errmsg *err);
int kvconf_path(const char *value, void *field, const struct kvconf_key *key,
		struct errmsg *err); /* char[size]: an absolute path, or empty */
/* char[size]: "https://HOST[:PORT]"; a '/' at the end is removed. */
int kvconf_https(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err);

/* Writes the default of every key into DATA. -EINVAL: a default does not parse, which is a bug. */
int kvconf_defaults(const struct kvconf_key *keys, size_t nkeys, void *data, struct errmsg *err);

/*
 * Reads PATH into DATA; call kvconf_defaults() first. Returns 0, -ENOENT (no file), -EPERM (others
 * may write it, see trust_is_ours()) or -errno. -EINVAL: a line is bad; ERR says "PATH:LINE: KEY:
 * reason". Reading stops there, so throw the half-written DATA away. A key given twice is bad too:
 * one of its two values would be ignored.
 */
int kvconf_read(const char *path, const struct kvconf_key *keys, size_t nkeys, void *data,
		struct errmsg *err);

/* Receives one mistake as TEXT, "PATH:LINE: KEY: reason". LINE 0: it concerns the whole file. */
typedef void kvconf_error_fn(void *arg, unsigned int line, const char *text);

/*
 * Like kvconf_read(), but reports all mistakes. Each bad line goes to ON_ERROR, with ARG, and
 * leaves its field unchanged; the other lines are read. Returns 0 even if lines were bad, -errno if
 * the file could not be read. With ON_ERROR NULL it is kvconf_read().
 */
int kvconf_read_all(const char *path, const struct kvconf_key *keys, size_t nkeys, void *data,
		    kvconf_error_fn *on_error, void *arg, struct errmsg *err);

#endif
