/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/profiler/profile_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#define BUCKETS 4096u
/* Ended processes whose mappings are kept; and the most mappings of one process. */
#define ENDED_MAX 1024u
#define SPANS_MAX 4096u
/* The most mappings that are kept, of all processes together. Code in a further mapping has no names. */
#define MAPPINGS_MAX 65536u
/* The mapping of memory without a file spans all addresses. */
#define ADDRESS_MAX (UINT64_C(1) << 56)
/* The pause after /proc was read again: this often its duration. */
#define REREAD_COST 20

struct span {
	uint64_t start, limit;
	uint32_t mapping; /* PROFILE_NONE: not known */
};

struct space { /* the mappings of one process */
	uint32_t pid;
	/*
	 * All mappings up to then are known: from perf's records since the exec, from the parent at a fork,
	 * or because /proc was read, or could not be. 0: not yet.
	 */
	uint64_t known_ns;
	bool has_ended;
	struct span *span; /* ordered by address, without overlaps */
	size_t n, room;
	struct space *next; /* in the same bucket */
};

struct profile_maps {
	struct profile *profile;
	struct space *bucket[BUCKETS];
	uint32_t ended[ENDED_MAX]; /* ring of the last processes that ended; pid 0: unused */
	uint32_t next_ended;
	uint64_t lost_ns; /* records before then may be missing */
	uint64_t due_ns;  /* no process is read again before then */
};

int profile_maps_create(struct profile *p, struct profile_maps **ret)
{
	struct profile_maps *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->profile = p;
	*ret = m;
	return 0;
}

static void space_free(struct space *s)
{
	free(s->span);
	free(s);
}

void profile_maps_destroy(struct profile_maps *m)
{
	struct space *s, *next;
	size_t i;

	if (!m)
		return;
	for (i = 0; i < BUCKETS; i++)
		for (s = m->bucket[i]; s; s = next) {
			next = s->next;
			space_free(s);
		}
	free(m);
}

/* Returns the link to the space of PID, or the link at which it must be added. */
static struct space **place_of(struct profile_maps *m, uint32_t pid)
{
	struct space **at = &m->bucket[pid % BUCKETS];

	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	return at;
}

/* Returns the space of PID, a new one if there is none. NULL: out of memory. */
static struct space *space_of(struct profile_maps *m, uint32_t pid)
{
	struct space **at = place_of(m, pid);

	if (!*at) {
		*at = calloc(1, sizeof(**at));
		if (*at)
			(*at)->pid = pid;
	}
	return *at;
}

static void space_forget(struct profile_maps *m, uint32_t pid)
{
	struct space **at = place_of(m, pid), *s = *at;

	if (!s || !s->has_ended)
		return; /* a new process has this pid by now */
	*at = s->next;
	space_free(s);
}

/* --- spans -------------------------------------------------------------------------------- */

/* Returns the index of the first span that ends above ADDRESS. */
static size_t find_span(const struct space *s, uint64_t address)
{
	size_t low = 0, high = s->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (s->span[mid].limit <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int make_room(struct space *s)
{
	struct span *more;

	if (s->n < s->room)
		return 0;
	more = realloc(s->span, (s->room * 2 + 16) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->span = more;
	s->room = s->room * 2 + 16;
	return 0;
}

/*
 * Adds NEW and removes the spans that it overlaps, because they must have been unmapped. Drops NEW
 * if S is full.
 */
static int add_span(struct space *s, const struct span *new)
{
	size_t first = find_span(s, new->start), end = first;
	int rc = make_room(s);

	if (rc < 0)
		return rc;
	while (end < s->n && s->span[end].start < new->limit)
		end++;
	if (s->n - (end - first) >= SPANS_MAX)
		return 0;
	memmove(&s->span[first + 1], &s->span[end], (s->n - end) * sizeof(*new));
	s->span[first] = *new;
	s->n = s->n - (end - first) + 1;
	return 0;
}

static void build_id_text(const struct stacks_record *r, char *text)
{
	size_t i;

	*text = '\0';
	for (i = 0; i < r->build_id_size; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", r->build_id[i]);
}

bool profile_maps_is_anonymous(const struct profile_mapping *m)
{
	return !strncmp(m->path, "//anon", 6) || !strncmp(m->path, "[anon", 5);
}

/*
 * A run-time compiler may make very many regions of memory without a file, and the kernel's record of each
 * has its address as the offset. They are one mapping, in which each address is that of the process.
 */
static int add_mapping(struct profile_maps *m, struct space *s, const struct profile_mapping *mapping)
{
	const struct profile_mapping anonymous = { .path = mapping->path,
						   .build_id = "",
						   .limit = ADDRESS_MAX };
	struct span span = { .start = mapping->start, .limit = mapping->limit };
	int rc;

	if (profile_maps_is_anonymous(mapping))
		mapping = &anonymous;
	rc = m->profile->nmappings < MAPPINGS_MAX ? profile_add_mapping(m->profile, mapping, &span.mapping) :
						    profile_find_mapping(m->profile, mapping, &span.mapping);
	if (rc == -ENOENT) {
		span.mapping = PROFILE_NONE; /* what was there before is unmapped, all the same */
		rc = 0;
	}
	return rc < 0 ? rc : add_span(s, &span);
}

static int learn_mapping(struct profile_maps *m, struct space *s, const struct stacks_record *r)
{
	char build_id[2 * STACKS_BUILD_ID_MAX + 1];
	const struct profile_mapping mapping = {
		.path = r->text,
		.build_id = build_id,
		.start = r->start,
		.limit = r->start + r->size,
		.offset = r->offset,
	};

	if (mapping.limit < mapping.start)
		return 0;
	build_id_text(r, build_id);
	return add_mapping(m, s, &mapping);
}

/* --- records ------------------------------------------------------------------------------ */

static int learn_fork(struct profile_maps *m, const struct stacks_record *r)
{
	const struct space *parent = *place_of(m, r->parent_pid);
	struct space *s;

	if (r->pid == r->parent_pid)
		return 0; /* a thread shares its process's mappings */
	s = space_of(m, r->pid);
	if (!s)
		return -ENOMEM;
	s->n = 0;
	s->has_ended = false;
	s->known_ns = 0;
	if (!parent || !parent->n)
		return 0;
	if (s->room < parent->n) {
		free(s->span);
		s->room = 0;
		s->span = malloc(parent->n * sizeof(*s->span));
		if (!s->span)
			return -ENOMEM;
		s->room = parent->n;
	}
	memcpy(s->span, parent->span, parent->n * sizeof(*s->span));
	s->n = parent->n;
	s->known_ns = parent->known_ns;
	return 0;
}

static void learn_exit(struct profile_maps *m, const struct stacks_record *r)
{
	struct space *s = *place_of(m, r->pid);

	if (!s || r->tid != r->pid)
		return;
	s->has_ended = true;
	space_forget(m, m->ended[m->next_ended]);
	m->ended[m->next_ended] = r->pid;
	m->next_ended = (m->next_ended + 1) % ENDED_MAX;
}

int profile_maps_learn(struct profile_maps *m, const struct stacks_record *r)
{
	struct space *s;

	switch (r->kind) {
	case STACKS_FORK:
		return learn_fork(m, r);
	case STACKS_EXIT:
		learn_exit(m, r);
		return 0;
	case STACKS_LOST:
		m->lost_ns = r->mono_ns > m->lost_ns ? r->mono_ns : m->lost_ns;
		return 0;
	case STACKS_EXEC:
	case STACKS_MAPPING:
		break;
	default:
		return 0;
	}
	s = space_of(m, r->pid);
	if (!s)
		return -ENOMEM;
	if (r->kind == STACKS_MAPPING)
		return learn_mapping(m, s, r);
	s->n = 0;
	s->known_ns = r->mono_ns;
	s->has_ended = false;
	return 0;
}

/* --- /proc -------------------------------------------------------------------------------- */

/*
 * Returns whether NEW is known from a record, which may also have a build id. A file that was
 * deleted since then has another path in /proc.
 */
static bool has_mapping(const struct profile_maps *m, const struct space *s,
			const struct profile_mapping *new)
{
	const size_t i = find_span(s, new->start);
	const struct profile_mapping *old;
	const struct span *span;
	size_t len;

	if (i == s->n)
		return false;
	span = &s->span[i];
	if (span->start > new->start || span->limit < new->limit || span->mapping == PROFILE_NONE)
		return false;
	old = &m->profile->mapping[span->mapping];
	if (profile_maps_is_anonymous(old))
		return !strcmp(new->path, old->path);
	len = strlen(old->path);
	return old->offset + (new->start - span->start) == new->offset &&
	       !strncmp(new->path, old->path, len) &&
	       (!new->path[len] || !strcmp(new->path + len, " (deleted)"));
}

/*
 * Adds a line of /proc/PID/maps, "start-limit perms offset dev inode   path", if it is executable
 * and not known yet.
 */
static int learn_line(struct profile_maps *m, struct space *s, char *line)
{
	struct profile_mapping mapping = { .build_id = "" };
	char perms[5];
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &mapping.start, &mapping.limit,
		   perms, &mapping.offset, &at) < 4 ||
	    !at || perms[2] != 'x' || mapping.limit < mapping.start)
		return 0;
	mapping.path = line[at] ? line + at : "//anon"; /* the path that the kernel's records have */
	return has_mapping(m, s, &mapping) ? 0 : add_mapping(m, s, &mapping);
}

/* Learns the mappings in /proc. What is not there any more is kept, for samples from before. */
static int read_proc(struct profile_maps *m, struct space *s)
{
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *line = NULL;
	char path[32];
	size_t size = 0;
	int rc = 0;

	s->known_ns = clock_mono_ns();
	(void)snprintf(path, sizeof(path), "/proc/%u/maps", s->pid);
	f = fopen(path, "re");
	while (rc == 0 && f && getline(&line, &size, f) > 0)
		rc = learn_line(m, s, line);
	return rc;
}

/* Reads the mappings of S if it must be done: the first time, or after lost records. */
static int complete_space(struct profile_maps *m, struct space *s)
{
	uint64_t now_ns;
	int rc;

	if (s->known_ns && s->known_ns >= m->lost_ns)
		return 0;
	now_ns = clock_mono_ns();
	if (s->known_ns && now_ns < m->due_ns)
		return 0;
	rc = read_proc(m, s);
	m->due_ns = now_ns + (clock_mono_ns() - now_ns) * REREAD_COST;
	return rc;
}

int profile_maps_find(struct profile_maps *m, uint32_t pid, uint64_t address, uint32_t *ret_mapping,
		      uint64_t *ret_address)
{
	struct space *s = space_of(m, pid);
	size_t i;
	int rc;

	if (!s)
		return -ENOMEM;
	rc = complete_space(m, s);
	if (rc < 0)
		return rc;
	i = find_span(s, address);
	if (i == s->n || s->span[i].start > address || s->span[i].mapping == PROFILE_NONE)
		return -ENOENT;
	*ret_mapping = s->span[i].mapping;
	*ret_address = profile_maps_is_anonymous(&m->profile->mapping[*ret_mapping]) ?
			       address :
			       profile_rebase(m->profile, *ret_mapping, s->span[i].start, address);
	return 0;
}
