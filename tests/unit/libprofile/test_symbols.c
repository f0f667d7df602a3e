/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of functions in programs that the test compiles, in files that are no programs, in the vdso, and
 * those of run-time compilers; and names as their author wrote them.
 */
#include "ceems_config.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <sys/inotify.h>
#include <time.h>

#include "src/libprofile/demangle.h"
#include "src/libprofile/perf_map.h"
#include "src/libprofile/symbols.h"
#include "scratch.h"
#include "tap.h"

static char dir[] = SCRATCH_TEMPLATE;

static const char source[] =
	"#include <stdio.h>\n"
	"static inline __attribute__((always_inline)) int inlined(int x) { return x * 7 + puts(\"a\"); }\n"
	"__attribute__((noinline)) static int local(int x) { return inlined(x) + puts(\"b\"); }\n"
	"__attribute__((noinline)) int global(int x) { return local(x) + puts(\"c\"); }\n"
	"#ifndef LIBRARY\n"
	"int main(int argc, char **argv) { (void)argv; return global(argc); }\n"
	"#endif\n";

static bool shell(const char *command)
{
	char line[1024];

	(void)snprintf(line, sizeof(line), "cd %s && %s", dir, command);
	return system(line) == 0;
}

/* Where in the file FUNCTION begins, as nm has it of WITH_NAMES, which has the same code. */
static uint64_t offset_of(const char *with_names, const char *function)
{
	char line[1024];
	unsigned long long address = 0, vaddr = 0, offset = 0, size = 0;
	FILE *p;

	(void)snprintf(line, sizeof(line), "nm %s/%s | awk '$3 == \"%s\" { print $1 }'", dir, with_names,
		       function);
	p = popen(line, "r");
	if (!p || fscanf(p, "%llx", &address) != 1)
		diag("no %s in %s", function, with_names);
	if (p)
		(void)pclose(p);
	(void)snprintf(line, sizeof(line), "readelf -lW %s/%s | awk '/LOAD.* R E/ { print $2, $3, $5 }'", dir,
		       with_names);
	p = popen(line, "r");
	if (!p || fscanf(p, "%llx %llx %llx", &offset, &vaddr, &size) != 3)
		diag("no segment in %s", with_names);
	if (p)
		(void)pclose(p);
	return address - vaddr + offset;
}

static struct symbols *open_file(const char *name)
{
	struct symbols *s = NULL;
	struct errmsg err = { 0 };

	if (!is_int(symbols_open("", scratch_path(dir, name), NULL, &s, &err), 0, name))
		diag("%s", err.text);
	return s;
}

static void check_functions(const char *name, const char *with_names, bool has_local)
{
	static const char *const functions[] = { "global", "local" };
	struct symbols *s = open_file(name);
	size_t i, n = has_local ? 2 : 1;

	for (i = 0; s && i < n; i++) {
		const uint64_t offset = offset_of(with_names, functions[i]);
		const struct symbol *symbol = symbols_find(s, offset + 1);

		is_str(symbol ? symbol->name : NULL, functions[i], functions[i]);
	}
	if (s)
		ok(!symbols_find(s, 1ull << 60), "%s: nothing beyond its end", name);
	symbols_close(s);
}

static void test_programs(void)
{
	static const struct {
		const char *name, *flags;
	} rows[] = {
		{ "plain", "-O2 -no-pie" },
		{ "pie", "-O2 -pie -fPIE" },
		{ "static", "-O2 -static" },
		{ "library.so", "-O2 -shared -fPIC -DLIBRARY" },
		{ "frameless", "-O2 -fomit-frame-pointer -Wl,--build-id=none" },
	};
	char command[256];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		(void)snprintf(command, sizeof(command), "gcc %s -o %s source.c", rows[i].flags,
			       rows[i].name);
		if (!shell(command)) {
			skip(1, "this compiler cannot make it");
			continue;
		}
		check_functions(rows[i].name, rows[i].name, true);
	}
}

static void test_stripped(void)
{
	struct symbols *s;

	ok(shell("gcc -O2 -g -o linked source.c && cp linked linked.all && objcopy --only-keep-debug "
		 "linked linked.debug && objcopy -S --add-gnu-debuglink=linked.debug linked"),
	   "a program with a debug file");
	check_functions("linked", "linked.all", true);
	ok(shell("mkdir .debug && mv linked.debug .debug/linked.debug"), "in the folder .debug");
	check_functions("linked", "linked.all", true);
	ok(shell("cp .debug/linked.debug /tmp/x.$$ && echo more >>.debug/linked.debug; rm -f /tmp/x.$$"),
	   "changed since");
	s = open_file("linked");
	if (s)
		ok(!symbols_find(s, offset_of("linked.all", "local")), "is not used");
	symbols_close(s);
	ok(shell("gcc -O2 -shared -fPIC -DLIBRARY -s -o stripped.so source.c && "
		 "gcc -O2 -shared -fPIC -DLIBRARY -o stripped.all source.c"),
	   "a stripped library");
	check_functions("stripped.so", "stripped.all", false);
}

/* What find-debuginfo of rpm does to each file. */
#define MINI                                                                                               \
	"nm -D mini --format=posix --defined-only | awk '{ print $1 }' | sort >dynsyms && "                \
	"nm mini --format=posix --defined-only | awk '$2 ~ /[TtD]/ { print $1 }' | sort >funcsyms && "     \
	"comm -13 dynsyms funcsyms >keep && objcopy --only-keep-debug mini mini.debug && "                 \
	"objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=keep mini.debug " \
	"mini.elf && "                                                                                     \
	"strip mini && "

static void test_mini(void)
{
	struct symbols *s;

#ifndef HAVE_LZMA
	skip(1, "built without liblzma");
	return;
#endif
	if (!shell("command -v xz >/dev/null")) {
		skip(1, "no xz");
		return;
	}
	ok(shell("gcc -O2 -rdynamic -o mini source.c && cp mini mini.all"), "a program");
	ok(shell(MINI "xz -k mini.elf"), "its local functions");
	check_functions("mini", "mini.all", false);
	ok(shell("objcopy --add-section .gnu_debugdata=mini.elf.xz mini"), "are added as RHEL does");
	check_functions("mini", "mini.all", true);
	ok(shell("objcopy --add-section .gnu_debugdata=source.c mini.all mini.bad && strip mini.bad"),
	   "something else in its place");
	check_functions("mini.bad", "mini.all", false);
	ok(shell("head -c 100 mini.elf.xz >cut && objcopy --update-section .gnu_debugdata=cut mini mini.bad"),
	   "a part of it");
	check_functions("mini.bad", "mini.all", false);
	ok(shell("{ cat mini.elf; head -c 99M /dev/zero; } | xz -1 >bomb && "
		 "objcopy --update-section .gnu_debugdata=bomb mini mini.bad"),
	   "one that unpacks to 99 MB");
	check_functions("mini.bad", "mini.all", false);
	s = open_file("mini.bad");
	if (s)
		ok(!symbols_find(s, offset_of("mini.all", "local")), "is not used");
	symbols_close(s);
}

static void test_build_id(void)
{
	struct symbols *s = open_file("pie"), *other = NULL;
	struct errmsg err = { 0 };
	char id[SYMBOLS_BUILD_ID_SIZE] = "", command[512];

	if (!s)
		return;
	(void)snprintf(id, sizeof(id), "%s", symbols_build_id(s));
	symbols_close(s);
	ok(strlen(id) == 40, "a build id, %s", id);
	is_int(symbols_open("", scratch_path(dir, "pie"), id, &other, &err), 0, "the expected build id");
	symbols_close(other);
	is_int(symbols_open("", scratch_path(dir, "pie"), "00112233", &other, &err), -ESTALE,
	       "another build id");
	/* a root of a container, with a stripped program and a debug file by its id */
	(void)snprintf(
		command, sizeof(command),
		"mkdir -p root/bin root/usr/lib/debug/.build-id/%.2s && objcopy -S pie root/bin/pie && "
		"objcopy --only-keep-debug pie root/usr/lib/debug/.build-id/%.2s/%s.debug && "
		"ln -s /bin/pie root/link && ln -s ../../../../bin/pie root/out && mkfifo root/pipe",
		id, id, id + 2);
	ok(shell(command), "a container's root");
	is_int(symbols_open(scratch_path(dir, "root"), "/bin/pie", id, &other, &err), 0, "a stripped one");
	is_str(symbols_find(other, offset_of("pie", "local")) ?
		       symbols_find(other, offset_of("pie", "local"))->name :
		       NULL,
	       "local", "with the names of its debug file");
	symbols_close(other);
	is_int(symbols_open(scratch_path(dir, "root"), "/link", NULL, &other, &err), 0,
	       "a link to / stays below the root");
	symbols_close(other);
	is_int(symbols_open(scratch_path(dir, "root"), "/out", NULL, &other, &err), 0, "so does one with ..");
	symbols_close(other);
	is_int(symbols_open(scratch_path(dir, "root"), "/pipe", NULL, &other, &err), -EINVAL,
	       "a pipe is not waited for");
	is_int(symbols_open(scratch_path(dir, "root"), "/none", NULL, &other, &err), -ENOENT, "no file");
}

static void test_deleted(void)
{
	struct symbols *s = NULL;
	struct errmsg err = { 0 };
	uint64_t offset = offset_of("pie", "local");
	int fd;

	ok(shell("cp pie gone"), "a program");
	fd = open(scratch_path(dir, "gone"), O_RDONLY | O_CLOEXEC);
	(void)unlink(scratch_path(dir, "gone"));
	is_int(symbols_open_fd(fd, "", NULL, NULL, &s, &err), 0, "that is deleted");
	(void)close(fd);
	if (s)
		is_str(symbols_find(s, offset) ? symbols_find(s, offset)->name : NULL, "local",
		       "has its names");
	symbols_close(s);
}

static void test_inlines(void)
{
	struct symbols *s;
	struct symbol_line line[SYMBOLS_INLINES_MAX];
	uint64_t offset, i;
	size_t n = 0;

	ok(shell("gcc -O2 -g -o debug source.c"), "a program with DWARF");
	s = open_file("debug");
	if (!s)
		return;
	offset = offset_of("debug", "local");
	for (i = 0; i < 64 && n < 2; i++)
		n = symbols_inlines(s, offset + i, line);
	if (is_u64(n, 2, "an inlined function and its caller")) {
		is_str(line[0].name, "inlined", "the inlined one first");
		is_int(line[0].line, 2, "its line");
		is_str(line[1].name, "local", "then the one that has it");
		is_int(line[1].line, 3, "the line of the call");
		ok(strstr(line[0].file, "source.c"), "the file of source");
	}
	symbols_close(s);
	s = open_file("plain");
	is_u64(s ? symbols_inlines(s, offset_of("plain", "local"), line) : 1, 0, "no DWARF: not known");
	symbols_close(s);
}

/*
 * Returns how many functions DWARF has at local() of NAME, or in the 64 bytes from there,
 * of which one is inlined.
 */
static size_t count_inlines(const char *name, const char *with_names)
{
	struct symbols *s = open_file(name);
	struct symbol_line line[SYMBOLS_INLINES_MAX];
	const uint64_t offset = offset_of(with_names, "local");
	size_t n = 0, i;

	for (i = 0; s && i < 64 && n < 2; i++)
		n = symbols_inlines(s, offset + i, line);
	symbols_close(s);
	return n;
}

/* libdw reads on beyond the end of such a table. */
static void test_strings_without_end(void)
{
	static const char *const tables[] = { "debug_str", "debug_line_str" };
	char command[256];
	size_t i;

	ok(shell("cp debug dwo && for s in $(readelf -SW debug | grep -o '[.]debug_[a-z_]*'); do "
		 "objcopy --rename-section $s=$s.dwo dwo; done"),
	   "sections as of a split file");
	is_u64(count_inlines("dwo", "debug"), 2, "  are read");
	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		(void)snprintf(
			command, sizeof(command),
			"objcopy --dump-section .%s=table debug x && printf x >>table && objcopy "
			"--update-section .%s=table debug bad && objcopy --update-section .%s.dwo=table "
			"dwo bad.dwo",
			tables[i], tables[i], tables[i]);
		if (!shell(command)) {
			skip(1, "this compiler writes no such table");
			continue;
		}
		is_u64(count_inlines("bad", "debug"), 0, tables[i]);
		is_u64(count_inlines("bad.dwo", "debug"), 0, "  and the one of a split file");
	}
}

/* A program may name any file as a part of its debug information, such as a pipe. libdw must open none. */
static void test_second_files(void)
{
	static const struct {
		const char *what, *second, *command;
	} rows[] = {
		{ "a split file, DWARF 4", "split-source.dwo",
		  "gcc -O2 -g -gdwarf-4 -gsplit-dwarf -o split source.c && objcopy -R .debug_aranges split" },
		{ "a split file, DWARF 5", "split-source.dwo",
		  "gcc -O2 -g -gdwarf-5 -gsplit-dwarf -o split source.c && objcopy -R .debug_aranges split" },
		{ "a file of dwz", "common",
		  "cp debug split && cp debug other && dwz -m common -M $PWD/common split other" },
	};
	char event[4096];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_close_ int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

		if (!shell(rows[i].command) || fd < 0) {
			skip(1, "no inotify, or not this compiler or dwz");
			continue;
		}
		ok(inotify_add_watch(fd, scratch_path(dir, rows[i].second), IN_OPEN) >= 0, "%s",
		   rows[i].what);
		is_u64(count_inlines("split", "split"), 0, "  is no DWARF");
		is_int(read(fd, event, sizeof(event)) < 0 ? -errno : 0, -EAGAIN, "  and is not opened");
	}
}

static void test_vdso(void)
{
	struct symbols *s = NULL;
	struct errmsg err = { 0 };
	bool found = false;
	uint64_t at;

	if (symbols_open_vdso(&s, &err) < 0) {
		diag("%s", err.text);
		skip(1, "no vdso");
		return;
	}
	for (at = 0; at < 0x4000 && !found; at++) {
		const struct symbol *symbol = symbols_find(s, at);

		found = symbol && strstr(symbol->name, "clock_gettime");
	}
	ok(found, "clock_gettime in the vdso");
	symbols_close(s);
}

static void test_bad_files(void)
{
	struct symbols *s = NULL;
	struct errmsg err = { 0 };
	size_t len, i, read = 0;
	char *program = scratch_read(scratch_path(dir, "pie"), &len);
	uint64_t state = 99;

	(void)scratch_write(scratch_path(dir, "bad"), "\177ELF", 4);
	is_int(symbols_open("", scratch_path(dir, "bad"), NULL, &s, &err), -ENOEXEC, "a file of four bytes");
	(void)scratch_write(scratch_path(dir, "bad"), "#!/bin/sh\n", 10);
	is_int(symbols_open("", scratch_path(dir, "bad"), NULL, &s, &err), -ENOEXEC, "a script");
	is_int(symbols_open("", dir, NULL, &s, &err), -EINVAL, "a folder");
	for (i = 0; program && i < 500; i++) {
		char *bad = malloc(len);
		size_t k, cut = i % 3 ? len : scratch_random(&state) % len;

		memcpy(bad, program, len);
		for (k = 0; k < 20; k++)
			bad[scratch_random(&state) % (k < 10 ? 1024 : len)] = (char)scratch_random(&state);
		if (i % 2) /* its tables of sections */
			memset(bad + len - 8 - scratch_random(&state) % 2000, (int)scratch_random(&state), 8);
		(void)scratch_write(scratch_path(dir, "bad"), bad, cut);
		if (symbols_open("", scratch_path(dir, "bad"), NULL, &s, &err) == 0) {
			struct symbol_line line[SYMBOLS_INLINES_MAX];

			for (k = 0; k < len; k += 64) {
				const struct symbol *symbol = symbols_find(s, k);

				read += symbol ? strlen(symbol->name) : 0;
			}
			read += symbols_inlines(s, 0x1100, line);
			symbols_close(s);
		}
		free(bad);
	}
	free(program);
	ok(true, "damaged files are read or refused (%zu)", read);
}

static void test_perf_map(void)
{
	static const char text[] = "7f00 10 py::f:/home/u/a.py\n"
				   "7f10 10 LambdaForm$MH/0x1\n"
				   "7f00 20 newer\n"
				   "nothing\n"
				   "12345678901234567890 1 too large\n"
				   "9000 0 empty\n"
				   "8000 10 \n"
				   "8000 10 half";
	struct perf_map m;
	size_t size = 0;

	is_int(perf_map_parse(strdup(text), strlen(text), &m), 0, "a map");
	is_u64(m.table.n, 2, "two places");
	is_str(perf_map_find(&m, 0x7f08)->name, "newer", "the later line counts");
	is_str(perf_map_find(&m, 0x7f1f)->name, "LambdaForm$MH/0x1", "the end of a function");
	ok(!perf_map_find(&m, 0x7f20), "behind it");
	ok(!perf_map_find(&m, 0x8000), "an unfinished line");
	perf_map_fini(&m);
	is_int(perf_map_parse(strdup(""), 0, &m), 0, "an empty map");
	ok(!perf_map_find(&m, 0), "has nothing");
	perf_map_fini(&m);
	(void)scratch_write(scratch_path(dir, "perf-1.map"), text, sizeof(text) - 1);
	is_int(perf_map_read("", scratch_path(dir, "perf-1.map"), 0, PERF_MAP_MAX, &m, &size), 0, "a file");
	is_u64(m.table.n, 2, "has the same places");
	is_u64(size, sizeof(text) - 1, "  and its size");
	perf_map_fini(&m);
	is_int(perf_map_read("", scratch_path(dir, "perf-1.map"), size, PERF_MAP_MAX, &m, &size), -EALREADY,
	       "it has not grown");
	is_int(perf_map_read("", scratch_path(dir, "perf-1.map"), 0, 8, &m, &size), -EFBIG,
	       "it is too large");
	if (geteuid() == 0 && chown(scratch_path(dir, "perf-1.map"), 65534, 65534) == 0)
		is_int(perf_map_read("", scratch_path(dir, "perf-1.map"), 0, PERF_MAP_MAX, &m, &size), -EPERM,
		       "it is another user's");
	else
		skip(1, "only root can give a file away");
	is_int(perf_map_read("", scratch_path(dir, "none"), 0, PERF_MAP_MAX, &m, &size), -ENOENT, "no file");
}

static void test_demangle(void)
{
	static const struct {
		const char *name, *want;
	} rows[] = {
		{ "main", NULL },
		{ "_ZN3foo3barEi", "foo::bar" },
		{ "_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back" },
		{ "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write" },
		{ "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
		{ "__solver_MOD_step", "solver::step" },
		{ "compute.constprop.0", "compute" },
		{ "_ZN3foo3barEi.part.0.cold", "foo::bar" },
		{ "main._omp_fn.1", "main [OpenMP]" },
		{ "_Zgarbage", NULL },
		{ ".cold", NULL },
		{ "", NULL },
	};
	char *lengthy = malloc(100001), *out;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		is_int(demangle(rows[i].name, &out), 0, rows[i].name);
		is_str(out, rows[i].want, rows[i].want ? rows[i].want : "as it is");
		free(out);
	}
	memset(lengthy, 'P', 100000);
	memcpy(lengthy, "_Z1fP", 5);
	lengthy[100000] = '\0';
	is_int(demangle(lengthy, &out), 0, "a long name");
	is_str(out, NULL, "is left as it is");
	lengthy[4000] = '\0';
	is_int(demangle(lengthy, &out), 0, "deep nesting ends");
	free(out);
	free(lengthy);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_demangle();
	test_perf_map();
	test_vdso();
	if (system("command -v gcc >/dev/null && command -v objcopy >/dev/null && command -v nm "
		   ">/dev/null") == 0 &&
	    scratch_write(scratch_path(dir, "source.c"), source, sizeof(source) - 1)) {
		test_programs();
		test_stripped();
		test_mini();
		test_build_id();
		test_deleted();
		test_inlines();
		test_strings_without_end();
		test_second_files();
		test_bad_files();
	} else {
		skip(1, "no gcc, objcopy or nm");
	}
	(void)shell("rm -rf root .debug");
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
