/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_MUST_CHECK_H
#define CEEMS_MUST_CHECK_H

/*
 * Behind the prototype of a function that writes its caller's buffer or ret_* on success only: the compiler
 * refuses a call that ignores the result. gcc refuses a cast to void, too: set the variable where the call
 * fails, or write a function that cannot fail.
 */
#define _must_check_ __attribute__((warn_unused_result))

#endif
