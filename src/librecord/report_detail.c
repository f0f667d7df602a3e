/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/report_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/libcore/metric_text.h"
#include "src/libutil/text.h"
#include "src/libutil/wide_math.h"

/* Bytes of a long mount point that are shown: its beginning and its end. */
#define MOUNT_HEAD 18
#define MOUNT_TAIL 19
#define MOUNT_SHOWN (MOUNT_HEAD + 3 + MOUNT_TAIL)

static const char *count_text(uint64_t n, char *buf)
{
	return metric_text_value(UNIT_COUNT, n, buf, METRIC_TEXT_MAX);
}

static const char *bytes_text(uint64_t n, char *buf)
{
	return metric_text_value(UNIT_BYTES, n, buf, METRIC_TEXT_MAX);
}

/* --- I/O by file system ----------------------------------------------------------------- */

static const enum metric roles[] = {
	METRIC_HOME_READ_BYTES,	    METRIC_HOME_WRITE_BYTES,   METRIC_PROJECT_READ_BYTES,
	METRIC_PROJECT_WRITE_BYTES, METRIC_SCRATCH_READ_BYTES, METRIC_SCRATCH_WRITE_BYTES,
	METRIC_LOCAL_READ_BYTES,    METRIC_LOCAL_WRITE_BYTES,
};

static uint64_t fs_bytes(const struct detail_fs *fs)
{
	return wide_add(fs->read_bytes, fs->write_bytes);
}

static bool fs_is_used(const struct detail_fs *fs)
{
	return fs->read_bytes || fs->write_bytes || fs->read_calls || fs->write_calls || fs->read_errors ||
	       fs->write_errors;
}

/* Sorts the file systems that were used, largest first. Returns how many. */
static size_t sort_fs(const struct step_detail *d, const struct detail_fs *sorted[DETAIL_FS])
{
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < d->nfs && i < DETAIL_FS; i++) {
		size_t at = n;

		if (!fs_is_used(&d->fs[i]))
			continue;
		for (; at && fs_bytes(sorted[at - 1]) < fs_bytes(&d->fs[i]); at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = &d->fs[i];
		n++;
	}
	return n;
}

/* Cuts the middle out of a long path, in place: the whole report has only PIPE_BUF bytes. */
static void shorten_mount(char *mount)
{
	static const char dots[] = "...";
	size_t len = strlen(mount);

	if (len <= MOUNT_SHOWN)
		return;
	memcpy(mount + MOUNT_HEAD, dots, sizeof(dots) - 1);
	memmove(mount + MOUNT_HEAD + sizeof(dots) - 1, mount + len - MOUNT_TAIL, MOUNT_TAIL + 1);
}

static void put_fs(struct report_text *t, const struct detail_fs *fs)
{
	char read[METRIC_TEXT_MAX], written[METRIC_TEXT_MAX];
	char reads[METRIC_TEXT_MAX], writes[METRIC_TEXT_MAX];
	char mount[DETAIL_MOUNT_MAX];
	char type[sizeof(fs->type)];

	(void)text_mask(fs->mount, mount, sizeof(fs->mount));
	shorten_mount(mount);
	(void)text_mask(mount, mount, sizeof(mount)); /* shortening may have split a character */
	(void)text_mask(fs->type, type, sizeof(fs->type));
	report_put(t, "  %11s %9s %11s %9s  %s%s%s%s", bytes_text(fs->read_bytes, read),
		   count_text(fs->read_calls, reads), bytes_text(fs->write_bytes, written),
		   count_text(fs->write_calls, writes), mount, *type ? " (" : "", type, *type ? ")" : "");
	if (fs->read_errors)
		report_put(t, ", %s failed to read", count_text(fs->read_errors, reads));
	if (fs->write_errors)
		report_put(t, ", %s failed to write", count_text(fs->write_errors, writes));
	report_put(t, "\n");
}

static void put_fs_rest(struct report_text *t, const struct detail_fs *const *fs, size_t n)
{
	char read[METRIC_TEXT_MAX], written[METRIC_TEXT_MAX];
	uint64_t in = 0;
	uint64_t out = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		in = wide_add(in, fs[i]->read_bytes);
		out = wide_add(out, fs[i]->write_bytes);
	}
	report_put(t, "  %11s %9s %11s %9s  %zu more\n", bytes_text(in, read), "", bytes_text(out, written),
		   "", n);
}

void report_put_file_systems(struct report_text *t, const struct report_input *in, unsigned int max)
{
	const struct detail_fs *sorted[DETAIL_FS];
	const struct values *f = in->values;
	size_t n = in->detail ? sort_fs(in->detail, sorted) : 0;
	size_t i;

	if (n) {
		report_put(t, "  %11s %9s %11s %9s  %s\n", "read", "calls", "written", "calls",
			   "by file system");
		for (i = 0; i < n && i < max; i++)
			put_fs(t, sorted[i]);
		if (i < n)
			put_fs_rest(t, sorted + i, n - i);
		return;
	}
	if (!report_is_asked(in, PERF_GROUP_IO) && !report_is_tried(f, roles, ARRAY_SIZE(roles))) {
		report_unasked(t, "I/O by file system", "=io");
		return;
	}
	if (report_all_miss_alike(f, roles, ARRAY_SIZE(roles))) {
		report_missing(t, "I/O by file system", (enum metric_reason)f->reason[roles[0]]);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(roles); i++)
		report_wanted(t, in, 0, roles[i], metric_table[roles[i]].label, "");
}

/* --- network ----------------------------------------------------------------------------- */

static void put_tcp(struct report_text *t, const struct values *f)
{
	static const enum metric tcp[] = { METRIC_TCP_RECEIVED_BYTES, METRIC_TCP_SENT_BYTES,
					   METRIC_TCP_CONNECTIONS, METRIC_TCP_RETRANSMITTED_BYTES };
	char note[REPORT_NOTE_MAX];

	if (report_all_miss_alike(f, tcp, ARRAY_SIZE(tcp))) {
		report_missing(t, "TCP", (enum metric_reason)f->reason[tcp[0]]);
		return;
	}
	report_note(f, METRIC_TCP_CONNECTIONS, "connections", note);
	report_metric(t, f, METRIC_TCP_RECEIVED_BYTES, "TCP received", note);
	report_note(f, METRIC_TCP_RETRANSMITTED_BYTES, "retransmitted", note);
	report_metric(t, f, METRIC_TCP_SENT_BYTES, "TCP sent", note);
}

/* Writes "1.20 MiB, 512 B of it IPv6". */
static void note_ip(const struct values *f, enum metric ip, enum metric ipv6, char *note)
{
	char all[METRIC_TEXT_MAX], six[METRIC_TEXT_MAX];

	note[0] = '\0';
	if (!values_has(f, ip))
		return;
	(void)metric_text(f, ip, all, sizeof(all));
	if (values_has(f, ipv6) && f->value[ipv6])
		(void)snprintf(note, REPORT_NOTE_MAX, "%s, %s of it IPv6", all,
			       metric_text(f, ipv6, six, sizeof(six)));
	else
		(void)snprintf(note, REPORT_NOTE_MAX, "%s", all);
}

static void put_protocols(struct report_text *t, const struct step_detail *d)
{
	char in[METRIC_TEXT_MAX], out[METRIC_TEXT_MAX];
	char npi[METRIC_TEXT_MAX], npo[METRIC_TEXT_MAX];
	uint32_t i;

	for (i = 0; i < d->nnet && i < ARRAY_SIZE(d->net); i++) {
		const struct detail_net *n = &d->net[i];
		char kind[sizeof(n->kind)];

		if (!n->in_packets && !n->out_packets)
			continue;
		(void)text_mask(n->kind, kind, sizeof(n->kind));
		report_put(t, "    %-8s in %s packets, %s; out %s packets, %s\n", kind,
			   count_text(n->in_packets, npi), bytes_text(n->in_bytes, in),
			   count_text(n->out_packets, npo), bytes_text(n->out_bytes, out));
	}
}

static void put_packets(struct report_text *t, const struct report_input *in)
{
	static const enum metric counted[] = { METRIC_RECEIVED_PACKETS, METRIC_SENT_PACKETS,
					       METRIC_UDP_RECEIVED_BYTES, METRIC_UDP_SENT_BYTES };
	const struct values *f = in->values;
	char note[REPORT_NOTE_MAX];

	if (!report_is_asked(in, PERF_GROUP_NET) && !report_is_tried(f, counted, ARRAY_SIZE(counted))) {
		report_unasked(t, "packets, UDP, RDMA", "=net");
		return;
	}
	if (report_all_miss_alike(f, counted, ARRAY_SIZE(counted))) {
		report_missing(t, "packets, UDP", (enum metric_reason)f->reason[counted[0]]);
		return;
	}
	note_ip(f, METRIC_IP_RECEIVED_BYTES, METRIC_IPV6_RECEIVED_BYTES, note);
	report_metric(t, f, METRIC_RECEIVED_PACKETS, "packets received", note);
	note_ip(f, METRIC_IP_SENT_BYTES, METRIC_IPV6_SENT_BYTES, note);
	report_metric(t, f, METRIC_SENT_PACKETS, "packets sent", note);
	if (in->detail)
		put_protocols(t, in->detail);
	report_metric(t, f, METRIC_UDP_RECEIVED_BYTES, "UDP received", "");
	report_metric(t, f, METRIC_UDP_SENT_BYTES, "UDP sent", "");
}

static void put_rdma(struct report_text *t, const struct report_input *in)
{
	static const enum metric rdma[] = { METRIC_RDMA_RECEIVED_BYTES, METRIC_RDMA_SENT_BYTES };
	const struct values *f = in->values;

	if (!report_is_asked(in, PERF_GROUP_NET) && !report_is_tried(f, rdma, ARRAY_SIZE(rdma)))
		return; /* the line about packets names the option */
	if (report_all_miss_alike(f, rdma, ARRAY_SIZE(rdma))) {
		report_missing(t, "RDMA", (enum metric_reason)f->reason[rdma[0]]);
		return;
	}
	report_metric(t, f, METRIC_RDMA_RECEIVED_BYTES, "RDMA received", "of the whole node");
	report_metric(t, f, METRIC_RDMA_SENT_BYTES, "RDMA sent", "of the whole node");
}

void report_put_network(struct report_text *t, const struct report_input *in)
{
	put_tcp(t, in->values);
	put_packets(t, in);
	put_rdma(t, in);
}

/* --- events that the user named ---------------------------------------------------------- */

static void put_event(struct report_text *t, const char *label, const struct detail_event *e)
{
	char note[PERF_REQUEST_NAME_MAX + REPORT_NOTE_MAX];
	char name[PERF_REQUEST_NAME_MAX];
	char value[METRIC_TEXT_MAX] = "n/a";

	(void)text_mask(e->name, name, sizeof(e->name));
	if (e->reason == REASON_NONE) {
		(void)count_text(e->value, value);
		(void)snprintf(note, sizeof(note), "%s, counted %.1f %%", name,
			       (double)e->coverage_ppm / 1e4);
	} else {
		(void)snprintf(note, sizeof(note), "%s (%s)", name,
			       metric_reason_text((enum metric_reason)e->reason));
	}
	report_row(t, label, value, note);
}

void report_put_own_events(struct report_text *t, const struct report_input *in)
{
	const struct step_detail *d = in->detail;
	uint32_t i;

	if (report_is_asked(in, PERF_GROUP_EVENTS) && (!d || !d->nevents))
		report_missing(t, "own events", REASON_NOT_MEASURED);
	for (i = 0; d && i < d->nevents && i < PERF_REQUEST_EVENTS; i++)
		put_event(t, i ? "" : "own events", &d->event[i]);
}
