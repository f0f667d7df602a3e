/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * make_profile JOB STEP NODE START [cycles]: writes a profile in pprof's format to stdout, for tests. A line
 * of stdin is a stack: "COUNT TASK PROCESS THREAD END FRAME;...", the outermost frame first. END is whole,
 * cut or failed; a frame "k:NAME" is the kernel's, "?PATH" has no name, "+OFFSET:PATH" is the code at that
 * offset (hexadecimal) in the file. "#TEXT" is a comment. A sample is 10 ms, or 30,000,000 cycles.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "src/libprofile/profile_pprof.h"

#define FRAMES 128

static uint32_t add_code(struct profile *p, const char *frame)
{
	char *path;
	struct profile_location l = { .address = strtoull(frame, &path, 16) };
	const struct profile_mapping m = { .path = path + 1, .build_id = "", .limit = UINT32_MAX };
	uint32_t place = 0;

	if (*path != ':' || profile_add_mapping(p, &m, &l.mapping) < 0 ||
	    profile_add_location(p, &l, &place) < 0)
		exit(1);
	return place;
}

static uint32_t add_frame(struct profile *p, const char *frame)
{
	if (*frame == '+')
		return add_code(p, frame + 1);

	const bool is_kernel = !strncmp(frame, "k:", 2), is_nameless = *frame == '?';
	const struct profile_mapping m = { is_kernel   ? PROFILE_KERNEL :
					   is_nameless ? frame + 1 :
							 "/home/u/bin/app",
					   is_kernel ? "" : "abcdef0123", .start = 0x1000,
					   .limit = 0x100000 };
	const struct profile_function f = { .name = frame + (is_kernel ? 2 : 0),
					    .system_name = "",
					    .file = "" };
	struct profile_line line = { 0, 0 };
	struct profile_location l = { .line = &line, .nlines = is_nameless ? 0 : 1, .address = 0x1000 };
	uint32_t place = 0;
	const char *c;

	for (c = frame; *c; c++)
		l.address += (unsigned char)*c * 16u;
	if (profile_add_mapping(p, &m, &l.mapping) < 0 ||
	    (!is_nameless && profile_add_function(p, &f, &line.function) < 0) ||
	    profile_add_location(p, &l, &place) < 0)
		exit(1);
	return place;
}

static void add_line(struct profile *p, char *text, char **argv)
{
	uint32_t location[FRAMES];
	struct profile_label label[8];
	char process[256], thread[256], end[16], *frame, *rest = NULL;
	long count, task;
	int at = 0;
	int64_t value[2];
	struct profile_sample s = { .location = location, .value = value, .label = label };

	if (*text == '#') {
		(void)profile_add_comment(p, text + 1);
		return;
	}
	if (sscanf(text, "%ld %ld %255s %255s %15s %n", &count, &task, process, thread, end, &at) < 5)
		exit(1);
	for (frame = strtok_r(text + at, ";", &rest); frame && s.depth < FRAMES;
	     frame = strtok_r(NULL, ";", &rest))
		location[s.depth++] = add_frame(p, frame);
	for (size_t i = 0; i < s.depth / 2; i++) {
		const uint32_t swapped = location[i];

		location[i] = location[s.depth - 1 - i];
		location[s.depth - 1 - i] = swapped;
	}
	value[0] = count;
	value[1] = count * p->period;
	label[s.nlabels++] = (struct profile_label){ PROFILE_LABEL_JOB, .text = argv[1] };
	label[s.nlabels++] = (struct profile_label){ PROFILE_LABEL_STEP, .text = argv[2] };
	label[s.nlabels++] = (struct profile_label){ PROFILE_LABEL_NODE, .text = argv[3] };
	label[s.nlabels++] = (struct profile_label){ PROFILE_LABEL_TASK, .number = task };
	label[s.nlabels++] = (struct profile_label){ PROFILE_LABEL_PROCESS, .text = process };
	label[s.nlabels++] = (struct profile_label){ PROFILE_LABEL_THREAD, .text = thread };
	if (strcmp(end, "whole") != 0)
		label[s.nlabels++] = (struct profile_label){ PROFILE_LABEL_STACK, .text = end };
	if (profile_add_sample(p, &s) < 0)
		exit(1);
}

int main(int argc, char **argv)
{
	const bool is_cycles = argc == 6 && !strcmp(argv[5], "cycles");
	const struct profile_type types[] = {
		{ "samples", "count" }, { is_cycles ? "cycles" : "cpu", is_cycles ? "count" : "nanoseconds" }
	};
	struct profile *p;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int rc;

	if (argc != 5 + is_cycles || profile_create(types, 2, &p) < 0)
		return 2;
	(void)profile_set_period(p, types[1].type, types[1].unit, is_cycles ? 30000000 : 10000000);
	p->time_ns = strtoll(argv[4], NULL, 10) * 1000000000;
	p->duration_ns = 10000000000;
	while ((len = getline(&line, &size, stdin)) > 0) {
		line[strcspn(line, "\n")] = '\0';
		add_line(p, line, argv);
	}
	free(line);
	rc = profile_write(p, 1, 0, NULL);
	profile_destroy(p);
	return rc < 0;
}
