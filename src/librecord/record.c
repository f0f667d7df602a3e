/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "src/libutil/parse.h"
#include "src/libutil/util.h"

int record_key(const struct record *r, char *buf, size_t size)
{
	return record_key_of(r->cluster, r->job_id, r->submit, r->restart_count,
			     r->het_job_offset.known ? r->het_job_offset.value : 0, buf, size);
}

int record_key_of(const char *cluster, uint32_t job_id, uint64_t submit, uint32_t restart_count,
		  uint64_t het_offset, char *buf, size_t size)
{
	char *p;
	int n;

	if (!cluster || !*cluster || !job_id)
		return -EINVAL;
	n = snprintf(buf, size, "%s/%" PRIu32 ",%" PRIu64 ",%" PRIu32 "/%" PRIu64, cluster, job_id, submit,
		     restart_count, het_offset);
	if (n < 0 || (size_t)n >= size)
		return -ENOSPC;
	for (p = buf; *p; p++)
		if (*p <= ' ' || *p > '~')
			*p = '?';
	return 0;
}

void record_exit_status(uint32_t status, int32_t *ret_code, int32_t *ret_signal)
{
	*ret_code = 0;
	*ret_signal = 0;
	if (status == RECORD_STATUS_UNKNOWN)
		return;
	if (status == 1)
		*ret_code = 1;
	else if (WIFSIGNALED((int)status))
		*ret_signal = WTERMSIG((int)status);
	else if (WIFEXITED((int)status))
		*ret_code = WEXITSTATUS((int)status);
}

static bool array_has_task(const char *digits, size_t len, size_t task)
{
	char c;
	int digit;

	if (task / 4 >= len)
		return false;
	c = digits[len - 1 - task / 4];
	digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
	return digit >> task % 4 & 1;
}

char *record_array_tasks(const char *text)
{
	const char *digits = text + 2;
	char *out = NULL;
	size_t size = 0;
	size_t first;
	size_t task;
	size_t len;
	FILE *f;

	if (strncmp(text, "0x", 2) != 0 || digits[strspn(digits, "0123456789abcdefABCDEF")])
		return strdup(text);
	f = open_memstream(&out, &size);
	if (!f)
		return NULL;
	len = strlen(digits);
	for (task = 0; task < len * 4; task++) {
		if (!array_has_task(digits, len, task))
			continue;
		first = task;
		while (array_has_task(digits, len, task + 1))
			task++;
		(void)fprintf(f, "%s%zu", ftell(f) > 0 ? "," : "", first);
		if (task > first)
			(void)fprintf(f, "-%zu", task);
	}
	if (fclose(f) != 0) {
		free(out);
		return NULL;
	}
	return out;
}

const char *record_co2e_method_name(enum record_co2e_method method)
{
	switch (method) {
	case CO2E_PER_TICK:
		return "per-tick";
	case CO2E_MEAN_POWER:
		return "mean-power";
	case CO2E_UNKNOWN:
		break;
	}
	return "";
}

/*
 * Parses an amount such as "200M" or "4.50G". Without a letter it is megabytes for memory, and a
 * plain number for others.
 */
static bool tres_amount(const char *text, size_t len, bool is_memory, uint64_t *ret)
{
	static const char units[] = "KMGTP";
	const char *unit = len ? strchr(units, text[len - 1]) : NULL;
	unsigned int shift = unit ? 10 * (unsigned int)(unit - units + 1) : is_memory ? 20 : 0;
	char number[24];
	uint64_t milli;

	len -= unit != NULL;
	if (!len || len >= sizeof(number))
		return false;
	memcpy(number, text, len);
	number[len] = '\0';
	if (parse_decimal(number, 1000, &milli) < 0 || milli > UINT64_MAX >> shift)
		return false;
	*ret = (milli << shift) / 1000;
	return true;
}

bool record_tres(const char *tres, const char *name, uint64_t *ret)
{
	size_t len = strlen(name);

	for (; tres && *tres; tres += strcspn(tres, ","), tres += *tres == ',')
		if (!strncmp(tres, name, len) && tres[len] == '=')
			return tres_amount(tres + len + 1, strcspn(tres + len + 1, ","), !strcmp(name, "mem"),
					   ret);
	return false;
}
