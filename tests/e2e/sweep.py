#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""sweep.py COMMAND: what there is and who may do what with it, for t0612-privacy.t.

there           as root: a line "PATH TYPE MODE OWNER" for each PATH of standard input, and a line
                "/proc/PID/FILE COMM - OWNER" for some files of each process of ours
may             as a user: reads PATHs from standard input and adds to each what this user may: r(ead), w(rite), l(ist)
bpf PIN...      the errors of bpf(2): ids of maps, of programs, the first map by its id, the PINs
judge TABLE THERE MAY...
                as root: what the table does not allow to the users, whose names end the names of the files MAY, and
                rows that fit nothing
"""
import ctypes
import errno
import os
import platform
import pwd
import re
import stat
import sys

PROC_FILES = ("environ", "cmdline", "maps", "smaps", "mem", "auxv", "fd", "map_files", "cwd", "exe", "io", "stack", "syscall")


def owner(uid):
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def file(path):
    try:
        st = os.lstat(path)
    except FileNotFoundError:
        return
    kind = {stat.S_IFDIR: "d", stat.S_IFREG: "f", stat.S_IFSOCK: "s", stat.S_IFIFO: "p",
            stat.S_IFLNK: "l"}.get(stat.S_IFMT(st.st_mode), "?")
    print(path, kind, f"{stat.S_IMODE(st.st_mode):o}", owner(st.st_uid))


def processes():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as file:
                comm = file.read().strip()
            with open(f"/proc/{pid}/status") as file:
                uid = int(next(line for line in file if line.startswith("Uid:")).split()[2])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if comm.startswith("ceems"):
            yield from (f"/proc/{pid}/{name} {comm} - {owner(uid)}" for name in PROC_FILES)


def opens(path, flags):
    try:
        fd = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # /proc checks some of its files when they are read
        if flags == os.O_RDONLY and path.startswith("/proc/") and not path.endswith("/mem"):
            os.read(fd, 1)
        return True
    except OSError:
        return False
    finally:
        os.close(fd)


def may(path):
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return ""
    if stat.S_ISLNK(mode):
        try:
            os.readlink(path)
        except OSError:
            return ""
        # of /proc: the file behind it; another link's file has its own line
        return "r" if path.startswith("/proc/") else ""
    if stat.S_ISDIR(mode):
        try:
            os.listdir(path)
            seen = "l"
        except OSError:
            seen = ""
        return seen + ("w" if os.access(path, os.W_OK) else "")
    if stat.S_ISSOCK(mode):
        return "w" if os.access(path, os.W_OK) else ""
    return ("r" if opens(path, os.O_RDONLY) else "") + ("w" if opens(path, os.O_WRONLY) else "")


def bpf(command, attributes):
    number = {"x86_64": 321, "aarch64": 280}[platform.machine()]
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes, 128)
    if libc.syscall(number, command, buffer, 128) >= 0:
        return "ok"
    return errno.errorcode[ctypes.get_errno()]


def judge(table, there, *mays):
    with open(table) as file:
        rows = [line.split(maxsplit=6) for line in file]
    unused = {" ".join(row) for row in rows}
    users = [(may_file.rpartition(".")[2], open(may_file)) for may_file in mays]
    with open(there) as file:
        for line in file:
            seen = line.split()
            row = next((r for r in rows if all(map(re.fullmatch, r[:4], seen))), None)
            if row:
                unused.discard(" ".join(row))
            for user, lines in users:
                path, letters = next(lines).split()
                assert path == seen[0]
                allowed = "" if row is None else row[4] if seen[3] == user else row[5]
                if set(letters) - set(allowed + "-"):
                    print(f"{user} may {letters}: {line.strip()}")
            if not row:
                print(f"not in the table: {line.strip()}")
    for row in sorted(unused):
        print(f"fits nothing: {row}")


def main(command, *arguments):
    if command == "there":
        for line in sys.stdin:
            file(line.rstrip("\n"))
        print(*processes(), sep="\n")
    elif command == "may":
        for line in sys.stdin:
            path = line.split()[0]
            print(path, may(path) or "-")
    elif command == "judge":
        judge(*arguments)
    elif command == "bpf":
        print("map-ids", bpf(12, b"\0" * 8))
        print("program-ids", bpf(11, b"\0" * 8))
        print("map-by-id", bpf(14, (1).to_bytes(4, "little")))
        for pin in arguments:
            path = ctypes.create_string_buffer(pin.encode())
            print(pin, bpf(7, ctypes.addressof(path).to_bytes(8, "little")))


if __name__ == "__main__":
    main(*sys.argv[1:])
