/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/helpers/redfish_conf.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "src/libutil/kvconf.h"
#include "src/libutil/trust.h"

static int parse_auth(const char *value, void *field, const struct kvconf_key *key,
		      struct errmsg *err)
{
	(void)key;
	if (strcasecmp(value, "session") && strcasecmp(value, "basic"))
		return errmsg_set(err, -EINVAL, "'%s' is not session or basic", value);
	*(bool *)field = !strcasecmp(value, "basic");
	return 0;
}

#define KEY(name, parse, member, initial, help)                                          \
	{                                                                                \
		name, parse, offsetof(struct redfish_conf, member),                      \
			sizeof(((struct redfish_conf *)0)->member), initial, help        \
	}

static const struct kvconf_key keys[] = {
	KEY("URL", kvconf_https, url, NULL, "Address of the BMC: https://HOST[:PORT]."),
	KEY("User", kvconf_text, user, "", "Whom to ask as; needs to read only."),
	KEY("Password", kvconf_text, password, "", "The user's password."),
	KEY("CAFile", kvconf_path, ca_file, "",
	    "Certificates to trust, in PEM: the BMC's own or its issuer's; empty: the system's."),
	KEY("Auth", parse_auth, basic_auth, "session", "session or basic."),
	KEY("Chassis", kvconf_text, chassis, "",
	    "Id of the chassis that is this node; empty: the first with a reading."),
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
