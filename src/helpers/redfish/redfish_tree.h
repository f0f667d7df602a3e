/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * redfish_tree.h - the systems and chassis of a BMC, and which chassis together are this node.
 *
 * The ComputerSystem is the one that System names, or the only one, or the only one with the node's UUID
 * that is no virtual machine. Systems within a node (a DPU on a card, a virtual machine) are not other nodes:
 * what contains them may be the node's.
 * Chassis are the node's for one of these reasons, the first that yields power:
 * - Chassis names them;
 * - the system links to them (Links.Chassis);
 * - they name the system and no other (Links.ComputerSystems);
 * - they contain such a chassis, the BMC has one system only, and they are no enclosure or rack;
 * - nothing links chassis and systems: the chassis with the system's Id or, of a BMC with one system, the
 *   only outermost chassis that shows power.
 *
 * One chassis is within another if either says so (ContainedBy, Contains) or its path does. Of these, the
 * outermost counts that shows power and is the node's; if a chassis of the node shows none, those within it
 * do. A chassis that belongs to several systems, or contains one that belongs to another, counts only if
 * Chassis names it.
 *
 * What cannot be read is left out and noted. The search fails if the chassis that cannot be read contains
 * one that would count, or if the list of chassis is not whole and the result depends on it.
 */
#ifndef CEEMS_REDFISH_TREE_H
#define CEEMS_REDFISH_TREE_H

#include "src/helpers/redfish/redfish_client.h"
#include "src/helpers/redfish/redfish_json.h"

#define REDFISH_RESOURCES 2
#define REDFISH_NOTES_MAX 24

/* Why chassis are the node's, as above. */
enum redfish_reason {
	REDFISH_BY_NAME,
	REDFISH_BY_LINK,
	REDFISH_BY_SYSTEM,
	REDFISH_AROUND,
	REDFISH_BY_ID,
	REDFISH_BY_GUESS,
};

struct redfish_chassis {
	char path[REDFISH_PATH_MAX];
	char type[24];					    /* ChassisType */
	char within[REDFISH_PATH_MAX];			    /* Links.ContainedBy; empty: none */
	struct redfish_paths contains;			    /* Links.Contains */
	struct redfish_paths systems;			    /* Links.ComputerSystems */
	char resource[REDFISH_RESOURCES][REDFISH_PATH_MAX]; /* by enum redfish_resource; empty: none */
	struct redfish_values values[REDFISH_RESOURCES];    /* when it was found; of the entries that count */
	char why[160];		/* why it or its power is not known; empty: it is */
	bool is_absent;		/* there is no such resource */
	bool is_read;		/* the chassis itself */
	bool is_asked;		/* for its power */
	bool is_inner;		/* not asked: an outer one of many shows power */
	bool is_linked;		/* by the node's system, or it is in Chassis */
	bool names_node;	/* Links.ComputerSystems has the node's system */
	bool is_other;		/* belongs to another system, or contains a chassis that does */
	enum redfish_kind kind; /* what is read of it */
	bool is_used;		/* its power counts */
	size_t depth;		/* how many others it is within; for the order of asking */
	bool is_dropped;	/* while it is decided */
};

/* An entry of PowerControl, for the list. */
struct redfish_control {
	size_t chassis;
	unsigned int index;
	bool is_first; /* the one that number 0 means */
	char name[48];
	struct redfish_values values;
};

struct redfish_tree {
	const struct redfish_conf *conf;
	struct redfish_client *client;
	const char *uuid;
	uint64_t until_ns;     /* CLOCK_MONOTONIC: the search must be over */
	unsigned int timeouts; /* of single resources */
	struct redfish_paths systems;
	struct redfish_paths *system_chassis; /* Links.Chassis of each */
	bool *is_system_part;		      /* by its SystemType, it is a part of a node */
	bool is_system_missing;		      /* one could not be read, or is not listed */
	char system[REDFISH_PATH_MAX];	      /* the node's; empty: there is none */
	struct redfish_chassis *chassis;
	size_t nchassis;
	bool *around;		 /* [inner * nchassis + outer] */
	bool is_chassis_missing; /* the list of chassis is not whole */
	struct redfish_control *control;
	size_t ncontrols;
	enum redfish_reason reason;
	enum redfish_kind kind; /* what is read of all, or of some: the last in the order */
	bool is_incomplete;	/* something that may belong to the node is not known */
	char *notes;		/* lines, each with '\n'; NULL: none */
	size_t nnotes;		/* those above REDFISH_NOTES_MAX are counted only */
};

/* The last part of a path, which is the resource's Id. */
struct redfish_id {
	char text[64];
};
struct redfish_id redfish_id_of(const char *path);

/*
 * Finds the node's system, and reads all chassis but not their power. -ENODEV: the system or a chassis that
 * the configuration names is not there, or the system must be named; other errors are those of
 * redfish_client_get(). CONF, CLIENT and UUID (empty: unknown) are borrowed. Call redfish_tree_destroy() in
 * any case.
 */
int redfish_tree_read(const struct redfish_conf *conf, struct redfish_client *client, const char *uuid,
		      struct redfish_tree *t, struct errmsg *err) _must_check_;
void redfish_tree_destroy(struct redfish_tree *t);

/* The kinds of values that C shows, as bits. */
unsigned int redfish_chassis_kinds(const struct redfish_chassis *c);

/* For redfish_choice.c and redfish_hint.c. */

/* redfish_client_get() within the time that a search may take. */
int redfish_tree_get(struct redfish_tree *t, const char *path, const char **ret_text, size_t *ret_len,
		     struct errmsg *err) _must_check_;
/* Adds a line to t->notes. */
void redfish_tree_note(struct redfish_tree *t, const char *fmt, ...) _printf_(2, 3);
/* Reads what the chassis with index I shows, once. What fails for it alone is kept in its why. */
int redfish_tree_ask(struct redfish_tree *t, size_t i, struct errmsg *err) _must_check_;
/* Whether the chassis with index INNER is within OUTER, at any distance. */
bool redfish_tree_is_in(const struct redfish_tree *t, size_t inner, size_t outer);

#endif
