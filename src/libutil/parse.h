/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parse.h - whole-string parsers. Each returns 0, -EINVAL (another form, or trailing bytes) or
 * -ERANGE (too large). *ret is written on success only.
 */
#ifndef CEEMS_PARSE_H
#define CEEMS_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int parse_u64(const char *s, uint64_t *ret);

/* N of the first LEN bytes, for kernel files: a trailing newline is accepted. */
int parse_u64_n(const char *s, size_t len, uint64_t *ret);

/* Behind KEY ("usage_usec ") where a line of TEXT begins with it; NULL: none does. */
const char *parse_find_line(const char *text, const char *key);

/* "0x2a", as sysfs and /proc/cpuinfo of arm64 write numbers. */
int parse_hex(const char *s, uint64_t *ret);

/*
 * Reads the next "4" or "0-3" of a list such as "0-3,8". NUL or a newline ends the list. Returns 1,
 * and *LIST points behind the item; 0 at the end of the list; -EINVAL.
 */
int parse_next_range(const char **list, uint64_t *ret_from, uint64_t *ret_to);

/* "yes|no|true|false|1|0", any case, as slurm.conf writes them. */
int parse_bool(const char *s, bool *ret);

/* "250ms", "1s", "5m", "2h", "1d"; a bare number is seconds. */
int parse_duration_ns(const char *s, uint64_t *ret_ns);

/* "64K", "10M", "2G", "1T" in powers of 1024; a bare number is bytes. */
int parse_size_bytes(const char *s, uint64_t *ret_bytes);

/*
 * A non-negative decimal such as "1.35" as an integer of SCALE-ths: parse_decimal("1.35", 1000)
 * gives 1350. Digits beyond the scale are rounded half up. SCALE is a power of ten.
 */
int parse_decimal(const char *s, uint64_t scale, uint64_t *ret);

#endif
