#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pprof.py FILE EXPRESSION: evaluates EXPRESSION over a profile in pprof's format, without a library of ours.

samples: list of Sample(frames, count, ns, labels, wait_ns); frames are "path+0xoffset" or a function's name, the leaf first.
share(a, b, **labels): part of count of samples with function a among those with a or b, by the symbols of nm.
"""
import collections
import gzip
import subprocess
import sys

Sample = collections.namedtuple("Sample", "frames count ns labels wait_ns")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value = data[at : at + size]
            at += size
        else:
            raise ValueError("wire type %d" % (key & 7))
        yield key >> 3, value


def message(data):
    out = collections.defaultdict(list)
    for number, value in fields(data):
        out[number].append(value)
    return out


def numbers(values):
    out = []
    for value in values:
        if isinstance(value, int):
            out.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            out.append(number)
    return out


def one(m, number):
    return m[number][0] if m[number] else 0


with gzip.open(sys.argv[1]) as f:
    top = message(f.read())
strings = [s.decode() for s in top[6]]
types = ["%s/%s" % (strings[one(t, 1)], strings[one(t, 2)]) for t in map(message, top[1])]
comments = [strings[i] for i in numbers(top[13])]
period = one(top, 12)
duration_ns = one(top, 10)
mappings = {one(m, 1): m for m in map(message, top[3])}
functions = {one(m, 1): strings[one(m, 2)] for m in map(message, top[5])}
paths = [strings[one(m, 5)] for m in mappings.values()]
build_ids = {strings[one(m, 5)]: strings[one(m, 6)] for m in mappings.values()}


def frame(location):
    lines = [functions[one(message(line), 1)] for line in location[4]]
    if lines:
        return lines[0]
    m = mappings.get(one(location, 2))
    if m is None:
        return "0x%x" % one(location, 3)
    return "%s+0x%x" % (strings[one(m, 5)], one(location, 3) - one(m, 2) + one(m, 4))


locations = {one(m, 1): frame(m) for m in map(message, top[4])}


def label(m):
    key = strings[one(m, 1)]
    return key, strings[one(m, 2)] if m[2] else one(m, 3)


samples = []
for s in map(message, top[2]):
    values = numbers(s[2])
    samples.append(
        Sample(
            [locations[i] for i in numbers(s[1])],
            values[0],
            values[1],
            dict(label(message(x)) for x in s[3]),
            values[2] if len(values) > 2 else 0,
        )
    )
total = sum(s.count for s in samples)
total_ns = sum(s.ns for s in samples)


def of(**labels):
    return [s for s in samples if all(s.labels.get(k) == v for k, v in labels.items())]


def ranges(path):
    """Functions of an executable whose segment of code has equal offsets and addresses."""
    for line in subprocess.run(["nm", "-S", path], capture_output=True, text=True, check=True).stdout.splitlines():
        word = line.split()
        if len(word) == 4 and word[2] in "tT":
            yield int(word[0], 16), int(word[1], 16), word[3]


def function(text, path):
    if text.startswith(path + "+"):
        at = int(text[len(path) + 1 :], 16)
        for start, size, name in ranges(path):
            if start <= at < start + size:
                return name
    return text


def names(sample, path):
    return {function(f, path) for f in sample.frames}


def share(path, a, b, **labels):
    counts = collections.Counter()
    for s in of(**labels):
        found = names(s, path)
        for name in (a, b):
            counts[name] += s.count * (name in found)
    return counts[a] / max(counts[a] + counts[b], 1)



def near(value, expected, part):
    return abs(value - expected) <= part * expected


def is_part(value, expected):
    """Within 2 points, or four standard deviations of samples that are as few as these."""
    return abs(value - expected) <= max(0.02, 4 * (expected * (1 - expected) / max(total, 1)) ** 0.5)


if __name__ == "__main__":
    print(eval(sys.argv[2]))
