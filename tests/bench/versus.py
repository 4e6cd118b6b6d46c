"""Compares Rushlight with rivals, for `./dev bench --vs ort,tfjs,litert`, or with onnxruntime-web by WebGPU, for `--gpu`.

In each round every contender has one turn with a model, in a new page (or Node), and each round begins with another contender.
A contender's time is its least of all rounds. A ratio is that of these times, and its spread is that of the ratios in each round.
"""

import json
import statistics

import ceiling
import models
import turns
from tables import brotli, millis, table

#: name: its format of a model, its full name, its package, the file that pins it, and the hosts in which it runs
RIVALS = {
    'ort': ('onnx', 'onnxruntime-web', 'onnxruntime-web', 'tests/package.json', ('current', 'node', 'chromium')),
    'tfjs': ('graph', 'TensorFlow.js', '@tensorflow/tfjs-core', 'tests/bench/rivals/package.json', ('current', 'node', 'chromium')),
    'litert': ('tflite', 'LiteRT.js', '@litertjs/core', 'tests/bench/rivals/package.json', ('chromium',)),
}
OURS = 'rushlight'
ROUNDS = 3


def jobs(names, rivals, host, threads, rounds, gpu):
    for name in names:
        files = json.loads((models.BUILD / name / 'bench.json').read_text())['files']
        if not gpu:
            yield {'name': name, 'rival': 'peak', 'threads': 1}
        some = [OURS, *(r for r in rivals if files[RIVALS[r][0]] and host in RIVALS[r][4])]
        for count in sorted({1, threads}):
            for i in range(rounds):
                for rival in some[i % len(some):] + some[:i % len(some)]:
                    if rival == 'tfjs' and host != 'chromium' and count > 1:
                        continue  # it supports threads in pages only
                    yield {'name': name, 'rival': rival, 'threads': count, 'round': i, 'seconds': 1, 'gpu': gpu,
                           'profile': count == 1 and i == 0 and not gpu}


def measure(names, rivals, host, arguments):
    chosen = jobs(names, rivals, host, arguments.threads, arguments.rounds or ROUNDS, arguments.gpu)
    return turns.run('turns.mjs', {'host': host, 'gpu': arguments.gpu, 'jobs': list(chosen)}, host)


def summary(turns):
    """Summarizes one contender with one model and number of threads."""
    good = [t for t in turns if t.get('right')]
    if not good:
        return {'error': turns[0].get('error') or f'the answer is wrong, max abs {turns[0]["maxAbs"]:.1e}, cosine {turns[0]["cosine"]:.5f}'}
    return {'min': min(min(t['times']) for t in good), 'median': statistics.median(x for t in good for x in t['times']),
            'rounds': {t['round']: min(t['times']) for t in good}, **{k: min(t[k] for t in good) for k in ('load', 'first')},
            'memory': max(t['memory'] for t in good), 'bytes': good[0]['bytes'], 'maxAbs': max(t['maxAbs'] for t in good),
            'cosine': min(t['cosine'] for t in good), 'foreign': statistics.median(t['foreign'] for t in good)}


def summaries(results):
    """Returns {(model, threads): {contender: summary}}, in order."""
    groups = {}
    for turn in results:
        if turn['rival'] == 'peak':
            continue
        groups.setdefault((turn['name'], turn['threads']), {}).setdefault(turn['rival'], []).append(turn)
    return {key: {rival: summary(turns) for rival, turns in group.items()} for key, group in groups.items()}


def ratio(ours, theirs):
    """Returns the ratio of two summaries, with the smallest and the largest of the rounds."""
    each = [ours['rounds'][i] / theirs['rounds'][i] for i in ours['rounds'] if i in theirs['rounds']] or [float('nan')]
    return ours['min'] / theirs['min'], min(each), max(each)


def best(group):
    """Returns the fastest rival's name, or None."""
    times = {rival: s['min'] for rival, s in group.items() if rival != OURS and 'min' in s}
    return min(times, key=times.get) if times else None


def means(groups):
    each = {}
    for (_, threads), group in groups.items():
        if best(group) and 'min' in group[OURS]:
            each.setdefault(threads, []).append(ratio(group[OURS], group[best(group)])[0])
    return 'Geometric mean of the ratios to the best rival: ' + ', '.join(
        f'{statistics.geometric_mean(values):.2f} on {threads} thread{"s" * (threads > 1)}' for threads, values in each.items()) + '.'


def show(part, rivals):
    print(f'\n{part["host"]}')
    groups = summaries(part['results'])
    rows = []
    for (name, threads), group in groups.items():
        ours, rival = group[OURS], best(group)
        cells = [millis(group[r]['min']) if 'min' in group.get(r, {}) else '-' for r in (OURS, *rivals)]
        if rival and 'min' in ours:
            r, low, high = ratio(ours, group[rival])
            cells += [f'{r:.2f}', f'{low:.2f} to {high:.2f}', rival]
        else:
            cells += ['', '', '']
        rows.append([name, threads, *cells, f'{ours.get("foreign", 0):.2f}'])
    table(['model, min ms', 'threads', OURS, *rivals, 'to the best', 'in rounds', 'which', 'others busy'], rows)
    print(means(groups) + '\n')
    table(['from bytes to', 'contender', 'load', 'first answer', 'then, median', 'wasm MB', 'file MB', 'max abs', 'cosine'],
          [[name, rival, f'{s["load"]:.0f}', f'{s["first"]:.0f}', millis(s['median']), f'{s["memory"] / 1e6:.0f}', f'{s["bytes"] / 1e6:.1f}',
            f'{s["maxAbs"]:.0e}', f'{s["cosine"]:.5f}']
           for (name, threads), group in groups.items() if threads == 1 for rival, s in group.items() if 'min' in s])
    for (name, threads), group in groups.items():
        for rival, s in group.items():
            if 'error' in s:
                print(f'{name}, {rival}, threads {threads}: {s["error"]}')


def beside_ceiling(results, most):
    """Compares Rushlight on one thread with the machine's peak: rows of models, and the operators that lose most."""
    peak = ceiling.best([t for t in results if t['rival'] == 'peak'])
    rows, operators = [], []
    for (name, threads), group in summaries(results).items():
        profile = next((t['profile'] for t in results if t['name'] == name and t.get('profile')), None)
        graph = models.BUILD / name / 'model.json'
        if threads > 1 or not profile or 'min' not in group[OURS] or not graph.exists():
            continue
        work = json.loads(graph.read_text())['work']
        bits = models.bits_of(name)
        ms, least = group[OURS]['min'], sum(ceiling.bounds(work, peak, bits))
        cells = lambda took, bound: [millis(took), millis(bound) if bound else '–', f'{bound / took:.0%}' if bound else '–']
        rows.append([name, f'{sum(one["flop"] for one in work) / 1e9:.3g}', f'{sum(ceiling.weights(work, bits)) / 1e6:.3g}', *cells(ms, least)])
        for kind, calls, took, bound in ceiling.operators(work, profile, peak, bits)[:most]:
            operators.append([name, kind, str(calls), *cells(took, bound), millis(took - bound)])
    return peak, rows, operators


def show_ceiling(results, most):
    peak, rows, operators = beside_ceiling(results, most)
    print(f'at most, one thread: {peak["gflops"]:.0f} GFLOP/s, int8 {peak["gops"]:.0f} GOP/s, reading {peak["gbytes"]:.1f} GB/s\n')
    table(['beside the ceiling', 'GFLOP', 'weights MB', 'ms', 'ceiling', 'share'], rows)
    table(['what loses most', 'operator', 'calls', 'ms', 'ceiling', 'share', 'lost ms'], operators)


def show_sizes(rivals):
    binaries = {OURS: 'js/wasm/rushlight-relaxed.wasm',
                'ort': 'tests/node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.wasm',
                'tfjs': 'tests/bench/rivals/node_modules/@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-simd.wasm',
                'litert': 'tests/bench/rivals/node_modules/@litertjs/core/wasm/litert_wasm_internal.wasm'}
    files = {rival: models.TOP / binaries[rival] for rival in (OURS, *rivals)}
    table(['wasm', '', 'raw kB', 'brotli -q 9, kB'],
          [[rival, '', f'{file.stat().st_size / 1000:.0f}', f'{brotli(file, 9) / 1000:.0f}'] for rival, file in files.items()])


def versions(rivals):
    found = {}
    for rival in rivals:
        _, title, package, file, _ = RIVALS[rival]
        found[rival] = f'{title} {json.loads((models.TOP / file).read_text())["devDependencies"][package]}'
    return found


def main(names, hosts, arguments):
    rivals = turns.chosen(arguments.vs, RIVALS)
    if not arguments.gpu:
        ceiling.build()
    models.make_all(names, [RIVALS[r][0] for r in rivals], arguments.again)
    parts = [measure(names, rivals, host, arguments) for host in hosts]
    for part in parts:
        show(part, rivals)
        if not arguments.gpu:
            show_ceiling(part['results'], arguments.profile)
    if not arguments.gpu:
        show_sizes(rivals)
    if arguments.json:
        turns.write(arguments.json, {'rounds': arguments.rounds or ROUNDS, 'versions': versions(rivals), 'hosts': parts})
