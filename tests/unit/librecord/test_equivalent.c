/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/equivalent.h"

#include "src/libutil/util.h"

#include "tap.h"

int main(void)
{
	static const struct {
		uint64_t ng, um;
		const char *text;
	} rows[] = {
		{ 0, 0, "0.000 m" },
		{ 1, 0, "0.000 m" },
		{ 200000, 805, "< 0.001 m" }, /* 0.2 mg x 1609.344 m / 400 g = 0.8 mm */
		{ 20100000, 80870, "0.081 m" },
		{ 248400000, 999403, "0.999 m" },
		{ 248420000, 999483, "0.999 m" },
		{ 248430000, 999523, "1.00 m" },
		{ UINT64_C(2484000000), 9994026, "9.99 m" },
		{ UINT64_C(2485000000), 9998050, "10.0 m" },
		{ UINT64_C(24850000000), 99980496, "100 m" },
		{ UINT64_C(248400000000), 999402624, "999 m" },
		{ UINT64_C(248500000000), 999804960, "1.00 km" },
		{ UINT64_C(400000000000), 1609344000, "1.61 km" },		    /* a mile is a mile */
		{ UINT64_C(1000000000000000), UINT64_C(4023360000000), "4023 km" }, /* a tonne */
		{ UINT64_MAX, UINT64_C(74217892236400062), "74217892 km" },
	};
	char buf[EQUIVALENT_TEXT_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		is_u64(equivalent_car_um(rows[i].ng), rows[i].um, rows[i].text);
		is_str(equivalent_text(rows[i].ng, buf, sizeof(buf)), rows[i].text, "as text");
	}
	return done_testing();
}
