/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/helpers/redfish/redfish_conf.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "src/helpers/redfish/redfish_json.h"
#include "src/libcore/settings.h"
#include "src/libutil/items.h"
#include "src/libutil/kvconf.h"
#include "src/libutil/parse.h"
#include "src/libutil/trust.h"

static int parse_auth(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	(void)key;
	if (strcasecmp(value, "session") && strcasecmp(value, "basic"))
		return errmsg_set(err, -EINVAL, "'%s' is not session or basic", value);
	*(bool *)field = !strcasecmp(value, "basic");
	return 0;
}

/* "0,2": entries of an array, as bits. */
static int parse_controls(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	unsigned int bits = 0;
	char item[8];

	(void)key;
	while (items_next(&value, item, sizeof(item))) {
		uint64_t n;

		if (parse_u64(item, &n) < 0 || n >= REDFISH_CONTROLS)
			return errmsg_set(err, -EINVAL, "'%s' is not a number below %d", item,
					  REDFISH_CONTROLS);
		bits |= 1u << n;
	}
	if (!bits)
		return errmsg_set(err, -EINVAL, "is empty");
	*(unsigned int *)field = bits;
	return 0;
}

/*
 * libcurl's form: sha256//, then 32 bytes in base64. A shorter text would be taken for a file's name and
 * ignored by some versions.
 */
static int parse_fingerprint(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t prefix = strlen("sha256//");

	if (*value && (strncmp(value, "sha256//", prefix) || strspn(value + prefix, base64) != 43 ||
		       strcmp(value + prefix + 43, "=") != 0))
		return errmsg_set(err, -EINVAL,
				  "'%s' is not sha256// and 44 characters of base64; see ceems.conf(5)",
				  value);
	return kvconf_text(value, field, key, err);
}

/* "/redfish/v1/Chassis/1/Sensors/total_power#/Reading" */
static int parse_power_at(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	const char *hash = strchr(value, '#');
	char path[REDFISH_PATH_MAX];

	if (*value && (!hash || hash[1] != '/' || (size_t)(hash - value) >= sizeof(path)))
		return errmsg_set(err, -EINVAL, "'%s' is not \"/redfish/PATH#/NAME\", with the quotes",
				  value);
	if (*value) {
		(void)snprintf(path, sizeof(path), "%.*s", (int)(hash - value), value);
		if (redfish_json_check_path(path, NULL) < 0)
			return errmsg_set(err, -EINVAL, "'%s' is not below /redfish/", path);
	}
	return kvconf_text(value, field, key, err);
}

#define KEY(name, parse, member, initial, help)                                   \
	{                                                                         \
		name, parse, offsetof(struct redfish_conf, member),               \
			sizeof(((struct redfish_conf *)0)->member), initial, help \
	}

static const struct kvconf_key keys[] = {
	KEY("URL", kvconf_https, url, NULL, "Address of the BMC: https://HOST[:PORT]."),
	KEY("User", kvconf_text, user, "", "Whom to ask as; needs to read only."),
	KEY("Password", kvconf_text, password, "", "The user's password."),
	KEY("CAFile", kvconf_path, ca_file, "",
	    "Certificates to trust, in PEM: the BMC's own or its issuer's; empty: the system's."),
	KEY("Fingerprint", parse_fingerprint, fingerprint, "",
	    "The SHA-256 of the BMC's public key, which is trusted whatever its certificate says."),
	KEY("Auth", parse_auth, basic_auth, "session", "session or basic."),
	KEY("System", kvconf_text, system, "",
	    "Id of the ComputerSystem that is this node; empty: the only one, or by the node's UUID."),
	KEY("Chassis", kvconf_text, chassis, "",
	    "Ids, by comma, of the chassis that are this node; empty: those that the system links to."),
	KEY("PowerControl", parse_controls, controls, "0",
	    "Which entries of PowerControl are added up, by comma; the first is the whole chassis."),
	KEY("PowerAt", parse_power_at, power_at, "",
	    "Resource and JSON pointer of the node's watts, where the standard's places have none."),
};

int redfish_conf_read(const char *path, struct redfish_conf *ret, struct errmsg *err)
{
	struct redfish_conf c = { 0 };
	int rc = trust_check_private(path, err);

	if (rc == 0)
		rc = kvconf_defaults(keys, ARRAY_SIZE(keys), &c, err);
	if (rc == 0)
		rc = kvconf_read(path, keys, ARRAY_SIZE(keys), &c, err);
	if (rc == 0 && !c.url[0])
		rc = errmsg_set(err, -EINVAL, "%s: URL is missing", path);
	if (rc == 0 && (!c.user[0] || !c.password[0]))
		rc = errmsg_set(err, -EINVAL, "%s: User or Password is missing", path);
	if (rc == 0)
		*ret = c;
	redfish_conf_wipe(&c);
	return rc;
}

void redfish_conf_wipe(struct redfish_conf *c)
{
	explicit_bzero(c, sizeof(*c));
}
