/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ceems-meter - reads a file of sysfs whose driver asks a BMC for it (ibmaem, ACPI meters by way of
 * IPMI): that takes a tenth of a second, or with a BMC that is away half a minute in which the
 * reader cannot even be killed. So it is not slurmd that reads. Writes what asker.h promises.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <string.h>

#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"
#include "src/sources/teller.h"

/* The driver's own limit is 30 s (ibmaem's IPMI_TIMEOUT). */
#define READ_MAX_S 60

/* Of its time it spends a hundredth reading; but at least and at most so long from one to the next: */
#define IDLE_FACTOR 100
#define PAUSE_MIN_MS 1000

static uint64_t pause_ms(uint64_t read_ns, uint64_t max_ms)
{
	uint64_t ms = read_ns / NSEC_PER_MSEC * IDLE_FACTOR;

	if (ms < PAUSE_MIN_MS)
		ms = PAUSE_MIN_MS;
	return ms < max_ms ? ms : max_ms;
}

/* Tells what the file shows. How long that took: ns. */
static uint64_t read_once(int fd)
{
	uint64_t begin_ns = teller_begin(READ_MAX_S);
	uint64_t value;
	int rc = fileio_pread_u64(fd, &value);
	uint64_t t_ns = teller_end(begin_ns);

	if (rc == 0)
		teller_value(value, t_ns);
	else
		teller_error("%s", strerror(-rc));
	return 2 * (t_ns - begin_ns);
}

int main(int argc, char **argv)
{
	static const struct option known[] = {
		{ "interval-ms", required_argument, NULL, 'i' },
		{ 0 },
	};
	uint64_t interval_ms = 5000;
	int c, fd;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1)
		if (c != 'i' || parse_u64(optarg, &interval_ms) < 0 || interval_ms > 600000)
			break;
	if (c != -1 || optind != argc - 1) {
		(void)fputs("usage: ceems-meter [--interval-ms N] FILE\n", stderr);
		return 2;
	}
	teller_init();
	fd = open(argv[optind], O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		teller_error("%s: %s", argv[optind], strerror(errno));
		return 1;
	}
	while (teller_wait_ms(pause_ms(read_once(fd), interval_ms)))
		;
	(void)close(fd);
	return 0;
}
