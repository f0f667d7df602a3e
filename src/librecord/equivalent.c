/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/equivalent.h"

#include <stdio.h>

#include "src/libutil/muldiv.h"

#define UM_PER_MILE UINT64_C(1609344000) /* exact, by definition of the mile */
#define NG_PER_MILE UINT64_C(400000000000)
#define UM_PER_MM 1000

uint64_t equivalent_car_um(uint64_t co2e_ng)
{
	uint64_t half_um = muldiv(co2e_ng, 2 * UM_PER_MILE, NG_PER_MILE);

	return half_um / 2 + half_um % 2;
}

const char *equivalent_text(uint64_t co2e_ng, char *buf, size_t size)
{
	uint64_t um = equivalent_car_um(co2e_ng);
	double m = (double)um / 1e6;

	if (um && um < UM_PER_MM)
		(void)snprintf(buf, size, "< 0.001 m");
	else if (m < 0.9995)
		(void)snprintf(buf, size, "%.3f m", m);
	else if (m < 999.5)
		(void)snprintf(buf, size, "%.*f m", m < 9.995 ? 2 : m < 99.95 ? 1 : 0, m);
	else
		(void)snprintf(buf, size, "%.*f km", m < 9995 ? 2 : m < 99950 ? 1 : 0, m / 1e3);
	return buf;
}
