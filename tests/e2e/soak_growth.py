#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""soak_growth.py FILE SETTLE STORM: says of samples made by soak_sample.py what grows. STORM is what chaos_storm.py wrote.

The first third of the time is left out, as are the first SETTLE seconds of each process, while caches fill: slurmctld
grew by 2.5 MB an hour from 300 s on, 2.3 from 600 s and 1.5 from 900 s, without a leak. Of the store's size the first hour is
left out, see FILLS. Cgroups of jobs whose slurmstepd was killed are not counted, as Slurm itself leaves them.

Of each kind of process and each thing that is counted, the growth is the median of the slopes between all pairs of samples of
one process that are at least 120 seconds apart (Theil and Sen), over all processes of the kind together: a process that is
started again changes nothing. It is growth if the median exceeds the bound, over all the time and
in each half of it, and rising pairs outnumber falling ones by 40 % of all pairs (Kendall's tau). One step upwards is no
growth, and noise does not rise for long. Prints a line per kind, and which kinds lived too briefly; exits with 1 if something
grows."""
import json
import statistics
import sys

# what, least bound per hour, and its share of the level
METRICS = (("kB", 2048, 0.10), ("fds", 4, 0), ("threads", 4, 0), ("mappings", 30, 0))
COUNT_BOUND = (12, 0.10)
# Counts that grow at first, and for how many seconds: the recorder keeps the key of each job for an hour (JOB_KEPT_S)
FILLS = {"kB of StoreDir": 3600}
MOST_PER_LIFE = 150  # samples of one process that are paired
LEAST_PAIRS = 30
APART = 120  # seconds
LEAST_TAU = 0.4


def lives_of(samples, killed):
    """{(kind, what): {process: [(time, value)]}}; the counts are one "process" for the whole time."""
    lives = {}
    for sample in samples:
        for kind, process, *values in sample["processes"]:
            for (what, *_), value in zip(METRICS, values):
                lives.setdefault((kind, what), {}).setdefault(process, []).append((sample["t"], value))
        sample["counts"]["cgroups of jobs"] = sum(n for job, n in sample["cgroups"].items() if job not in killed)
    kinds = {kind for sample in samples for kind in sample["counts"]}
    for kind in kinds:
        lives["cluster", kind] = {"": [(s["t"], s["counts"].get(kind, 0)) for s in samples]}
    return lives


def bound_of(what, level):
    least, share = next((m[1:] for m in METRICS if m[0] == what), COUNT_BOUND)
    return max(least, share * level)


def fit(lives, begin, end, settle):
    """Slopes per hour of all pairs between BEGIN and END, and all values that were used."""
    slopes, values = [], []
    for points in lives.values():
        since = max(begin, points[0][0] + settle)
        points = [p for p in points if since <= p[0] <= end]
        points = points[::max(1, len(points) // MOST_PER_LIFE)]
        values += [v for _, v in points]
        slopes += [(v2 - v1) * 3600 / (t2 - t1) for i, (t1, v1) in enumerate(points) for t2, v2 in points[i + 1:]
                   if t2 - t1 >= APART]
    return slopes, values


def main():
    settle = float(sys.argv[2])
    with open(sys.argv[1], encoding="ascii") as f:
        samples = [json.loads(line) for line in f if line.endswith("\n")]
    with open(sys.argv[3], encoding="ascii") as f:
        killed = set(json.load(f)["stepds"])
    first, last = samples[0]["t"], samples[-1]["t"]
    grown, brief = 0, set()
    for (kind, what), lives in sorted(lives_of(samples, killed).items()):
        begin = first + max((last - first) / 3, FILLS.get(what, 0))
        middle = (begin + last) / 2
        unsettled = 0 if kind == "cluster" else settle
        slopes, values = fit(lives, begin, last, unsettled)
        if len(slopes) < LEAST_PAIRS:
            brief.add(what if kind == "cluster" else kind)
            continue
        slope, level = statistics.median(slopes), statistics.median(values)
        tau = sum((s > 0) - (s < 0) for s in slopes) / len(slopes)
        bound = bound_of(what, level)
        halves = fit(lives, begin, middle, unsettled)[0], fit(lives, middle, last, unsettled)[0]
        grows = slope > bound and tau >= LEAST_TAU and all(
            statistics.median(half) > bound for half in halves if len(half) >= LEAST_PAIRS)
        grown += grows
        print(f"{'GROWS' if grows else 'level'}  {kind:22} {what:26} {level:9.0f} {slope:+10.1f}/h  bound {bound:7.0f}/h  "
              f"tau {tau:+.2f}  {len(lives)} processes, {len(slopes)} pairs")
    if brief:
        print(f"lived too briefly to tell: {', '.join(sorted(brief))}")
    print(f"{(last - first) / 60:.0f} minutes, {len(samples)} samples, {grown} kinds grow")
    return 1 if grown else 0


sys.exit(main())
