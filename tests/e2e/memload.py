#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""memload.py - known loads in memory.

hold SHARED OWN K SECONDS: K processes with OWN MiB each and SHARED MiB that all of them map.
burst MIB: holds that for an instant between two whole seconds, at which memory is sampled; tries until it was.
file MIB PATH: reads that much of a file.
mix MIB MS FILE: holds that, and takes MS of CPU time once somebody writes to the FIFO `go` beside FILE, until it is
closed. FILE has its CPU time in ms, that since then, and what it does: waits, works, finished.
"""
import mmap, os, sys, time
MIB = 1 << 20
what, args = sys.argv[1], sys.argv[2:]
if what == "hold":
    shared, own, k, seconds = map(int, args)
    m = mmap.mmap(-1, max(shared, 1) * MIB)
    m[:] = b"x" * len(m)
    pids = []
    for i in range(k):
        pid = os.fork()
        if pid == 0:
            held = b"y" * (own * MIB)
            for at in range(0, len(m), 4096):
                m[at] = 1
            time.sleep(seconds)
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)
elif what == "burst":
    time.sleep(2)
    while True:
        time.sleep((1.3 - time.time() % 1) % 1)
        begin = time.time()
        held = b"x" * (int(args[0]) * MIB)
        del held
        end = time.time()
        if int(begin) == int(end) and end % 1 < 0.9:
            break
        print("too slow", flush=True)
        sys.exit(1)
    print(round(1000 * (end - begin)), flush=True)
    time.sleep(2)
elif what == "file":
    with open(args[1], "wb") as f:
        for i in range(int(args[0])):
            f.write(b"z" * MIB)
        f.flush()
        os.fsync(f.fileno())
    time.sleep(6)
elif what == "mix":
    held = b"m" * (int(args[0]) * MIB)
    here = args[2]

    def tell(state, since=None):
        now = time.process_time()
        with open(here + ".new", "w") as f:
            print(round(1000 * now), round(1000 * (now - since)) if since else 0, state, file=f)
        os.rename(here + ".new", here)

    tell("waits")
    go = os.open(os.path.join(os.path.dirname(here), "go"), os.O_RDONLY)
    since = time.process_time()
    while time.process_time() < since + int(args[1]) / 1000:
        chunk = time.process_time() + 0.01
        while time.process_time() < chunk:
            pass
        tell("works", since)
    tell("finished", since)
    os.read(go, 1)
