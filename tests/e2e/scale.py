#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""scale.py - for scale.sh.

procs DIR              inside the cluster in DIR: of each kind of process CPU ms, PSS in KiB, number
used BEGIN END MS [IDLE]   what each kind used between two outputs of procs, in MS of time; with IDLE, such an output for a
                       time without jobs, less what it uses in that time
feed DIR UJ DRAM_UJ    advances the fake RAPL counters of all nodes of the cluster in DIR
ledgers DIR CEEMS      inside: whether all ledgers have measured what was fed and add up; prints the sums
fit FILE               figures by size, with the exponent of their growth
exponent FILE WHAT     the exponent of one of them"""
import fcntl
import glob
import json
import math
import os
import subprocess
import sys
import time

RECORDER, WORKER = "ceems-recorder", "ceems-recorder's worker"
TICK_MS = 1000 // os.sysconf("SC_CLK_TCK")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def kind_of(pid, comm, sinkdb):
    if comm == "mariadbd":
        return "sink's MariaDB" if pid == sinkdb else "MariaDB"
    if comm == "exe":
        return WORKER
    if comm.startswith("ceems-") and comm != "ceems-recorder":
        return "helpers"
    return comm


def own_cpu_ms(pid):
    """CPU time of all threads, in the kernel's nanoseconds: a process that uses little has only a few ticks in stat."""
    return time.clock_gettime_ns(~int(pid) << 3 | 2) / 1e6  # MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED)


def procs(folder):
    try:
        sinkdb = read(f"{folder}/run/pid/sinkdb").strip()
    except OSError:
        sinkdb = None
    kinds = {}
    for path in glob.glob("/proc/[0-9]*"):
        try:
            stat = read(f"{path}/stat")
            comm = stat[stat.index("(") + 1:stat.rindex(")")]
            fields = stat[stat.rindex(")") + 2:].split()
            if not comm.startswith(("slurm", "ceems-", "mariadbd", "munged", "exe")):
                continue
            pss = [int(l.split()[1]) for l in read(f"{path}/smaps_rollup").split("\n") if l.startswith("Pss:")]
            # children that ended and were waited for, too: workers of the recorder, forks of slurmd
            cpu = own_cpu_ms(path[6:]) + sum(map(int, fields[13:15])) * TICK_MS
        except (OSError, ValueError):
            continue  # it ended
        k = kinds.setdefault(kind_of(path[6:], comm, sinkdb), [0, 0, 0])
        k[0] += cpu
        k[1] += pss[0] if pss else 0
        k[2] += 1
    for name, (cpu, pss, n) in sorted(kinds.items()):
        print(f"{name}\t{cpu:.3f}\t{pss}\t{n}")


def load(path):
    """The CPU time of a worker of the recorder counts as the recorder's, which gets it when the worker ends."""
    lines = [line.split("\t") for line in read(path).splitlines()]
    rows = {r[0]: [0 if r[1] == "-" else float(r[1]), *r[2:]] for r in lines}
    if WORKER in rows and RECORDER in rows:
        rows[RECORDER][0] += rows[WORKER][0]
        rows[WORKER][0] = 0
    return rows


def used(begin, end, ms, idle=None):
    before, after = load(begin), load(end)
    at_rest = load(idle) if idle else {"time": [1]}

    def tell(name, cpu, *more):
        cpu -= at_rest.get(name, [0])[0] * float(ms) / at_rest["time"][0]
        print(name, "-" if name == WORKER else f"{max(0, cpu):.1f}", *more, sep="\t")

    rest = after["all"][0] - before["all"][0]
    print("time", ms, sep="\t")
    for name, row in sorted(after.items()):
        cpu = max(0, row[0] - before.get(name, [0])[0])
        if name not in ("all", "slurmstepd"):
            rest -= cpu
            tell(name, cpu, *row[1:])
    tell("steps and forks", max(0, rest))
    tell("all", after["all"][0] - before["all"][0])


def counters(folder):
    return glob.glob(f"{folder}/sysroot/n*/sys/class/powercap/intel-rapl:*/energy_uj")


def feed(folder, uj, dram_uj):
    """As rapl_advance does, without a wrap: readers keep the file open, so the value is written over the old one."""
    for path in counters(folder):
        with open(path, "r+b", buffering=0) as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            step = dram_uj if "intel-rapl:0:0" in path else uj
            os.pwrite(f.fileno(), b"%d\n" % (int(os.pread(f.fileno(), 64, 0)) + int(step)), 0)


def ledgers(folder, ceems):
    fed = {}
    for path in counters(folder):
        node = path[len(folder):].split("/")[2]
        fed[node] = fed.get(node, 0) + int(read(path))
    behind, wrong, nobodys = [], [], 0
    for node, uj in fed.items():
        page = json.loads(subprocess.run([ceems, "ledger", "-n", node, "--json"], check=True, stdout=subprocess.PIPE).stdout)
        if page["measured"]["total_uj"] != uj:
            behind.append(f"{node} {page['measured']['total_uj']} of {uj}")
        if page["difference_uj"] or page["conservation_error_uj"]:
            wrong.append(node)
        nobodys += page["unallocated"]["total_uj"] + page["system"]["total_uj"]
    print(len(fed), sum(fed.values()), nobodys)
    if wrong:
        print("do not add up:", *wrong)
    if behind:
        print("behind:", *behind[:5])
    return 1 if wrong or behind or not fed else 0


def figures(path):
    rows = {}
    for line in read(path).splitlines():
        what, size, value, unit = line.split("\t")
        what = what.split(" (")[0]
        rows.setdefault(what, (unit, {}))[1][float(size)] = float(value)
    return rows


def exponent(values):
    """Slope of the least squares through the logarithms; None: too few values above 0."""
    points = [(math.log(s), math.log(v)) for s, v in values.items() if s > 0 and v > 0]
    if len(points) < 2:
        return None
    x = sum(p[0] for p in points) / len(points)
    y = sum(p[1] for p in points) / len(points)
    below = sum((p[0] - x) ** 2 for p in points)
    return sum((p[0] - x) * (p[1] - y) for p in points) / below if below else None


def fit(path):
    for what, (unit, values) in figures(path).items():
        power = exponent(values)
        print(f"{what}: " + ", ".join(f"{v:g}" for _, v in sorted(values.items())) + f" {unit} at " +
              ", ".join(f"{s:g}" for s in sorted(values)) + ("" if power is None else f": to the power of {power:.2f}"))


def main(verb, *args):
    if verb == "exponent":
        power = exponent(figures(args[0]).get(args[1], ("", {}))[1])
        if power is None:
            return 1
        print(f"{power:.2f}")
        return 0
    return {"procs": procs, "used": used, "feed": feed, "ledgers": ledgers, "fit": fit}[verb](*args) or 0


sys.exit(main(*sys.argv[1:]))
