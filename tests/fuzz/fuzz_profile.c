/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile in pprof's format, from an untrusted file: what is read can be drawn, written and read again. */
#include "src/libprofile/flame.h"
#include "src/libprofile/profile_pprof.h"
#include "tests/fuzz/fuzz.h"

static void draw(const struct profile *p)
{
	struct flame *f = flame_create();
	uint32_t *top = NULL;

	assert(f && flame_add(f, p, p->ntypes - 1, 1, FLAME_THIS) == 0 && flame_finish(f) == 0);
	assert(flame_top(f, false, &top) == 0);
	free(top);
	flame_destroy(f);
}

static void write_again(const struct profile *p)
{
	struct profile *back = NULL, *sum = NULL;
	struct errmsg err = { 0 };
	int fd = memfd_create("again", MFD_CLOEXEC);

	assert(profile_write(p, fd, 0, &err) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	assert(profile_read(fd, "again", &back, &err) == 0);
	assert(back->nsamples <= p->nsamples && back->ntypes == p->ntypes);
	assert(profile_create(p->type, p->ntypes, &sum) == 0 && profile_merge(sum, p) == 0 &&
	       profile_merge(sum, back) == 0);
	profile_destroy(sum);
	profile_destroy(back);
	(void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *p = NULL;
	struct errmsg err = { 0 };
	int fd = fuzz_fd(data, size), rc;

	(void)lseek(fd, 0, SEEK_SET);
	rc = profile_read(fd, "f", &p, &err);
	fuzz_check_error(rc, &err);
	if (rc == 0) {
		draw(p);
		write_again(p);
	}
	profile_destroy(p);
	return 0;
}
