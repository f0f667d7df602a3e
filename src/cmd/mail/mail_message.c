/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/mail/mail_message.h"

#include <string.h>

#include "src/libutil/utf8.h"

#define BOUNDARY "ceems-part" /* cannot occur in the parts: no line of base64 begins with "--" */
#define LINE_BYTES 57	      /* base64 makes 76 characters of them, the most that a line may have */
/* base64 and a frame of 12 characters make 68 of them; a word in a header may have 75 */
#define WORD_BYTES 42
#define BASE64_MAX (4 * (LINE_BYTES / 3) + 1)

/* Writes LEN bytes of TEXT, at most LINE_BYTES, as base64 to BUF. Returns BUF. */
static const char *base64(const char *text, size_t len, char buf[BASE64_MAX])
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *to = buf;
	size_t i;

	for (i = 0; i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		unsigned int bits = (unsigned int)(unsigned char)text[i] << 16;

		bits |= n > 1 ? (unsigned int)(unsigned char)text[i + 1] << 8 : 0;
		bits |= n > 2 ? (unsigned char)text[i + 2] : 0;
		*to++ = digit[bits >> 18];
		*to++ = digit[bits >> 12 & 63];
		*to++ = n > 1 ? digit[bits >> 6 & 63] : '=';
		*to++ = n > 2 ? digit[bits & 63] : '=';
	}
	*to = '\0';
	return buf;
}

static void put_body(const char *text, FILE *out)
{
	size_t len = strlen(text);
	char line[BASE64_MAX];

	while (len) {
		size_t n = len < LINE_BYTES ? len : LINE_BYTES;

		(void)fprintf(out, "%s\n", base64(text, n, line));
		text += n;
		len -= n;
	}
}

/* Returns how many bytes of TEXT fit into one word of a header without cutting a UTF-8 character. */
static size_t word_length(const char *text)
{
	size_t left = strlen(text);
	size_t used = 0;

	while (used < left) {
		size_t n = utf8_sequence(text + used, left - used);

		n = n ? n : 1;
		if (used + n > WORD_BYTES)
			break;
		used += n;
	}
	return used;
}

/* Writes the subject as encoded words of RFC 2047, one per line. These are right for any text. */
static void put_subject(const char *text, FILE *out)
{
	char word[BASE64_MAX];

	fputs("Subject:", out);
	while (*text) {
		size_t n = word_length(text);

		(void)fprintf(out, " =?utf-8?B?%s?=\n", base64(text, n, word));
		text += n;
	}
}

static void put_part(const char *type, const char *name, const char *text, FILE *out)
{
	(void)fprintf(out,
		      "\n--" BOUNDARY
		      "\nContent-Type: %s; charset=utf-8\nContent-Transfer-Encoding: base64\n",
		      type);
	if (name)
		(void)fprintf(out, "Content-Disposition: attachment; filename=\"%s\"\n", name);
	fputc('\n', out);
	put_body(text, out);
}

void mail_message_write(const struct mail *m, FILE *out)
{
	(void)fprintf(out, "To: %s\n", m->address);
	put_subject(*m->subject ? m->subject : "slurm-ceems", out);
	fputs("MIME-Version: 1.0\n"
	      "Auto-Submitted: auto-generated\n" /* so that vacation programs do not answer (RFC 3834) */
	      "Content-Type: multipart/mixed; boundary=\"" BOUNDARY "\"\n",
	      out);
	put_part("text/plain", NULL, m->text, out);
	if (m->page)
		put_part("text/html", m->page_name, m->page, out);
	fputs("\n--" BOUNDARY "--\n", out);
}
