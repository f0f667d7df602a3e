/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_machine.c - which machine of slurm.conf this is: a controller, a compute node, or none of both.
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "src/cmd/check/check.h"
#include "src/cmd/cmd.h"
#include "src/cmd/hostlist.h"

static bool is_loopback_name(const char *host)
{
	return !strcasecmp(host, "localhost") || !strncmp(host, "127.", 4) || !strcmp(host, "::1");
}

/* Returns true if ADDRESS, in numbers, is one of this machine's. A name is not looked up: DNS may hang. */
static bool is_own_address(const char *address)
{
	struct ifaddrs *all = NULL, *a;
	char text[INET6_ADDRSTRLEN];
	bool is_own = false;

	if (getifaddrs(&all) < 0)
		return false;
	for (a = all; a && !is_own; a = a->ifa_next) {
		const void *in = NULL;

		if (a->ifa_addr && a->ifa_addr->sa_family == AF_INET)
			in = &((const struct sockaddr_in *)(const void *)a->ifa_addr)->sin_addr;
		else if (a->ifa_addr && a->ifa_addr->sa_family == AF_INET6)
			in = &((const struct sockaddr_in6 *)(const void *)a->ifa_addr)->sin6_addr;
		is_own = in && inet_ntop(a->ifa_addr->sa_family, in, text, sizeof(text)) &&
			 !strcasecmp(text, address);
	}
	freeifaddrs(all);
	return is_own;
}

/* Returns true if NAME, with or without its domain, is this host. */
static bool is_host_name(const char *name)
{
	char host[256];

	cmd_node_name(host, sizeof(host));
	return *host && !strncasecmp(name, host, strlen(host)) && strchr(".", name[strlen(host)]);
}

/* Returns true if HOST of slurm.conf, such as "ctl1(10.0.0.1)" or "ctl1.example.org", is this machine. */
static bool is_this_host(const char *host)
{
	char name[256], address[256] = "";

	if (sscanf(host, "%255[^(](%255[^)])", name, address) < 1)
		return false;
	return is_loopback_name(name) || is_host_name(name) || is_own_address(name) ||
	       (*address && !is_loopback_name(address) && is_own_address(address));
}

/* Returns the key and the line of slurm.conf that name a controller, this host if there is such a line. */
static bool find_controller(const struct check *c, const char **ret_key, unsigned int *ret_n)
{
	static const char *const keys[] = { "SlurmctldHost", "ControlMachine", "BackupController" };
	const char *host;
	unsigned int n;
	size_t i;

	*ret_key = NULL;
	for (i = 0; c->slurm && i < ARRAY_SIZE(keys); i++)
		for (n = 0; (host = slurmconf_get_nth(c->slurm, keys[i], n)); n++) {
			*ret_key = keys[i];
			*ret_n = n;
			if (is_this_host(host))
				return true;
		}
	return false;
}

bool check_is_controller(const struct check *c)
{
	const char *key;
	unsigned int n;

	return find_controller(c, &key, &n) || !key;
}

/*
 * Finds the line of NodeName that is this host by its NodeHostname, or, with NODE, that names NODE; the
 * first in the file if there are several. Writes the node's name to RET.
 */
static bool find_node(const struct check *c, const char *node, char ret[256], unsigned int *ret_n)
{
	bool is_found = false;
	const char *names;
	char host[256];
	unsigned int n;
	uint64_t i;

	cmd_node_name(host, sizeof(host));
	for (n = 0; c->slurm && (names = slurmconf_get_nth(c->slurm, "NodeName", n)); n++) {
		_cleanup_free_ char *hosts = slurmconf_get_in_line(c->slurm, "NodeName", n, "NodeHostname");
		bool is_here = node ? hostlist_find(names, node, &i) :
				      hostlist_find(hosts ? hosts : names, host, &i) ||
					       (hosts && hostlist_find(hosts, "localhost", &i));

		if (is_here && strcasecmp(names, "DEFAULT") && hostlist_nth(names, i, ret, 256)) {
			*ret_n = n;
			is_found = true;
		}
	}
	return is_found;
}

void check_find_node(struct check *c)
{
	char node[256];
	unsigned int n;

	if (find_node(c, /* node= */ NULL, node, &n))
		(void)snprintf(c->node, sizeof(c->node), "%s", node);
}

void check_machine(struct check *c)
{
	unsigned int ctl_n = 0, node_n = 0, line = 0;
	const char *key, *path;
	char node[256], why_ctl[PATH_MAX], why_node[PATH_MAX];
	bool is_ctl = find_controller(c, &key, &ctl_n);
	bool is_node = find_node(c, c->node, node, &node_n);

	if (!c->slurm)
		return;
	path = key ? slurmconf_where_nth(c->slurm, key, ctl_n, &line) : NULL;
	if (key)
		(void)snprintf(why_ctl, sizeof(why_ctl), "%s=%s in %s:%u", key,
			       slurmconf_get_nth(c->slurm, key, ctl_n), path, line);
	else
		(void)snprintf(why_ctl, sizeof(why_ctl), "slurm.conf has no SlurmctldHost");
	path = slurmconf_where_nth(c->slurm, "NodeName", node_n, &line);
	(void)snprintf(why_node, sizeof(why_node), "NodeName in %s:%u", path ? path : "", line);
	if (is_ctl || !key)
		check_ok(c, "machine", "this is a controller (%s)%s%s%s%s%s", why_ctl,
			 is_node ? " and the compute node " : "", is_node ? c->node : "", is_node ? " (" : "",
			 is_node ? why_node : "", is_node ? ")" : "");
	else if (is_node)
		check_ok(c, "machine", "this is the compute node %s (%s), not a controller (%s)", c->node,
			 why_node, why_ctl);
	else
		check_ok(c, "machine",
			 "this is a login node: slurm.conf has no NodeName %s, and its controller is "
			 "elsewhere (%s)",
			 c->node, why_ctl);
}
