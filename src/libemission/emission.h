/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * emission.h - carbon intensity of electricity and what it makes of a joule. Static yearly means
 * per country (table emission-factors.csv: iso2,iso3,year,gco2e_per_kwh,country).
 */
#ifndef CEEMS_EMISSION_H
#define CEEMS_EMISSION_H

#include <stdint.h>

#include "src/libcore/settings.h"
#include "src/libutil/errmsg.h"

/*
 * World mean, for "no country configured"; always labelled kind "default". Source: IEA, Global Energy
 * & CO2 Status Report 2018 (2019): 475 gCO2/kWh in 2018, of combustion.
 */
#define EMISSION_WORLD_YEAR 2018
#define EMISSION_WORLD_MG_PER_KWH UINT64_C(475000)

enum emission_kind {
	EMISSION_AVERAGE,  /* of the region's mix at that time */
	EMISSION_MARGINAL, /* of what another kWh at that time would come from */
	EMISSION_STATIC,   /* yearly mean of a country */
	EMISSION_DEFAULT,  /* world mean, because no country is configured */
	EMISSION_KIND_N
};
const char *emission_kind_name(enum emission_kind kind); /* "average", ... */
/* -EINVAL: none of them. */
int emission_kind_of(const char *name, enum emission_kind *ret);

enum emission_scope {
	EMISSION_LIFE_CYCLE, /* with plants being built, fuel being mined and transported */
	EMISSION_DIRECT,     /* of combustion only */
	EMISSION_SCOPE_N
};
const char *emission_scope_name(enum emission_scope scope); /* "life-cycle", "direct" */
int emission_scope_of(const char *name, enum emission_scope *ret);

struct emission_factor {
	uint64_t mg_per_kwh; /* gCO2e/kWh in thousandths */
	uint32_t year;	     /* 0: not of one year */
	enum emission_kind kind;
	enum emission_scope scope;
	char region[24];     /* ISO alpha-2 or the grid zone of a provider, "" for the world */
	char source[64];     /* whom to cite */
};

/* The table installed with the plugins: what an empty EmissionFactorFile means. */
const char *emission_default_file(void);

/*
 * Looks COUNTRY (alpha-2 or alpha-3, any case) up in the table at PATH. An empty COUNTRY gives the
 * world's mean, without reading PATH. -ENOENT: no such file or country. -EINVAL: a bad row, named
 * by file and line.
 */
int emission_lookup(const char *path, const char *country, struct emission_factor *ret,
		    struct errmsg *err);

/* The world mean, as for an empty COUNTRY. */
void emission_world(struct emission_factor *ret);

/*
 * Every row of the table at PATH to EACH, in order, until that fails; its return value then. Errors
 * else as of emission_lookup().
 */
int emission_foreach(const char *path,
		     int (*each)(void *ctx, const struct emission_factor *f, const char *iso3,
				 struct errmsg *err),
		     void *ctx, struct errmsg *err);

#define EMISSION_UG_PER_MG 1000

/* ng CO2e of ENERGY_UJ at that factor and PUE, rounded to nearest; 128-bit inside. */
uint64_t emission_ng(uint64_t energy_uj, uint64_t ug_per_kwh, uint64_t pue_milli);
/* The inverse: ug per kWh, rounded to nearest; UINT64_MAX: no energy, or PUE 0. */
uint64_t emission_mean_ug(uint64_t co2e_ng, uint64_t energy_uj, uint64_t pue_milli);

#endif
