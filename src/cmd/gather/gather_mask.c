/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/gather/gather_mask.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "src/libutil/util.h"

/* Letters and digits become the same character: which of them were letters tells one machine from another. */
static void blot(char *text, size_t len, char with)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (isalnum((unsigned char)text[i]))
			text[i] = with;
}

/* --- addresses ---------------------------------------------------------------------------- */

#define GROUPS_MAX 24

/* A run of hexadecimal digits and separators, split at the separators. */
struct hex_run {
	size_t n;
	size_t len[GROUPS_MAX];	    /* digits of each group; 0 between "::" */
	char separator[GROUPS_MAX]; /* behind each group but the last */
};

static bool is_separator(char c)
{
	return c == ':' || c == '.' || c == '-';
}

static bool hex_run_split(const char *text, size_t len, struct hex_run *ret)
{
	size_t i;

	memset(ret, 0, sizeof(*ret));
	ret->n = 1;
	for (i = 0; i < len; i++) {
		if (!is_separator(text[i])) {
			ret->len[ret->n - 1]++;
		} else if (ret->n == GROUPS_MAX) {
			return false;
		} else {
			ret->separator[ret->n - 1] = text[i];
			ret->n++;
		}
	}
	return true;
}

static bool has_separator(const struct hex_run *r, char c)
{
	size_t i;

	for (i = 0; i + 1 < r->n; i++)
		if (r->separator[i] != c)
			return false;
	return true;
}

static bool has_groups_of(const struct hex_run *r, size_t len)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (r->len[i] != len)
			return false;
	return true;
}

static bool is_uuid(const struct hex_run *r)
{
	static const size_t len[] = { 8, 4, 4, 4, 12 };

	return r->n == ARRAY_SIZE(len) && has_separator(r, '-') && !memcmp(r->len, len, sizeof(len));
}

/* Of Ethernet: 6 groups; of InfiniBand: 8 and 20. */
static bool is_mac(const struct hex_run *r)
{
	return r->n >= 6 && has_groups_of(r, 2) && (has_separator(r, ':') || has_separator(r, '-'));
}

static bool is_guid(const struct hex_run *r)
{
	return (r->n == 4 || r->n == 8) && has_groups_of(r, 4) && has_separator(r, ':');
}

static bool is_ipv4(const struct hex_run *r, const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (text[i] != '.' && !isdigit((unsigned char)text[i]))
			return false;
	for (i = 0; i < r->n; i++)
		if (r->len[i] < 1 || r->len[i] > 3)
			return false;
	return r->n == 4 && has_separator(r, '.');
}

static bool is_ipv6(const struct hex_run *r)
{
	bool has_gap = false;
	size_t i;

	if (!has_separator(r, ':') || r->n > 9)
		return false;
	for (i = 0; i < r->n; i++) {
		if (r->len[i] > 4)
			return false;
		has_gap |= !r->len[i] && (i > 0 || !r->len[1]);
	}
	return r->n == 8 || (has_gap && r->n > 2);
}

/* IS_WORD: the text goes on with other letters, as in "std::string". */
static void mask_group(char *text, size_t len, bool is_word)
{
	struct hex_run r;

	if (len && hex_run_split(text, len, &r) &&
	    (is_uuid(&r) || is_mac(&r) || is_guid(&r) || is_ipv4(&r, text, len) || (is_ipv6(&r) && !is_word)))
		blot(text, len, '0');
}

/* TEXT is a run of hexadecimal digits and separators. */
static void mask_run(char *text, size_t len, bool is_word)
{
	size_t i;

	/* "GPU-" comes before a UUID, and a sentence ends with a separator */
	while (len && (text[0] == '-' || text[0] == '.')) {
		text++;
		len--;
	}
	while (len && (text[len - 1] == '-' || text[len - 1] == '.' ||
		       (text[len - 1] == ':' && (len == 1 || text[len - 2] != ':'))))
		len--;
	if (!memchr(text, '.', len)) {
		mask_group(text, len, is_word);
		return;
	}
	while (len) { /* an IPv4 address with a port or in an IPv6 address */
		const char *colon = memchr(text, ':', len);

		i = colon ? (size_t)(colon - text) : len;
		mask_group(text, i, is_word);
		i += i < len;
		text += i;
		len -= i;
	}
}

static void mask_addresses(char *text, size_t len)
{
	size_t begin = 0, i;

	for (i = 0; i <= len; i++) {
		if (i < len && (isxdigit((unsigned char)text[i]) || is_separator(text[i])))
			continue;
		mask_run(text + begin, i - begin,
			 (begin && isalnum((unsigned char)text[begin - 1])) ||
				 (i < len && isalnum((unsigned char)text[i])));
		begin = i + 1;
	}
}

/* --- names -------------------------------------------------------------------------------- */

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_';
}

static void mask_host(char *text, size_t len, const char *host)
{
	size_t n = strlen(host);
	size_t i, end;

	for (i = 0; n && i + n <= len; i++) {
		if (strncasecmp(text + i, host, n) != 0 || (i && is_of_name(text[i - 1])) ||
		    (i + n < len && is_of_name(text[i + n])))
			continue;
		for (end = i + n; end + 1 < len && text[end] == '.' && is_of_name(text[end + 1]);)
			for (end++; end < len && is_of_name(text[end]);)
				end++;
		blot(text + i, end - i, 'x');
		i = end;
	}
}

/* --- lines with a key --------------------------------------------------------------------- */

static bool is_key_secret(const char *key, size_t len)
{
	static const char *const words[] = {
		"serial",   "uuid", "unique_id",  "guid",	"asset",
		"hostname", "fqdn", "macaddress", "servicetag", "sku", /* SKU: Dell's service tag */
	};
	size_t w, i;

	for (w = 0; w < ARRAY_SIZE(words); w++)
		for (i = 0; i + strlen(words[w]) <= len; i++)
			if (!strncasecmp(key + i, words[w], strlen(words[w])))
				return true;
	return false;
}

static void mask_line(char *line, size_t len)
{
	size_t key = 0, blank = len;

	/* the key of "Serial Number: 123" ends at the colon, that of "unique_id 123" at the blank */
	while (key < len && line[key] != ':' && line[key] != '=') {
		if (blank == len && (line[key] == ' ' || line[key] == '\t'))
			blank = key;
		key++;
	}
	if (key == len)
		key = blank;
	if (key < len && is_key_secret(line, key))
		blot(line + key, len - key, '0');
}

/* --- JSON --------------------------------------------------------------------------------- */

/* Returns the length of the string that begins at the quotation mark TEXT[0], with both marks. */
static size_t json_string_len(const char *text, size_t len)
{
	size_t i = 1;

	while (i < len && text[i] != '"')
		i += text[i] == '\\' ? 2 : 1;
	return i < len ? i + 1 : len;
}

/* Masks the strings that belong to a secret key. The JSON may be broken: it is not parsed. */
static void mask_json(char *text, size_t len)
{
	bool is_value_secret = false;
	size_t i = 0;

	while (i < len) {
		size_t string, next;

		if (text[i] != '"') {
			is_value_secret &= isspace((unsigned char)text[i]) || text[i] == ':';
			i++;
			continue;
		}
		string = json_string_len(text + i, len - i);
		if (is_value_secret)
			blot(text + i, string, '0');
		for (next = i + string; next < len && isspace((unsigned char)text[next]);)
			next++;
		is_value_secret = !is_value_secret && next < len && text[next] == ':' &&
				  is_key_secret(text + i, string);
		i += string;
	}
}

void gather_mask(char *text, size_t len, const char *host)
{
	size_t begin = 0, i;

	mask_host(text, len, host);
	mask_addresses(text, len);
	for (i = 0; i < len && isspace((unsigned char)text[i]);)
		i++;
	if (i < len && text[i] == '{') {
		mask_json(text, len);
		return;
	}
	for (i = 0; i <= len; i++)
		if (i == len || text[i] == '\n') {
			if (i > begin)
				mask_line(text + begin, i - begin);
			begin = i + 1;
		}
}
