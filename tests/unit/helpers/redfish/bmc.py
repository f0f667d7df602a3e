#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A BMC for test_redfish: bmc.py DIR, with DIR/cert.pem and DIR/key.pem. Prints its port.

How it behaves is what DIR/mode says at each request: words, of which each switches one trouble on.
DIR/values.json has the resources' numbers. DIR/log gets a line for each request. Ends with its
standard input, so that it does not outlive the test.
"""

import base64
import http.server
import json
import os
import ssl
import sys
import threading
import time

DIR = sys.argv[1]
USER, PASSWORD = "ceems", "hunter2\\ #x"
V1 = "/redfish/v1"
tokens = {}
lock = threading.Lock()


def read(name, default=""):
    try:
        with open(os.path.join(DIR, name), encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        return default


def link(path):
    return {"@odata.id": path}


def sessions(mode):
    """Where sessions are opened: in "moved", not where most have it."""
    return f"{V1}/Managers/BMC/Sessions" if "moved" in mode else f"{V1}/SessionService/Sessions"


def resources(mode):
    """What there is: DIR/tree.json, if it is there, replaces all of it but the service root's links."""
    values = json.loads(read("values.json", "{}"))
    root = {"Chassis": link("https://elsewhere/" if "elsewhere" in mode else f"{V1}/Chassis"),
            "Links": {"Sessions": link(sessions(mode))}}
    if "unlinked" in mode:
        del root["Links"]
    tree = read("tree.json")
    if tree:
        return {f"{V1}/": {**root, "Systems": link(f"{V1}/Systems")}, **json.loads(tree)}
    chassis = {"Id": "Node", "Power": link(f"{V1}/Chassis/Node/Power")}
    if "environment" in mode:
        chassis["EnvironmentMetrics"] = link(f"{V1}/Chassis/Node/EnvironmentMetrics")
    return {
        f"{V1}/": root,
        f"{V1}/Chassis": {"Members": [link(f"{V1}/Chassis/Riser"), link(f"{V1}/Chassis/Node")]},
        f"{V1}/Chassis/Riser": {"Id": "Riser"},
        f"{V1}/Chassis/Node": chassis,
        f"{V1}/Chassis/Node/Power": {"PowerControl": [values, {"Name": "CPUs",
                                                               "PowerConsumedWatts": 7}]},
        f"{V1}/Chassis/Node/EnvironmentMetrics": values,
    }


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def note(self, what):
        with lock, open(os.path.join(DIR, "log"), "a", encoding="utf-8") as f:
            f.write(what + "\n")

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def hop(self, mode):
        """In "slash", leads to the same address with a '/' at its end; in "circle", to itself."""
        host = self.headers.get("Host")
        if "slash" in mode and not self.path.endswith("/"):
            where = self.path + "/" if self.command == "POST" else f"https://{host}{self.path}/"
            self.answer(308, b"", [("Location", where)])
        elif "circle" in mode and self.path != f"{V1}/":
            self.answer(301, b"", [("Location", self.path)])
        else:
            return False
        return True

    def may(self, mode):
        if "refuse" in mode:
            return False
        with lock:
            if "expire" in mode:
                tokens.clear()
                with open(os.path.join(DIR, "mode"), "w", encoding="utf-8") as f:
                    f.write(" ".join(w for w in mode if w != "expire"))
            if self.headers.get("X-Auth-Token") in tokens:
                return True
        basic = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        return "basic" in mode and self.headers.get("Authorization") == f"Basic {basic}"

    def do_POST(self):
        mode = read("mode").split()
        self.note("POST " + self.path)
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        if "limit" in mode:
            return self.answer(503, b'{"error":{"code":"Base.1.0.SessionLimitExceeded"}}')
        if self.hop(mode):
            return None
        if self.path.rstrip("/") != sessions(mode) or "sessionless" in mode:
            return self.answer(404)
        if "refuse" in mode or body != {"UserName": USER, "Password": PASSWORD}:
            return self.answer(401)
        with lock:
            token = "token-%d" % (len(tokens) + int(time.time() * 1e6))
            path = f"{sessions(mode)}/{len(tokens)}"
            tokens[token] = path
        headers = [("X-Auth-Token", token), ("Location", path)]
        return self.answer(201, b"{}", headers)

    def do_DELETE(self):
        self.note("DELETE " + self.path)
        with lock:
            tokens.pop(self.headers.get("X-Auth-Token"), None)
        self.answer(204)

    def do_GET(self):
        mode = read("mode").split()
        self.note("GET " + self.path)
        if not (self.path == f"{V1}/" and "closed" not in mode) and not self.may(mode):
            return self.answer(401)
        if "forbid" in mode and self.path != f"{V1}/":
            return self.answer(403)
        if self.hop(mode):
            return None
        if "hang" in mode:
            time.sleep(60)
        if "drip" in mode:
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            for _ in range(600):
                self.wfile.write(b" ")
                time.sleep(0.1)
        if "error" in mode:
            return self.answer(500, b"<html>Internal error</html>")
        if "redirect" in mode:
            return self.answer(302, b"", [("Location", "https://127.0.0.2/redfish/v1/")])
        if "html" in mode:
            return self.answer(200, b"<html><body>Please log in</body></html>")
        if "huge" in mode:
            return self.answer(200, b'{"x":"' + b"y" * 1000000 + b'"}')
        found = resources(mode).get(self.path if self.path == f"{V1}/" else self.path.rstrip("/"))
        if found is None:
            return self.answer(404)
        body = json.dumps(found).encode()
        if "raw" in mode and self.path.endswith(("/Power", "/EnvironmentMetrics")):
            body = read("raw").encode()
        return self.answer(200, body, [("Content-Type", "application/json")])


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # a client that hangs up in the middle is part of the test


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(DIR, "cert.pem"), os.path.join(DIR, "key.pem"))
    server = Server(("127.0.0.1", 0), Handler)
    # the handshake is its thread's: one that hangs holds up no other
    server.socket = context.wrap_socket(server.socket, server_side=True,
                                        do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


main()
