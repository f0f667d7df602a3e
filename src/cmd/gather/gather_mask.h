/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gather_mask.h - takes names, addresses and serial numbers out of what `ceems gather` puts into an archive.
 */
#ifndef CEEMS_GATHER_MASK_H
#define CEEMS_GATHER_MASK_H

#include <stddef.h>

/*
 * Masks TEXT of LEN bytes in place; its length stays. Masked are
 *	- HOST, the name of the machine (without its domain), and the domain that follows it; "": none;
 *	- MAC, IPv4 and IPv6 addresses, UUIDs, and the GUIDs of InfiniBand;
 *	- the value of a line, or of an object of JSON, whose key names a serial number or something like it
 *	  ("unique_id 123").
 * A letter or digit becomes 'x' in a name, else '0'. Numbers of PCI devices, sockets and zones stay.
 */
void gather_mask(char *text, size_t len, const char *host);

#endif
