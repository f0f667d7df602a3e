#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Providers of emission factors, for factors.py: HTTPS servers with good and bad certificates.

The answers are made after what the providers document (src/factors/prov_*.c say where), and broken
in every way that we could think of: trouble names one at a time.
"""

import base64
import http.server
import json
import socket
import ssl
import subprocess
import threading
import time
import urllib.parse
from datetime import datetime, timezone

NOW = int(time.time()) // 1800 * 1800  # all answers are about the time before
TOKEN, USER, PASSWORD, BEARER = "s3cret-token", "ceems", "s3cret-pass word", "s3cret-bearer"
PATIENCE = 60

ports = {}  # of the servers, by the name of their certificate
stop = threading.Event()


def utc(t, form="%Y-%m-%dT%H:%M:%SZ"):
    return datetime.fromtimestamp(t, timezone.utc).strftime(form)


log = []  # what was asked for: (provider, path)
trouble = {}  # provider: what is wrong with it; gone once it happened if it ends with "once"
values = {}  # provider: what it says, oldest first, None: not known; the last one ends at NOW


def shifted(name, length):
    """When the points of NAME begin."""
    t = [NOW - length * (len(values[name]) - i) for i in range(len(values[name]))]
    if trouble.get(name) == "future":
        t = [x + 40 * 86400 for x in t]
    if trouble.get(name) == "backwards":
        t[-1], t[-2] = t[-2], t[-1]
    return t


def mangle(name, rows, other):
    """ROWS with one that is odd; OTHER makes another value of a row."""
    odd = {"doubled": lambda r: r, "contradicts": other, "no-object": lambda _r: None}
    what = trouble.get(name)
    if what in odd:
        rows.insert(2, odd[what](rows[1]))
    return rows


def rte(_path, _query):
    rows = [
        {"date_heure": utc(t, "%Y-%m-%dT%H:%M:%S+00:00"), "perimetre": "France", "taux_co2": v}
        for t, v in zip(shifted("rte", 900), values["rte"])
    ]
    for row in rows[:{"zone": 1, "zones": None}.get(trouble.get("rte"), 0)]:
        row["perimetre"] = "Bretagne"
    rows = mangle("rte", rows, lambda r: dict(r, taux_co2=r["taux_co2"] + 1))
    return {"total_count": len(rows), "results": rows[::-1]}


def uk(path, _query):
    hours = [
        {"from": utc(t, "%Y-%m-%dT%H:%MZ"), "to": utc(t + 1800, "%Y-%m-%dT%H:%MZ"),
         "intensity": {"forecast": v[1], "actual": v[0], "index": "low"}}
        for t, v in zip(shifted("uk", 1800), values["uk"])
    ]
    if path.startswith("/regional"):
        region = 12 if trouble.get("uk") == "zone" else int(path.rsplit("/", 1)[1])
        return {"data": {"regionid": region, "shortname": "London", "data": hours}}
    if trouble.get("uk") == "forecast":  # of an hour that is known
        hours.insert(0, dict(hours[0], intensity={"forecast": 77, "actual": None}))
    if trouble.get("uk") == "long":
        hours[0]["to"] = utc(NOW, "%Y-%m-%dT%H:%MZ")
    return {"data": mangle("uk", hours, lambda r: dict(r, intensity={"actual": 1}))}


def energycharts(_path, query):
    t = shifted("energycharts", 900)
    v = values["energycharts"]
    assert query["country"] == ["de"], query
    if trouble.get("energycharts") == "short":
        t = t[1:]
    rows = mangle("energycharts", list(zip(t, v)), lambda r: (r[0], (1, None)))
    rows = [r or (None, (1, None)) for r in rows]
    if len(t) == len(v):
        t, v = [r[0] for r in rows], [r[1] for r in rows]
    return {"unix_seconds": t, "co2eq": [x[0] for x in v], "co2eq_forecast": [x[1] for x in v],
            "deprecated": False}


def electricitymaps(_path, query):
    zone = query["zone"][0]
    rows = [
        {"zone": zone, "carbonIntensity": v[0], "datetime": utc(t, "%Y-%m-%dT%H:%M:%S.000Z"),
         "emissionFactorType": "lifecycle", "isEstimated": v[1], "estimationMethod": None}
        for t, v in zip(shifted("electricitymaps", 3600), values["electricitymaps"])
    ]
    for row in rows[{"unit": -1, "units": 0}.get(trouble.get("electricitymaps"), len(rows)):]:
        row["emissionFactorType"] = "direct"
    if trouble.get("electricitymaps") == "updated":
        rows += [dict(rows[0], carbonIntensity=1, updatedAt=utc(NOW - 900)),
                 dict(rows[0], carbonIntensity=414, updatedAt=utc(NOW - 60)),
                 dict(rows[0], carbonIntensity=2, updatedAt=utc(NOW - 900))]
        rows[0]["updatedAt"] = utc(NOW - 1800)
    rows = mangle("electricitymaps", rows, lambda r: dict(r, carbonIntensity=1))
    return {"zone": "PL" if trouble.get("electricitymaps") == "zone" else zone, "history": rows,
            "temporalGranularity": "hourly"}


def watttime(path, query):
    if path == "/login":
        return {"message": "no token for you"} if trouble.get("watttime") == "login" else {
            "token": BEARER}
    meta = {"region": query["region"][0], "signal_type": "co2_moer", "warnings": [],
            "units": "lbs_co2_per_mwh", "data_point_period_seconds": 300}
    if trouble.get("watttime") == "unit":
        meta["units"] = "kg_co2_per_mwh"
    if trouble.get("watttime") == "zone":
        meta["region"] = "ERCOT"
    rows = [{"point_time": utc(t, "%Y-%m-%dT%H:%M:%S+00:00"), "value": v}
            for t, v in zip(shifted("watttime", 300), values["watttime"])]
    return {"data": mangle("watttime", rows, lambda r: dict(r, value=1)), "meta": meta}


PATHS = {
    "/api/explore/v2.1/catalog/datasets/eco2mix-national-tr/records": rte,
    "/intensity/": uk,
    "/regional/intensity/": uk,
    "/co2eq": energycharts,
    "/v3/carbon-intensity/history": electricitymaps,
    "/login": watttime,
    "/v3/historical": watttime,
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def may(self, name, path):
        basic = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if name == "electricitymaps":
            return self.headers.get("auth-token") == TOKEN
        if name == "watttime":
            want = f"Basic {basic}" if path == "/login" else f"Bearer {BEARER}"
            return self.headers.get("Authorization") == want
        return "Authorization" not in self.headers and "auth-token" not in self.headers

    def break_it(self, name, what, body):
        """True: that was the answer."""
        if what == "hang":
            stop.wait(PATIENCE)
        elif what == "hang-after-header":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"{")
            self.wfile.flush()
            stop.wait(PATIENCE)
        elif what == "drop":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        elif what.isdigit():
            self.answer(int(what), b"" if what == "204" else b'{"error": "no"}')
        elif what[:4] in ("200 ", "400 ", "401 "):
            self.answer(int(what[:3]), what[4:].encode())
        elif what == "mark":
            self.answer(200, b"\xef\xbb\xbf" + body)
        elif what == "latin-1":
            self.answer(200, body[:-1] + b', "by": "r\xe9seau"}')
        elif what.startswith("429 "):
            self.answer(429, b"", Retry_After=what[4:])
        elif what == "redirect-host":
            self.answer(302, b"", Location="https://elsewhere.example/x?y=1")
        elif what == "redirect-http":
            self.answer(301, b"", Location=f"http://127.0.0.1:{ports['good']}/")
        elif what == "html":
            self.answer(200, b"<!DOCTYPE html><html><body>Please log in</body></html>")
        elif what == "huge":
            self.answer(200, b'{"x":"' + b"y" * 3000000 + b'"}')
        elif what == "truncated":
            self.answer(200, body[:-20])
        elif what == "empty":
            self.answer(200, b"")
        elif what == "no-list":
            self.answer(200, b'{"error_code":"SomeError"}')
        else:
            return False
        return True

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        make = next((PATHS[p] for p in PATHS if url.path.startswith(p)), None)
        if not make:
            return self.answer(404)
        name = make.__name__
        log.append((name, self.path))
        if not self.may(name, url.path) or trouble.get(name) == "refuse":
            return self.answer(401, b'{"error":"Invalid auth-token"}')
        body = json.dumps(make(url.path, urllib.parse.parse_qs(url.query))).encode()
        what = trouble.get(name, "")
        if what.endswith(" once"):
            del trouble[name]
            what = what[:-5]
        if not self.break_it(name, what, body):
            self.answer(200, body, Content_Type="application/json")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # a client that hangs up is part of the test


# --- certificates ---------------------------------------------------------------------------

def openssl(folder, *args):
    subprocess.run(["openssl", *args], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE)


def make_ca(folder, name):
    openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "2", "-subj", f"/CN={name}")


def make_cert(folder, name, ca, san, start, end):
    with open(f"{folder}/{name}.cnf", "w") as f:
        f.write("[ca]\ndefault_ca=d\n[d]\ndatabase=db.txt\nnew_certs_dir=.\nrand_serial=yes\n"
                "default_md=sha256\npolicy=p\nx509_extensions=e\nunique_subject=no\n"
                f"[p]\ncommonName=supplied\n[e]\nsubjectAltName={san}\n")
    open(f"{folder}/db.txt", "a").close()
    openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
            f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
    openssl(folder, "ca", "-batch", "-config", f"{name}.cnf", "-cert", f"{ca}.pem", "-keyfile",
            f"{ca}.key", "-in", f"{name}.csr", "-out", f"{name}.crt", "-notext", "-startdate",
            start, "-enddate", end)


def serve(folder, name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/{name}.crt", f"{folder}/{name}.key")
    server = Server(("127.0.0.1", 0), Handler)
    # the handshake is its thread's: one that hangs holds up no other
    server.socket = context.wrap_socket(server.socket, server_side=True,
                                        do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def begin(folder):
    """Fills in ports; FOLDER/ca.pem is whom to trust."""
    make_ca(folder, "ca")
    make_ca(folder, "stranger")
    soon = time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + 86400))
    for name, ca, san, start, end in (
            ("good", "ca", "IP:127.0.0.1", "20200101000000Z", soon),
            ("expired", "ca", "IP:127.0.0.1", "20200101000000Z", "20200102000000Z"),
            ("other", "ca", "DNS:other.example", "20200101000000Z", soon),
            ("foreign", "stranger", "IP:127.0.0.1", "20200101000000Z", soon)):
        make_cert(folder, name, ca, san, start, end)
        ports[name] = serve(folder, name)
