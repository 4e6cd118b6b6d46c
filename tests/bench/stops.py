"""Measures how soon a run ends after the host asks it to, for `./dev bench --stops`, with the rows of tests/c/test_stops.c."""

import json
import os
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]

PROMISES = {'native': 0.1, 'simd': 0.25}
"""Seconds, as STOP_PROMISE of tests/stop.h has them."""


def programs():
    """Returns the places where the test runs: a name, and the command."""
    node = os.environ.get('RUSH_NODE_CURRENT') or os.environ.get('RUSH_NODE', 'node')
    yield 'native', [str(TOP / 'build' / 'native' / 'bin' / 'test_stops')]
    yield 'simd', [node, str(TOP / 'build' / 'simd' / 'bin' / 'test_stops.js')]


def measure(patterns):
    """Returns the longest time of each row between two polls of the host: {where: {row: seconds}}."""
    found = {}
    for where, command in programs():
        done = subprocess.run([*command, '--times'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
        rows = found[where] = {}
        for line in done.stdout.splitlines():
            if not line.startswith('{'):
                continue  # output of cmocka
            row, seconds = json.loads(line).values()
            if not patterns or any(p in row for p in patterns):
                rows[row] = max(seconds, rows.get(row, 0))
    return found


def lines(found, most):
    """Returns the header and the lines of a table of the slowest rows, in ms. The table has all rows that exceed the limit."""
    places = list(found)
    share = lambda row: max(found[place].get(row, 0) / PROMISES[place] for place in places)  # noqa: E731
    rows = sorted({row for place in places for row in found[place]}, key=share, reverse=True)
    broken = sum(share(row) > 1 for row in rows)
    promised = ['promised', '', *(f'{1000 * PROMISES[place]:.0f}' for place in places)]
    shown = [[row, '', *(f'{1000 * found[place][row]:.1f}' if row in found[place] else '' for place in places)] for row in rows[:max(most, broken)]]
    return [f'{len(rows)} rows', '', *(f'{place}, ms' for place in places)], [promised, *shown], broken
