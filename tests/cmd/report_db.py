#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Helper of report-db.t: makes records, and works out by itself what reports and mails must have."""
import argparse
import calendar
import email
import email.policy
import json
import pathlib
import re
import sys
import time

DAY = 86400
USERS = {"ann": 1001, "bob": 1002, "eve": 1003}
# of a directory that somebody else fills
EVIL = ["x,boss@example.org", "a b", "-oQ/tmp", "x\nBcc: all@example.org"]


def stamp(t):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(t))


def at(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def record(jobid, user, end, joules, **more):
    submit = end - 1000
    r = {
        "schema": "ceems.job.v1", "key": f"alps/{jobid},{submit},0/0", "cluster": "alps", "jobid": jobid,
        "restart_count": 0, "username": user, "user_id": USERS.get(user, 1999), "group_id": 1,
        "account": f"acct-{user}" if user in USERS else "acct-x", "partition": "gpu" if jobid % 3 == 0 else "cpu",
        "state": "COMPLETED", "@submit": stamp(submit), "@eligible": stamp(submit), "@start": stamp(end - 100),
        "@end": stamp(end), "total_nodes": 1, "total_cpus": 4, "exit_code": "0:0", "derived_ec": "0:0",
        "energy": {"total_j": joules, "final": True, "quality": "measured", "source": "rapl"},
        "emissions": {"co2e_g": (joules or 0) / 64, "method": "per-tick"},
        "usage": {"perf": {"cpu_time_s": 100}},
    }
    r.update(more)
    return r


def records():
    november, january = at("2025-11-01T00:00:00Z"), at("2026-01-01T00:00:00Z")
    jobid = 0
    for day in range(-31, 30):
        for n, user in enumerate(USERS):
            jobid += 1
            r = record(jobid, user, november + day * DAY + 3600 * n, 300000 - 100000 * n + 16 * day)
            if user == "bob" and day % 2:
                r["state"] = "FAILED"
            if user == "eve":
                del r["usage"]
                step = {"stepid": 0, "user_cpu_s": 150.5, "system_cpu_s": 49.5}
                r["steps"] = [step]
            yield r
    # at the borders: the first second is in, the last one is not
    yield record(900, "ann", november, 64)
    yield record(901, "ann", at("2025-12-01T00:00:00Z"), 128)
    yield record(902, "ann", january, 256)
    # no energy; another cluster; cancelled before it was eligible, which sacct does not list
    yield record(903, "ann", november + 5, None, emissions={})
    yield record(904, "ann", november + 6, 512, cluster="other", key="other/904,1,0/0")
    never = record(905, "ann", november + 7, 1024, state="CANCELLED")
    del never["@eligible"], never["@start"]
    yield never
    for n, user in enumerate(EVIL):
        yield record(910 + n, user, at("2025-09-10T00:00:00Z") + n, 64)


def bounds(args):
    if args.month:
        year, month = map(int, args.month.split("-"))
        return (calendar.timegm((year, month, 1, 0, 0, 0)),
                calendar.timegm((year + month // 12, month % 12 + 1, 1, 0, 0, 0)))
    year, week = map(int, args.week.split("-W"))
    monday = calendar.timegm(time.strptime(f"{year} {week} 1", "%G %V %u"))
    return monday, monday + 7 * DAY


def sums(argv):
    p = argparse.ArgumentParser()
    for option in ("--month", "--week", "--by", "-A", "-u", "-r", "-M"):
        p.add_argument(option)
    args = p.parse_args(argv)
    first, end = bounds(args)
    want = {}
    for r in records():
        if not first <= at(r["@end"]) < end or "@start" not in r:
            continue
        if args.A and r["account"] != args.A or args.u and r["user_id"] != int(args.u):
            continue
        if args.r and r["partition"] != args.r or args.M and r["cluster"] != args.M:
            continue
        group = {"user": r["username"], "partition": r["partition"]}.get(args.by, r["account"])
        for key in ("total", group):
            s = want.setdefault(key, [0, 0, 0, 0])
            s[0] += 1
            s[1] += r["energy"]["total_j"] or 0
            s[2] += r["emissions"].get("co2e_g", 0)
            s[3] += r["state"] == "FAILED"
    have = {}
    for row in json.load(sys.stdin)["rows"]:
        if row["section"] not in ("total", args.by or "account"):
            continue
        if row["jobs"]:
            key = "total" if row["section"] == "total" else row["key"]
            have[key] = [row["jobs"], row["energy_j"] or 0, row["co2e_g"] or 0, row["failed"]]
    print("same" if have == want else f"{have} instead of {want}")


def mail(path):
    with open(path, "rb") as f:
        m = email.message_from_binary_file(f, policy=email.policy.default)
    parts = list(m.iter_attachments())
    return m, m.get_body().get_content(), parts[0].get_filename(), parts[0].get_content()


def mails(paths):
    lines = []
    for path in paths:
        m, text, name, page = mail(path)
        assert page.startswith("<!DOCTYPE html>") and page.rstrip().endswith("</html>") and "<script" not in page
        assert m["Auto-Submitted"] == "auto-generated" and m["Bcc"] is None
        in_text = {u for u in USERS if re.search(rf"\b(acct-)?{u}\b", text)}
        in_page = {u for u in USERS if re.search(rf"\b(acct-)?{u}\b", page)}
        assert in_text == in_page, (in_text, in_page)
        lines.append(f"{m['To']}|{m['Subject']}|{name}|{' '.join(sorted(in_page))}")
    print("\n".join(sorted(lines)))


def places(paths):
    found = []
    for path in paths:
        m, text, _, page = mail(path)
        place = re.search(r"Place\s(\d+\sof\s\d+)\susers", text)
        if place:
            assert place.group(0).split() == re.search(r"Place \d+ of \d+ users", page).group(0).split()
            found.append(f"{m['To'].split('@')[0]} {' '.join(place.group(1).split())}")
    print(", ".join(sorted(found)))


def main():
    what, rest = sys.argv[1], sys.argv[2:]
    if what == "jobs":
        for r in records():
            print(json.dumps(r))
    elif what == "sums":
        sums(rest)
    elif what == "place":
        p = json.load(sys.stdin)["place"]
        print(f"{p['energy']} of {p['energy_of']}, {p['wasted']} of {p['wasted_of']}")
    elif what == "mails":
        mails(sorted(pathlib.Path(rest[0]).iterdir()))
    else:
        places(sorted(pathlib.Path(rest[0]).iterdir()))


main()
