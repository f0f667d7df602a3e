/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tap.h - the Test Anything Protocol, as much of it as the unit tests need.
 */
#ifndef CEEMS_TAP_H
#define CEEMS_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned int tap_count;
static unsigned int tap_failed;

static inline void diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline void diag(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("# ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	fflush(stdout);
}

static inline bool tap_ok(bool pass, const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static inline bool tap_ok(bool pass, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("%sok %u - ", pass ? "" : "not ", ++tap_count);
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	if (!pass) {
		tap_failed++;
		diag("failed at %s:%d", file, line);
	}
	fflush(stdout);
	return pass;
}

#define ok(cond, ...) tap_ok((cond), __FILE__, __LINE__, __VA_ARGS__)

static inline bool tap_is_u64(uint64_t got, uint64_t want, const char *file, int line, const char *what)
{
	bool pass = tap_ok(got == want, file, line, "%s", what);

	if (!pass)
		diag("got %" PRIu64 ", want %" PRIu64, got, want);
	return pass;
}
#define is_u64(got, want, what) tap_is_u64((got), (want), __FILE__, __LINE__, (what))

static inline bool tap_is_int(int64_t got, int64_t want, const char *file, int line, const char *what)
{
	bool pass = tap_ok(got == want, file, line, "%s", what);

	if (!pass)
		diag("got %" PRId64 ", want %" PRId64, got, want);
	return pass;
}
#define is_int(got, want, what) tap_is_int((got), (want), __FILE__, __LINE__, (what))

static inline bool tap_is_str(const char *got, const char *want, const char *file, int line, const char *what)
{
	bool same = (got && want) ? !strcmp(got, want) : got == want;
	bool pass = tap_ok(same, file, line, "%s", what);

	if (!pass)
		diag("got '%s', want '%s'", got ? got : "(null)", want ? want : "(null)");
	return pass;
}
#define is_str(got, want, what) tap_is_str((got), (want), __FILE__, __LINE__, (what))

static inline void tap_require(bool pass, const char *what, const char *file, int line)
{
	if (pass)
		return;
	diag("%s:%d: failed: %s", file, line, what);
	exit(99);
}
/* For what a test prepares: ends the program if it fails. */
#define require(cond) tap_require((cond), #cond, __FILE__, __LINE__)

static inline void skip(unsigned int n, const char *why)
{
	while (n--)
		printf("ok %u # SKIP %s\n", ++tap_count, why);
}

/* The whole test file cannot run here. */
static inline int skip_all(const char *why)
{
	printf("1..0 # SKIP %s\n", why);
	return 0;
}

static inline int done_testing(void)
{
	printf("1..%u\n", tap_count);
	return tap_failed ? 1 : 0;
}

#endif
