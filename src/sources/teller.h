/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * teller.h - the other end of asker.h: what a helper program that asks a sensor tells, on its
 * standard output.
 */
#ifndef CEEMS_TELLER_H
#define CEEMS_TELLER_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libutil/util.h"

/* Closes what fds of slurmd's were not O_CLOEXEC; whole lines from here on. */
void teller_init(void);

void teller_value(uint64_t value, uint64_t t_ns);
void teller_error(const char *fmt, ...) _printf_(1, 2);
void teller_never(const char *fmt, ...) _printf_(1, 2);

/*
 * Around one exchange with the sensor: one that takes longer than MAX_S ends the program, by
 * SIGALRM, and who started it starts it anew. end() returns when it was, half way between.
 */
uint64_t teller_begin(unsigned int max_s);
uint64_t teller_end(uint64_t begin_ns);

/* False: nobody reads any more, slurmd has ended. */
bool teller_wait_ms(uint64_t ms);

#endif
