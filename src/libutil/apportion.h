/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * apportion.h - divides a whole number by weights so that the shares add up to that number.
 */
#ifndef CEEMS_APPORTION_H
#define CEEMS_APPORTION_H

#include <stddef.h>
#include <stdint.h>

/*
 * Divides TOTAL into SHARE[n] by WEIGHT[n], in whole units, with the largest remainder method
 * (Hamilton). Of two equal remainders the lower index gets the unit. Each share differs from the
 * exact share by less than 1, and the shares add up to TOTAL. Returns what was not shared: 0, or
 * TOTAL if all weights are 0 (all shares are then 0). If the sum of the weights needs more than 64
 * bits, the lowest bits of each weight are ignored.
 */
uint64_t apportion(uint64_t total, const uint64_t *weight, size_t n, uint64_t *share);

#endif
