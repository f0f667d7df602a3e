/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/sources/teller.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <unistd.h>

#include "src/libutil/clock.h"
#include "src/libutil/helper.h"

void teller_init(void)
{
	helper_close_inherited();
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
}

void teller_value(uint64_t value, uint64_t t_ns)
{
	(void)printf("value %" PRIu64 " %" PRIu64 "\n", value, t_ns);
}

static void tell(const char *word, const char *fmt, va_list ap)
{
	char text[160];

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	(void)printf("%s %s\n", word, text);
}

void teller_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell("error", fmt, ap);
	va_end(ap);
}

void teller_never(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell("never", fmt, ap);
	va_end(ap);
}

uint64_t teller_begin(unsigned int max_s)
{
	(void)alarm(max_s);
	return clock_mono_ns();
}

uint64_t teller_end(uint64_t begin_ns)
{
	uint64_t end_ns = clock_mono_ns();

	(void)alarm(0);
	return begin_ns + (end_ns - begin_ns) / 2;
}

bool teller_wait_ms(uint64_t ms)
{
	/* a pipe without a reader shows POLLERR, asked for or not */
	struct pollfd p = { .fd = STDOUT_FILENO, .events = 0 };

	return poll(&p, 1, (int)ms) == 0;
}
