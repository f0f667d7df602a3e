/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/record_names.h"

#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#define KEEP_NS (600 * NSEC_PER_SEC)
#define BUFFER_SIZE 65536 /* enough for the entry of a large group, which lists all members */

static void record_names_look_up(bool is_group, uint32_t id, char *name, size_t size)
{
	_cleanup_free_ char *buf = malloc(BUFFER_SIZE);
	struct passwd pw;
	struct passwd *user = NULL;
	struct group gr;
	struct group *group = NULL;

	name[0] = '\0';
	if (!buf)
		return;
	if (is_group) {
		if (getgrgid_r(id, &gr, buf, BUFFER_SIZE, &group) == 0 && group)
			(void)snprintf(name, size, "%s", group->gr_name);
	} else if (getpwuid_r(id, &pw, buf, BUFFER_SIZE, &user) == 0 && user) {
		(void)snprintf(name, size, "%s", user->pw_name);
	}
}

static char *record_names_get(struct record_names *n, bool is_group, uint32_t id)
{
	uint64_t now = clock_mono_ns();
	unsigned int i = id % RECORD_NAMES_SLOTS;
	char *name = n->slot[is_group][i].name;

	if (n->slot[is_group][i].id != id || n->slot[is_group][i].until_mono_ns <= now) {
		record_names_look_up(is_group, id, name, RECORD_NAMES_MAX);
		n->slot[is_group][i].id = id;
		n->slot[is_group][i].until_mono_ns = now + KEEP_NS;
	}
	return *name ? strdup(name) : NULL;
}

char *record_names_user(struct record_names *n, uint32_t uid)
{
	return record_names_get(n, false, uid);
}

char *record_names_group(struct record_names *n, uint32_t gid)
{
	return record_names_get(n, true, gid);
}
