/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/metric_text.h"

#include "tap.h"

int main(void)
{
	static const struct {
		enum metric m;
		uint64_t value;
		const char *want;
	} cases[] = {
		{ METRIC_ENERGY, 0, "0 uJ" },
		{ METRIC_ENERGY, 999, "999 uJ" },
		{ METRIC_ENERGY, 1000, "1.00 mJ" },
		{ METRIC_ENERGY, 9994999, "9.99 J" },
		{ METRIC_ENERGY, 9996000, "10.0 J" },
		{ METRIC_ENERGY, 12350001, "12.4 J" },
		{ METRIC_ENERGY, UINT64_C(3599999999999), "3600.0 kJ" },
		{ METRIC_ENERGY, UINT64_C(3600000000000), "1.00 kWh" },
		{ METRIC_ENERGY, UINT64_MAX - 1, "5124095.6 kWh" },
		{ METRIC_CO2E, 0, "0 g" },
		{ METRIC_CO2E, 159000, "159.0 ug" },
		{ METRIC_CO2E, 1500000, "1.50 mg" },
		{ METRIC_CO2E, UINT64_MAX - 1, "18446744.1 kg" },
		{ METRIC_IO_READ_BYTES, 1023, "1023 B" },
		{ METRIC_IO_READ_BYTES, 1536, "1.50 KiB" },
		{ METRIC_IO_READ_BYTES, UINT64_MAX - 1, "16384.0 PiB" },
		{ METRIC_CPU_TIME, 0, "0 ns" },
		{ METRIC_CPU_TIME, 1500, "1.50 us" },
		{ METRIC_CPU_TIME, UINT64_C(61234567890), "61.2 s" },
		{ METRIC_CPU_TIME, UINT64_C(119990000000), "120.0 s" },
		{ METRIC_CPU_TIME, UINT64_C(125000000000), "2m05s" },
		{ METRIC_CPU_TIME, UINT64_C(93784000000000), "26h03m04s" },
		{ METRIC_CYCLES, 999, "999" },
		{ METRIC_CYCLES, 1000, "1,000" },
		{ METRIC_CYCLES, 999999, "999,999" },
		{ METRIC_CYCLES, 1234567, "1.23 M" },
		{ METRIC_CYCLES, UINT64_MAX - 1, "18446744.1 T" },
	};
	static const struct {
		uint64_t uj;
		const char *want;
	} kwh[] = {
		{ 0, "0 kWh" },
		{ 1, "<0.000001 kWh" },
		{ 3600000, "0.000001 kWh" },
		{ 152300000, "0.000042 kWh" },
		{ UINT64_C(3600000000), "0.00100 kWh" },
		{ UINT64_C(3600000000000), "1.00 kWh" },
		{ UINT64_C(35999999999999), "10.0 kWh" },
		{ UINT64_MAX, "5124095.6 kWh" },
	};
	static const struct {
		uint64_t fresh, last, fixed;
		const char *want;
	} factors[] = {
		{ 0, 0, 0, "" },
		{ 5, 0, 0, "100 % fresh" },
		{ 85, 0, 15, "85 % fresh, 15 % yearly mean" },
		{ 1, 1998, 1, "<1 % fresh, >99 % last known, <1 % yearly mean" },
		{ UINT64_MAX - 1, 0, 2, "" },
	};
	static const struct {
		uint64_t uj;
		const char *want;
	} wh[] = {
		{ 0, "0 uWh" },
		{ 1, "<1 uWh" },
		{ 3600, "1.00 uWh" },
		{ 3600000, "1.00 mWh" },
		{ UINT64_C(6912000000), "1.92 Wh" },
		{ UINT64_C(1512000000000), "420.0 Wh" },
		{ UINT64_C(4442400000000), "1.23 kWh" },
		{ UINT64_C(44424000000000000), "12.3 MWh" },
	};
	struct values f;
	char buf[METRIC_TEXT_MAX];
	unsigned int r;
	size_t i;
	bool fits = true;

	values_init(&f);
	is_str(metric_text(&f, METRIC_ENERGY, buf, sizeof(buf)), "n/a (not measured)", "unknown is not 0");
	for (r = REASON_NOT_MEASURED; r < REASON_N; r++) {
		values_miss(&f, METRIC_ENERGY, r);
		metric_text(&f, METRIC_ENERGY, buf, sizeof(buf));
		if (buf[strlen(buf) - 1] != ')')
			fits = false;
	}
	ok(fits, "every reason fits");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		values_set(&f, cases[i].m, cases[i].value);
		is_str(metric_text(&f, cases[i].m, buf, sizeof(buf)), cases[i].want, cases[i].want);
	}
	for (i = 0; i < sizeof(kwh) / sizeof(kwh[0]); i++)
		is_str(metric_text_kwh(kwh[i].uj, buf, sizeof(buf)), kwh[i].want, kwh[i].want);
	for (i = 0; i < sizeof(wh) / sizeof(wh[0]); i++)
		is_str(metric_text_wh(wh[i].uj, buf, sizeof(buf)), wh[i].want, wh[i].want);
	values_init(&f);
	is_str(metric_text_factors(&f, buf, sizeof(buf)), "", "unknown factors");
	for (i = 0; i < sizeof(factors) / sizeof(factors[0]); i++) {
		char text[METRIC_FACTORS_MAX];

		values_set(&f, METRIC_FRESH_FACTOR, factors[i].fresh);
		values_set(&f, METRIC_LAST_FACTOR, factors[i].last);
		values_set(&f, METRIC_STATIC_FACTOR, factors[i].fixed);
		values_set(&f, METRIC_DEFAULT_FACTOR, 0);
		is_str(metric_text_factors(&f, text, sizeof(text)), factors[i].want, factors[i].want);
	}
	return done_testing();
}
