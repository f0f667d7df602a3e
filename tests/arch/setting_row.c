/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * setting_row FILE KEY: prints the text that the file sets KEY to, and the list at the end of `ceems check`
 * if KEY is to be changed.
 */
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include "src/cmd/check/check_todo.h"
#include "src/cmd/cmd.h"

/* of libcmd, which is built without the row of the test */
void cmd_print(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vprintf(fmt, ap);
	va_end(ap);
	(void)putchar('\n');
}

int main(int argc, char **argv)
{
	static struct check c;
	struct check_finding finding = { .level = CHECK_ERROR };
	struct errmsg err = { 0 };
	unsigned int i;

	if (argc != 3 || settings_load(argv[1], &c.settings, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (i = 0; i < SETTING_N && strcasecmp(settings_keys[i].name, argv[2]) != 0; i++)
		;
	if (i == SETTING_N)
		return 1;
	printf("%s\n", (const char *)&c.settings + settings_keys[i].offset);
	finding.hint = check_hint_setting((enum setting)i, "correct it");
	c.findings = &finding;
	c.nfindings = 1;
	check_todo_print(&c);
	return 0;
}
