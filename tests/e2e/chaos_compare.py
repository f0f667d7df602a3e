#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""chaos_compare.py CLUSTER DIR STORM: holds what sacct, Kafka, MariaDB and RecordFile of a private
cluster say of all its jobs against each other, value by value, with STORM from chaos_storm.py to know
what Slurm itself may have lost. Prints one line "NUMBER<tab>WHAT" per kind of error (0 is right), and
comments with each case and the counts."""
import collections
import datetime
import json
import re
import subprocess
import sys

CLUSTER, DIR, STORM = sys.argv[1:4]
STEP_IDS = {"batch": 4294967291, "extern": 4294967292, "interactive": 4294967290}
SHOWN = 20  # cases of a kind that are printed
wrong = collections.Counter()
noted = collections.Counter()
checked = collections.Counter()
run_again = []
RUN_AGAIN_SHARE = 0.03


def inside(*argv):
    p = subprocess.run([CLUSTER, "exec", DIR, *argv], stdin=subprocess.DEVNULL, check=True,
                       stdout=subprocess.PIPE, timeout=300)
    return p.stdout.decode(errors="surrogateescape")


def err(kind, text):
    wrong[kind] += 1
    if wrong[kind] <= SHOWN:
        print(f"# WRONG, {kind}: {text}")


def note(kind, text=""):
    noted[kind] += 1
    if text and noted[kind] <= SHOWN:
        print(f"# {kind}: {text}")


def number(text):
    return int(text) if text and text.isdigit() else None


def epoch(iso):
    if iso is None:
        return None
    return int(datetime.datetime.fromisoformat(iso.replace("Z", "+00:00")).timestamp())


def tres(text):
    return dict(p.split("=", 1) for p in text.split(",") if "=" in p)


# --- what each side says -----------------------------------------------------------------------------

FIELDS = ("JobIDRaw Submit Eligible Start End State ExitCode ConsumedEnergyRaw NodeList NNodes NTasks NCPUS "
          "User Group Account Partition QOS TimelimitRaw ReqTRES AllocTRES TRESUsageInTot").split()


def sacct(*which):
    """Rows of jobs, each with its steps' rows."""
    out = inside("env", "SLURM_TIME_FORMAT=%s", "sacct", "-D", "-a", "-n", "-P", "--noconvert",
                 "-o", ",".join(FIELDS), *which)
    jobs = []
    for line in out.split("\n")[:-1]:
        row = dict(zip(FIELDS, line.split("|")))
        row["State"] = row["State"].split(" ")[0]
        for time in "Submit", "Eligible", "Start", "End":
            row[time] = number(row[time])
        if "." in row["JobIDRaw"]:
            jobs[-1]["steps"][row["JobIDRaw"].split(".", 1)[1]] = row
        else:
            row["steps"] = {}
            jobs.append(row)
    return jobs


def by_key(lines):
    """Of each key what was said of it, in order, and how many lines there were."""
    said, n = collections.OrderedDict(), 0
    for line in lines:
        if line:
            record = json.loads(line)
            said.setdefault(record["key"], []).append(record)
            n += 1
    return said, n


def kafka():
    return by_key(inside("kcat", "-b", "127.0.0.1:9092", "-t", "ceems.jobs", "-C", "-e", "-q",
                         "-o", "beginning").split("\n"))


def record_file():
    with open(f"{DIR}/records/jobs.jsonl", encoding="utf-8") as f:
        return by_key(f.read().split("\n"))


def open_steps():
    """What slurmdbd has as running for ever. A slurmctld that comes back after kill -9 tells slurmdbd
    again what it had saved to tell, and a start told late opens a step that had ended; sacct then
    makes up its state and end from the job's."""
    out = inside("mariadb", "--no-defaults", "--socket=/run/mysqld/mysqld.sock", "--batch",
                 "--skip-column-names", "slurm_acct_db", "-e",
                 "SELECT id_job, time_submit, id_step FROM ceems_step_table JOIN ceems_job_table "
                 "USING (job_db_inx) WHERE ceems_step_table.time_end = 0")
    return {tuple(int(n) % 2**32 for n in line.split()) for line in out.splitlines()}


JOB_COLUMNS = {  # column: where JSON has it
    "jobid": "jobid", "restart_count": "restart_count", "job_name": "job_name",
    "username": "username", "account": "account", "partition_name": "partition", "state": "state",
    "UNIX_TIMESTAMP(submit_time)": "@submit", "UNIX_TIMESTAMP(start_time)": "@start",
    "UNIX_TIMESTAMP(end_time)": "@end", "elapsed_s": "elapsed", "nodes": "nodes",
    "total_nodes": "total_nodes", "total_cpus": "total_cpus", "tres_alloc": "tres_alloc",
    "energy_j": "energy.total_j", "co2e_g": "emissions.co2e_g", "energy_final": "energy.final",
    "cpu_time_s": "usage.perf.cpu_time_s", "read_bytes": "usage.io.read_bytes",
}
STEP_COLUMNS = {
    "step_name": "name", "state": "state", "nnodes": "nnodes", "ntasks": "ntasks",
    "UNIX_TIMESTAMP(start_time)": "@start", "UNIX_TIMESTAMP(end_time)": "@end",
    "energy_j": "energy.total_j", "co2e_g": "emissions.co2e_g",
}


def sql(query):
    out = inside("mariadb", f"--defaults-file={DIR}/etc/mariadb.cnf", "--batch", "--raw",
                 "--skip-column-names", "--default-character-set=utf8mb4", "ceems", "-e", f"SET time_zone = '+00:00'; {query}")
    return [json.loads(line) for line in out.split("\n") if line]


def mariadb():
    """By key the whole record, the columns, and those of the steps."""
    def quoted(columns):
        return ", ".join(f"'{c}', {c}" for c in columns)
    rows = {r["record_key"]: r for r in sql(
        f"SELECT JSON_OBJECT('record_key', record_key, 'record', record, {quoted(JOB_COLUMNS)}) "
        "FROM job")}
    for r in rows.values():
        r["steps"] = {}
    for s in sql("SELECT JSON_OBJECT('record_key', record_key, 'step_id', step_id, "
                 f"{quoted(STEP_COLUMNS)}) FROM step"):
        if s["record_key"] in rows:
            rows[s["record_key"]]["steps"][s["step_id"]] = s
        else:
            err("steps in MariaDB without their job", s["record_key"])
    return rows


# --- comparing ---------------------------------------------------------------------------------------

def member(record, path):
    for name in path.split("."):
        record = record.get(name) if record is not None else None
    return record


def same(a, b):
    if isinstance(a, str) and isinstance(b, str) and b.endswith("Z"):
        return a == b
    if isinstance(a, (int, float)) and isinstance(b, str):
        b = epoch(b)
    if isinstance(a, (int, float)) and isinstance(b, (int, float, bool)):
        return abs(a - b) <= 1e-9 * max(1, abs(a))
    return a == b


def compare_columns(what, row, record, columns):
    for column, path in columns.items():
        checked["values of MariaDB"] += 1
        if not same(row[column], member(record, path)):
            err("values in MariaDB that are not the record's",
                f"{what}: {column} {row[column]!r}, {path} {member(record, path)!r}")


def changes(a, b):
    keys = [k for k in a if a[k] != b.get(k)] + [k for k in b if k not in a]
    return f"{keys}: " + "; ".join(f"{k} {str(a.get(k))[:300]} -> {str(b.get(k))[:300]}"
                                   for k in keys[:3])


def only_adds(a, b):
    """Whether B says what A says, and more where A knew nothing."""
    if isinstance(a, dict) and isinstance(b, dict):
        return all(k in b and only_adds(a[k], b[k]) for k in a)
    return a is None or a == b


def compare_sinks(said_kafka, said_file, rows):
    for name, keys in ("Kafka", said_kafka), ("RecordFile", said_file), ("MariaDB", rows):
        for other, others in ("Kafka", said_kafka), ("RecordFile", said_file), ("MariaDB", rows):
            for key in keys:
                if key not in others:
                    err("records in one sink and not in another", f"{key}: {name}, not {other}")
    for key, records in said_file.items():
        last = records[-1]
        if key in said_kafka and said_kafka[key][-1] != last:
            err("records whose last word differs in Kafka and RecordFile",
                f"{key}: {changes(said_kafka[key][-1], last)}")
        if key not in rows:
            continue
        row = rows[key]
        # the steps are rows of their own
        bare = {k: v for k, v in last.items() if k != "steps" or v is None}
        if json.loads(row["record"]) != bare:
            err("records whose last word differs in MariaDB and RecordFile",
                f"{key}: {changes(json.loads(row['record']), bare)}")
        compare_columns(key, row, last, JOB_COLUMNS)
        steps = {s["stepid"]: s for s in last["steps"] or []}
        if set(steps) != set(row["steps"]):
            err("records whose steps differ in MariaDB", f"{key}: {set(steps)} {set(row['steps'])}")
        for step in set(steps) & set(row["steps"]):
            compare_columns(f"{key} step {step}", row["steps"][step], steps[step], STEP_COLUMNS)


def compare_repeats(said, rows_of):
    for key, records in said.items():
        for record in records[:-1]:
            last = records[-1]
            if record == last:
                note("repeats with equal content")
            elif (record["energy"]["final"] is False or record["steps"] is None
                  or record["db_index"] is None or any(s.get("@end") is None for s in record["steps"])):
                note("corrections: the earlier lacked energy, steps, their ends or slurmdbd's row")
            elif only_adds(record, last):
                note("corrections: the earlier lacked what slurmdbd was told later",
                     f"{key}: {changes(record, last)}")
            elif record["@start"] is None and last["@start"]:
                note("runs that slurmctld, killed, told as jobs that never began, until it had its start again",
                     f"{key}: {changes(record, last)}")
            elif record["@end"] != last["@end"] and (base_of(last) not in rows_of or any(
                    r["End"] == epoch(last["@end"]) for r in rows_of[base_of(last)])):
                note("ends told again by slurmctld, with sacct's end last, or none",
                     f"{key}: {record['@end']} {record['state']}, then {last['@end']} "
                     f"{last['state']}")
            else:
                said_all = [(r["state"], r["@end"], r["energy"]["total_j"], r["energy"]["final"],
                             [(s["stepid"], s["energy"].get("total_j")) for s in r["steps"] or []])
                            for r in records]
                err("repeats with another content",
                    f"{key}: {changes(record, last)}; all that was said: {said_all}")


def compare_energies(said):
    for key, records in said.items():
        for record in records:
            total, alloc = record["energy"]["total_j"], record["tres_alloc"]
            if alloc is not None and number(tres(alloc).get("energy")) != total:
                err("records with another energy in tres_alloc", f"{key}: {alloc}, total {total}")


def base_of(record):
    return record["jobid"], epoch(record["@submit"])


def as_sacct(exit_code):
    """sacct takes 128 from a status, whatever it means."""
    if exit_code is None:
        return None
    status, signal = exit_code.split(":")
    return f"{int(status) % 128}:{signal}"


def compare_job(record, row, is_open, kills, starts):
    key = record["key"]
    ran = row["NodeList"] not in ("None assigned", "")
    extern = row["steps"].get("extern")

    def equal(what, ours, theirs):
        checked["values of sacct"] += 1
        if ours != theirs:
            err("values that are not sacct's", f"{key}: {what}: {ours!r}, sacct {theirs!r}")

    # Of a run that slurmctld told the hook of, slurmdbd may know nothing, as slurmctld was killed: the next one has a
    # job as it was before its end, and ends it once more, where slurmdbd keeps the first end; or it has a job that
    # runs, whose start slurmdbd was never told.
    end = epoch(record["@end"])
    is_end_untold = end > row["End"] and killed_between(kills, row["End"], end)
    is_start_untold = record["@start"] and not ran and killed_between(kills, row["Submit"], end)
    is_untold = is_end_untold or is_start_untold

    def equal_unless_run_again(what, ours, theirs):
        """The next slurmctld may start again what slurmdbd was told of, which has one row for both."""
        if ours != theirs and (is_end_untold or killed_between(kills, row["Submit"], row["End"])):
            run_again.append(f"{key}: {what}: {ours!r}, sacct {theirs!r}")
        else:
            equal(what, ours, theirs)

    equal_unless_run_again("state", record["state"], row["State"])
    (equal_unless_run_again if is_end_untold else equal)("end", end, row["End"])
    ours = as_sacct(record["exit_code"])
    told_again = ours != row["ExitCode"] and any(s >= row["End"] for s in starts)
    if told_again:
        # slurmctld changes it when the batch script's end comes in, and tells slurmdbd of all jobs
        # that are over whenever it starts
        note("exit codes that slurmctld changed after the end and told slurmdbd at its next start",
             f"{key}: {ours}, sacct {row['ExitCode']}")
    else:
        equal("exit code", ours, row["ExitCode"])
    if row["Eligible"] or row["User"] != "root":  # a row made of the end alone may have no user either
        equal("user", record["username"], row["User"] or None)
    if record["account"] is None and row["Account"] and killed_after(kills, row["End"]):
        # it began without slurmdbd and knew of no association; the next one tells the start again
        note("jobs whose account slurmctld, killed, told slurmdbd after their end", key)
    else:
        equal("account", record["account"], row["Account"] or None)
    if row["Eligible"]:
        equal("partition", record["partition"], row["Partition"] or None)
        equal("group", record["groupname"], row["Group"] or None)
        equal("QOS", record["qos"] or "Unknown", row["QOS"])
        equal("requested TRES", tres(record["tres_req"] or ""), tres(row["ReqTRES"]))
        if number(row["TimelimitRaw"]):
            equal("time limit", record["time_limit"], number(row["TimelimitRaw"]) * 60)
    else:
        # slurmdbd's row is made of the end alone: no partition, root's group, 26.05's no numbers
        note("jobs of which slurmctld, killed, told slurmdbd the end only", key)
    if ran:
        start = epoch(record["@start"])
        if start and row["Start"] and start > row["Start"] and killed_after(kills, start):
            note("runs of which slurmctld, killed, told slurmdbd the end, and the start of one before",
                 f"{key}: {start}, sacct {row['Start']}")
        elif start and row["Start"] is None and row["State"] == "REQUEUED":
            # requeued in the 5 s before slurmdbd is told of a start: 22.05's slurmctld may write 0 over it
            # when it makes the job pending again; the hook has the start
            note("runs requeued so soon that slurmdbd has no start of them", f"{key}: {start}")
        else:
            equal_unless_run_again("start", start, row["Start"])
        equal_unless_run_again("nodes", record["nodes"], row["NodeList"])
        if row["Eligible"]:
            equal("number of nodes", record["total_nodes"], number(row["NNodes"]))
            equal("number of CPUs", record["total_cpus"], number(row["NCPUS"]))
        # 22.05 leaves the row empty after scancel or requeue; the extern step has the job's energy
        energy = number(row["ConsumedEnergyRaw"])
        if not energy and extern:
            energy = number(extern["ConsumedEnergyRaw"])
            note("jobs whose energy sacct has in the extern step only")
        if energy:
            equal_unless_run_again("energy", record["energy"]["total_j"], energy)
        ours, theirs = (tres(t or "") for t in (record["tres_alloc"], row["AllocTRES"]))
        if not number(row["ConsumedEnergyRaw"]):
            ours.pop("energy", None)
            theirs.pop("energy", None)
        if "node" in ours and "node" not in theirs and any(s >= row["End"] for s in starts):
            # it counts the nodes down that have nothing more to do, and those left when it starts
            note("jobs that slurmctld, when it started, told slurmdbd again without their number of nodes", key)
            del ours["node"]
        if row["Eligible"]:
            equal("tres_alloc", ours, theirs)
        if extern and record["emissions"]["co2e_g"] is not None:
            co2e = number(tres(extern["TRESUsageInTot"]).get("ic/ceems_co2e", ""))
            if co2e is not None:
                equal("ug CO2e", round(record["emissions"]["co2e_g"] * 1e6), co2e)
    if is_untold and not record["energy"]["final"]:
        run_again.append(f"{key}: slurmdbd knows of {'another end' if is_end_untold else 'no start'}")
    elif not record["energy"]["final"]:
        err("records whose energy is not final at the end", key)
    if record["steps"] is None:
        if not is_untold:
            err("records without steps at the end", key)
        return
    steps = {s["stepid"]: s for s in record["steps"]}
    theirs = {STEP_IDS.get(i) or number(i): s for i, s in row["steps"].items()}
    equal("steps", sorted(steps), sorted(theirs))
    for i in set(steps) & set(theirs):
        if is_ended_again(steps[i], theirs[i], row, kills):
            note("steps that the next slurmctld ended once more, of which it knew no usage",
                 f"{key}: step {i}: {steps[i]['@end']} {steps[i]['state']}, sacct "
                 f"{theirs[i]['End'] - epoch(steps[i]['@end'])} s later, {theirs[i]['State']}")
            continue
        code = as_sacct(steps[i].get("exit_code"))
        if told_again and code == as_sacct(record["exit_code"]) and theirs[i]["ExitCode"] == row["ExitCode"]:
            theirs[i] = {**theirs[i], "ExitCode": code}  # the batch script's is the job's
        compare_step(f"step {i}", steps[i], theirs[i], (*base_of(record), i) in is_open, equal)


def is_ended_again(step, theirs, row, kills):
    """Whether the slurmctld that told slurmdbd of STEP's end was killed, and the next one, with a state in which
    it ran, told of another end."""
    end, again = epoch(step.get("@end")), theirs["End"] or 0
    return end and end < again and (end <= row["End"] < again or (
        not tres(theirs["TRESUsageInTot"]) and killed_between(kills, end, again)))


def tell_run_again(npairs):
    """One here and there is Slurm's; more would be ours."""
    for text in run_again:
        if len(run_again) <= max(2, npairs * RUN_AGAIN_SHARE):
            note("values of a run before slurmctld was killed, or after", text)
        else:
            err("values that are not sacct's", text)


def compare_step(what, step, row, is_open, equal):
    if is_open:
        note("steps that slurmdbd has open though their job is over, so that sacct makes up the end")
    else:
        equal(f"{what} state", step.get("state"), row["State"])
        equal(f"{what} end", epoch(step.get("@end")), row["End"])
        if row["ExitCode"]:
            equal(f"{what} exit code", as_sacct(step.get("exit_code")), row["ExitCode"])
        else:
            note(f"steps without an exit code in sacct, with {step.get('exit_code')} in the record")
    equal(f"{what} start", epoch(step.get("@start")), row["Start"])
    equal(f"{what} nodes", step.get("nodes"), row["NodeList"])
    equal(f"{what} number of nodes", step.get("nnodes"), number(row["NNodes"]))
    equal(f"{what} tasks", step.get("ntasks"), number(row["NTasks"]))
    usage = tres(row["TRESUsageInTot"])
    energy = number(usage.get("energy", ""))
    if energy == 0 and "ic/ceems_nodes" not in usage:
        energy = None  # Slurm's own 0, for a step whose slurmstepd told no usage: not known
    equal(f"{what} energy", step["energy"].get("total_j"), energy)
    co2e = number(usage.get("ic/ceems_co2e", ""))
    grams = step["emissions"].get("co2e_g")
    equal(f"{what} ug CO2e", None if grams is None else round(grams * 1e6), co2e)


# --- who has which job -------------------------------------------------------------------------------

def killed_after(kills, time):
    """slurmctld's death at or after TIME, with what it had not saved or told slurmdbd."""
    return any(k >= time - 1 for k in kills)


def killed_between(kills, begin, end):
    return any(begin - 1 <= k <= end for k in kills)


def slurm_version():
    version = inside("slurmctld", "-V").split()[1].split(".")
    return int(version[0]), int(version[1])


def tells_a_start_once():
    """slurmctld of 24.11 and later makes a job's index itself, and never says again what was lost when it was
    killed; nor does the job always have its index then (read_config.c:2369, 24.11.5). Until 23.11 it says a
    start again until slurmdbd gives the job an index, and with the end."""
    return slurm_version() >= (24, 11)


def starts_of_slurmctld(storm):
    """Since 23.11 scontrol reconfigure starts a new slurmctld, which loads the jobs from their saved state as any other."""
    return storm.get("starts", []) + (storm.get("reconfigured", []) if slurm_version() >= (23, 11) else [])


def told_and_not(over, records):
    """Pairs of RECORDS and rows of OVER that have the same end, and the records that are left."""
    ends = {r["End"]: r for r in over}
    pairs, left = [], []
    for record in records:
        row = ends.pop(epoch(record["@end"]), None)
        if row:
            pairs.append((record, row))
        else:
            left.append(record)
    return pairs, left


def compare_sets(rows_of, said, kills, alive):
    """The rows of sacct that have a record, with it."""
    pairs = []
    is_told_once = tells_a_start_once()
    ours = collections.defaultdict(list)
    for records in said.values():
        ours[base_of(records[-1])].append(records[-1])
    for base in sorted(set(rows_of) | set(ours)):
        job, submit = base
        rows, records = rows_of.get(base, []), ours.get(base, [])
        over = [r for r in rows if r["End"]]
        if len(over) == len(records) == 1:
            pairs.append((records[0], over[0]))
        elif len(over) == len(records):
            told, left = told_and_not(over, records)
            pairs += told
            for record in left:
                err("records of several with an end that sacct has not", record["key"])
        elif len(over) > len(records):
            err("jobs that sacct has and no record", f"{job} submitted {submit}: sacct "
                f"{[(r['State'], r['Start'], r['End']) for r in rows]}, "
                f"records {[r['key'] for r in records]}")
        elif not rows and all(
                killed_after(kills, submit if is_told_once else epoch(r["@end"])) for r in records):
            note("jobs of which slurmctld, killed, never told slurmdbd",
                 f"{[(r['key'], r['state'], r['@end']) for r in records]}")
        elif rows and all(killed_after(kills, epoch(r["@end"])) for r in told_and_not(over, records)[1]):
            pairs += told_and_not(over, records)[0]
            note("ends that slurmctld told us and, killed, not slurmdbd",
                 f"{job} submitted {submit}: records {[(r['state'], r['@end']) for r in records]}, "
                 f"sacct {[(r['State'], r['End']) for r in rows]}")
        else:
            told = [(r["key"], r["state"], r["@start"], r["@end"], r["nodes"]) for r in records]
            err("records that sacct has not", f"{told}, sacct {rows}")
        for r in rows:
            if r["End"] or records:
                continue
            if job in alive:
                err("jobs that still run", f"{job}")
            elif killed_after(kills, submit):
                note("jobs that slurmctld forgot when killed, open for ever in sacct",
                     f"{job} submitted {submit}, {r['State']}")
            else:
                err("jobs that are over and open in sacct", f"{job} submitted {submit}")
    return pairs


def name_of(record):
    raw = record["job_name"]
    if "job_name" not in record.get("escaped", []):
        return raw.encode()
    parts = raw.encode().split(b"\\\\")
    for i, part in enumerate(parts):
        bits = part.split(b"\\x")
        parts[i] = bits[0] + b"".join(bytes([int(b[:2], 16)]) + b[2:] for b in bits[1:])
    return b"\\".join(parts)


def without_other_bytes(name):
    """slurmdbd's MariaDB has a '?' for a byte that is not UTF-8."""
    return re.sub(rb"[^\x00-\x3e\x40-\x7f]+", b"?", name)


def compare_names(names, said, kills):
    records = collections.defaultdict(list)
    for r in said.values():
        records[str(r[-1]["jobid"])].append(r[-1])
    for job, submitted in names.items():
        for r in records[job]:
            # sbatch may have been told to wait, and the id may be another job's by now
            told = [bytes.fromhex(n) for n, t in submitted if t - 1 <= epoch(r["@submit"]) <= t + 60]
            if told:
                if name_of(r) in told:
                    checked["hostile names"] += 1
                    continue
                if killed_after(kills, epoch(r["@end"])) and without_other_bytes(name_of(r)) in map(
                        without_other_bytes, told):
                    note("names of ends that slurmctld, killed, never told, as slurmdbd has them", r["key"])
                elif name_of(r) in (b"wrap", b"sleep") and killed_after(kills, submitted[0][1]):
                    note("ids that slurmctld, killed, gave twice", r["key"])
                else:
                    err("job names that came back otherwise", f"{r['key']}: {r['job_name']!r}, "
                        f"submitted {told!r}")


def main():
    with open(STORM, encoding="ascii") as f:
        storm = json.load(f)
    alive = {int(i) for i in inside("squeue", "-h", "-t", "PD,R,CG,CF,S,RQ", "-o", "%A").split()}
    said_kafka, messages = kafka()
    said_file, lines = record_file()
    jobs = sacct("-S", "2000-01-01", "-E", "2100-01-01")
    # those that slurmdbd was told the end of, and no start, are shown to who knows their id only
    ids = sorted({str(r[-1]["jobid"]) for r in said_file.values()})
    for some in (ids[i:i + 1000] for i in range(0, len(ids), 1000)):  # an argument has at most 128 kB
        # the id of an array brings tasks whose id is another
        jobs += [r for r in sacct("-j", ",".join(some)) if not r["Eligible"] and r["JobIDRaw"] in some]
    rows_of = collections.defaultdict(list)
    for row in jobs:
        rows_of[int(row["JobIDRaw"]), row["Submit"]].append(row)
    rows = mariadb()

    kills = storm["kills"]
    is_open = open_steps()
    pairs = compare_sets(rows_of, said_file, kills, alive)
    compare_sinks(said_kafka, said_file, rows)
    compare_repeats(said_kafka, rows_of)
    compare_energies(said_kafka)
    starts = starts_of_slurmctld(storm)
    for record, row in pairs:
        compare_job(record, row, is_open, kills, starts)
    tell_run_again(len(pairs))
    compare_names(storm["names"], said_file, kills)

    print(f"# {len(jobs)} rows of jobs in sacct, {len(said_file)} records: {len(said_kafka)} keys in "
          f"{messages} messages of Kafka, {len(said_file)} in {lines} lines of RecordFile, "
          f"{len(rows)} rows in MariaDB")
    for of in checked, noted:
        for what, n in sorted(of.items()):
            print(f"# {n} {what}")
    for what in ("jobs that sacct has and no record", "records that sacct has not",
                 "records in one sink and not in another"):
        wrong[what] += 0
    for what, n in sorted(wrong.items()):
        print(f"{n}\t{what}")


main()
