/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/mail_message.h"

#include <string.h>

#include "src/libutil/utf8.h"

#define BOUNDARY "ceems-part" /* no line of base64 begins with two '-' */
#define LINE_BYTES 57 /* of which base64 makes 76 characters, the most of a line */
#define WORD_BYTES 42 /* of a word in a header, which has at most 75 characters with its frame of 12 */
#define BASE64_MAX (4 * (LINE_BYTES / 3) + 1)

/* Of at most LINE_BYTES. Returns BUF. */
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

/* How many bytes of TEXT are whole characters and fit into one word. */
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

/* Words of RFC 2047, one per line. They are right for each text, so that none needs to be looked at. */
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
	(void)fprintf(out, "\n--" BOUNDARY "\nContent-Type: %s; charset=utf-8\nContent-Transfer-Encoding: base64\n", type);
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
	      "Auto-Submitted: auto-generated\n" /* nobody's vacation program answers (RFC 3834) */
	      "Content-Type: multipart/mixed; boundary=\"" BOUNDARY "\"\n", out);
	put_part("text/plain", NULL, m->text, out);
	if (m->page)
		put_part("text/html", m->page_name, m->page, out);
	fputs("\n--" BOUNDARY "--\n", out);
}
