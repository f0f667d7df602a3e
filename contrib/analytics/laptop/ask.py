#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ask.py: answers ten questions about job records with DuckDB.

usage: ask.py [--question N] [--db FILE] [--sums FILE] RECORDS...

RECORDS are files of JSON lines: RecordFile of ceems.conf, or the topic as kcat prints it. --question
answers question N only. --db keeps the tables in a file, for queries of your own. --sums writes energy,
CO2e and waste by account and hour to FILE as CSV. Needs the package duckdb (pip install duckdb).
"""
import argparse
import os
import re

import duckdb

HERE = os.path.dirname(os.path.realpath(__file__))
SUMS = """COPY (SELECT account, strftime(hour, '%Y-%m-%dT%H') AS hour, count(*) AS jobs,
                       coalesce(sum(energy.total_j), 0) AS energy_j, coalesce(sum(emissions.co2e_g), 0) AS co2e_g,
                       coalesce(sum(waste_j), 0) AS waste_j
                FROM job GROUP BY ALL ORDER BY ALL) TO '{}' (HEADER)"""


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return f.read()


def load(db, files):
    """Makes the tables job and step from the records in FILES."""
    db.execute("SET VARIABLE records = $1", [files])
    db.execute(read("jobs.sql"))


def questions():
    """The questions as (number, text, SQL)."""
    found = re.findall(r"^-- (\d+)\. (.*)\n((?:(?!-- ).*\n)*)", read("questions.sql"), re.M)
    return [(int(number), text, sql) for number, text, sql in found]


def masked(value):
    """Replaces control characters: users choose names, which may have escape sequences for the terminal."""
    text = "n/a" if value is None else str(value)
    return "".join(c if c.isprintable() else "?" for c in text)


def print_answer(db, sql):
    answer = db.execute(sql)
    rows = [[column[0] for column in answer.description]] + [[masked(v) for v in row] for row in answer.fetchall()]
    width = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("    " + "  ".join(v.ljust(w) for v, w in zip(row, width)).rstrip())


def main():
    p = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][7:])
    p.add_argument("--question", type=int)
    p.add_argument("--db", default=":memory:")
    p.add_argument("--sums")
    p.add_argument("records", nargs="+")
    o = p.parse_args()
    db = duckdb.connect(o.db)
    load(db, o.records)
    for number, text, sql in questions():
        if o.question in (None, number):
            print("%d. %s\n" % (number, text))
            print_answer(db, sql)
            print()
    if o.sums:
        db.execute(SUMS.format(o.sums.replace("'", "''")))


if __name__ == "__main__":
    main()
