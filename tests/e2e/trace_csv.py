#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""trace_csv.py FILE EXPRESSION: prints EXPRESSION of a trace, read by a CSV reader that is not ours. It may use `rows`
(a dict per line), last(NAME), the last known value of a column, number(NAME), all known ones, integral(NAME), and
corrected(), the seconds by which the wall clock was corrected between rows, all corrections added up."""
import csv
import datetime
import sys

with open(sys.argv[1], newline="", encoding="utf-8") as f:
    rows = list(csv.DictReader(f, strict=True))


def number(name):
    return [float(r[name]) for r in rows if r[name] != ""]


def last(name):
    return number(name)[-1] if number(name) else None


def integral(name):
    total, before = 0.0, None
    for r in rows:
        now = float(r["monotonic_s"])
        if r[name] != "":
            total += float(r[name]) * (now - before)
        before = now
    return total


def corrected():
    wall = [datetime.datetime.strptime(r["time_utc"], "%Y-%m-%dT%H:%M:%S.%fZ").timestamp() for r in rows]
    apart = [w - float(r["monotonic_s"]) for w, r in zip(wall, rows)]
    return sum(abs(b - a) for a, b in zip(apart, apart[1:]))


value = eval(sys.argv[2])  # pylint: disable=eval-used
print(round(value, 6) if isinstance(value, float) else value)
