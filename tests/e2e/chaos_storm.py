#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""chaos_storm.py CLUSTER DIR ROUNDS SEED COMMIT_DELAY OUT: jobs of three users flow through a private
cluster while in each of ROUNDS rounds one or two things go wrong, chosen by SEED, several at a time. Then
everything is mended, what still runs is cancelled, and the store is left to drain. What happened
goes to stdout, as TAP comments, and to OUT for chaos_compare.py. COMMIT_DELAY is slurmdbd's CommitDelay. If
it is not 0, slurmdbd and its MariaDB are not killed, as rows that are not committed would be lost.

If ROUNDS is a time such as 3600s, this is a soak (t0822): fewer jobs a minute, with our options among them, and
two jobs that last; faults come in phases with long calm ones between, and only every fourth phase ends slurmctld and the
recorder, so that processes live long enough to show growth: slurmctld takes 15 minutes to fill its caches. The seed alone
decides the sequence of jobs and of faults."""
import json
import os
import random
import subprocess
import sys
import threading
import time

CLUSTER, DIR = sys.argv[1:3]
SOAK = int(sys.argv[3][:-1]) if sys.argv[3].endswith("s") else 0
ROUNDS, SEED, COMMIT_DELAY, OUT = 0 if SOAK else int(sys.argv[3]), sys.argv[4], int(sys.argv[5]), sys.argv[6]
CYCLE = min(900, SOAK / 3)  # seconds; faults happen in the first 40 % of each
MOST_AT_ONCE = 4
MOST_JOBS = 60  # of a soak: a busy machine must not pile up jobs, with which slurmctld grows
NODES = ("n1", "n2")
HERE = os.path.dirname(os.path.realpath(__file__))
begin = time.monotonic()
lock = threading.Lock()  # of what follows
names = {}     # job id -> [name, wall clock] as submitted: an id may be given twice
counts = {}    # what was submitted, what went wrong
kills = []     # wall clock of each kill -9 of slurmctld
room = threading.Event()  # of a soak: there is room for more jobs
starts = []    # wall clock of each start of slurmctld
reconfigured = []  # wall clock after each scontrol reconfigure
lasting = {}   # node -> id of the job that lasts as long as the soak
stepds = []    # ids of the jobs of which a slurmstepd was killed
over = threading.Event()


def say(text):
    with lock:
        print(f"# {time.monotonic() - begin:6.1f} s  {text}", flush=True)


def count(kind, what):
    with lock:
        of = counts.setdefault(kind, {})
        of[what] = of.get(what, 0) + 1


def run(argv, timeout, **more):
    """The exit status, None when it took too long, and what it printed."""
    try:
        p = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=timeout, check=False, **more)
        return p.returncode, p.stdout.decode(errors="replace").strip()
    except subprocess.TimeoutExpired:
        return None, ""


def cluster(*args, timeout=400):
    return run([CLUSTER, args[0], DIR, *args[1:]], timeout)


def inside(*args, user="root", timeout=20):
    # the time limit inside: what the cluster runs does not end with this side of nsenter
    return run([CLUSTER, "exec", DIR, "-u", user, "timeout", str(timeout), *args], timeout + 20)


# --- jobs ------------------------------------------------------------------------------------------

HOSTILE = [
    b"it's; DROP TABLE job; --", b'"quoted" \\" \\\\', b"line one\nline two\r\n\ttab",
    b"<script>&amp;{}[]\x01\x1f\x7f", "\u00e4\u6f22\U0001f600\u2028".encode(),
    b"latin1 \xe4\xf6 cut \xe2\x82 surrogate \xed\xa0\x80 overlong \xc0\xaf", b"\xff\xfe\xfd",
    b"%s%n%x $(reboot) `id` ${x}", b"back\\x41slash \\xff \xff", b"n" * 1000,
]


def later(seconds, *argv, user="root"):
    def act():
        over.wait(seconds)
        for _ in range(6):
            if inside(*argv, user=user)[0] == 0 or over.wait(2):
                return
    threading.Thread(target=act, daemon=True).start()


def submit(user, kind, *args, name=None):
    told = time.time()
    argv = ["sbatch", "--parsable", "-n1", "-o", "/dev/null", *args]
    if name is not None:
        argv[1:1] = [b"--job-name=" + name]
    rc, out = inside(*argv, user=user)
    last = out.splitlines()[-1] if out else ""
    if rc != 0 or not last.isdigit():
        count("submits refused or not answered", kind)
        return None
    count("jobs", kind)
    if name is not None:
        with lock:
            names.setdefault(last, []).append([name.hex(), told])
    return last


KINDS = ["true", "steps", "sleep", "fail", "array", "cancel pending array", "cancel pending",
         "cancel running", "time-out", "requeue", "hostile name", "srun", "het", "two nodes"]
WEIGHTS = [5, 5, 4, 2, 2, 1, 1, 3, 0.4, 2, 4, 2, 1, 2]
if SOAK:
    KINDS += ["perf", "trace", "profile", "shared node"]
    WEIGHTS += [3, 2, 2, 3]


def one_job(user, rng):
    kind = rng.choices(KINDS, WEIGHTS)[0]
    job = None
    if kind == "true":
        submit(user, kind, "--wrap", "true")
    elif kind == "steps":
        submit(user, kind, "--wrap", f"srun true; srun sleep {rng.uniform(0, 2):.1f}; srun false")
    elif kind == "sleep":
        submit(user, kind, "--wrap", f"sleep {rng.uniform(0, 5):.1f}")
    elif kind == "fail":
        submit(user, kind, "--wrap", f"exit {rng.randint(1, 255)}")
    elif kind == "array":
        submit(user, kind, f"--array=1-{rng.randint(2, 4)}", "--wrap", "sleep $SLURM_ARRAY_TASK_ID")
    elif kind == "cancel pending array":
        job = submit(user, kind, "--array=1-5", "--begin=now+1hour", "--wrap", "true")
        args = ["scancel"]
    elif kind == "cancel pending":
        job = submit(user, kind, "--begin=now+1hour", "--wrap", "true")
        args = ["scancel"]
    elif kind == "cancel running":
        job = submit(user, kind, "--wrap", "srun sleep 60")
        args = ["scancel"]
    elif kind == "time-out":
        submit(user, kind, "-t1", "--wrap", "sleep 200")
    elif kind == "requeue":
        job = submit(user, kind, "--requeue", "--wrap", "sleep 6")
        args = ["scontrol", "requeue"]
    elif kind == "hostile name":
        submit(user, kind, "--wrap", "true", name=rng.choice(HOSTILE))
    elif kind == "srun":
        rc, _ = inside("srun", "-n1", "-I20", "sleep", f"{rng.uniform(0, 2):.1f}", user=user,
                       timeout=40)
        count("jobs" if rc == 0 else "submits refused or not answered", kind)
    elif kind == "het":
        submit(user, kind, ":", "-n1", "--wrap", "srun true")
    elif kind == "two nodes":
        submit(user, kind, "-N2", "-n2", "--wrap", f"srun sleep {rng.uniform(0, 3):.1f}")
    elif kind == "perf":
        submit(user, kind, "--ceems-report", "--wrap",
               f"srun --ceems-perf=hw,sw,io,net,sched dd if=/dev/zero of=/dev/null bs=64k count={rng.randint(1, 9) * 10000}")
    elif kind == "trace":
        submit(user, kind, "--wrap", f"srun --ceems-trace=200ms sleep {rng.uniform(0, 4):.1f}; rm -f ceems-trace-*")
    elif kind == "profile":
        submit(user, kind, "--wrap", "srun --ceems-profile dd if=/dev/zero of=/dev/null bs=64k "
               f"count={rng.randint(1, 9) * 10000}; rm -f ceems-profile-*")
    elif kind == "shared node":
        node = rng.choice(NODES)
        for _ in range(2):
            submit(user, kind, "-w", node, "--wrap", f"srun sleep {rng.uniform(1, 6):.1f}")
    if job:
        later(rng.uniform(0, 4), *args, job, user=user)


def feed(user, number):
    rng = random.Random(f"{SEED}/{user}/{number}")
    while not over.is_set():
        while SOAK and not room.wait(1) and not over.is_set():
            pass
        one_job(user, rng)
        over.wait(rng.uniform(5, 15) if SOAK else rng.uniform(0.1, 1.2))


def watch_room():
    while not over.is_set():
        rc, out = inside("squeue", "-h", "-r", "-t", "PD,R,CG,CF", "-o", "%A")
        if rc == 0 and len(out.splitlines()) < MOST_JOBS:
            room.set()
        else:
            room.clear()
        over.wait(5)


def keep_lasting():
    """On each node a job that lasts, with all our options, so that its slurmstepds live long enough to show growth. It
    is one process: slurmstepd's jobacct_gather keeps some 32 bytes per TRES of each process that it ever saw."""
    work = "import time\nwhile True:\n  time.sleep(0.5)\n  open(\"/proc/self/maps\").read()"
    while not over.is_set():
        for node in NODES:
            rc, out = inside("squeue", "-h", "-t", "PD,R,CF", "-n", f"lasting-{node}", "-o", "%A")
            if rc == 0 and not out:
                lasting[node] = submit("user1", "lasting", "-w", node, "-J", f"lasting-{node}", "--wrap",
                                       "srun --ceems-trace=1s --ceems-perf=hw,sw,io,net,sched --ceems-profile=19 "
                                       f"/usr/bin/python3 -c '{work}'")
            elif rc == 0:
                lasting[node] = out.split()[0]
        over.wait(20)


def keep_nodes():
    """Slurm takes a node out that did not answer; jobs must go on."""
    while not over.wait(5):
        _, out = inside("sinfo", "-h", "-N", "-o", "%N %T")
        for line in out.splitlines():
            node, _, state = line.partition(" ")
            if node in NODES and state.rstrip("*") in ("down", "drained", "drain"):
                inside("scontrol", "update", f"nodename={node}", "state=resume")
                count("nodes resumed", node)


# --- what goes wrong ---------------------------------------------------------------------------------

def start(name):
    for _ in range(10):
        rc, out = cluster("start-daemon", *name.split())
        if rc == 0:
            return
        if "runs already" in out and cluster("wait-up", *name.split())[0] == 0:
            return
        time.sleep(1)
    say(f"{name} does not start: {out}")


def kill(name, signal):
    if signal == "TERM" and cluster("kill", *name.split(), "-TERM")[0] == 0:
        return
    cluster("kill", *name.split(), "-KILL" if signal == "TERM" else f"-{signal}")
    if name == "slurmctld" and signal in ("TERM", "KILL"):
        with lock:
            kills.append(time.time())  # it took jobs until the signal came


def back(name):
    start(name)
    if name == "slurmctld":
        with lock:
            starts.append(time.time())


def reconfigure():
    inside("scontrol", "reconfigure", timeout=60)
    with lock:
        reconfigured.append(time.time())


def killed(name):
    return lambda: kill(name, "KILL"), lambda: back(name)


def ended(name):
    return lambda: kill(name, "TERM"), lambda: back(name)


def stopped(name):
    return lambda: kill(name, "STOP"), lambda: kill(name, "CONT")


def cut_off(sink):
    return lambda: cluster("net", "hang", sink), lambda: cluster("net", "flow", sink)


def read_only():
    # the kernel does not take a file system from who writes on it
    kill("slurmctld", "TERM")
    kill("recorder", "TERM")
    rc, out = cluster("disk", "ro")
    if rc != 0:
        say(f"the disk stays writable: {out}")
    back("slurmctld")


def writable():
    cluster("disk", "rw")
    back("recorder")


def slurmdbd_answers(mode):
    """The recorder's questions go through dbd_proxy.py, which reads this file."""
    path = f"{DIR}/proxy.mode"
    with open(f"{path}.new", "w", encoding="ascii") as f:
        f.write(mode)
    os.rename(f"{path}.new", path)


def answering(mode):
    return lambda: slurmdbd_answers(mode), lambda: slurmdbd_answers("pass")


def say_failure(what, rc_out):
    if rc_out[0] != 0:
        say(f"{what}: {rc_out[1]}")


def sinkdb_refuses(does):
    sql = "DROP TRIGGER chaos"
    if does:
        sql = ("CREATE TRIGGER chaos BEFORE INSERT ON job FOR EACH ROW SIGNAL SQLSTATE '22001' "
               "SET MYSQL_ERRNO = 1406, MESSAGE_TEXT = 'too long'")
    say_failure(sql, inside("mariadb", "--no-defaults", "--socket=/run/mysqld/sinkdb.sock", "ceems", "-e", sql))


def kafka_takes(*max_bytes):
    say_failure("kafka_limit.py", inside("/usr/bin/python3", f"{HERE}/kafka_limit.py", "127.0.0.1:9092", "ceems.jobs",
                                  *max_bytes))


def signal_one(pattern, signal, at):
    """Sends SIGNAL to one of the processes in the cluster whose command line matches; AT, 0 to 1, chooses it. Not to a
    slurmstepd of a job that lasts."""
    rc, out = inside("pgrep", "-af", pattern)
    found = [line.split(" ", 1) for line in out.splitlines()]
    found = [(pid, args) for pid, args in found if not any(f"[{job}." in args for job in lasting.values())]
    if rc != 0 or not found:
        return None
    pid, args = found[int(at * len(found))]
    if signal == "KILL" and "slurmstepd: [" in args:
        with lock:
            stepds.append(args.split("[", 1)[1].split(".", 1)[0])
    inside("kill", f"-{signal}", pid)
    return pid


def one_killed(pattern):
    return lambda: signal_one(pattern, "KILL", at_rng.random()), lambda: None


def one_stopped(pattern):
    stopped_pids = []

    def end():
        for pid in stopped_pids:
            if pid:
                inside("kill", "-CONT", pid)
        stopped_pids.clear()
    return lambda: stopped_pids.append(signal_one(pattern, "STOP", at_rng.random())), end


at_rng = random.Random(f"{SEED}/processes")
FAULTS = [  # weight, what, of which at most one at a time, begin and end, for how long
    (3, "kafka killed", ("kafka",), killed("kafka"), (0, 5)),
    (2, "kafka hangs", ("kafka",), stopped("kafka"), (2, 8)),
    (1, "kafka restarted", ("kafka",), ended("kafka"), (0, 0)),
    (2, "network to kafka hangs", ("kafka",), cut_off("kafka"), (3, 10)),
    (3, "sink's MariaDB killed", ("sinkdb",), killed("sinkdb"), (0, 5)),
    (2, "sink's MariaDB hangs", ("sinkdb",), stopped("sinkdb"), (2, 8)),
    (1, "sink's MariaDB restarted", ("sinkdb",), ended("sinkdb"), (0, 0)),
    (2, "network to MariaDB hangs", ("sinkdb",), cut_off("sinkdb"), (3, 10)),
    (2, "kafka refuses all", ("kafka",), (lambda: kafka_takes("100"), kafka_takes), (3, 10)),
    (2, "sink's MariaDB refuses all", ("sinkdb",),
     (lambda: sinkdb_refuses(True), lambda: sinkdb_refuses(False)), (3, 10)),
    (2, "slurmdbd answers late", ("answers",), answering("delay 1.5"), (3, 10)),
    (2, "slurmdbd answers slowly", ("answers",), answering("rate 4000"), (3, 10)),
    (1, "slurmdbd's answers do not come", ("answers",), answering("stall"), (3, 10)),
    (1, "slurmdbd's answers are cut", ("answers",), answering("cut 300"), (1, 5)),
    (2, "slurmdbd's MariaDB killed", ("dbd",), killed("mariadb"), (0, 4)),
    (1, "slurmdbd's MariaDB hangs", ("dbd",), stopped("mariadb"), (2, 6)),
    (2, "slurmdbd killed", ("dbd",), killed("slurmdbd"), (0, 5)),
    (1, "slurmdbd hangs", ("dbd",), stopped("slurmdbd"), (2, 6)),
    (1, "slurmdbd restarted", ("dbd",), ended("slurmdbd"), (0, 0)),
    (4, "slurmctld killed", ("slurmctld",), killed("slurmctld"), (0, 3)),
    (2, "slurmctld hangs", ("slurmctld",), stopped("slurmctld"), (1, 5)),
    (2, "slurmctld restarted", ("slurmctld",), ended("slurmctld"), (0, 2)),
    (2, "slurmctld reconfigured", ("slurmctld",),
     (reconfigure, lambda: None), (0, 0)),
    (3, "recorder killed", ("recorder",), killed("recorder"), (0, 4)),
    (2, "recorder hangs", ("recorder",), stopped("recorder"), (1, 6)),
    (1, "recorder restarted", ("recorder",), ended("recorder"), (0, 1)),
    (1, "slurmd killed", ("n1",), killed("slurmd n1"), (0, 3)),
    (1, "slurmd hangs", ("n2",), stopped("slurmd n2"), (2, 6)),
    (3, "inbox's and store's disk full", ("disk",),
     (lambda: cluster("disk", "fill"), lambda: cluster("disk", "free")), (2, 8)),
    (2, "their disk read-only", ("disk", "slurmctld", "recorder"),
     (read_only, writable), (2, 6)),
]
if SOAK:
    FAULTS += [
        (4, "a slurmstepd killed", ("stepd",), one_killed(r"^slurmstepd: \["), (0, 0)),
        (2, "a slurmstepd hangs", ("stepd",), one_stopped(r"^slurmstepd: \["), (2, 8)),
        (2, "one of our helpers killed", ("helper",), one_killed("^[^ ]*helpers/ceems-"), (0, 0)),
        (2, "one of our helpers hangs", ("helper",), one_stopped("^[^ ]*helpers/ceems-"), (2, 20)),
    ]
ENDS_LONG_LIVES = ("slurmctld killed", "slurmctld restarted", "recorder killed", "recorder restarted", "their disk read-only")
LOSES_COMMITS = ("slurmdbd killed", "slurmdbd's MariaDB killed")


def storm():
    rng = random.Random(f"{SEED}/faults")
    busy, threads = set(), []
    faults = [f for f in FAULTS if not (COMMIT_DELAY and f[1] in LOSES_COMMITS)]

    def happen(what, parts, acts, seconds):
        count("faults", what)
        acts[0]()
        time.sleep(seconds)
        acts[1]()
        with lock:
            busy.difference_update(parts)

    def wait_until_free(parts):
        while True:
            with lock:
                if not busy.intersection(parts) and len(busy) < MOST_AT_ONCE:
                    busy.update(parts)
                    return
            time.sleep(0.1)

    def begins(fault, seconds):
        t = threading.Thread(target=happen, args=(*fault[1:4], seconds))
        t.start()
        threads.append(t)

    number = 0
    while SOAK and time.monotonic() - begin < SOAK:
        number += 1
        fault = rng.choices(faults, [f[0] for f in faults])[0]
        seconds = rng.uniform(*fault[4])
        time.sleep(rng.uniform(2, 18))
        since = (time.monotonic() - begin) % CYCLE
        if since > 0.4 * CYCLE:
            say("calm")
            time.sleep(max(0, min(CYCLE - since, begin + SOAK - time.monotonic())))
            if time.monotonic() - begin >= SOAK:
                break
        if fault[1] in ENDS_LONG_LIVES and (time.monotonic() - begin) // CYCLE % 4:
            continue
        wait_until_free(fault[2])
        say(f"fault {number}: {fault[1]}" + (f" for {seconds:.1f} s" if seconds else ""))
        begins(fault, seconds)

    for number in range(1, ROUNDS + 1):
        chosen = []
        for _ in range(rng.choice((1, 1, 2))):
            while True:
                with lock:
                    free = [f for f in faults if not busy.intersection(f[2])]
                    full = len(busy) >= MOST_AT_ONCE
                if free and not full:
                    break
                time.sleep(0.1)
            fault = rng.choices(free, [f[0] for f in free])[0]
            with lock:
                busy.update(fault[2])
            seconds = rng.uniform(*fault[4])
            chosen.append(f"{fault[1]} for {seconds:.1f} s" if seconds else fault[1])
            begins(fault, seconds)
        say(f"round {number}: {', '.join(chosen)}")
        time.sleep(rng.uniform(0.5, 4))
    for t in threads:
        t.join()


# --- afterwards ----------------------------------------------------------------------------------------

def until(seconds, what, done):
    """Waits for a condition; the time only ends what would hang."""
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            say(f"not within {seconds} s: {what}")
            return False
        time.sleep(1)
    say(what)
    return True


def nothing_runs():
    for user in ("user1", "user2", "user3"):
        inside("scancel", "-u", user)
    rc, out = inside("squeue", "-h", "-t", "PD,R,CG,CF,S,RQ,SE", "-o", "%A %T")
    if out and time.monotonic() % 10 < 1:
        inside("scontrol", "update", "nodename=n1,n2", "state=resume")
    return rc == 0 and not out


def main():
    say(f"seed {SEED}, {f'{SOAK} s' if SOAK else f'{ROUNDS} rounds'}, CommitDelay={COMMIT_DELAY}")
    threads = [threading.Thread(target=feed, args=(u, n))
               for u in ("user1", "user2", "user3") for n in (1, 2)]
    threads.append(threading.Thread(target=keep_nodes))
    if SOAK:
        threads += [threading.Thread(target=keep_lasting), threading.Thread(target=watch_room)]
    for t in threads:
        t.start()
    storm()
    over.set()
    for t in threads:
        t.join()
    good = until(600, "no job is left", nothing_runs)
    with open(OUT, "w", encoding="ascii") as f:
        json.dump({"names": names, "counts": counts, "kills": kills, "starts": starts, "reconfigured": reconfigured,
                   "stepds": stepds}, f)
    for kind, of in counts.items():
        say(f"{kind}: {sum(of.values())}: " + ", ".join(f"{n} {w}" for w, n in sorted(of.items())))
    return 0 if good else 1


sys.exit(main())
