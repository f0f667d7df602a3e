/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * apportion.h - divides a whole number by weights so that the parts add up to it.
 */
#ifndef CEEMS_APPORTION_H
#define CEEMS_APPORTION_H

#include <stddef.h>
#include <stdint.h>

/*
 * Shares TOTAL by WEIGHT[n] in whole units with the largest remainder method (Hamilton). Ties go to
 * the lower index. Then sum(share) == total and |share - exact| < 1. With all weights 0 every share
 * is 0 and TOTAL is returned; else 0. Weights that add up to more than 64 bits lose their lowest
 * ones.
 */
uint64_t apportion(uint64_t total, const uint64_t *weight, size_t n, uint64_t *share);

#endif
