/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * error_words.h - what a provider says about an error, in its answer: "Invalid token" of
 * {"error": {"message": "Invalid token"}}.
 */
#ifndef CEEMS_FACTORS_ERROR_WORDS_H
#define CEEMS_FACTORS_ERROR_WORDS_H

#include <jansson.h>
#include <stddef.h>

#define ERROR_WORDS_COLUMNS 120
#define ERROR_WORDS_SIZE (4 * ERROR_WORDS_COLUMNS + 1)

/*
 * Finds the words in TEXT, an answer that is NUL-ended: JSON, or one short line. Writes them masked, cut to
 * ERROR_WORDS_COLUMNS, to BUF; "": there are none. In them, SECRETS become stars: texts that were sent, NULL
 * after the last one. Returns BUF.
 */
const char *error_words(const char *text, const char *const *secrets, char buf[ERROR_WORDS_SIZE]);

/* error_words() in V, an answer that was parsed. */
const char *error_words_of(const json_t *v, char buf[ERROR_WORDS_SIZE]);

#endif
