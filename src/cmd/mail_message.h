/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mail_message.h - a mail as sendmail(8) reads it: headers, a text and an attached page (RFC 5322, MIME). Bodies are
 * base64, so that no line of them is a header, a boundary or a command, and none is too long.
 */
#ifndef CEEMS_CMD_MAIL_MESSAGE_H
#define CEEMS_CMD_MAIL_MESSAGE_H

#include <stdio.h>

#include "src/cmd/mail.h"

/* SUBJECT and ADDRESS are one line each. sendmail adds From, Date and Message-ID. */
void mail_message_write(const struct mail *m, FILE *out);

#endif
