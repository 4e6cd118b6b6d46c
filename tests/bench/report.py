"""Makes the tables of docs/status/SPEED.md, speed-light.svg and speed-dark.svg for `./dev bench --report FIGURES.json`.

`./dev bench --vs ... --json FIGURES.json` writes the figures.
"""

import json
from pathlib import Path

import matplotlib
import versus
from tables import millis

matplotlib.use('svg')
from matplotlib import pyplot  # noqa: E402

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / 'docs' / 'status' / 'SPEED.md'
BEGIN, END = '<!-- made by ./dev bench --report -->', '<!-- end -->'
THEMES = {'light': ('#1f2328', '#d1d9e0', ('#0969da', '#9a6700', '#8250df')), 'dark': ('#f0f6fc', '#3d444d', ('#4493f8', '#d29922', '#ab7df8'))}
MARKS = 'os^'


def plot(groups, rivals, names, theme, path):
    """Plots each rival's time as a multiple of Rushlight's, with a row for each model and a panel for each number of threads."""
    text, line, colors = THEMES[theme]
    style = {'svg.fonttype': 'none', 'svg.hashsalt': 'bench', 'font.family': 'sans-serif', 'font.size': 10,
             **dict.fromkeys(('text.color', 'axes.labelcolor', 'xtick.color', 'ytick.color'), text), 'axes.edgecolor': line}
    threads = sorted({t for _, t in groups})
    rows = list(dict.fromkeys(name for name, _ in groups))
    with pyplot.rc_context(style):
        figure, panels = pyplot.subplots(1, len(threads), figsize=(9, 1.2 + 0.27 * len(rows)), sharey=True, sharex=True, layout='constrained', squeeze=False)
        for panel, count in zip(panels[0], threads):
            panel.axvline(1, color=text, linewidth=1.5)
            for mark, color, rival in zip(MARKS, colors, rivals):
                points = [(g[rival]['min'] / g[versus.OURS]['min'], row) for row, name in enumerate(rows)
                          for g in [groups.get((name, count), {})] if 'min' in g.get(rival, {}) and 'min' in g.get(versus.OURS, {})]
                panel.plot(*zip(*points), mark, color=color, label=names[rival], markersize=6, markeredgewidth=0)
            panel.set_title(f'{count} thread{"s" * (count > 1)}', fontsize=10)
            panel.set_xscale('log', base=2)
            panel.xaxis.set_major_formatter(lambda x, _: f'{x:g}×')
            panel.grid(color=line, linewidth=0.6)
            panel.set_axisbelow(True)
            panel.tick_params(length=0)
            panel.spines[:].set_visible(False)
        one = [groups.get((name, 1), {}).get(versus.OURS, {}).get('min') for name in rows]
        panels[0][0].set_yticks(range(len(rows)), [f'{name}  {millis(ms)} ms' if ms else name for name, ms in zip(rows, one)])
        panels[0][0].invert_yaxis()
        figure.supxlabel("time of a run, Rushlight's = 1; its own on one thread is beside the name", fontsize=9)
        figure.legend(*panels[0][0].get_legend_handles_labels(), loc='outside upper center', ncols=len(rivals), frameon=False)
        figure.savefig(path, transparent=True, metadata={'Date': None, 'Creator': None})
        pyplot.close(figure)


def markdown(head, rows):
    lines = ['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head), *('| ' + ' | '.join(row) + ' |' for row in rows)]
    return '\n'.join(lines) + '\n'


def speed(groups, rivals, names):
    rows = []
    for (name, threads), group in groups.items():
        rival = versus.best(group)
        cells = [millis(group[r]['min']) if 'min' in group.get(r, {}) else '–' for r in (versus.OURS, *rivals)]
        if rival:
            cells[1 + rivals.index(rival)] = f'**{cells[1 + rivals.index(rival)]}**'
            r, low, high = versus.ratio(group[versus.OURS], group[rival])
            cells.append(f'{r:.2f} ({low:.2f} to {high:.2f})')
        rows.append([name, str(threads), *cells])
    return markdown(['model, ms', 'threads', 'Rushlight', *(names[r] for r in rivals), 'to the best (in rounds)'], rows)


def start(groups, rivals, names):
    rows = []
    for (name, threads), group in groups.items():
        if threads == 1:
            some = [group.get(r, {}) for r in (versus.OURS, *rivals)]
            rows.append([name, *(f'{s["first"]:.0f} ms, {s["memory"] / 1e6:.0f} MB' if 'min' in s else '–' for s in some)])
    return markdown(['to the first answer, wasm memory', 'Rushlight', *(names[r] for r in rivals)], rows)


def ceilings(results):
    peak, models, operators = versus.beside_ceiling(results, 3)
    text = (f'At most, one thread: {peak["gflops"]:.0f} GFLOP/s, int8 {peak["gops"]:.0f} GOP/s, reading {peak["gbytes"]:.0f} GB/s.\n\n'
            + markdown(['model, one thread', 'GFLOP', 'weights MB', 'ms', 'ceiling', 'share'], models) + '\n'
            + markdown(['loses most', 'operator', 'calls', 'ms', 'ceiling', 'share', 'lost ms'], operators))
    return text


def main(file):
    figures = json.loads(Path(file).read_text())
    part = figures['hosts'][0]
    names = figures['versions']
    rivals = list(names)
    groups = versus.summaries(part['results'])
    for theme in THEMES:
        plot(groups, rivals, names, theme, HERE / f'speed-{theme}.svg')
    text = '\n'.join([f'{figures["date"]}, {part["host"]}, {figures["processor"]}; least of {figures["rounds"]} rounds.\n',
                      speed(groups, rivals, names), versus.means(groups) + '\n', start(groups, rivals, names), ceilings(part['results'])])
    head, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(head + BEGIN + '\n' + text + END + rest.split(END, 1)[1])
