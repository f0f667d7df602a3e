/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* strcasestr */
#include "src/helpers/redfish/redfish_client.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "src/libhttps/curl_compat.h"
#include "src/libhttps/https.h"
#include "src/helpers/redfish/redfish_json.h"

/* Where a service root that does not say it has its sessions. */
#define SESSIONS "/redfish/v1/SessionService/Sessions"

#define CONNECT_MS 5000L
#define TOTAL_MS 10000L
#define LOGOUT_MS 500L
#define POLL_MS 1000

/* A redirect to the same address with a '/' at its end, or without, is common. */
#define REDIRECTS_MAX 3

struct redfish_client {
	const struct redfish_conf *conf;
	redfish_client_heard *heard;
	int stop_fd; /* -1: saying good-bye, which is not interrupted */
	CURL *easy;
	CURLM *multi;
	long timeout_ms;
	bool is_login; /* the answer has a new session */
	char why[CURL_ERROR_SIZE];
	char token[256];		 /* of the session; empty: there is none */
	char sessions[REDFISH_PATH_MAX]; /* where one is opened; empty: not known yet */
	char session[REDFISH_PATH_MAX];	 /* where it is ended */
	char location[512];		 /* of the last answer; empty: it names none */
	struct https_body body;
	char answer[REDFISH_ANSWER_MAX + 1];
};

/* --- one transfer ------------------------------------------------------------------------- */

/* "NAME: value\r\n" into BUF, if the line is that one and fits. */
static void take_header(const char *line, size_t len, const char *name, char *buf, size_t size)
{
	size_t skip = strlen(name);

	if (len <= skip || strncasecmp(line, name, skip) || line[skip] != ':')
		return;
	for (skip++; skip < len && (line[skip] == ' ' || line[skip] == '\t'); skip++)
		;
	while (len > skip && (unsigned char)line[len - 1] <= ' ')
		len--;
	if (len - skip >= size)
		return;
	memcpy(buf, line + skip, len - skip);
	buf[len - skip] = '\0';
}

static size_t on_header(char *line, size_t size, size_t n, void *ctx)
{
	struct redfish_client *c = ctx;

	if (c->is_login)
		take_header(line, n * size, "X-Auth-Token", c->token, sizeof(c->token));
	take_header(line, n * size, "Location", c->location, sizeof(c->location));
	return n * size;
}

/* Runs until the transfer is done or stop_fd is readable. */
static int client_run(struct redfish_client *c, CURLcode *ret)
{
	struct curl_waitfd stop = { .fd = c->stop_fd, .events = CURL_WAIT_POLLIN };
	int running = 1;
	int queued;
	CURLMsg *m;

	while (curl_multi_perform(c->multi, &running) == CURLM_OK && running) {
		if (curl_compat_poll(c->multi, &stop, c->stop_fd >= 0, POLL_MS) != CURLM_OK)
			return -EIO;
		if (stop.revents)
			return -ECANCELED;
	}
	m = curl_multi_info_read(c->multi, &queued);
	if (running || !m || m->msg != CURLMSG_DONE)
		return -EIO;
	*ret = m->data.result;
	return 0;
}

/*
 * What helps against the failure. OpenSSL and GnuTLS have other words for the causes than their codes tell.
 */
static const char *transfer_hint(const struct redfish_client *c, CURLcode code, int rc)
{
	if (code == CURLE_SSL_PINNEDPUBKEYNOTMATCH)
		return ": the BMC has another key than Fingerprint says: is it new, or another host?";
	if (rc == -ETIMEDOUT)
		return ": is URL the BMC's address, and open to this node?";
	if (rc != -EACCES)
		return "";
	if (code == CURLE_SSL_CACERT_BADFILE)
		return ": CAFile must have the BMC's certificate or its issuer's";
	if (strcasestr(c->why, "expired") || strcasestr(c->why, "not yet valid"))
		return ": give the BMC a new certificate or the right time, or trust its key by Fingerprint";
	if (strcasestr(c->why, "host name") || strcasestr(c->why, "subject name"))
		return ": URL must have the certificate's name of the BMC, or trust its key by Fingerprint";
	if (strcasestr(c->why, "too weak") || strcasestr(c->why, "too small"))
		return ": give the BMC a certificate of 2048 bits, or trust its key by Fingerprint";
	return ": CAFile must have the BMC's certificate or its issuer's, or trust its key by Fingerprint";
}

static int client_transfer(struct redfish_client *c, struct errmsg *err)
{
	CURLcode code = CURLE_OK;
	struct errmsg why = { 0 };
	int rc;

	if (curl_multi_add_handle(c->multi, c->easy) != CURLM_OK)
		return errmsg_set(err, -ENOMEM, "%s: out of memory", c->conf->url);
	rc = client_run(c, &code);
	(void)curl_multi_remove_handle(c->multi, c->easy);
	if (rc < 0)
		return errmsg_errno(err, rc, "%s", c->conf->url);
	rc = https_result(code, c->conf->url, c->why, &c->body, &why);
	if (rc < 0)
		(void)errmsg_set(err, code == CURLE_SSL_PINNEDPUBKEYNOTMATCH ? -EACCES : rc, "%s%s", why.text,
				 transfer_hint(c, code, rc));
	return code == CURLE_SSL_PINNEDPUBKEYNOTMATCH ? -EACCES : rc;
}

/*
 * METHOD on PATH with BODY (NULL: none), which is borrowed. *ret_status: HTTP's. Options of the
 * transfer before are gone, the connection is not.
 */
static int client_request(struct redfish_client *c, const char *method, const char *path, const char *body,
			  long *ret_status, struct errmsg *err)
{
	char url[sizeof(c->conf->url) + REDFISH_PATH_MAX];
	char auth[sizeof(c->token) + sizeof("X-Auth-Token: ")];
	const struct https_options options = {
		.url = url,
		.ca_file = c->conf->ca_file,
		.proxy = "",
		.connect_ms = CONNECT_MS,
		.total_ms = c->timeout_ms,
	};
	struct curl_slist *headers = NULL;
	CURL *e = c->easy;
	int rc;

	(void)snprintf(url, sizeof(url), "%s%s", c->conf->url, path);
	(void)snprintf(auth, sizeof(auth), "X-Auth-Token: %s", c->token);
	headers = curl_slist_append(NULL, "Accept: application/json");
	if (headers && body)
		(void)curl_slist_append(headers, "Content-Type: application/json");
	if (headers && c->token[0])
		(void)curl_slist_append(headers, auth);
	curl_easy_reset(e);
	https_prepare(e, &options, &c->body, c->why);
	/* The key tells enough: name, date and issuer do not matter. A libcurl without pins checks them. */
	if (c->conf->fingerprint[0] &&
	    curl_easy_setopt(e, CURLOPT_PINNEDPUBLICKEY, c->conf->fingerprint) == CURLE_OK) {
		(void)curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 0L);
		(void)curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	(void)curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, method);
	(void)curl_easy_setopt(e, CURLOPT_HTTPHEADER, headers);
	if (body)
		(void)curl_easy_setopt(e, CURLOPT_POSTFIELDS, body);
	if (c->conf->basic_auth) {
		(void)curl_easy_setopt(e, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		(void)curl_easy_setopt(e, CURLOPT_USERNAME, c->conf->user);
		(void)curl_easy_setopt(e, CURLOPT_PASSWORD, c->conf->password);
	}
	(void)curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(e, CURLOPT_HEADERDATA, c);
	c->is_login = !strcmp(method, "POST");
	c->location[0] = '\0';
	rc = client_transfer(c, err);
	if (rc == 0)
		(void)curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, ret_status);
	curl_easy_reset(e); /* lets go of what is on this stack, and of the password */
	curl_slist_free_all(headers);
	explicit_bzero(auth, sizeof(auth));
	return rc;
}

/* The path on this host to which Location leads; false: it leads elsewhere. */
static bool location_path(const struct redfish_client *c, char *ret, size_t size)
{
	const char *path = c->location;
	size_t url_len = strlen(c->conf->url);

	if (!strncasecmp(path, c->conf->url, url_len)) {
		path += url_len;
		path += !strncmp(path, ":443/", 5) ? 4 : 0;
	}
	if (redfish_json_check_path(path, NULL) < 0 || strlen(path) >= size)
		return false;
	(void)snprintf(ret, size, "%s", path);
	return true;
}

/* Like client_request(), but follows redirects on the same host. */
static int client_exchange(struct redfish_client *c, const char *method, const char *path, const char *body,
			   long *ret_status, struct errmsg *err)
{
	char at[REDFISH_PATH_MAX];
	unsigned int hops;
	int rc;

	(void)snprintf(at, sizeof(at), "%s", path);
	for (hops = 0;; hops++) {
		rc = client_request(c, method, at, body, ret_status, err);
		if (rc < 0 || *ret_status < 301 || *ret_status > 308 || *ret_status == 304 ||
		    hops == REDIRECTS_MAX || !location_path(c, at, sizeof(at)))
			return rc;
	}
}

static int status_to_errno(const struct redfish_client *c, const char *path, long status, struct errmsg *err)
{
	if (status >= 200 && status < 300)
		return 0;
	if (status == 401 || status == 403)
		return errmsg_set(
			err, status == 401 ? -EACCES : -EPERM,
			"%s%s: user %s may not read it (HTTP %ld): give the user the BMC's role ReadOnly; "
			"with Auth=basic, check Password, too",
			c->conf->url, path, c->conf->user, status);
	if (status >= 300 && status < 400)
		return errmsg_set(
			err, -EREMOTEIO,
			"%s%s: HTTP %ld is not followed: it leads to another host or in a circle; is "
			"URL the BMC's own?",
			c->conf->url, path, status);
	return errmsg_set(err, status == 404 ? -ENOENT : -EREMOTEIO, "%s%s: HTTP %ld", c->conf->url, path,
			  status);
}

/* --- the session -------------------------------------------------------------------------- */

/* A JSON text from *P on, which has six bytes for each of S. Not jansson: its copies stay. */
static void put_quoted(char **p, const char *s)
{
	char *out = *p;

	*out++ = '"';
	for (; *s; s++) {
		if ((unsigned char)*s < ' ' || *s == '"' || *s == '\\')
			out += snprintf(out, sizeof("\\u0000"), "\\u%04x", (unsigned int)*s);
		else
			*out++ = *s;
	}
	*out++ = '"';
	*p = out;
}

static void put_text(char **p, const char *s)
{
	size_t len = strlen(s);

	memcpy(*p, s, len);
	*p += len;
}

/* The answer names it by its path, some BMCs by their whole address. */
static void find_session(struct redfish_client *c)
{
	const char *path = strstr(c->location, "/redfish/");

	c->session[0] = '\0';
	if (path && redfish_json_check_path(path, NULL) == 0)
		(void)snprintf(c->session, sizeof(c->session), "%s", path);
}

/*
 * The service root is open to all (DSP0266). One that asks who we are, or that has no such link, has its
 * sessions where most have them.
 */
static int client_find_sessions(struct redfish_client *c, struct errmsg *err)
{
	struct errmsg why = { 0 };
	long status = 0;
	int rc = client_exchange(c, "GET", REDFISH_ROOT, NULL, &status, err);

	if (rc < 0)
		return rc;
	if (status != 401 && status != 403) {
		rc = status_to_errno(c, REDFISH_ROOT, status, err);
		if (rc < 0)
			return rc;
		rc = redfish_json_link(c->answer, c->body.len, "Links.Sessions", c->sessions,
				       sizeof(c->sessions), &why);
		if (rc == 0)
			return 0;
		if (rc != -ENOENT)
			return errmsg_set(err, rc, "%s" REDFISH_ROOT ": Links.Sessions: %s", c->conf->url,
					  why.text);
	}
	(void)snprintf(c->sessions, sizeof(c->sessions), "%s", SESSIONS);
	return 0;
}

static int login_to_errno(const struct redfish_client *c, long status, struct errmsg *err)
{
	switch (status) {
	case 400:
	case 401:
	case 403:
		return errmsg_set(
			err, -EACCES,
			"%s%s: login of user %s is refused (HTTP %ld): check User, Password and whether "
			"the account is locked",
			c->conf->url, c->sessions, c->conf->user, status);
	case 404:
	case 405:
		return errmsg_set(err, -ENOENT, "%s%s: opens no session (HTTP %ld): try Auth=basic",
				  c->conf->url, c->sessions, status);
	case 503:
		return errmsg_set(
			err, -EIO,
			"%s%s: has no room for a session (HTTP 503): end some on the BMC, or Auth=basic",
			c->conf->url, c->sessions);
	default:
		return status_to_errno(c, c->sessions, status, err);
	}
}

static int client_login(struct redfish_client *c, struct errmsg *err)
{
	char body[64 + 6 * (sizeof(c->conf->user) + sizeof(c->conf->password))];
	char *end = body;
	long status = 0;
	int rc = c->sessions[0] ? 0 : client_find_sessions(c, err);

	if (rc < 0)
		return rc;
	put_text(&end, "{\"UserName\":");
	put_quoted(&end, c->conf->user);
	put_text(&end, ",\"Password\":");
	put_quoted(&end, c->conf->password);
	put_text(&end, "}");
	*end = '\0';
	rc = client_exchange(c, "POST", c->sessions, body, &status, err);
	explicit_bzero(body, sizeof(body));
	if (rc == 0)
		rc = login_to_errno(c, status, err);
	if (rc == -ENOENT)
		c->sessions[0] = '\0'; /* it may be elsewhere after an update of the firmware */
	if (rc == 0 && !c->token[0])
		rc = errmsg_set(err, -EIO, "%s%s: a session without X-Auth-Token: try Auth=basic",
				c->conf->url, c->sessions);
	if (rc < 0)
		c->token[0] = '\0';
	find_session(c);
	return rc;
}

static void client_logout(struct redfish_client *c)
{
	long status;

	if (!c->token[0] || !c->session[0])
		return;
	c->stop_fd = -1;
	c->timeout_ms = LOGOUT_MS;
	(void)client_request(c, "DELETE", c->session, NULL, &status, NULL);
}

int redfish_client_get(struct redfish_client *c, const char *path, const char **ret_text, size_t *ret_len,
		       struct errmsg *err)
{
	bool had_session = c->token[0];
	long status = 0;
	int rc = 0;

	if (!c->conf->basic_auth && !had_session)
		rc = client_login(c, err);
	if (rc == 0)
		rc = client_exchange(c, "GET", path, NULL, &status, err);
	if (rc == 0 && status == 401 && had_session) { /* it was idle for too long */
		c->token[0] = '\0';
		rc = client_login(c, err);
		if (rc == 0)
			rc = client_exchange(c, "GET", path, NULL, &status, err);
	}
	if (rc == 0 && c->heard)
		c->heard(path, status, c->answer, c->body.len);
	if (rc == 0)
		rc = status_to_errno(c, path, status, err);
	if (rc < 0)
		return rc;
	*ret_text = c->answer;
	*ret_len = c->body.len;
	return 0;
}

void redfish_client_listen(struct redfish_client *c, redfish_client_heard *heard)
{
	c->heard = heard;
}

/* --- its life ----------------------------------------------------------------------------- */

int redfish_client_create(const struct redfish_conf *conf, int stop_fd, struct redfish_client **ret,
			  struct errmsg *err)
{
	struct redfish_client *c = calloc(1, sizeof(*c));

	if (!c)
		return errmsg_errno(err, -ENOMEM, "%s", conf->url);
	c->conf = conf;
	c->stop_fd = stop_fd;
	c->timeout_ms = TOTAL_MS;
	c->body = (struct https_body){ .text = c->answer, .size = sizeof(c->answer) };
	c->easy = curl_easy_init();
	c->multi = curl_multi_init();
	if (!c->easy || !c->multi) {
		redfish_client_destroy(c);
		return errmsg_errno(err, -ENOMEM, "%s", conf->url);
	}
	*ret = c;
	return 0;
}

void redfish_client_destroy(struct redfish_client *c)
{
	if (!c)
		return;
	if (c->easy && c->multi)
		client_logout(c);
	curl_easy_cleanup(c->easy);
	(void)curl_multi_cleanup(c->multi);
	explicit_bzero(c, sizeof(*c));
	free(c);
}
