/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mails for sendmail: headers that no text can add to, words of the subject, bodies and the attachment. */
#include "src/cmd/mail/mail_message.h"

#include <stdlib.h>
#include <string.h>

#include "src/libutil/util.h"

#include "tap.h"

static char *write_mail(const struct mail *m)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		abort();
	mail_message_write(m, out);
	if (fclose(out) != 0)
		abort();
	return text;
}

static struct mail mail(const char *subject, const char *text)
{
	return (struct mail){
		.subject = subject, .address = "ann@example.org", .text = text, .page_name = "a.html"
	};
}

static void has_body(const char *text, const char *encoded)
{
	const struct mail m = mail("s", text);
	_cleanup_free_ char *out = write_mail(&m);
	char want[256];

	(void)snprintf(want, sizeof(want), "base64\n\n%s%s\n--ceems-part--\n", encoded, *encoded ? "\n" : "");
	ok(strstr(out, want) != NULL, "'%s' is %s", text, encoded);
}

static void test_bodies(void)
{
	static char long_text[4000];
	const struct mail m = mail("s", long_text);
	_cleanup_free_ char *out = NULL;
	const char *line;
	size_t longest = 0;

	/* RFC 4648 */
	has_body("", "");
	has_body("f", "Zg==");
	has_body("fo", "Zm8=");
	has_body("foo", "Zm9v");
	has_body("foob", "Zm9vYg==");
	has_body("fooba", "Zm9vYmE=");
	has_body("foobar", "Zm9vYmFy");
	has_body("\xff\xfe\xfd", "//79");
	memset(long_text, '-', sizeof(long_text) - 1);
	out = write_mail(&m);
	for (line = out; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		longest = strcspn(line, "\n") > longest ? strcspn(line, "\n") : longest;
	}
	is_u64(longest, 76, "no line is longer than 76");
}

static void test_headers(void)
{
	const struct mail m = mail("Energy: week 47", "x");
	_cleanup_free_ char *out = write_mail(&m);
	struct mail attached = m;
	_cleanup_free_ char *with_page = NULL;

	ok(strstr(out,
		  "To: ann@example.org\nSubject: =?utf-8?B?RW5lcmd5OiB3ZWVrIDQ3?=\nMIME-Version: 1.0\n") ==
		   out,
	   "address and subject");
	ok(!strstr(out, "text/html"), "nothing is attached");
	attached.page = "<p>";
	with_page = write_mail(&attached);
	ok(strstr(with_page,
		  "Content-Disposition: attachment; filename=\"a.html\"\n\nPHA+\n\n--ceems-part--\n"),
	   "a page is attached");
}

/* Each word of the subject is whole characters. */
static void test_words(void)
{
	const struct mail m =
		mail("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
		     "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
		     "x\xe2\x82\xac",
		     "x");
	const struct mail bytes = mail(
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"x");
	const struct mail empty = mail("", "x");
	_cleanup_free_ char *out = write_mail(&m);
	_cleanup_free_ char *out_bytes = write_mail(&bytes);
	_cleanup_free_ char *out_empty = write_mail(&empty);

	ok(strstr(out, "qXg=?=\n =?utf-8?B?4oKs?=\nMIME"), "a UTF-8 character is not cut between words");
	ok(strstr(out_bytes, "?=\n =?utf-8?B?//8=?=\nMIME"), "bytes that are not UTF-8 are");
	ok(strstr(out_empty, "\nSubject: =?"), "an empty subject is replaced");
}

int main(void)
{
	test_bodies();
	test_headers();
	test_words();
	return done_testing();
}
