"""Computes the least time for products and convolutions on this machine, from the peak that peak.c measures."""

import re
import subprocess

import models

#: Kinds of work in graph.py, and the operators of a profile that do it. If their numbers are equal, so is their order.
DOES = [re.compile('conv|depthwise'), re.compile('linear|lstm'), re.compile('matmul|bmm|scaled_dot_product')]
CACHE = 32e6  # bytes


def build():
    source, wasm = models.TOP / 'tests/bench/peak.c', models.BUILD / 'peak.wasm'
    if wasm.exists() and wasm.stat().st_mtime > source.stat().st_mtime:
        return
    models.BUILD.mkdir(parents=True, exist_ok=True)
    subprocess.run(['emcc', '-O3', '-msimd128', '-mrelaxed-simd', '-Wall', '-Wextra', '-Werror', '-sSTANDALONE_WASM', '--no-entry',
                    '-sINITIAL_MEMORY=320MB', '-sEXPORTED_FUNCTIONS=_fill,_madds,_dots,_read_all', str(source), '-o', str(wasm)], check=True)


def best(peaks):
    return {key: max(p[key] for p in peaks if key in p) for key in ('gflops', 'gops', 'gbytes')}


def is_narrow(one, bits):
    return bits < 32 and one['kind'] == 'linear'


def weights(work, bits):
    """Returns the bytes of each weight, without the scales of quantized weights."""
    return [one['bytes'] * (bits / 32 if is_narrow(one, bits) else 1) for one in work]


def bounds(work, peak, bits):
    """Returns milliseconds for each: the longer one of its arithmetic and of reading its weights. Weights that fit in a cache are free."""
    sizes = weights(work, bits)
    read = sum(sizes) > CACHE
    return [max(one['flop'] / peak['gops' if is_narrow(one, bits) else 'gflops'], read * size / peak['gbytes']) / 1e6
            for one, size in zip(work, sizes)]


def operators(work, profile, peak, bits):
    """Returns [(kind, calls, ms of a run, ceiling or 0)]. The largest losses come first."""
    rows = {}

    def count(kind, calls, ms, bound):
        row = rows.setdefault(kind, [0, 0.0, 0.0])
        for i, x in enumerate((calls, ms, bound)):
            row[i] += x

    least = bounds(work, peak, bits)
    profile = sorted(profile, key=lambda row: row['instr'])
    for does in DOES:
        mine = [row for row in profile if does.search(row['op'])]
        theirs = [(one['kind'], bound) for one, bound in zip(work, least) if does.search(one['kind'])]
        if len(mine) == len(theirs):
            for row, (kind, bound) in zip(mine, theirs):
                count(kind, row['calls'], row['ms'], bound)
        elif mine:
            count(mine[0]['op'], sum(row['calls'] for row in mine), sum(row['ms'] for row in mine), sum(bound for _, bound in theirs))
    for row in profile:
        if not any(does.search(row['op']) for does in DOES):
            count(row['op'], row['calls'], row['ms'], 0)
    return sorted(((kind, round(calls), ms, bound) for kind, (calls, ms, bound) in rows.items()), key=lambda row: row[3] - row[2])
