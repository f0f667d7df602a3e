/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/rapl/rapl_note.h"

#include <string.h>

#include "src/libmeter/sensor/counter_state.h"
#include "src/libmeter/sensor/rapl/rapl_zone.h"
#include "src/libutil/fileio.h"

/* Returns the index of the counter NAME; notes->n: it has no note. */
static uint32_t find_note(const struct source_notes *notes, const char *name)
{
	uint32_t i;

	for (i = 0; i < notes->n; i++)
		if (!strncmp(notes->note[i].name, name, sizeof(notes->note[i].name)))
			break;
	return i;
}

struct counter_note rapl_note_of(const struct source_notes *notes, const char *name)
{
	uint32_t i = notes ? find_note(notes, name) : 0;

	return notes && i < notes->n ? notes->note[i].note : (struct counter_note){ 0 };
}

/* Returns the note of the counter NAME, added if there is none; NULL: no room. */
static struct counter_note *add_note(struct source_notes *notes, const char *name)
{
	uint32_t i = find_note(notes, name);
	struct source_note *new;

	if (i < notes->n)
		return &notes->note[i].note;
	if (notes->n == SOURCE_MAX_COUNTERS)
		return NULL;
	new = &notes->note[notes->n++];
	memset(new, 0, sizeof(*new));
	memcpy(new->name, name, strlen(name));
	return &new->note;
}

void rapl_note(const char *sys_root, const struct source_state *state, uint64_t since_ns,
	       struct source_notes *notes)
{
	struct source_state bases = *state; /* source_state_find() takes no const */
	struct rapl_zone *zone;
	size_t n, i;

	if (rapl_zone_scan(sys_root, &zone, &n, NULL) < 0)
		return;
	for (i = 0; i < n; i++) {
		const struct counter c = rapl_zone_counter(&zone[i]);
		struct counter_note *note;
		uint64_t raw_uj;

		if (zone[i].fd < 0 || fileio_pread_u64(zone[i].fd, &raw_uj) < 0 ||
		    !source_state_find(&bases, zone[i].name))
			continue;
		note = add_note(notes, zone[i].name);
		if (note)
			counter_state_note(&c, &bases, zone[i].name, raw_uj, since_ns, note);
	}
	rapl_zone_free(zone, n);
}
