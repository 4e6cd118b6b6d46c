"""Times kernels and plain C for `./dev bench --kernels`, with the cases that the tests of kernels compare (tests/c/timed.h)."""

import json
import os
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PLAIN = 'plain C'


def programs():
    """Returns the places where kernels run: a name, the command for a program, its folder, and the suffix of its name."""
    node, current = os.environ.get('RUSH_NODE', 'node'), os.environ.get('RUSH_NODE_CURRENT')
    yield 'native', [], 'native', ''
    yield 'simd', [current or node, '--no-liftoff'], 'simd', '.js'
    if current:
        yield 'relaxed', [current, '--no-liftoff'], 'relaxed', '.js'


def measure():
    """Returns dicts of where, kernel, row, variant, ns of a run, operations and bytes (0 if they mean little)."""
    rows = []
    for where, command, folder, suffix in programs():
        for test in sorted((TOP / 'tests' / 'c').glob('test_kernels_*.c')):
            program = TOP / 'build' / folder / 'bin' / (test.stem + suffix)
            done = subprocess.run([*command, str(program), '--times'], stdout=subprocess.PIPE, text=True, check=True)
            rows += [{'where': where, **json.loads(line)} for line in done.stdout.splitlines()]
    return rows


def cell(row, plain):
    """Formats ns, the speedup over plain C in the same place, and the rate if it is meaningful."""
    ns = f'{row["ns"]:.0f}' if row['ns'] >= 100 else f'{row["ns"]:.1f}'
    if row is plain:
        return ns
    text = f'{ns} {plain["ns"] / row["ns"]:.1f}x' if plain else ns
    if row['operations']:
        return f'{text} {row["operations"] / row["ns"]:.1f}G'
    return f'{text} {row["bytes"] / row["ns"]:.0f}GB/s' if row['bytes'] else text


def lines(rows, patterns):
    """Returns the header and the lines of a table: a line for each row of the tests, a column for each variant and place."""
    rows = [r for r in rows if not patterns or any(p in f'{r["kernel"]} {r["row"]}' for p in patterns)]
    by_line, columns = {}, {}
    for r in rows:
        columns[r['where'], r['variant']] = None
        by_line.setdefault((r['kernel'], r['row']), {})[r['where'], r['variant']] = r
    columns = sorted(columns, key=lambda c: (['native', 'simd', 'relaxed'].index(c[0]), c[1] != PLAIN))  # otherwise in the original order
    return (['kernel', 'row', *(' '.join(c) for c in columns)],
            [[*name, *(cell(line[c], line.get((c[0], PLAIN))) if c in line else '' for c in columns)] for name, line in by_line.items()])
