"""Exports the models of the page "Run it here" into build/demo/, with the figures of docs/status/SPEED.md. The models of other demos
must be exported already. timm and transformers must be installed, as `./dev docs --live` does."""

import json
import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'shared'))
import export_demo  # noqa: E402
import models  # noqa: E402
import rushlight  # noqa: E402
import torch  # noqa: E402

FOLDER = export_demo.BUILD / 'run-it-here'
TOKENS = {'dtype': 'int64', 'shape': [1, 128], 'below': 30000}
#: Models of other demos: title, folder, inputs
OTHERS = {
    'minilm-128': ('MiniLM-L6, a text of 128 tokens', '02-semantic-search',
                   {'ids': TOKENS, 'mask': {'dtype': 'int64', 'shape': [1, 128], 'value': 1}}),
    'smollm2': ('SmolLM2-135M in int8, one token', '07-text-generation/smollm2',
                {'tokens': {'dtype': 'int64', 'shape': [1, 1], 'below': 40000}, 'position': 100}),
}


def recorded():
    """Returns what was measured, {model: {threads: {runtime: ms}}}, and where."""
    text = (export_demo.TOP / 'docs/status/SPEED.md').read_text()
    where = re.search(r'^\d{4}-\d\d-\d\d, .*?(?=;)', text, re.M)[0]
    head = re.search(r'^\| model, ms \| threads \| (.*) \| to the best.*$', text, re.M)[1].split(' | ')
    figures = {}
    for name, threads, cells in re.findall(r'^\| ([\w-]+) \| (\d+) \| (.*) \| [^|]* \|$', text, re.M):
        cells = [cell.strip('*') for cell in cells.split(' | ')]
        figures.setdefault(name, {})[threads] = {runtime: float(ms) for runtime, ms in zip(head, cells) if ms != '–'}
    return figures, where


def seeded(name, make, given):
    """Exports a model with seeded weights, unless it is there. Returns its file."""
    file = FOLDER / f'{name}.rush'
    if not file.exists():
        torch.manual_seed(0)
        input_name, shape = given
        report = rushlight.export(make().eval(), (torch.randn(shape),), file, input_names=[input_name], output_names=['y'],
                                  test_vectors=False)
        print(report, file=sys.stderr)
    return file


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    figures, where = recorded()
    rows = []
    for name, (title, make, given) in models.SEEDED.items():
        rows.append((name, title, seeded(name, make, given), 'seeded', {given[0]: {'dtype': 'float32', 'shape': given[1]}}))
    for name, (title, folder, inputs) in OTHERS.items():
        manifest = json.loads((export_demo.BUILD / folder / 'manifest.json').read_text())
        rows.append((name, title, export_demo.BUILD / folder / manifest['file'], 'seeded' if manifest['note'] else 'trained', inputs))
    export_demo.write_json(FOLDER / 'manifest.json', {'where': where, 'models': [
        {'name': name, 'title': title, 'file': os.path.relpath(file, FOLDER), 'bytes': file.stat().st_size,
         'weights': weights, 'inputs': inputs, 'recorded': figures.get(name, {})} for name, title, file, weights, inputs in rows]})


if __name__ == '__main__':
    main()
