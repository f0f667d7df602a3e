#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""otlp_collector.py serve ADDRESS[:PORT] OUT [CERT KEY]: takes traces as an OpenTelemetry collector does, over HTTP or HTTPS.
Each span becomes a line of JSON in OUT, with the attributes of its resource under "resource". A request that
OTLP does not allow gets 400 and a line in OUT.bad. OUT.status, if it is there, has the answers to give instead, one per
request: a status, and headers after it; "partial", and the JSON of an answer 200; "ok" takes the request. The port is
written to OUT.port.

otlp_collector.py check OUT RECORDS SACCT: compares spans with the records and with `sacct -nP -o
JobIDRaw,Submit,Start,End,ConsumedEnergyRaw` (times in seconds), and prints what differs.

otlp_collector.py jaeger URL OUT: writes all traces of the service slurm that Jaeger's query API has at URL to OUT, as
serve does.

otlp_collector.py decoder: says what protobuf is decoded by.
"""
import gzip
import hashlib
import http.server
import json
import os
import ssl
import sys
import urllib.request

try:  # opentelemetry-proto, of PyPI: OpenTelemetry's own messages
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
except ImportError:
    ExportTraceServiceRequest = None

BATCH, EXTERN, INTERACTIVE = 4294967291, 4294967292, 4294967290
# tags that Jaeger makes of what is not an attribute in OTLP
JAEGER_TAGS = {"span.kind", "error", "otel.status_code", "otel.status_description", "otel.scope.name", "otel.scope.version",
               "internal.span.format", "w3c.tracestate"}
KINDS = {BATCH: "batch", EXTERN: "extern", INTERACTIVE: "interactive"}


def value_of(v):
    """A value of OTLP's JSON."""
    (kind, value), = v.items()
    return int(value) if kind == "intValue" else value


def attributes_of(o):
    names = [a["key"] for a in o.get("attributes", [])]
    if len(names) != len(set(names)):
        raise ValueError("an attribute twice: %s" % names)
    return {a["key"]: value_of(a["value"]) for a in o.get("attributes", [])}


def hex_id(text, n):
    if len(text) != 2 * n or text.strip("0123456789abcdef") or not text.strip("0"):
        raise ValueError("no id: " + text)
    return text


def spans_of_json(body):
    for rs in json.loads(body)["resourceSpans"]:
        for ss in rs["scopeSpans"]:
            for s in ss["spans"]:
                yield {"trace": hex_id(s["traceId"], 16), "span": hex_id(s["spanId"], 8),
                       "parent": hex_id(s["parentSpanId"], 8) if "parentSpanId" in s else None, "name": s["name"],
                       "start": int(s["startTimeUnixNano"]), "end": int(s["endTimeUnixNano"]),
                       "error": s.get("status", {}).get("code") == 2, "attributes": attributes_of(s),
                       "resource": attributes_of(rs["resource"]), "scope": ss["scope"]["name"]}


def proto_attributes(list_):
    ret = {}
    for a in list_:
        if a.key in ret:
            raise ValueError("an attribute twice: " + a.key)
        ret[a.key] = getattr(a.value, a.value.WhichOneof("value"))
    return ret


def spans_of_protobuf(body):
    request = ExportTraceServiceRequest()
    request.ParseFromString(body)
    for rs in request.resource_spans:
        for ss in rs.scope_spans:
            for s in ss.spans:
                yield {"trace": hex_id(s.trace_id.hex(), 16), "span": hex_id(s.span_id.hex(), 8),
                       "parent": hex_id(s.parent_span_id.hex(), 8) if s.parent_span_id else None, "name": s.name,
                       "start": s.start_time_unix_nano, "end": s.end_time_unix_nano, "error": s.status.code == 2,
                       "attributes": proto_attributes(s.attributes),
                       "resource": proto_attributes(rs.resource.attributes), "scope": ss.scope.name}


class Collector(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    out = None

    def log_message(self, *args):
        pass

    def answer(self, status, headers=(), body=b""):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def told(self):
        """What OUT.status says of this request."""
        path = self.out + ".status"
        if not os.path.exists(path):
            return None
        with open(path) as f:
            line, *rest = f.read().splitlines() or ["ok"]
        with open(path + ".new", "w") as f:
            f.write("".join(r + "\n" for r in rest))
        os.rename(path + ".new", path)
        return None if line == "ok" else line.split(" ", 1)

    def take(self, body):
        if self.path != "/v1/traces" or self.headers["Content-Encoding"] != "gzip":
            raise ValueError("not OTLP: %s %s" % (self.path, self.headers.items()))
        body = gzip.decompress(body)
        if self.headers["Content-Type"] == "application/json":
            return list(spans_of_json(body))
        if self.headers["Content-Type"] == "application/x-protobuf" and ExportTraceServiceRequest:
            return list(spans_of_protobuf(body))
        raise ValueError("no decoder of " + self.headers["Content-Type"])

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        told = self.told()
        if told and told[0] == "partial":
            self.answer(200, [("Content-Type", "application/json")], told[1].encode())
            return
        if told:
            self.answer(int(told[0]), [h.split(": ", 1) for h in told[1:]])
            return
        try:
            spans = self.take(body)
        except Exception as e:  # pylint: disable=broad-except
            with open(self.out + ".bad", "a") as f:
                f.write("%r\n" % e)
            self.answer(400)
            return
        with open(self.out, "a") as f:
            for s in spans:
                s["token"] = self.headers["Authorization"]
                f.write(json.dumps(s) + "\n")
        self.answer(200)


def serve(address, out, cert=None, key=None):
    Collector.out = out
    server = http.server.ThreadingHTTPServer((address.partition(":")[0], int(address.partition(":")[2] or 0)), Collector)
    if cert:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(cert, key)
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    with open(out + ".port.new", "w") as f:
        f.write("%d\n" % server.server_address[1])
    os.rename(out + ".port.new", out + ".port")
    server.serve_forever()


def jaeger_tags(tags):
    return {t["key"]: t["value"] for t in tags if t["key"] not in JAEGER_TAGS}


def spans_of_jaeger(traces):
    """The spans of an answer of Jaeger's query API, with times in microseconds."""
    for trace in traces:
        for s in trace["spans"]:
            process = trace["processes"][s["processID"]]
            above = [r["spanID"] for r in s["references"] if r["refType"] == "CHILD_OF" and r["traceID"] == s["traceID"]]
            tags = {t["key"]: t["value"] for t in s["tags"]}
            yield {"trace": hex_id(s["traceID"], 16), "span": hex_id(s["spanID"], 8), "parent": above[0] if above else None,
                   "name": s["operationName"], "start": s["startTime"] * 1000, "end": (s["startTime"] + s["duration"]) * 1000,
                   "error": tags.get("otel.status_code") == "ERROR", "attributes": jaeger_tags(s["tags"]),
                   "resource": {"service.name": process["serviceName"], **jaeger_tags(process.get("tags", []))},
                   "scope": tags.get("otel.scope.name")}


def read_jaeger(url, out):
    period = "start=0&end=%d" % (2**51)  # in microseconds: to 2041
    with urllib.request.urlopen(url + "/api/traces?service=slurm&limit=10000&" + period, timeout=60) as answer:
        traces = json.load(answer)["data"]
    with open(out + ".new", "w") as f:
        for s in spans_of_jaeger(traces):
            f.write(json.dumps(s) + "\n")
    os.rename(out + ".new", out)


def sha(text, n):
    return hashlib.sha256(text.encode()).hexdigest()[:2 * n]


def check_job(r, spans, rows):
    """Yields what is wrong with the trace of record R. ROWS: sacct's, by JobIDRaw."""
    key, job_id = r["key"], str(r["jobid"])
    parent = (r.get("trace_parent") or "").split("-")
    trace = parent[1] if len(parent) == 4 else sha(key, 16)
    above = parent[2] if len(parent) == 4 and parent[2].strip("0") else None
    job = sha(key + " job", 8)
    want = {job: ("job", above), sha(key + " queue", 8): ("queue", job)}
    steps = {}
    for s in r["steps"] or []:
        if s.get("@start"):
            span = sha("%s/%s,%d.%d" % (r["cluster"], job_id, r["restart_count"], s["stepid"]), 8)
            want[span] = (KINDS.get(s["stepid"], "step"), job)
            steps[span] = s
    got = {s["span"]: s for s in spans if s["trace"] == trace and s["attributes"].get("slurm.job.id", r["jobid"]) == r["jobid"]
           and (s["span"] in want or s["parent"] == job)}
    if set(got) != set(want):
        yield "%s: spans %s, wanted %s" % (key, sorted(got), sorted(want))
        return
    for span, (name, up) in want.items():
        s = got[span]
        if (s["name"], s["parent"]) != (name, up):
            yield "%s: %s below %s, wanted %s below %s" % (key, s["name"], s["parent"], name, up)
        if s["resource"] != {"service.name": "slurm", "service.namespace": r["cluster"], "slurm.cluster.name": r["cluster"]}:
            yield "%s: resource %s" % (key, s["resource"])

    def compare(what, s, row, begin):
        submit, start, end, joules = rows[row]
        if (s["start"], s["end"]) != ((submit if begin else start) * 10**9, end * 10**9):
            yield "%s: %s from %s to %s, sacct has %s" % (key, what, s["start"], s["end"], rows[row])
        # sacct has whole joules, and 0 for unknown
        if abs(s["attributes"].get("hw.energy", 0) - joules) > (0 if begin else 1):
            yield "%s: %s has %s J, sacct has %d" % (key, what, s["attributes"].get("hw.energy"), joules)

    yield from compare("job", got[job], job_id, True)
    queue = got[sha(key + " queue", 8)]
    if (queue["start"], queue["end"]) != (rows[job_id][0] * 10**9, rows[job_id][1] * 10**9):
        yield "%s: queue from %s to %s" % (key, queue["start"], queue["end"])
    for span, s in steps.items():
        name = KINDS.get(s["stepid"], str(s["stepid"]))
        yield from compare(name, got[span], "%s.%s" % (job_id, name), False)


def check(out, records, sacct):
    spans = {}
    with open(out) as f:
        for line in f:
            s = json.loads(line)
            spans[s["trace"], s["span"]] = s  # a correction replaces
    rows = {}
    with open(sacct) as f:
        for line in f:
            row, submit, start, end, joules = line.rstrip("\n").split("|")
            # a job that never ran has no start
            rows[row] = (int(submit), int(start) if start.isdigit() else int(end), int(end), int(joules or 0))
    last = {}
    with open(records) as f:
        for line in f:
            r = json.loads(line)
            last[r["key"]] = r
    wrong = 0
    for r in last.values():
        for text in check_job(r, spans.values(), rows):
            print(text)
            wrong += 1
    private = [s for s in spans.values() if "user.name" in s["attributes"] or "slurm.account" in s["attributes"]]
    print("%d traces, %d spans, %d with a name, %d wrong" % (len({s["trace"] for s in spans.values()}), len(spans),
                                                            len(private), wrong))
    return wrong == 0


if __name__ == "__main__":
    if sys.argv[1:] == ["decoder"]:
        print("opentelemetry-proto" if ExportTraceServiceRequest else "none")
    elif sys.argv[1] == "serve":
        serve(*sys.argv[2:])
    elif sys.argv[1] == "jaeger":
        read_jaeger(*sys.argv[2:])
    else:
        sys.exit(0 if check(*sys.argv[2:]) else 1)
