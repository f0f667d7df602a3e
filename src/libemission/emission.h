/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * emission.h - emission factors of electricity, and the emissions of an amount of energy. The table
 * emission-factors.csv (iso2,iso3,year,gco2e_per_kwh,country) has static factors: yearly means per
 * country.
 */
#ifndef CEEMS_EMISSION_H
#define CEEMS_EMISSION_H

#include <stdint.h>

#include "src/libcore/settings.h"
#include "src/libutil/errmsg.h"

/*
 * World mean, used if no country is configured; always labelled kind "default". Source: IEA, Global
 * Energy & CO2 Status Report 2018 (2019): 475 gCO2/kWh in 2018, of combustion.
 */
#define EMISSION_WORLD_YEAR 2018
#define EMISSION_WORLD_MG_PER_KWH UINT64_C(475000)

enum emission_kind {
	EMISSION_AVERAGE,  /* mean of all power plants that run at that time */
	EMISSION_MARGINAL, /* of the plant that would supply one more kWh at that time */
	EMISSION_STATIC,   /* yearly mean of a country */
	EMISSION_DEFAULT,  /* world mean, because no country is configured */
	EMISSION_KIND_N
};
const char *emission_kind_name(enum emission_kind kind); /* "average", ... */
/* Finds a kind by its name. -EINVAL: there is none. */
int emission_kind_of(const char *name, enum emission_kind *ret) _must_check_;

enum emission_scope {
	EMISSION_LIFE_CYCLE, /* includes building plants, and mining and transporting fuel */
	EMISSION_DIRECT,     /* of combustion only */
	EMISSION_SCOPE_N
};
const char *emission_scope_name(enum emission_scope scope); /* "life-cycle", "direct" */
/* Finds a scope by its name. -EINVAL: there is none. */
int emission_scope_of(const char *name, enum emission_scope *ret) _must_check_;

struct emission_factor {
	uint64_t mg_per_kwh; /* thousandths of gCO2e/kWh */
	uint32_t year;	     /* 0: not a yearly mean */
	enum emission_kind kind;
	enum emission_scope scope;
	char region[24]; /* ISO alpha-2 code, or a provider's grid zone; "": the world */
	char source[64]; /* whom to cite */
};

/* Returns the path of the installed table, which is used if EmissionFactorFile is empty. */
const char *emission_default_file(void);

/*
 * Finds COUNTRY (alpha-2 or alpha-3 code, any case) in the table at PATH. An empty COUNTRY gives
 * the world mean, and PATH is not read. -ENOENT: no such file or country. -EINVAL: a malformed row;
 * ERR names file and line.
 */
int emission_lookup(const char *path, const char *country, struct emission_factor *ret,
		    struct errmsg *err) _must_check_;

#define EMISSION_CODE_SIZE 3

/*
 * Finds the alpha-2 code that COUNTRY, which emission_lookup() does not know, stands for: a country's name in
 * the table, or a usual mistake such as UK or GER. -ENOENT: none.
 */
int emission_guess(const char *path, const char *country, char ret_code[EMISSION_CODE_SIZE]) _must_check_;

/* Returns the world mean, as emission_lookup() does for an empty COUNTRY. */
void emission_world(struct emission_factor *ret);

/*
 * Calls EACH for every row of the table at PATH, in order. A negative result of EACH ends the walk
 * and is returned. Other errors are those of emission_lookup().
 */
int emission_foreach(const char *path,
		     int (*each)(void *ctx, const struct emission_factor *f, const char *iso3,
				 struct errmsg *err),
		     void *ctx, struct errmsg *err);

#define EMISSION_UG_PER_MG 1000

/*
 * Returns the emissions of ENERGY_UJ in ng CO2e at this factor and PUE, rounded to nearest;
 * UINT64_MAX: too large.
 */
uint64_t emission_ng(uint64_t energy_uj, uint64_t ug_per_kwh, uint64_t pue_milli);
/*
 * The inverse: returns the factor in ug per kWh, rounded to nearest. UINT64_MAX: no energy, or PUE
 * is 0.
 */
uint64_t emission_mean_ug(uint64_t co2e_ng, uint64_t energy_uj, uint64_t pue_milli);

#endif
