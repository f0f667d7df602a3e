/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/sources/redfish_conf.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "src/libutil/kvconf.h"

#define SCHEME "https://"

/* The root of the service only: everything below it is found by its links. */
static int parse_url(const char *value, void *field, const struct kvconf_key *key,
		     struct errmsg *err)
{
	const char *host = value + sizeof(SCHEME) - 1;
	size_t len = strlen(value);
	char *url = field;
	int rc;

	if (strncasecmp(value, SCHEME, sizeof(SCHEME) - 1))
		return errmsg_set(err, -EINVAL, "does not begin with " SCHEME);
	if (len && value[len - 1] == '/')
		len--;
	/* a user in here would be shown wherever the address is */
	if (!isalnum((unsigned char)*host) && *host != '[')
		return errmsg_set(err, -EINVAL, "has no host");
	if (strcspn(host, "/@?# \t") < len - (sizeof(SCHEME) - 1))
		return errmsg_set(err, -EINVAL, "is not " SCHEME "HOST or " SCHEME "HOST:PORT");
	rc = kvconf_text(value, field, key, err);
	if (rc == 0)
		url[len] = '\0';
	return rc;
}

static int parse_ca_file(const char *value, void *field, const struct kvconf_key *key,
			 struct errmsg *err)
{
	if (*value && *value != '/')
		return errmsg_set(err, -EINVAL, "'%s' is not an absolute path", value);
	return kvconf_text(value, field, key, err);
}

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
	KEY("URL", parse_url, url, NULL, "Address of the BMC: https://HOST[:PORT]."),
	KEY("User", kvconf_text, user, "", "Whom to ask as; needs to read only."),
	KEY("Password", kvconf_text, password, "", "The user's password."),
	KEY("CAFile", parse_ca_file, ca_file, "",
	    "Certificates to trust, in PEM: the BMC's own or its issuer's; empty: the system's."),
	KEY("Auth", parse_auth, basic_auth, "session", "session or basic."),
	KEY("Chassis", kvconf_text, chassis, "",
	    "Id of the chassis that is this node; empty: the first with a reading."),
};

static int check_owner(const char *path, struct errmsg *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errmsg_errno(err, -errno, "%s", path);
	if (st.st_uid && st.st_uid != geteuid())
		return errmsg_set(err, -EACCES, "%s: belongs to another user; chown root", path);
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return errmsg_set(err, -EACCES, "%s: others may use it; chmod 0600", path);
	return 0;
}

int redfish_conf_read(const char *path, struct redfish_conf *ret, struct errmsg *err)
{
	struct redfish_conf c = { 0 };
	int rc = check_owner(path, err);

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
