/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * idle_told_node.h - what slurmstepd tells of a step's account. Apart from test_idle_told.c, since ledger.h
 * and jobs_group.h have names in common.
 */
#ifndef CEEMS_TEST_IDLE_TOLD_NODE_H
#define CEEMS_TEST_IDLE_TOLD_NODE_H

#include "src/libcore/metric.h"
#include "src/libledger/account.h"

/* Sets F to the energy of account A, on a node whose sensors are all gone by now. */
void idle_told_node(const struct account *a, struct values *f);

#endif
