/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of real programs: this test's own stack, with two signals in it, to its end; and, where a compiler for
 * arm64 is installed, a library for it.
 */
#define _GNU_SOURCE /* REG_RIP */
#include <errno.h>
#include <signal.h>
#include <ucontext.h>

#include "src/libprofile/symbols.h"
#include "src/libutil/util.h"
#include "scratch.h"
#include "tap.h"

static char dir[] = SCRATCH_TEMPLATE;

/* --- this program --------------------------------------------------------------------------- */

static struct {
	uint64_t reg[UNWIND_REGISTERS_MAX];
	uint64_t stack[4096];
	size_t size;
} taken;

static uint64_t top; /* of what may be copied */

/* As the kernel does it, past what AddressSanitizer lets nobody read. */
__attribute__((no_sanitize("address"))) static void copy_stack(uint64_t from)
{
	const volatile uint64_t *at = (const volatile uint64_t *)(uintptr_t)from;
	size_t i;

	for (i = 0; i < taken.size / sizeof(*at); i++)
		taken.stack[i] = at[i];
}

/* As the kernel would: the registers of where the signal came, in its order, and the stack. */
static void take(int sig, siginfo_t *info, void *context)
{
	const mcontext_t *m = &((const ucontext_t *)context)->uc_mcontext;
	uint64_t sp;

	(void)sig;
	(void)info;
#if defined(__x86_64__)
	static const int order[] = { REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
				     REG_RBP, REG_RSP, REG_RIP, REG_R8,	 REG_R9,  REG_R10,
				     REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(order); i++)
		taken.reg[i] = (uint64_t)m->gregs[order[i]];
	sp = (uint64_t)m->gregs[REG_RSP];
#elif defined(__aarch64__)
	memcpy(taken.reg, m->regs, sizeof(m->regs));
	taken.reg[31] = sp = m->sp;
	taken.reg[32] = m->pc;
#else
	sp = top;
#endif
	taken.size = top - sp < sizeof(taken.stack) ? top - sp : sizeof(taken.stack);
	copy_stack(sp);
}

__attribute__((noinline)) static void interrupted(int sig)
{
	(void)sig;
	(void)raise(SIGUSR2);
	__asm__ volatile("");
}

__attribute__((noinline)) static int inner(int x)
{
	(void)raise(SIGUSR1);
	return x + 1;
}

__attribute__((noinline)) static int outer(int x)
{
	volatile char room[1000];

	room[x] = (char)x;
	return inner(room[x]) + 1;
}

#define FILES 16
static struct {
	uint64_t start, limit, offset;
	struct symbols *symbols;
} file[FILES];
static size_t nfiles;

static void open_files(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/maps", "re");
	unsigned long long start, limit, offset;
	char line[600], path[512];

	while (f && nfiles < FILES && fgets(line, sizeof(line), f)) {
		if (strstr(line, "[stack]") && sscanf(line, "%llx-%llx", &start, &limit) == 2)
			top = limit;
		if (sscanf(line, "%llx-%llx r-xp %llx %*s %*s %511s", &start, &limit, &offset, path) != 4 ||
		    *path != '/')
			continue;
		file[nfiles].start = start;
		file[nfiles].limit = limit;
		file[nfiles].offset = offset;
		if (symbols_open("", path, NULL, &file[nfiles].symbols, NULL) == 0)
			nfiles++;
	}
}

static int find(void *ctx, uint64_t pc, struct unwind_row *ret)
{
	size_t i;

	for (i = 0; i < nfiles; i++)
		if (pc >= file[i].start && pc < file[i].limit)
			return symbols_unwind_row(file[i].symbols, ctx, pc - file[i].start + file[i].offset,
						  ret);
	return -ENOENT;
}

static const char *name_of(uint64_t pc)
{
	const struct symbol *s = NULL;
	size_t i;

	for (i = 0; i < nfiles; i++)
		if (pc >= file[i].start && pc < file[i].limit)
			s = symbols_find(file[i].symbols, pc - file[i].start + file[i].offset);
	return s ? s->name : "?";
}

static size_t place_of(const char *name, const uint64_t *ip, size_t n)
{
	size_t i = 0;

	while (i < n && strncmp(name_of(ip[i]), name, strlen(name)) != 0) /* "outer.constprop.0" */
		i++;
	return i;
}

static void test_own(void)
{
	const struct sigaction take_it = { .sa_sigaction = take, .sa_flags = SA_SIGINFO };
	const struct sigaction interrupt = { .sa_handler = interrupted };
	struct unwind_machine machine = *unwind_host();
	struct unwind_sample s = { .machine = &machine,
				   .reg = taken.reg,
				   .stack = (const uint8_t *)taken.stack,
				   .find = find,
				   .ctx = &machine };
	uint64_t ip[64];
	enum unwind_end end;
	size_t n, i;

	open_files();
	(void)sigaction(SIGUSR1, &interrupt, NULL);
	(void)sigaction(SIGUSR2, &take_it, NULL);
	is_int(outer(1), 3, "a program with signals in its stack");
	s.size = taken.size;
	is_int(unwind_walk(&s, ip, ARRAY_SIZE(ip), &n, &end), 0, "  is unwound");
	is_int(end, UNWIND_WHOLE, "  to its end");
	ok(place_of("interrupted", ip, n) < place_of("inner", ip, n) &&
		   place_of("inner", ip, n) < place_of("outer", ip, n) &&
		   place_of("outer", ip, n) < place_of("main", ip, n) && place_of("main", ip, n) < n,
	   "  through the signal's frame");
	is_str(name_of(ip[n - 1]), "_start", "  where every program begins");
	for (i = 0; end == UNWIND_CUT ? i < n : i < 3 && i < n; i++)
		diag("%s", name_of(ip[i]));
	s.size = 600;
	s.is_short = true;
	is_int(unwind_walk(&s, ip, ARRAY_SIZE(ip), &n, &end), 0, "of a part of its stack");
	is_int(end, UNWIND_CUT, "  the walk reports that it was cut");
}

/* --- a library for arm64 ---------------------------------------------------------------------- */

static void test_arm64(void)
{
	struct symbols *s = NULL;
	struct unwind_row row;
	struct errmsg err = { 0 };
	uint64_t at;
	char command[512];
	bool is_stored = false, is_in_link = false;

	(void)snprintf(
		command, sizeof(command),
		"cd %s && echo 'int g(int); int f(int x) { return g(x) + 1; }' >f.c && "
		"aarch64-linux-gnu-gcc -O2 -fasynchronous-unwind-tables -nostdlib -shared -fPIC -o f.so "
		"f.c 2>/dev/null",
		dir);
	if (system(command) != 0) {
		skip(3, "no compiler for arm64");
		return;
	}
	is_int(symbols_open("", scratch_path(dir, "f.so"), NULL, &s, &err), 0, "a library for arm64");
	for (at = 0; s && at < 4096; at += 4) {
		const struct symbol *symbol = symbols_find(s, at);

		if (!symbol || strcmp(symbol->name, "f") != 0 ||
		    !symbols_unwind_row(s, &unwind_arm64, at, &row))
			continue;
		is_in_link |= row.cfa == UNWIND_CFA_REGISTER && row.reg == 31 && !row.offset &&
			      row.saved[0].place == UNWIND_SAME;
		is_stored |= row.cfa == UNWIND_CFA_REGISTER && row.reg == 31 && row.offset == 16 &&
			     row.saved[0].place == UNWIND_AT_CFA && row.saved[0].offset == -8 &&
			     row.saved[1].place == UNWIND_AT_CFA && row.saved[1].offset == -16;
	}
	ok(is_in_link, "  the return address is in x30 first");
	ok(is_stored, "  and then stored with the frame pointer");
	symbols_close(s);
}

/* --- damaged ----------------------------------------------------------------------------------- */

static void test_vdso(void)
{
	struct symbols *s = NULL;
	struct unwind_row row;
	uint64_t at;
	size_t n = 0;

	is_int(symbols_open_vdso(&s, NULL), 0, "the vdso");
	for (at = 0; s && at < 8192; at++)
		n += symbols_find(s, at) && symbols_unwind_row(s, unwind_host(), at, &row);
	ok(n > 0, "  has rows");
	symbols_close(s);
}

int main(void)
{
	size_t i;

	if (!mkdtemp(dir))
		return 99;
	if (unwind_host()) {
		test_own();
		test_vdso();
	}
	test_arm64();
	for (i = 0; i < nfiles; i++)
		symbols_close(file[i].symbols);
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
