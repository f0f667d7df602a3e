/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libprofile/profile_pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "src/libprofile/profile.pb-c.h"
#include "src/libprofile/profile_store.h"
#include "src/libutil/fileio.h"
#include "src/libutil/util.h"

#define IO_SIZE ((size_t)64 << 10)
#define GZIP_WINDOW (15 + 16) /* zlib: the largest window, and a gzip header */
/* Bytes that an unpacked message may take. Two bytes in the file can become some hundred in memory. */
#define MEMORY_MAX ((size_t)1 << 30)

/* --- writing ----------------------------------------------------------------------------------- */

/*
 * Several protobuf messages in a row are read as one, and their repeated fields are joined. So each
 * element is written as a Profile of its own, and memory for the whole message is not needed.
 */
struct pprof_out {
	ProtobufCBuffer base;
	const struct profile *p;
	z_stream z;
	int fd, rc;
	uint64_t max, written;
	unsigned char packed[IO_SIZE];
};

static void out_deflate(struct pprof_out *o, int flush)
{
	size_t n;

	do {
		o->z.next_out = o->packed;
		o->z.avail_out = sizeof(o->packed);
		/* cannot fail: the state is valid and there is room for output */
		(void)deflate(&o->z, flush);
		n = sizeof(o->packed) - o->z.avail_out;
		if (o->max && n > o->max - o->written)
			o->rc = -EFBIG;
		if (o->rc == 0 && n)
			o->rc = fileio_write_full(o->fd, o->packed, n);
		o->written += n;
	} while (o->rc == 0 && o->z.avail_out == 0);
}

static void out_append(ProtobufCBuffer *base, size_t len, const uint8_t *data)
{
	struct pprof_out *o = (struct pprof_out *)base;

	o->z.next_in = (Bytef *)data; /* zlib only reads it */
	o->z.avail_in = (uInt)len;
	if (o->rc == 0)
		out_deflate(o, Z_NO_FLUSH);
}

static void put_part(struct pprof_out *o, const Pprof__Profile *part)
{
	(void)pprof__profile__pack_to_buffer(part, &o->base);
}

static int64_t text_of(const struct pprof_out *o, const char *text)
{
	return text ? profile_text(o->p, text) : 0;
}

static void put_type(struct pprof_out *o, const struct profile_type *type, bool is_period)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__ValueType value = PPROF__VALUE_TYPE__INIT, *list = &value;

	value.type = text_of(o, type->type);
	value.unit = text_of(o, type->unit);
	if (is_period) {
		part.period_type = &value;
		part.period = o->p->period;
	} else {
		part.sample_type = &list;
		part.n_sample_type = 1;
	}
	put_part(o, &part);
}

static void put_head(struct pprof_out *o)
{
	Pprof__Profile part = PPROF__PROFILE__INIT, time = PPROF__PROFILE__INIT;
	int64_t comment;
	size_t i;

	for (i = 0; i < o->p->ntypes; i++)
		put_type(o, &o->p->type[i], /* is_period= */ false);
	if (o->p->period_type.type)
		put_type(o, &o->p->period_type, /* is_period= */ true);
	part.comment = &comment;
	part.n_comment = 1;
	for (i = 0; i < o->p->ncomments; i++) {
		comment = text_of(o, o->p->comment[i]);
		put_part(o, &part);
	}
	/*
	 * write this once: pprof takes a second time for the start of another profile, and refuses
	 * it
	 */
	time.time_nanos = o->p->time_ns;
	time.duration_nanos = o->p->duration_ns;
	put_part(o, &time);
}

static void put_mapping(struct pprof_out *o, size_t i)
{
	const struct profile_mapping *from = &o->p->mapping[i];
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Mapping m = PPROF__MAPPING__INIT, *list = &m;

	m.id = i + 1;
	m.memory_start = from->start;
	m.memory_limit = from->limit;
	m.file_offset = from->offset;
	m.filename = text_of(o, from->path);
	m.build_id = text_of(o, from->build_id);
	m.has_functions = from->has_functions;
	m.has_filenames = from->has_files;
	m.has_line_numbers = from->has_lines;
	m.has_inline_frames = from->has_inlines;
	part.mapping = &list;
	part.n_mapping = 1;
	put_part(o, &part);
}

static void put_function(struct pprof_out *o, size_t i)
{
	const struct profile_function *from = &o->p->function[i];
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Function f = PPROF__FUNCTION__INIT, *list = &f;

	f.id = i + 1;
	f.name = text_of(o, from->name);
	f.system_name = text_of(o, from->system_name);
	f.filename = text_of(o, from->file);
	f.start_line = from->start_line;
	part.function = &list;
	part.n_function = 1;
	put_part(o, &part);
}

static void put_location(struct pprof_out *o, size_t i)
{
	const struct profile_location *from = &o->p->location[i];
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Location l = PPROF__LOCATION__INIT, *list = &l;
	Pprof__Line line[PROFILE_LINES_MAX], *lines[PROFILE_LINES_MAX];
	size_t k;

	for (k = 0; k < from->nlines; k++) {
		pprof__line__init(&line[k]);
		line[k].function_id = (uint64_t)from->line[k].function + 1;
		line[k].line = from->line[k].line;
		lines[k] = &line[k];
	}
	l.id = i + 1;
	l.mapping_id = from->mapping == PROFILE_NONE ? 0 : (uint64_t)from->mapping + 1;
	l.address = from->address;
	l.line = lines;
	l.n_line = from->nlines;
	part.location = &list;
	part.n_location = 1;
	put_part(o, &part);
}

static void put_sample(struct pprof_out *o, const struct profile_sample *from)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Sample s = PPROF__SAMPLE__INIT, *list = &s;
	Pprof__Label label[PROFILE_LABELS_MAX], *labels[PROFILE_LABELS_MAX];
	uint64_t location[PROFILE_DEPTH_MAX];
	size_t i;

	for (i = 0; i < from->depth; i++)
		location[i] = (uint64_t)from->location[i] + 1;
	for (i = 0; i < from->nlabels; i++) {
		pprof__label__init(&label[i]);
		label[i].key = text_of(o, from->label[i].key);
		label[i].str = text_of(o, from->label[i].text);
		label[i].num = from->label[i].number;
		label[i].num_unit = text_of(o, from->label[i].unit);
		labels[i] = &label[i];
	}
	s.location_id = location;
	s.n_location_id = from->depth;
	s.value = from->value;
	s.n_value = o->p->ntypes;
	s.label = labels;
	s.n_label = from->nlabels;
	part.sample = &list;
	part.n_sample = 1;
	put_part(o, &part);
}

static void put_text(struct pprof_out *o, const char *text)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	char *list = (char *)text; /* protobuf-c only reads it */

	part.string_table = &list;
	part.n_string_table = 1;
	put_part(o, &part);
}

static void put_all(struct pprof_out *o)
{
	const struct profile *p = o->p;
	size_t i;

	put_head(o);
	for (i = 0; o->rc == 0 && i < p->nmappings; i++)
		put_mapping(o, i);
	for (i = 0; o->rc == 0 && i < p->nfunctions; i++)
		put_function(o, i);
	for (i = 0; o->rc == 0 && i < p->nlocations; i++)
		put_location(o, i);
	for (i = 0; o->rc == 0 && i < p->nsamples; i++)
		put_sample(o, &p->sample[i]);
	for (i = 0; o->rc == 0 && i < p->ntexts; i++)
		put_text(o, p->text[i]);
	o->z.avail_in = 0;
	if (o->rc == 0)
		out_deflate(o, Z_FINISH);
}

int profile_write(const struct profile *p, int fd, uint64_t max, struct errmsg *err)
{
	struct pprof_out *o = calloc(1, sizeof(*o));
	int rc;

	if (!o)
		return errmsg_errno(err, -ENOMEM, "cannot write the profile");
	o->base.append = out_append;
	o->p = p;
	o->fd = fd;
	o->max = max;
	if (deflateInit2(&o->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, /* memLevel= */ 8,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(o);
		return errmsg_errno(err, -ENOMEM, "cannot write the profile");
	}
	put_all(o);
	(void)deflateEnd(&o->z);
	rc = o->rc;
	free(o);
	return rc < 0 ? errmsg_errno(err, rc, "cannot write the profile") : 0;
}

/* --- the bytes of a file ------------------------------------------------------------------------ */

struct pprof_bytes {
	unsigned char *data;
	size_t len, room;
};

static int bytes_room(struct pprof_bytes *b)
{
	size_t room = b->room ? b->room * 2 : IO_SIZE;
	unsigned char *more;

	if (b->len < b->room)
		return 0;
	if (b->len >= PROFILE_PPROF_MAX)
		return -EFBIG;
	more = realloc(b->data, room);
	if (!more)
		return -ENOMEM;
	b->data = more;
	b->room = room;
	return 0;
}

static int read_all(int fd, struct pprof_bytes *b)
{
	ssize_t n;
	int rc;

	for (;;) {
		rc = bytes_room(b);
		if (rc < 0)
			return rc;
		n = read(fd, b->data + b->len, b->room - b->len);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		b->len += n > 0 ? (size_t)n : 0;
	}
}

/* Unpacks all members of a gzip file to B. */
static int inflate_all(z_stream *z, struct pprof_bytes *b)
{
	int rc, state = Z_OK;

	while (state != Z_STREAM_END || z->avail_in) {
		if (state == Z_STREAM_END && inflateReset(z) != Z_OK)
			return -EINVAL;
		rc = bytes_room(b);
		if (rc < 0)
			return rc;
		z->next_out = b->data + b->len;
		z->avail_out = (uInt)(b->room - b->len);
		state = inflate(z, Z_NO_FLUSH);
		b->len = b->room - z->avail_out;
		if (state == Z_MEM_ERROR)
			return -ENOMEM;
		/* Z_BUF_ERROR: the file ends too early */
		if (state != Z_OK && state != Z_STREAM_END)
			return -EINVAL;
	}
	return 0;
}

static int unpack_gzip(struct pprof_bytes *b)
{
	struct pprof_bytes plain = { 0 };
	z_stream z = { 0 };
	int rc;

	if (b->len < 2 || b->data[0] != 0x1f || b->data[1] != 0x8b)
		return 0;
	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return -ENOMEM;
	z.next_in = b->data;
	z.avail_in = (uInt)b->len;
	rc = inflate_all(&z, &plain);
	(void)inflateEnd(&z);
	free(b->data);
	*b = plain;
	return rc;
}

/* --- the message ------------------------------------------------------------------------------- */

struct memory_budget {
	size_t left;
	bool is_short;
};

/* Allocates memory, but no more than MEMORY_MAX in all, so that a small file cannot take all memory. */
static void *budget_alloc(void *owner, size_t size)
{
	struct memory_budget *b = owner;
	const size_t cost = size + 2 * sizeof(void *);

	void *p = size < MEMORY_MAX && cost <= b->left ? malloc(size) : NULL;

	if (p)
		b->left -= cost;
	else
		b->is_short = true;
	return p;
}

static void budget_free(void *owner, void *p)
{
	(void)owner;
	free(p);
}

/* Maps ids in a file to indexes in the profile. 0 is not a valid id. */
struct pprof_ids {
	struct place_index index;
	uint64_t *id;
	uint32_t *place;
	uint32_t n;
};

static bool is_same_id(const void *owner, uint32_t place, const void *key)
{
	return ((const uint64_t *)owner)[place] == *(const uint64_t *)key;
}

static int ids_init(struct pprof_ids *ids, size_t n)
{
	if (n >= PLACE_NONE)
		return -ERANGE;
	ids->id = calloc(n + 1, sizeof(*ids->id));
	ids->place = calloc(n + 1, sizeof(*ids->place));
	return ids->id && ids->place ? 0 : -ENOMEM;
}

static int ids_add(struct pprof_ids *ids, uint64_t id, uint32_t place)
{
	const uint64_t hash = place_hash(0, &id, sizeof(id));

	if (!id || place_find(&ids->index, hash, is_same_id, ids->id, &id) != PLACE_NONE)
		return -EINVAL;
	ids->id[ids->n] = id;
	ids->place[ids->n] = place;
	return place_add(&ids->index, hash, ids->n++);
}

static int ids_find(const struct pprof_ids *ids, uint64_t id, uint32_t *ret)
{
	const uint32_t found = place_find(&ids->index, place_hash(0, &id, sizeof(id)), is_same_id, ids->id,
					  &id);

	if (found == PLACE_NONE)
		return -EINVAL;
	*ret = ids->place[found];
	return 0;
}

static void ids_fini(struct pprof_ids *ids)
{
	place_fini(&ids->index);
	free(ids->id);
	free(ids->place);
}

struct pprof_in {
	const Pprof__Profile *from;
	struct profile *p;
	struct pprof_ids mappings, functions, locations;
};

static int get_text(const struct pprof_in *in, int64_t at, const char **ret)
{
	if (at < 0 || (uint64_t)at >= in->from->n_string_table)
		return at == 0 ? (*ret = "", 0) : -EINVAL;
	*ret = in->from->string_table[at];
	return 0;
}

static int get_type(const struct pprof_in *in, const Pprof__ValueType *from, struct profile_type *ret)
{
	int rc = get_text(in, from->type, &ret->type);

	return rc < 0 ? rc : get_text(in, from->unit, &ret->unit);
}

static int get_head(struct pprof_in *in)
{
	struct profile_type type[PROFILE_TYPES_MAX];
	const Pprof__Profile *from = in->from;
	const char *text;
	size_t i;
	int rc = 0;

	if (from->n_sample_type > PROFILE_TYPES_MAX)
		return -ERANGE;
	for (i = 0; rc == 0 && i < from->n_sample_type; i++)
		rc = get_type(in, from->sample_type[i], &type[i]);
	if (rc == 0)
		rc = profile_create(type, from->n_sample_type, &in->p);
	if (rc < 0)
		return rc;
	in->p->time_ns = from->time_nanos > 0 ? from->time_nanos : 0;
	in->p->duration_ns = from->duration_nanos > 0 ? from->duration_nanos : 0;
	if (from->period_type) {
		rc = get_type(in, from->period_type, &type[0]);
		if (rc == 0)
			rc = profile_set_period(in->p, type[0].type, type[0].unit, from->period);
	}
	for (i = 0; rc == 0 && i < from->n_comment; i++) {
		rc = get_text(in, from->comment[i], &text);
		if (rc == 0)
			rc = profile_add_comment(in->p, text);
	}
	return rc;
}

static int get_mapping(struct pprof_in *in, const Pprof__Mapping *from)
{
	struct profile_mapping m = {
		.start = from->memory_start,
		.limit = from->memory_limit,
		.offset = from->file_offset,
		.has_functions = from->has_functions,
		.has_files = from->has_filenames,
		.has_lines = from->has_line_numbers,
		.has_inlines = from->has_inline_frames,
	};
	uint32_t place;
	int rc = get_text(in, from->filename, &m.path);

	if (rc == 0)
		rc = get_text(in, from->build_id, &m.build_id);
	if (rc == 0)
		rc = profile_add_mapping(in->p, &m, &place);
	return rc < 0 ? rc : ids_add(&in->mappings, from->id, place);
}

static int get_function(struct pprof_in *in, const Pprof__Function *from)
{
	struct profile_function f = { .start_line = from->start_line };
	uint32_t place;
	int rc = get_text(in, from->name, &f.name);

	if (rc == 0)
		rc = get_text(in, from->system_name, &f.system_name);
	if (rc == 0)
		rc = get_text(in, from->filename, &f.file);
	if (rc == 0 && !*f.name)
		f.name = f.system_name;
	if (rc == 0)
		rc = profile_add_function(in->p, &f, &place);
	return rc < 0 ? rc : ids_add(&in->functions, from->id, place);
}

/*
 * Returns the start of mapping ID in the file. The mapping in the profile may start elsewhere:
 * profile_add_mapping() merges equal mappings at different addresses.
 */
static uint64_t mapping_start(const struct pprof_in *in, uint64_t id)
{
	const uint32_t found = place_find(&in->mappings.index, place_hash(0, &id, sizeof(id)), is_same_id,
					  in->mappings.id, &id);

	return in->from->mapping[found]->memory_start;
}

static int get_location(struct pprof_in *in, const Pprof__Location *from)
{
	struct profile_line line[PROFILE_LINES_MAX];
	struct profile_location l = {
		.mapping = PROFILE_NONE, .address = from->address, .line = line, .nlines = from->n_line
	};
	uint32_t place;
	size_t i;
	int rc = 0;

	if (from->n_line > PROFILE_LINES_MAX)
		return -ERANGE;
	if (from->mapping_id) {
		rc = ids_find(&in->mappings, from->mapping_id, &l.mapping);
		if (rc == 0)
			l.address = profile_rebase(in->p, l.mapping, mapping_start(in, from->mapping_id),
						   l.address);
	}
	for (i = 0; rc == 0 && i < from->n_line; i++) {
		line[i].line = from->line[i]->line;
		rc = ids_find(&in->functions, from->line[i]->function_id, &line[i].function);
	}
	if (rc == 0)
		rc = profile_add_location(in->p, &l, &place);
	return rc < 0 ? rc : ids_add(&in->locations, from->id, place);
}

static int get_label(const struct pprof_in *in, const Pprof__Label *from, struct profile_label *ret)
{
	int rc = get_text(in, from->key, &ret->key);

	*ret = (struct profile_label){ .key = ret->key, .number = from->num };
	if (rc == 0 && from->str)
		rc = get_text(in, from->str, &ret->text);
	else if (rc == 0)
		rc = get_text(in, from->num_unit, &ret->unit);
	return rc;
}

static int get_sample(struct pprof_in *in, const Pprof__Sample *from)
{
	uint32_t location[PROFILE_DEPTH_MAX];
	struct profile_label label[PROFILE_LABELS_MAX];
	const struct profile_sample s = {
		.location = location,
		.depth = from->n_location_id,
		.value = from->value,
		.label = label,
		.nlabels = from->n_label,
	};
	size_t i;
	int rc = 0;

	if (from->n_location_id > PROFILE_DEPTH_MAX || from->n_label > PROFILE_LABELS_MAX)
		return -ERANGE;
	if (from->n_value != in->p->ntypes)
		return -EINVAL;
	for (i = 0; rc == 0 && i < from->n_location_id; i++)
		rc = ids_find(&in->locations, from->location_id[i], &location[i]);
	for (i = 0; rc == 0 && i < from->n_label; i++)
		rc = get_label(in, from->label[i], &label[i]);
	return rc < 0 ? rc : profile_add_sample(in->p, &s);
}

static int get_all(struct pprof_in *in)
{
	const Pprof__Profile *from = in->from;
	size_t i;
	int rc = get_head(in);

	if (rc == 0)
		rc = ids_init(&in->mappings, from->n_mapping);
	if (rc == 0)
		rc = ids_init(&in->functions, from->n_function);
	if (rc == 0)
		rc = ids_init(&in->locations, from->n_location);
	for (i = 0; rc == 0 && i < from->n_mapping; i++)
		rc = get_mapping(in, from->mapping[i]);
	for (i = 0; rc == 0 && i < from->n_function; i++)
		rc = get_function(in, from->function[i]);
	for (i = 0; rc == 0 && i < from->n_location; i++)
		rc = get_location(in, from->location[i]);
	for (i = 0; rc == 0 && i < from->n_sample; i++)
		rc = get_sample(in, from->sample[i]);
	ids_fini(&in->mappings);
	ids_fini(&in->functions);
	ids_fini(&in->locations);
	return rc;
}

static int parse_bytes(const struct pprof_bytes *b, struct profile **ret)
{
	struct memory_budget budget = { .left = MEMORY_MAX };
	ProtobufCAllocator allocator = { budget_alloc, budget_free, &budget };
	Pprof__Profile *message = pprof__profile__unpack(&allocator, b->len, b->data);
	struct pprof_in in = { .from = message };
	int rc;

	if (!message)
		return budget.is_short ? -ENOMEM : -EINVAL;
	rc = get_all(&in);
	pprof__profile__free_unpacked(message, &allocator);
	if (rc < 0) {
		profile_destroy(in.p);
		return rc;
	}
	*ret = in.p;
	return 0;
}

int profile_read(int fd, const char *name, struct profile **ret, struct errmsg *err)
{
	struct pprof_bytes b = { 0 };
	int rc = read_all(fd, &b);

	if (rc == 0)
		rc = unpack_gzip(&b);
	if (rc == 0)
		rc = b.len ? parse_bytes(&b, ret) : -EINVAL;
	free(b.data);
	switch (rc) {
	case 0:
		return 0;
	case -EINVAL:
		return errmsg_set(err, rc, "%s: not a profile in pprof's format, or damaged", name);
	case -EFBIG:
		return errmsg_set(err, rc, "%s: more than %zu MiB", name, PROFILE_PPROF_MAX >> 20);
	case -ERANGE:
		return errmsg_set(err, rc, "%s: a stack has more frames, labels or values than ceems reads",
				  name);
	default:
		return errmsg_errno(err, rc, "%s", name);
	}
}
