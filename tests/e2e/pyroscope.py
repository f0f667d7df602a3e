#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pyroscope.py DIR [CERT KEY]: a server with Pyroscope's POST /ingest, on a free port, which it writes to DIR/port. With a
certificate it speaks HTTPS only.

It answers with the HTTP status in DIR/status. Of what it takes, DIR/log has a line "SERVICE LABELS FROM UNTIL", and DIR/N.pb.gz
is the body. A request that the API does not allow gets 400 and a line "bad WHY". DIR/tokens has the header Authorization of
each request.
"""
import http.server
import os
import re
import ssl
import sys
import urllib.parse

top = sys.argv[1]


def read(name):
    with open(os.path.join(top, name)) as f:
        return f.read().strip()


class Handler(http.server.BaseHTTPRequestHandler):
    count = 0

    def log_message(self, *args):
        pass

    def why_bad(self, url, query, body):
        if url.path != "/ingest":
            return "path " + url.path
        if query.get("format") != "pprof" or body[:2] != b"\x1f\x8b":
            return "format"
        if not re.fullmatch(r"[\w.-]+\{(\w+=[\w.-]*,)*\w+=[\w.-]*\}", query.get("name", "")):
            return "name " + query.get("name", "")
        if not query.get("from", "").isdigit() or not query.get("until", "").isdigit():
            return "time"
        return "" if int(query["from"]) <= int(query["until"]) else "order of times"

    def do_POST(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if "Authorization" in self.headers:
            with open(os.path.join(top, "tokens"), "a") as f:
                f.write(self.headers["Authorization"] + "\n")
        status = int(read("status"))
        if status == 200:
            bad = self.why_bad(url, query, body)
            if bad:
                status, line = 400, "bad " + bad
            else:
                Handler.count += 1
                with open(os.path.join(top, "%d.pb.gz" % Handler.count), "wb") as f:
                    f.write(body)
                line = "%s %s %s" % (query["name"].replace("{", " "), query["from"], query["until"])
            with open(os.path.join(top, "log"), "a") as f:
                f.write(line + "\n")
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
with open(os.path.join(top, "port.new"), "w") as f:
    f.write("%d\n" % server.server_address[1])
os.rename(os.path.join(top, "port.new"), os.path.join(top, "port"))
server.serve_forever()
