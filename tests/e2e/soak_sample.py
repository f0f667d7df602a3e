#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""soak_sample.py DIR SECONDS OUT: runs in a private cluster, in DIR, until there is a file OUT.stop. Each SECONDS it
writes a line of JSON to OUT: of each process of Slurm's and ours its memory, fds, threads and mappings; and of the
cluster the number of its processes, cgroups (those of each job apart), BPF objects and files. BPF objects that are pinned are
counted apart, as a process opens them when it first needs them. With SECONDS 0 it writes one line."""
import collections
import ctypes
import errno
import json
import os
import re
import struct
import sys
import time

DIR, SECONDS, OUT = sys.argv[1], float(sys.argv[2]), sys.argv[3]
FOLDERS = {
    "files of StoreDir": (f"{DIR}/spool/store",), "files of InboxDir": (f"{DIR}/spool/inbox",),
    "files of LedgerDir": (f"{DIR}/run/ceems",), "files of TextfileDir": (f"{DIR}/textfile",),
    "files of StateSaveLocation": (f"{DIR}/slurmctld",), "files of SlurmdSpoolDir": (f"{DIR}/slurmd",),
    "pinned BPF objects": ("/sys/fs/bpf",),
}
JOB = re.compile(r"/job_(\d+)/")
BPF_ID = re.compile(r"^(prog|map|link)_id:\t(\d+)$", re.MULTILINE)


SYS_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
BPF_OBJ_GET = 7


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def process(pid, objects):
    """[kind, pid and start, kB of anonymous memory, fds, threads, mappings], or None for another process. The ids of its
    BPF objects go to OBJECTS."""
    # the name that Debian's daemons have after scontrol reconfigure from Slurm 23.11 on
    comm = read(f"/proc/{pid}/comm").rstrip("\n").removesuffix("-wlm")
    if not comm.startswith(("slurmctld", "slurmdbd", "slurmd", "slurmstepd", "ceems-")):
        return None
    argv = read(f"/proc/{pid}/cmdline").split("\0")
    if comm == "slurmd" and "-N" in argv:
        comm += f" {argv[argv.index('-N') + 1]}"
    if argv[0].startswith("slurmstepd: ["):
        comm += " " + argv[0].split(".", 1)[1].rstrip("]") if argv[0].count(".") else ""
    status = dict(line.split(":\t", 1) for line in read(f"/proc/{pid}/status").splitlines() if ":\t" in line)
    start = read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[19]
    if "RssAnon" not in status:
        return None  # a zombie
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            objects.update(BPF_ID.findall(read(f"/proc/{pid}/fdinfo/{fd}")))
        except OSError:
            pass
    return [comm, f"{pid} {start}", int(status["RssAnon"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")),
            int(status["Threads"]), read(f"/proc/{pid}/maps").count("\n")]


def pinned():
    """The ids of all pinned BPF objects, as process() has them."""
    objects = set()
    libc = ctypes.CDLL(None, use_errno=True)
    for folder, _, files in os.walk("/sys/fs/bpf"):
        for name in files:
            path = ctypes.create_string_buffer(os.fsencode(f"{folder}/{name}"))
            attr = struct.pack("QII", ctypes.addressof(path), 0, 0)
            fd = libc.syscall(SYS_BPF, BPF_OBJ_GET, attr, len(attr))
            if fd < 0 and ctypes.get_errno() == errno.ENOENT:
                continue  # it is the kernel's progs.debug or maps.debug, or has been removed
            if fd < 0:
                raise OSError(ctypes.get_errno(), f"{folder}/{name}")
            objects.update(BPF_ID.findall(read(f"/proc/self/fdinfo/{fd}")))
            os.close(fd)
    return objects


def files_below(*folders):
    return sum(len(files) for folder in folders for _, _, files in os.walk(folder))


def cgroups():
    """The number of cgroups that are of no job, and {job: number of its cgroups}."""
    others, jobs = 0, collections.Counter()
    for folder, folders, _ in os.walk("/sys/fs/cgroup"):
        for name in folders:
            job = JOB.search(f"{folder}/{name}/")
            if job:
                jobs[job[1]] += 1
            else:
                others += 1
    return others, jobs


def sample():
    processes, objects = [], set()
    for pid in os.listdir("/proc"):
        try:
            if pid.isdigit() and (found := process(pid, objects)):
                processes.append(found)
        except (OSError, IndexError, ValueError):
            pass  # it ended meanwhile
    others, jobs = cgroups()
    counts = {"cgroups of no job": others}
    objects -= pinned()
    for what in "prog", "map", "link":
        counts[f"unpinned BPF {what}s"] = sum(1 for kind, _ in objects if kind == what)
    for what, folders in FOLDERS.items():
        counts[what] = files_below(*folders)
    counts["kB of StoreDir"] = sum(os.stat(f.path).st_size for f in os.scandir(FOLDERS["files of StoreDir"][0])) // 1024
    for kind, n in collections.Counter(p[0].split(" ")[0] for p in processes).items():
        counts[f"processes {kind}"] = n
    return {"t": time.monotonic(), "processes": processes, "counts": counts, "cgroups": jobs}


def main():
    with open(OUT, "a", encoding="ascii") as out:
        while True:
            try:
                print(json.dumps(sample()), file=out, flush=True)
            except FileNotFoundError:
                pass  # a file went away between listing and stat
            if not SECONDS or os.path.exists(f"{OUT}.stop"):
                return
            time.sleep(SECONDS)


main()
