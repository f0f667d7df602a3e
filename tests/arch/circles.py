# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints the calls of each circle between object files of different modules. Reads the output of nm -A."""
import os
import re
import sys


def source(path):
    """The source file of an object: libtool puts objects into .libs, automake puts LIBRARY_la- before a name."""
    folder, name = os.path.split(path.replace("/.libs/", "/"))
    return os.path.join(folder, re.sub(r"^[A-Za-z0-9_]*?(_la|ceems[a-z_]*)-(?=.)", "", name)[:-2] + ".c")


def read_calls(lines):
    """{file: {called file: a function}} of nm's lines, such as "a/b.o:0000 T open_it" and "a/b.o: U open_it"."""
    owner, wanted = {}, []
    for line in lines:
        path, _, rest = line.partition(":")
        word = rest.split()
        if len(word) >= 2 and word[-2] in "TDBRVW":
            owner[word[-1]] = source(path)
        elif len(word) >= 2 and word[-2] == "U":
            wanted.append((source(path), word[-1]))
    calls = {}
    for caller, symbol in wanted:
        callee = owner.get(symbol, caller)
        calls.setdefault(caller, {})
        if callee != caller:
            calls[caller][callee] = min(symbol, calls[caller].get(callee, symbol))
        calls.setdefault(callee, {})
    return calls


def reachable(calls, start):
    seen, todo = set(), [start]
    while todo:
        for callee in calls[todo.pop()]:
            if callee not in seen:
                seen.add(callee)
                todo.append(callee)
    return seen


def is_module(files):
    stems = sorted((f[:-2] for f in files), key=len)
    return all(s.startswith(stems[0] + "_") for s in stems[1:])


calls = read_calls(sys.stdin)
reach = {f: reachable(calls, f) for f in calls}
done = set()
for f in sorted(calls):
    circle = {g for g in reach[f] if f in reach[g]}
    if not circle or circle & done:
        continue
    done |= circle
    if not is_module(circle):
        for caller in sorted(circle):
            for callee in sorted(circle & set(calls[caller])):
                print(f"{caller} calls {calls[caller][callee]}() of {callee}")
