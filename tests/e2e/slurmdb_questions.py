#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""slurmdb_questions.py RECORDER DATADIR PID LAST NOW TIMES: inside a cluster with the history of t0408, asks what
ceems-recorder's worker and `ceems job` ask, and reads in MariaDB's slow log how it answered. DATADIR and PID are the
server's, LAST is the history's last job id, NOW its last second. Prints a line for each question, with tabs:
NAME JOBS STATEMENTS ROWS_EXAMINED SCANS WALL_MS CPU_MS. JOBS is how many the answer has, SCANS how many statements
read a whole table of jobs or steps. Wall and CPU time are the mean of TIMES more times without the log. "control" is
a statement that does read the whole table."""
import os
import re
import socket
import subprocess
import sys
import time

RECORDER, DATADIR, PID = sys.argv[1:4]
LAST, NOW, TIMES = (int(a) for a in sys.argv[4:7])
SLOW_LOG = f"{DATADIR}/questions.log"
NO_STEPS, SCRIPT, HAS_BATCH, HAS_EXTERN = 1, 2, 8, 16
# of 1,000 ids the first 500 are tasks of an array, the next 100 components of 50 het jobs
ARRAY, HET, PLAIN = LAST - 999, LAST - 499, LAST - 399
ANY = 4294967294


def sql(text):
    return subprocess.run(["mariadb", "--no-defaults", "--socket=/run/mysqld/mysqld.sock", "--batch",
                           "--skip-column-names", "slurm_acct_db", "-e", text],
                          check=True, stdout=subprocess.PIPE).stdout.decode()


def submit_of():
    rows = sql(f"SELECT id_job, time_submit FROM ceems_job_table WHERE id_job > {LAST - 1000}").split("\n")
    return {int(j): int(s) for j, s in (r.split("\t") for r in rows if r)}


class Worker:
    """`ceems-recorder --ask-slurmdbd`: slurmdb_wire.h has what is said."""

    def __init__(self):
        ours, theirs = socket.socketpair()
        self.process = subprocess.Popen([RECORDER, "--ask-slurmdbd"], stdin=theirs)
        theirs.close()
        self.lines = ours.makefile("rw", encoding="utf-8")
        self.number = 0

    def ask(self, kind, wants=(), begin=0, end=0):
        self.number += 1
        self.lines.write(f"ask 1 {self.number} {kind} {len(wants)} {begin} {end} 0 ceems\n" + "".join(
            f"want {' '.join(map(str, w))}\n" for w in wants))
        self.lines.flush()
        for line in self.lines:
            if line.startswith("done "):
                return int(line.split()[2])
            if line.startswith("failed "):
                sys.exit(line)
        sys.exit("the recorder's worker ended")


def cpu_s():
    with open(f"/proc/{PID}/stat", encoding="ascii") as f:
        ticks = f.read().rsplit(")", 1)[1].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def statements(name):
    """Of each statement about jobs or steps: rows examined, and whether it read a whole table."""
    with open(SLOW_LOG, encoding="utf-8", errors="replace") as f:
        entries = re.split(r"^# User@Host: ", f.read(), flags=re.M)[1:]
    for e in entries:
        if not re.search(r"ceems_(job|step)_table|ceems_job_script_table", re.sub(r"^#.*\n", "", e, flags=re.M)):
            continue
        plan = [p.split("\t") for p in re.findall(r"^# explain: (.*)$", e, flags=re.M)][1:]
        # t1: of jobs or steps; t4: of scripts, or jobs again. t2 and t3 are associations and reservations
        scans = [p for p in plan if p[2] in ("t1", "t4") and p[3] in ("ALL", "index")]
        if not plan or scans:
            print(f"statement of {name}:\n{e}", file=sys.stderr)
        yield int(re.search(r"Rows_examined: (\d+)", e).group(1)), bool(scans) or not plan


def measure(name, ask):
    sql("SET GLOBAL slow_query_log = 0")
    if os.path.exists(SLOW_LOG):
        os.unlink(SLOW_LOG)
    sql("SET GLOBAL slow_query_log = 1")
    jobs = ask()
    sql("SET GLOBAL slow_query_log = 0")
    said = list(statements(name))
    begin, cpu = time.monotonic(), cpu_s()
    for _ in range(TIMES):
        ask()
    wall, cpu = time.monotonic() - begin, cpu_s() - cpu
    print(name, jobs, len(said), sum(s[0] for s in said), sum(s[1] for s in said),
          f"{wall * 1e3 / TIMES:.1f}", f"{cpu * 1e3 / TIMES:.1f}", sep="\t", flush=True)


def main():
    sql("SET GLOBAL long_query_time = 0; SET GLOBAL log_slow_verbosity = 'query_plan,explain'; "
        f"SET GLOBAL slow_query_log_file = '{SLOW_LOG}'")
    submit = submit_of()
    worker = Worker()

    def want(job, flags=HAS_BATCH | HAS_EXTERN):
        task = (ARRAY, job - ARRAY) if job < HET else (0, 0)
        het = (HET + (job - HET) // 2 * 2, (job - HET) % 2) if HET <= job < PLAIN else (0, 0)
        return job, *task, *het, submit[job], flags, 0, 0

    def ids(*ranges, flags=HAS_BATCH | HAS_EXTERN):
        wants = [want(j, flags) for r in ranges for j in r]
        return lambda: worker.ask("jobs", wants)

    def window(seconds, end=NOW):
        return lambda: worker.ask("window", begin=end - seconds, end=end)

    def command(*args):
        def ask():
            out = subprocess.run(["ceems", "job", *args], check=True, stdout=subprocess.PIPE).stdout
            return out.count(b"\n") if "--json" in args else int(bool(out))
        return ask

    mixed = range(PLAIN, PLAIN + 40), range(ARRAY + 100, ARRAY + 140), range(HET, HET + 20)
    measure("100 jobs", ids(range(PLAIN, PLAIN + 100)))
    measure("100 tasks of an array", ids(range(ARRAY, ARRAY + 100)))
    measure("100 components of het jobs", ids(range(HET, HET + 100)))
    measure("100 of all kinds", ids(*mixed))
    measure("100 of all kinds with scripts", ids(*mixed, flags=HAS_BATCH | HAS_EXTERN | SCRIPT))
    measure("100 of all kinds without steps", ids(*mixed, flags=NO_STEPS))
    measure("1 job", ids([LAST]))
    measure("window of an hour", window(3600))
    measure("window of 12 hours", window(12 * 3600))
    measure("window of an hour, 12 hours ago", window(3600, NOW - 12 * 3600))
    measure("ceems job JOB", command(str(LAST)))
    measure("ceems job JOB.0", command(f"{LAST}.0"))
    measure("ceems job --json JOB", command("--json", str(LAST)))
    measure("ceems job ARRAY_TASK", command("--json", f"{ARRAY}_7"))
    measure("ceems job HET", command("--json", str(HET)))
    measure("ceems job HET+1", command("--json", f"{HET}+1"))
    measure("ceems job ARRAY", command("--json", str(ARRAY)))
    measure("control", lambda: int(sql("SELECT count(*) FROM ceems_job_table AS t1 WHERE priority = 1")))


main()
