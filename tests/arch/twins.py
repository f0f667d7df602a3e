# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints the functions of more than four lines that several C files have: twins, with the same parameters and body but
for comments and blanks. With --like, the number of those that differ in names, texts and numbers only. Reads the names of
files from standard input.
"""
import collections
import re
import sys

LINES_MAX = 4  # with the function's head and braces; shorter ones are clearer twice
NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.S)
FUNCTION = re.compile(r'^\w[^\n;{}=#]*?\b(\w+)\(([^;{}]*)\)[^;{}=]*\n\{\n(.*?)^\}', re.M | re.S)
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|\d\w*|[^\s\w]')
KEPT = set('break case char const continue default do double else enum float for goto if int long return short signed '
           'sizeof static struct switch union unsigned void while bool size_t NULL'.split())


def blank(match):
    """Keeps texts, and of a comment its line breaks."""
    return match.group(1) or re.sub(r'[^\n]', ' ', match.group(0))


def functions(path):
    """Yields name, line, number of lines and tokens of each function of a file."""
    with open(path, encoding='utf-8') as file:
        text = NOISE.sub(blank, file.read())
    for match in FUNCTION.finditer(text):
        name, parameters, body = match.groups()
        lines = 3 + sum(1 for line in body.split('\n') if line.strip())
        if lines > LINES_MAX and name != 'main':  # two main() that call the same names call other functions
            yield name, text.count('\n', 0, match.start()) + 1, lines, TOKEN.findall(parameters + '{' + body)


def rename(tokens):
    """Numbers names in the order in which they come; all texts and numbers are one."""
    names = {}
    return tuple(t if t in KEPT or not re.match(r'[\w"\']', t) else
                 'x' if re.match(r'[\d"\']', t) else names.setdefault(t, len(names)) for t in tokens)


def main():
    """Prints a line for each group of twins."""
    exact, like = collections.defaultdict(list), collections.defaultdict(list)
    for path in sys.stdin.read().split():
        for name, line, lines, tokens in functions(path):
            exact[tuple(tokens)].append(f'{path}:{line}: {name}()')
            like[rename(tokens)].append(lines)
    if sys.argv[1:] == ['--like']:
        groups = [lines for lines in like.values() if len(lines) > 1]
        print(len(groups), 'groups,', sum(sum(lines) - lines[0] for lines in groups), 'lines')
    else:
        for places in sorted(exact.values()):
            if len(places) > 1:
                print(' and '.join(places))


main()
