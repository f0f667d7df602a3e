/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recorder_defaults.c - nodes that charge their jobs with the world mean although this ceems.conf has the
 * site's emission factor. Slurm does not send ceems.conf to nodes (configless or not), so such a node
 * lacks it.
 */
#include "recorder/recorder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/libutil/logger.h"

#define SAY_AGAIN_S (24 * 3600u)
#define SAVE_AGAIN_S 600u

int recorder_defaults_load(struct recorder *r, struct errmsg *err)
{
	char text[STORE_DEFAULT_NODES_MAX + 1];
	size_t len = 0;
	struct default_node d = { 0 };
	const char *line = text;
	int n;
	int rc = store_meta_get(r->store, STORE_META_DEFAULT_NODES, text, sizeof(text) - 1, &len, err);

	if (rc <= 0)
		return rc;
	text[len] = '\0';
	for (r->defaults.n = 0; r->defaults.n < RECORDER_DEFAULT_NODES &&
				sscanf(line, STORE_DEFAULT_NODES_LINE, &d.seen_s, d.nodes, &n) == 2;
	     line += n)
		r->defaults.node[r->defaults.n++] = d;
	return 0;
}

static int defaults_save(struct recorder *r, struct errmsg *err)
{
	char text[STORE_DEFAULT_NODES_MAX];
	size_t used = 0;
	size_t i;

	for (i = 0; i < r->defaults.n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%" PRIu64 " %s\n",
					 r->defaults.node[i].seen_s, r->defaults.node[i].nodes);
	r->defaults.saved_s = r->wall_s();
	return store_meta_set(r->store, STORE_META_DEFAULT_NODES, text, used, err);
}

/* Returns the place of NODES; of a new one, a free place, or that of the nodes not seen for longest. */
static struct default_node *defaults_find(struct recorder *r, const char *nodes)
{
	struct default_node *oldest = &r->defaults.node[0];
	size_t i;

	for (i = 0; i < r->defaults.n; i++) {
		struct default_node *d = &r->defaults.node[i];

		if (!strcmp(d->nodes, nodes))
			return d;
		if (d->seen_s < oldest->seen_s)
			oldest = d;
	}
	if (r->defaults.n < RECORDER_DEFAULT_NODES)
		oldest = &r->defaults.node[r->defaults.n++];
	*oldest = (struct default_node){ 0 };
	(void)snprintf(oldest->nodes, sizeof(oldest->nodes), "%s", nodes);
	return oldest;
}

int recorder_defaults_saw(struct recorder *r, const char *nodes, struct errmsg *err)
{
	struct default_node *d = defaults_find(r, nodes);
	uint64_t now_s = r->wall_s();
	bool is_new = !d->seen_s;

	r->defaults.records++;
	d->seen_s = now_s;
	if (now_s >= d->said_s + SAY_AGAIN_S) {
		d->said_s = now_s;
		logger_error(
			"ceems: %s: no emission factor there, so the node charged the world mean; records "
			"have the factor of %s, sacct does not. Copy ceems.conf to the node and restart "
			"slurmd",
			d->nodes, r->factors.chain.fixed.region);
	}
	if (!is_new && now_s < r->defaults.saved_s + SAVE_AGAIN_S)
		return 0;
	return defaults_save(r, err);
}
