/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mail_message.h - writes a mail as sendmail(8) reads it: headers, a text and an attached page (RFC 5322,
 * MIME). Text and page are base64, so that none of their lines is too long or is taken for a boundary or a
 * command.
 */
#ifndef CEEMS_CMD_MAIL_MESSAGE_H
#define CEEMS_CMD_MAIL_MESSAGE_H

#include <stdio.h>

#include "src/cmd/mail/mail.h"

/* Writes M to OUT. Its subject and address must have no line end. sendmail adds From, Date and Message-ID. */
void mail_message_write(const struct mail *m, FILE *out);

#endif
