#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""factors.py CEEMS: `ceems factors` against servers that answer as its providers do. TAP."""

import base64
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
import providers
from providers import (BEARER, NOW, PASSWORD, PATIENCE, TOKEN, USER, log, ports, stop, trouble, utc,
                       values)

CEEMS = sys.argv[1]
DIR = tempfile.mkdtemp(prefix="ceems-factors.")
SERIES = f"{DIR}/series.csv"
HEAD = "from,until,gco2e_per_kwh,kind,scope,region,fetched,source"
count = failed = 0


def ok(passed, what, *why):
    global count, failed
    count += 1
    failed += not passed
    print(f"{'' if passed else 'not '}ok {count} - {what}")
    for text in () if passed else why:
        for line in str(text).splitlines():
            print(f"# {line}")
    sys.stdout.flush()
    return passed


def same(got, want, what):
    return ok(got == want, what, f"got:  {got}", f"want: {want}")


def has(text, part, what):
    return ok(part in text, what, f'no "{part}" in:', text)


# --- the command ----------------------------------------------------------------------------

def write(name, text, mode=0o600):
    path = f"{DIR}/{name}"
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def configure(providers, port="good", timeout="20s", tries=3, more=""):
    url = f"https://127.0.0.1:{ports[port]}"
    write("ceems-factors.conf", f"""Providers={providers}
SeriesFile={SERIES}
CAFile={DIR}/ca.pem
Timeout={timeout}
Tries={tries}
RetryWait=10ms
RetryLimit=60s
RteUrl={url}
UkUrl={url}
EnergyChartsUrl={url}
EnergyChartsZones=de
ElectricityMapsUrl={url}
ElectricityMapsZones=DE,US-CAL-CISO:US-CA
ElectricityMapsTokenFile={DIR}/token
WattTimeUrl={url}
WattTimeZones=CAISO_NORTH:US-CA
WattTimeUser={USER}
WattTimePasswordFile={DIR}/password
{more}
""")


def reconfigure(old, new):
    with open(f"{DIR}/ceems-factors.conf") as f:
        text = f.read()
    assert old in text
    write("ceems-factors.conf", text.replace(old, new))


def command(*args):
    return [CEEMS, "factors", *args, "--conf", f"{DIR}/ceems.conf"]


def run(*args):
    """The exit status, and all that was said."""
    env = {"PATH": os.environ["PATH"], "https_proxy": "http://127.0.0.1:1",
           "SSLKEYLOGFILE": f"{DIR}/keys",
           "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}
    p = subprocess.run(command(*args), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env,
                       text=True, timeout=PATIENCE)
    for secret in (TOKEN, PASSWORD, BEARER, base64.b64encode(
            f"{USER}:{PASSWORD}".encode()).decode()):
        if secret in p.stdout:
            ok(False, "a secret is out", p.stdout)
    return p.returncode, p.stdout


def number(text):
    """Without the zeros at its end."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def series():
    """The points, without when they were fetched."""
    try:
        with open(SERIES) as f:
            lines = f.read().splitlines()
    except FileNotFoundError:
        return None
    assert lines[0] == HEAD, lines[0]
    rows = [line.split(",", 7) for line in lines[1:] if not line.startswith("#")]
    return [(r[5], r[3], r[4], r[0], r[1], number(r[2]), r[7]) for r in rows]


def rows(region, kind, scope, length, points, source):
    """As series() gives them: POINTS are (index from the end, value, more of the source)."""
    return [(region, kind, scope, utc(NOW - length * i), utc(NOW - length * (i - n)), number(v),
             source + more) for i, n, v, more in points]


def remove_series():
    if os.path.exists(SERIES):
        os.unlink(SERIES)


RTE = "RTE eCO2mix"
UK = "NESO Carbon Intensity API (CC BY 4.0)"
EC = "Energy-Charts, Fraunhofer ISE (CC BY 4.0)"


def reset():
    trouble.clear()
    log.clear()
    values.clear()
    values.update({
        "rte": [32, 32, 35.5, 40, None],
        "uk": [(120, 118), (131, 125), (None, 140)],
        "energycharts": [(491.5, None), (497.4, 470), (None, 505.0), (None, None)],
        "electricitymaps": [(413, False), (338, True)],
        "watttime": [870, 0, 1000.5],
    })


# --- the tests ------------------------------------------------------------------------------

def test_answers():
    reset()
    remove_series()
    configure("rte,uk,energycharts,electricitymaps,watttime,static")
    status, said = run("update")
    same(status, 0, "every provider is asked")
    want = (
        rows("FR", "average", "direct", 900, [(5, 2, "32.000", ""), (3, 1, "35.500", ""),
               (2, 1, "40.000", "")], RTE)
        + rows("GB", "average", "direct", 1800, [(3, 1, "120.000", ""), (2, 1, "131.000", ""),
               (1, 1, "140.000", " (forecast)")], UK)
        + rows("US-CA", "average", "life-cycle", 3600, [(2, 1, "413.000", ""),
               (1, 1, "338.000", " (estimated)")], "Electricity Maps")
        # 870 lb/MWh x 453.59237 g/lb / 1000 kWh = 394.6253619; 1000.5 is 453.8191662
        + rows("US-CA", "marginal", "direct", 300, [(3, 1, "394.625", ""), (2, 1, "0.000", ""),
               (1, 1, "453.819", "")], "WattTime MOER"))
    # Energy-Charts comes before Electricity Maps, so that of DE's hour those quarters are left
    # that it does not know
    de = (rows("DE", "average", "life-cycle", 900, [(8, 4, "413.000", "")], "Electricity Maps")
          + rows("DE", "average", "life-cycle", 900, [(4, 1, "491.500", ""), (3, 1, "497.400", ""),
                 (2, 1, "505.000", " (forecast)")], EC)
          + rows("DE", "average", "life-cycle", 900, [(1, 1, "338.000", " (estimated)")],
                 "Electricity Maps"))
    got = series()
    same([r for r in got if r[0] != "DE"], want, "all values are theirs")
    same([r for r in got if r[0] == "DE"], de, "the preferred one counts where it speaks")
    same(oct(os.stat(SERIES).st_mode & 0o777), "0o644", "anybody may read the series")
    before = series()
    status, said = run("update")
    same((status, series()), (0, before), "again: nothing changes")
    values["rte"][3] = 41
    status, said = run("update")
    has(str(series()), "'41'", "a correction counts")
    paths = [p for _, p in log]
    ok(not any(s in p for s in (TOKEN, PASSWORD, BEARER, "s3cret") for p in paths),
       "no secret stands in an address")


def test_regions():
    reset()
    remove_series()
    configure("uk", more="UkZones=GB,13,14:GB-SE")
    values["uk"] = [(None, 100), (None, 110)]
    status, said = run("update")
    same((status, sorted({r[0] for r in series()})), (0, ["GB", "GB-13", "GB-SE"]),
         "three zones of one provider")
    trouble["uk"] = "zone"
    before = series()
    status, said = run("update")
    same((status, series()), (1, before), "another zone in the answer to two of them")
    configure("uk", more="UkZones=gb,18,x")
    log.clear()
    trouble.clear()
    status, more = run("update")
    same((status, len(log)), (1, 1), "two that it does not have")
    has(more, "UkZones: '18' is neither GB nor 1 to 17", "are named")
    has(said, "uk GB-13: refused, and the earlier values stay: another zone than region 13", "is said")


def test_order():
    reset()
    remove_series()
    write("own.csv", f"{HEAD}\n{utc(NOW - 1800)},{utc(NOW + 7200)},12.5,average,direct,FR,"
          f"{utc(NOW)},our own meter\n", 0o644)
    configure("file,rte", more=f"File={DIR}/own.csv")
    status, said = run("update")
    want = rows("FR", "average", "direct", 900, [(5, 2, "32", ""), (3, 1, "35.5", "")], RTE) + rows(
        "FR", "average", "direct", 900, [(2, 10, "12.5", "")], "file: our own meter")
    same((status, series()), (0, want), "the site's own file comes first, and may plan ahead")
    os.unlink(f"{DIR}/own.csv")
    status, said = run("update")
    same((status, series()), (1, want), "it is gone: what it said stays, also before rte's")
    has(said, "own.csv", "and is named")
    configure("rte,file", more=f"File={DIR}/own.csv")
    write("own.csv", "nonsense\n", 0o644)
    status, said = run("update")
    has(said, "own.csv:1:", "a broken file is named with its line")
    has(str(series()), "'40'", "the order was turned round: rte's is taken")
    write("own.csv", f"{HEAD}\n", 0o666)
    status, said = run("update")
    has(said, "others than its owner may write it", "a file of anybody's is refused")


REFUSED = [
    # provider, trouble, times asked, what is said
    ("rte", "404", 1, "HTTP 404"),
    ("rte", "500", 3, "HTTP 500; tried 3 times"),
    ("rte", "503", 3, "HTTP 503; tried 3 times"),
    ("rte", "204", 1, "HTTP 204"),
    ("rte", "drop", 3, "tried 3 times"),
    ("rte", "429 3600", 1, "HTTP 429; another try in 3600.0 s is beyond RetryLimit"),
    ("rte", "429 99999999999999999999", 3, "HTTP 429; tried 3 times"),
    ("rte", utc(NOW + 7200, "429 %a, %d %b %Y %H:%M:%S GMT"), 1, "s is beyond RetryLimit"),
    ("rte", "truncated", 1, "the answer is not JSON: premature end of input"),
    ("rte", "html", 1, "the answer is HTML, not JSON"),
    ("rte", "empty", 1, "the answer is empty"),
    ("rte", "no-list", 1, "the answer has no list 'results'"),
    ("rte", "huge", 1, "the answer is longer than 1048576 bytes"),
    ("rte", "redirect-host", 1, "redirects to https://elsewhere.example/x (HTTP 302); redirects are not"),
    ("rte", "redirect-http", 1, "redirects to http://127.0.0.1"),
    ("rte", "future", 1, "a time in the future"),
    ("rte", "zones", 1, "another zone: 'Bretagne' instead of 'France'"),
    ("uk", "future", 1, "a time in the future"),
    ("uk", "no-list", 1, "the answer has no list 'data'"),
    ("energycharts", "short", 1, "the answer has not as many values as times"),
    ("electricitymaps", "units", 2, "another unit: 'direct' instead of 'lifecycle'"),
    ("electricitymaps", "zone", 2, "another zone: 'PL' instead of 'DE'"),
    ("electricitymaps", "refuse", 2, "the credentials are refused (HTTP 401)"),
    ("watttime", "login", 1, "the login gave no token"),
    ("watttime", "refuse", 1, "/login: the credentials are refused (HTTP 401)"),
    ("watttime", "unit", 2, "another unit: 'kg_co2_per_mwh' instead of 'lbs_co2_per_mwh'"),
    ("watttime", "zone", 2, "another zone: 'ERCOT' instead of 'CAISO_NORTH'"),
]

BAD_VALUES = [
    ("negative", -5, "a negative value: -5"),
    ("text", "many", "a value is not a number"),
    ("NaN", float("nan"), "a value is not a number"),
    ("infinite", float("-inf"), "a value is not a number"),
    ("above any grid's", 2001, "a value above any grid's: 2001 g/kWh"),
    ("beyond all numbers", 1e300, "a value above any grid's"),
]

NO_VALUES = [
    ("nothing but null", [None, None], "the answer has no value"),
    ("an empty list", [], "the answer has no value"),
]


def test_refused():
    reset()
    remove_series()
    configure("rte,uk,energycharts,electricitymaps,watttime")
    run("update")
    before = series()
    for name, what, times, want in REFUSED:
        reset()
        trouble[name] = what
        values["rte"] = [50, 51, 52, 53, 54]
        values["uk"] = [(150, None)] * 3
        values["energycharts"] = [(400, None)] * 3
        configure(name)
        status, said = run("update")
        same((status, len(log), series() == before), (1, times, True), f"{name}: {what}")
        has(said, want, "is named")
    for what, points, want in NO_VALUES + [(w, [v, v], t) for w, v, t in BAD_VALUES]:
        reset()
        values["rte"] = points
        configure("rte")
        status, said = run("update")
        same((status, series() == before), (1, True), f"rte: {what}")
        has(said, want, "is named")
    reset()
    trouble["rte"] = "html"
    values["uk"][0] = (121, 118)
    configure("rte,uk")
    status, said = run("update")
    same(status, 1, "one provider fails, one does not")
    same([r for r in series() if r[0] == "FR"], [r for r in before if r[0] == "FR"],
         "the former's values stay")
    has(str(series()), "'121'", "the latter's are taken")


# One odd point. What is said, and the series of the others.
EC_ROWS = [(4, 1, "491.5", ""), (3, 1, "497.4", ""), (2, 1, "505", " (forecast)")]
ODD_POINTS = [
    ("rte", "zone", "another zone: 'Bretagne' instead of 'France'", [(4, 1, "32", ""), (3, 1, "35.5", ""),
                                                                      (2, 1, "40", "")]),
    ("rte", "backwards", "", [(5, 2, "32", ""), (3, 1, "35.5", ""), (1, 1, "40", "")]),
    ("rte", "doubled", "", [(5, 2, "32", ""), (3, 1, "35.5", ""), (2, 1, "40", "")]),
    ("rte", "contradicts", f"different values for one time: {utc(NOW - 4 * 900)}",
     [(5, 1, "32", ""), (3, 1, "35.5", ""), (2, 1, "40", "")]),
    ("rte", "no-object", "a value is not an object (value 4)",
     [(5, 2, "32", ""), (3, 1, "35.5", ""), (2, 1, "40", "")]),
    ("rte", "mark", "", [(5, 2, "32", ""), (3, 1, "35.5", ""), (2, 1, "40", "")]),
    ("rte", "latin-1", "", [(5, 2, "32", ""), (3, 1, "35.5", ""), (2, 1, "40", "")]),
    ("uk", "doubled", "", [(3, 1, "120", ""), (2, 1, "131", ""), (1, 1, "140", " (forecast)")]),
    ("uk", "contradicts", f"different values for one time: {utc(NOW - 2 * 1800)}",
     [(3, 1, "120", ""), (1, 1, "140", " (forecast)")]),
    ("uk", "forecast", "", [(3, 1, "120", ""), (2, 1, "131", ""), (1, 1, "140", " (forecast)")]),
    ("uk", "long", f"a time that overlaps another value's: {utc(NOW - 3 * 1800)}",
     [(2, 1, "131", ""), (1, 1, "140", " (forecast)")]),
    ("energycharts", "backwards", "", None),
    ("energycharts", "doubled", "", EC_ROWS),
    ("energycharts", "contradicts", f"different values for one time: {utc(NOW - 3 * 900)}",
     [EC_ROWS[0], EC_ROWS[2]]),
    ("energycharts", "no-object", "a value without a time (value 3)", EC_ROWS),
    ("electricitymaps", "unit", "another unit: 'direct' instead of 'lifecycle'", [(2, 1, "413", "")]),
    ("electricitymaps", "doubled", "", [(2, 1, "413", ""), (1, 1, "338", " (estimated)")]),
    ("electricitymaps", "contradicts", f"different values for one time: {utc(NOW - 3600)}",
     [(2, 1, "413", "")]),
    ("electricitymaps", "updated", "", [(2, 1, "414", ""), (1, 1, "338", " (estimated)")]),
    ("watttime", "doubled", "", [(3, 1, "394.625", ""), (2, 1, "0", ""), (1, 1, "453.819", "")]),
    ("watttime", "contradicts", f"different values for one time: {utc(NOW - 600)}",
     [(3, 1, "394.625", ""), (1, 1, "453.819", "")]),
    ("watttime", "backwards", "", [(3, 1, "394.625", ""), (2, 1, "453.819", ""), (1, 1, "0", "")]),
]
HOW = {
    "rte": ("FR", "average", "direct", 900, RTE),
    "uk": ("GB", "average", "direct", 1800, UK),
    "energycharts": ("DE", "average", "life-cycle", 900, EC),
    "electricitymaps": ("DE", "average", "life-cycle", 3600, "Electricity Maps"),
    "watttime": ("US-CA", "marginal", "direct", 300, "WattTime MOER"),
}


def test_odd_points():
    for name, what, want, points in ODD_POINTS:
        reset()
        remove_series()
        trouble[name] = what
        configure(name)
        status, said = run("update")
        same(status, 0, f"{name}: {what}")
        region, kind, scope, length, source = HOW[name]
        if points:
            same([r for r in series() if r[0] == region], rows(region, kind, scope, length, points, source),
                 "the others are taken")
        if want:
            has(said, f"skipped: {want}", "the one is named")
        else:
            ok("skipped" not in said, "without a word", said)
    for what, value, want in BAD_VALUES:
        reset()
        remove_series()
        values["rte"] = [32, value, 33]
        configure("rte")
        status, said = run("update")
        same((status, [r[5] for r in series()]), (0, ["32", "33"]), f"rte: one that is {what} is left out")
        has(said, f"ceems: rte FR: skipped: {want}", "and named")
    has(run("check")[1], "warn   rte              FR: 1 skipped, the first: ", "by check, too")
    values["rte"] = [30] + [-1] * 9
    said = run("update")[1]
    same((said.count("a negative value"), said.count("skipped: 4 more")), (5, 1), "the first five only")
    reset()
    remove_series()
    write("own.csv", f"\ufeff{HEAD}\n{utc(NOW - 900)},{utc(NOW)},12,average,direct,FR,{utc(NOW)},x\n"
          f"{utc(NOW - 1800)},{utc(NOW - 900)},-2,average,direct,FR,{utc(NOW)},x\n"
          f"{utc(NOW - 2700)},{utc(NOW - 1800)},11,average,direct,FR,{utc(NOW)},x\n"
          f"{utc(NOW - 900)},{utc(NOW)},12,average,direct,FR,{utc(NOW)},x\n", 0o644)
    configure("file", more=f"File={DIR}/own.csv")
    status, said = run("update")
    same((status, [r[5] for r in series()]), (0, ["11", "12"]), "the site's own file: the good lines")
    has(said, "own.csv:3: not a factor in gCO2e/kWh", "and the other one named")
    write("token", f"\ufeff{TOKEN}\r\n")
    configure("electricitymaps")
    same(run("update")[0], 0, "a token behind a byte order mark")
    write("token", TOKEN + "\n")


ENCODED = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
WORDS = [
    # provider, answer, what is said
    ("rte", '400 {"error_code": "ODSQLError", "message": "ODSQL query is malformed: x"}',
     "HTTP 400; the answer says: ODSQL query is malformed: x"),
    ("uk", '400 {"error": {"code": "400 Bad Request", "message": "Please enter a valid date"}}',
     "HTTP 400; the answer says: Please enter a valid date"),
    ("energycharts", '400 {"detail": [{"loc": ["query", "country"], "msg": "not a country"}]}',
     "HTTP 400; the answer says: not a country"),
    ("energycharts", "400 Rate\tlimit\r\nexceeded\x1b[2J",
     "HTTP 400; the answer says: Rate limit exceeded?[2J"),
    ("electricitymaps", f'401 {{"error": "Invalid auth-token {TOKEN}!"}}',
     f"(HTTP 401); the answer says: Invalid auth-token {'*' * len(TOKEN)}!"),
    ("watttime", f'401 {{"error": "{PASSWORD}, {ENCODED}"}}',
     f"(HTTP 401); the answer says: {'*' * len(PASSWORD)}, ****"),
    ("rte", "400 " + json.dumps({"message": "long " * 400}), "long long+"),
    ("rte", "400 <html><title>Bad Request</title></html>", "HTTP 400\n"),
    ("rte", '200 {"message": "maintenance until 14:00"}',
     "the answer has no list 'results'; it says: maintenance until 14:00"),
    ("watttime", '200 {"message": "confirm your address"}',
     "the login gave no token; it says: confirm your address"),
]


def test_words():
    for name, what, want in WORDS:
        reset()
        trouble[name] = what
        configure(name)
        status, said = run("update")
        same(status, 1, f"{name}: {what[:60]}")
        has(said, want, "the provider's words are shown")


def test_again():
    for what, times in (("500 once", 2), ("429 1 once", 2), ("drop once", 2)):
        reset()
        remove_series()
        configure("rte")
        trouble["rte"] = what
        began = time.monotonic()
        status, said = run("update")
        same((status, len(log)), (0, times), f"{what}: asked again")
        if "429" in what:
            ok(time.monotonic() - began >= 1, "after the time that the server named")
    for what, tries, want in (("hang", 2, "tried 2 times"), ("hang-after-header", 1, "timed out")):
        reset()
        remove_series()
        configure("rte", timeout="1s", tries=tries)
        trouble["rte"] = what
        status, said = run("update")
        same((status, series()), (1, None), f"{what}: given up")
        has(said, want, "and said")
    reset()
    configure("rte", tries=20)
    reconfigure("RetryLimit=60s", "RetryLimit=2s")
    reconfigure("RetryWait=10ms", "RetryWait=300ms")
    trouble["rte"] = "500"
    began = time.monotonic()
    status, said = run("update")
    ok(status == 1 and 1 < len(log) < 20 and time.monotonic() - began < PATIENCE,
       "RetryLimit ends it before the tries do", said, len(log))
    has(said, "is beyond RetryLimit", "which is said")


def test_certificates():
    reset()
    remove_series()
    for port, want in (("expired", "certificate has expired"),
                       ("other", "does not match target host name"),
                       ("foreign", "unable to get local issuer certificate")):
        log.clear()
        configure("electricitymaps,watttime", port=port)
        status, said = run("update")
        same((status, len(log), series()), (1, 0, None), f"a certificate that is {port}")
        has(said, "certificate", "is refused")
    configure("rte")
    reconfigure(f"CAFile={DIR}/ca.pem", "")
    status, said = run("update")
    same((status, len(log)), (1, 0), "the system's certificates know nothing of ours")


def test_proxy():
    """One that tunnels to wherever it is asked to, and keeps a list."""
    tunnels = []
    listener = socket.create_server(("127.0.0.1", 0))

    def pump(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def tunnel(client):
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(1)
        tunnels.append(head.split()[1].decode())
        there = socket.create_connection(("127.0.0.1", int(tunnels[-1].rsplit(":", 1)[1])))
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        threading.Thread(target=pump, args=(client, there), daemon=True).start()
        pump(there, client)

    def accept():
        while True:
            threading.Thread(target=tunnel, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    reset()
    remove_series()
    configure("electricitymaps", more=f"Proxy=http://127.0.0.1:{listener.getsockname()[1]}")
    status, said = run("update")
    same((status, len(log), set(tunnels)), (0, 2, {f"127.0.0.1:{ports['good']}"}),
         "through a proxy, which sees where to and no more")
    configure("rte", more="Proxy=http://127.0.0.1:1", tries=1)
    same(run("update")[0], 1, "no proxy there: a failure")


def test_tenfold():
    reset()
    remove_series()
    configure("rte,watttime")
    run("update")
    before = series()
    values["rte"] = [32, 32, 35.5, 40, 401]
    status, said = run("update")
    same((status, series()), (1, before), "more than ten times the last value is left out")
    has(said, f"401.000 g/kWh at {utc(NOW - 900)} is more than 10 times the last value, 40.000 at "
        f"{utc(NOW - 1800)}", "and named")
    has(said, "--accept", "with the way out")
    values["rte"][4] = 400
    same(run("update")[0], 0, "ten times is not")
    values["rte"][4] = 401
    status, said = run("update", "--accept")
    same((status, series()[-4][5]), (0, "401"), "--accept takes it")
    status, said = run("update")
    same((status, series()[-4][5]), (0, "401"), "and it is believed from then on")
    values["rte"] = [32, 32, 35.5, 40, 401, 0.4]
    remove_series()
    status, said = run("update")
    same((status, [r[5] for r in series() if r[0] == "FR"]), (1, ["32", "35.5", "40", "0.4"]),
         "one peak among good values is left out alone")
    # no provider of means: another power station sets the margin from minute to minute
    same([r[5] for r in series() if r[1] == "marginal"], ["394.625", "0", "453.819"],
         "marginal factors may")
    reset()
    remove_series()
    values["rte"] = [300, 310, 0.310]
    status, said = run("update")
    same((status, [r[5] for r in series() if r[0] == "FR"]), (1, ["300", "310"]),
         "nor does kg for g get through")
    has(said, "less than a tenth of the last value", "which is named")


def test_secrets():
    reset()
    remove_series()
    configure("electricitymaps", timeout="5m", tries=1)
    for mode, want in ((0o644, "chmod 0600"), (0o640, "chmod 0600")):
        os.chmod(f"{DIR}/token", mode)
        status, said = run("update")
        same((status, len(log)), (1, 0), f"a token of mode {mode:o} is not used")
        has(said, want, "with what to type")
    for text in ("", "\n", "two\nlines\n", "a\tb\n", "x" * 300):
        write("token", text)
        status, said = run("update")
        same((status, len(log)), (1, 0), f"a token like {text[:12]!r} neither")
    write("token", TOKEN + "\n")
    if os.geteuid() == 0:
        os.chown(f"{DIR}/token", 12345, 12345)
        status, said = run("update")
        same((status, len(log)), (1, 0), "a token of somebody else's neither")
        has(said, "belongs to user 12345, not to root", "which is said")
        os.chown(f"{DIR}/token", 0, 0)
    trouble["electricitymaps"] = "hang"
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    # a shell's job in the background begins with it ignored
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    child = subprocess.Popen(command("update"), cwd=DIR, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    end = time.monotonic() + PATIENCE
    while not log and time.monotonic() < end:
        time.sleep(0.01)
    same(len(log), 1, "one is under way, with its token")
    status, said = run("update")
    same(status, 1, "a second one does not begin")
    has(said, "another update is under way", "and says why")
    shown = ""
    for name in ("cmdline", "environ", "status", "limits"):
        with open(f"/proc/{child.pid}/{name}", errors="replace") as f:
            text = f.read()
        shown += text
        if name == "limits":
            line = next(x for x in text.splitlines() if x.startswith("Max core"))
            same(line.split()[4:6], ["0", "0"], "it may leave no core file")
    ok("s3cret" not in shown, "/proc shows no secret")
    os.kill(child.pid, signal.SIGQUIT)
    _, result = os.waitpid(child.pid, 0)
    child.returncode = -signal.SIGQUIT
    ok(os.WIFSIGNALED(result) and not os.WCOREDUMP(result), "killed: no core", result)
    same([n for n in os.listdir(DIR) if "core" in n], [], "and no file")
    reset()
    same(run("update")[0], 0, "its lock went with it")
    remove_series()
    log.clear()
    configure("rte,electricitymaps", timeout="5m")
    trouble["electricitymaps"] = "hang"
    child = subprocess.Popen(command("update"), stdout=subprocess.DEVNULL)
    end = time.monotonic() + PATIENCE
    while not any(n == "electricitymaps" for n, _ in log) and time.monotonic() < end:
        time.sleep(0.01)
    same([r[5] for r in series()], ["32", "35.5", "40"],
         "the next hangs: what the first said is written")
    child.kill()
    child.wait()


def step_now():
    """What a value that ended at NOW - 900 is."""
    return "fresh" if time.time() - (NOW - 900) < 3600 else "last"


def test_list():
    reset()
    remove_series()
    configure("rte,watttime")
    run("update")
    status, said = run("list")
    same(status, 0, "list")
    has(said, f"FR           {utc(NOW - 1800)} {utc(NOW - 900)}       40.000 average  direct     {RTE}",
        "has a line for a point")
    has(said, step_now(), "and what counts now")
    status, said = run("list", "--json", "--region", "fr")
    j = json.loads(said)
    same((status, [p["g_per_kwh"] for p in j["points"]]), (0, [32, 35.5, 40]), "as JSON")
    same([(s["region"], s["step"], s["g_per_kwh"], s["kind"], s["scope"], s["source"], s["until"])
          for s in j["now"]],
         [("FR", step_now(), 40, "average", "direct", RTE, utc(NOW - 900))], "what counts now")
    prom = open(f"{DIR}/ceems_factors.prom").read()
    has(prom, f'region="FR",kind="average"}} {NOW - 900}\n', "Prometheus has until when a factor holds")
    has(prom, 'ceems_factors_failed_zones{hostname="' + os.uname().nodename.split(".")[0] + '"} 0\n',
        "and that no zone failed")
    ok(0 <= time.time() - (NOW - 900) - j["now"][0]["age_s"] < PATIENCE, "and its age")
    j = json.loads(run("list", "--json", "--region", "US-CA")[1])
    same([(s["step"], s["g_per_kwh"]) for s in j["now"]], [("marginal", 453.819)],
         "a marginal factor is no step of the chain")
    old = NOW - 5 * 86400
    with open(SERIES, "a") as f:
        f.write(f"{utc(old)},{utc(old + 900)},77,average,direct,ZZ,{utc(old)},x\n")
    said = run("list")[1]
    ok("77.000" not in said.split("NOW")[0], "old points are not shown", said)
    has(run("list", "--all")[1], "77.000", "unless asked for")
    write("ceems-factors.conf", "nonsense\n")
    same(run("list")[0], 1, "no configuration that says where the series is")
    write("ceems.conf", CEEMS_CONF + f"EmissionSeriesFile={SERIES}\n")
    same(run("list")[0], 0, "which EmissionSeriesFile does, too")
    # and slurmd's reader takes what update wrote
    write("ceems.conf", CEEMS_CONF + f"EmissionSeriesFile={SERIES}\nHelperDir={HELPERS}\n"
          + f"LedgerDir={DIR}\nStoreDir={DIR}\nRecordFile={DIR}/jobs\n")
    p = subprocess.run([CEEMS, "check", "--conf", f"{DIR}/ceems.conf"], stdout=subprocess.PIPE,
                       text=True, timeout=PATIENCE)
    has(p.stdout, f"40.000 g CO2e/kWh now (FR, direct, {RTE}), until {utc(NOW - 900)}",
        "ceems check sees what counts now")
    write("ceems.conf", CEEMS_CONF)
    configure("rte")
    remove_series()
    same(run("list")[0], 1, "no series: a failure")


def test_check():
    reset()
    remove_series()
    configure("rte,electricitymaps")
    status, said = run("check")
    same((status, series()), (0, None), "check asks and writes nothing")
    has(said, "ok     rte              FR: 4 values", "and says what it got")
    has(said, "does not exist yet", "and that there is no series")
    run("update")
    os.chmod(f"{DIR}/token", 0o644)
    log.clear()
    status, said = run("check")
    same((status, [n for n, _ in log]), (1, ["rte"]), "a token that others can read is an error")
    has(said, "chmod 0600", "with what to type")
    os.chmod(f"{DIR}/token", 0o600)
    log.clear()
    trouble["rte"] = "500"
    status, said = run("check")
    same((status, [n for n, _ in log].count("rte")), (1, 1), "each provider is asked once")
    old = utc(NOW - 8 * 3600)
    write("series.csv", f"{HEAD}\n{utc(NOW - 86400)},{utc(NOW - 86400 + 900)},50,average,direct,FR,"
          f"{old},{RTE}\n{utc(NOW - 9 * 3600)},{old},50,average,life-cycle,FR,{old},x\n", 0o644)
    trouble.clear()
    status, said = run("check")
    has(said, "ceems-factors.timer", "an old series: look at the timer")
    has(said, f"the longest gap is {15 * 3600 - 900} s, from {utc(NOW - 86400 + 900)}", "its gap")
    has(said, "life-cycle and direct factors alternate", "what does not go together")


def test_keep():
    reset()
    configure("rte")
    old = NOW - 14 * 86400
    write("series.csv", f"{HEAD}\n" + "".join(
        f"{utc(t)},{utc(t + 900)},50,average,direct,FR,{utc(t)},{RTE}\n"
        for t in (old - 7200, old + 7200)), 0o644)
    run("update")
    same([r[3] for r in series()][:2], [utc(old + 7200), utc(NOW - 4500)], "14 days are kept")
    write("series.csv", "not ours\n", 0o644)
    status, said = run("update")
    same((status, open(SERIES).read()), (1, "not ours\n"), "a file that is no series is not replaced")
    has(said, "series.csv:1:", "and named")
    has(said, "move the file away", "with what to do")
    remove_series()
    write("ceems.conf", CEEMS_CONF.replace("MaxAge=6h", "MaxAge=20d"))
    has(run("check")[1], "Keep is shorter than EmissionMaxAge", "the last value goes before its time")
    write("ceems.conf", CEEMS_CONF)
    os.chmod(DIR, 0o777)
    status, said = run("update")
    same((status, series()), (1, None), "nothing is written where others may write")
    os.chmod(DIR, 0o700)


def test_arguments():
    configure("rte")
    for args in ((), ("fetch",), ("update", "now"), ("list", "--accept"), ("update", "--json"),
                 ("check", "--accept"), ("--nothing",)):
        same(run(*args)[0], 2, f"'ceems factors {' '.join(args)}' is refused")
    for text, want in (("", "Providers is missing"), ("Providers=rte,x\n", "'x' is not a provider"),
                       ("Providers=uk\nUkZones=GB,a b\n", "'a b' is not ZONE or ZONE:REGION"),
                       ("Providers=uk\nUkZones=a/b\n", "is not ZONE"),
                       ("Providers=rte\nRteUrl=http://x\n", ":2: RteUrl: does not begin with https"),
                       ("Providers=rte\nProxy=http://u:p@x\n", "may not contain a user"),
                       ("Providers=rte\nKeep=1h\n", "is not within 1d to 90d"),
                       ("Providers=rte\nTries=0\n", "is not within 1 to 20"),
                       ("Token=x\n", "unknown key")):
        write("ceems-factors.conf", text)
        status, said = run("update")
        same(status, 1, f"{text!r} is refused")
        has(said, want, "with the reason")
    write("ceems-factors.conf", f"Providers=energycharts\nSeriesFile={SERIES}\n")
    status, said = run("update")
    has(said, "energycharts: refused, and the earlier values stay: no zone is set for it", "no zone")
    os.unlink(f"{DIR}/ceems-factors.conf")
    status, said = run("update")
    same(status, 1, "no configuration")
    has(said, "see ceems-factors.conf(5)", "is said")


def main():
    providers.begin(DIR)
    write("ceems.conf", CEEMS_CONF)
    write("token", TOKEN + "\n")
    write("password", PASSWORD)
    for test in (test_answers, test_regions, test_order, test_refused, test_odd_points, test_words,
                 test_again, test_certificates, test_proxy, test_tenfold, test_secrets, test_list, test_check, test_keep,
                 test_arguments):
        print(f"# {test.__name__}")
        test()
    ok(not os.path.exists(f"{DIR}/keys"), "the environment has no say: no proxy, no log of keys")
    print(f"1..{count}")


FACTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "../../src/libemission/data/emission-factors.csv")
HELPERS = os.path.join(os.path.dirname(CEEMS), "../helpers")
CEEMS_CONF = f"""Country=FR
EmissionFactorFile={FACTORS}
EmissionMaxAge=6h
TextfileDir={DIR}
"""
try:
    main()
finally:
    stop.set()
    shutil.rmtree(DIR)
sys.exit(failed != 0)
