"""Builds the operator with OpenCV for PyTorch, and in C for the page. Exports both models into build/demo/, unchanged
and decomposed, with the answers of PyTorch and OpenCV."""

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'shared'))
import export_demo  # noqa: E402, I001 - before torch
import build  # noqa: E402
import models  # noqa: E402
import rushlight  # noqa: E402
import torch  # noqa: E402

FOLDER = export_demo.BUILD / '04-custom-operator'
INPUTS = ['image', 'warp', 'mix']
# The ways to compute the operator, each with the options of load() for it (demo/shared/agreement.js).
WAYS = {
    'javascript': {'ops': '../04-custom-operator/warp.js'},
    'worker': {'ops': '../04-custom-operator/warp.js', 'worker': True},
    'c': {'wasm': '../warp.wasm'},
    'composite': {},
}


def cases():
    """Yields (name, inputs): the identity, fractions of pixels, a perspective, an image of another size, a singular matrix."""
    _, tilted, mirror = models.example()
    noise = torch.Generator().manual_seed(1)
    yield 'identity', (torch.randn(8, 8, generator=noise), torch.eye(3), torch.eye(8))
    yield 'moved', (torch.randn(8, 8, generator=noise), torch.tensor([[1, 0, -0.37], [0, 1, 0.81], [0, 0, 1]]), torch.eye(8))
    yield 'tilted', (torch.rand(8, 8, generator=noise), tilted, mirror)
    yield 'wide', (torch.randn(5, 11, generator=noise), tilted, torch.randn(8, 3, generator=noise))
    yield 'singular', (torch.randn(8, 8, generator=noise), torch.zeros(3, 3), torch.eye(8))


def main():
    torch.ops.load_library(str(build.host() / 'libwarp_perspective.so'))
    programs = {'trace': torch.jit.trace(models.trace, models.example()), 'script': torch.jit.script(models.script)}
    FOLDER.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(build.wasm() / 'warp.wasm', FOLDER / 'warp.wasm')
    stored = {}
    for name, program in programs.items():
        export(program, f'{name}.rush', allow_missing=True)
        stored[name] = [export_demo.write_case(FOLDER, f'{name}.{case}', program, dict(zip(INPUTS, given)), 'result')
                        for case, given in cases() if (name, case) != ('script', 'wide')]
    import composite  # noqa: F401  (from here on the operator is decomposed)
    for name, program in programs.items():
        export(program, f'{name}.composite.rush')
    for way, options in WAYS.items():
        for name in programs:
            write_variant(name, way, options, stored[name])
    export_demo.write_json(FOLDER / 'manifest.json', {
        'title': 'warp_perspective', 'bytes': (FOLDER / 'trace.rush').stat().st_size, 'note': '',
        'variants': [f'{name}-{way}' for way in WAYS for name in programs]})


def export(program, file, **options):
    print(rushlight.export(program, models.example(), FOLDER / file, input_names=INPUTS, output_names=['result'],
                           dynamic_shapes={'image': {0: 'rows', 1: 'columns'}, 'mix': {1: 'mixed'}}, **options), file=sys.stderr)


def write_variant(name, way, options, stored):
    """Writes a folder whose manifest names the files beside it."""
    folder = FOLDER / f'{name}-{way}'
    folder.mkdir(exist_ok=True)
    outside = [{'name': c['name'], **{kind: {k: f'../{file}' for k, file in c[kind].items()} for kind in ('inputs', 'outputs')}}
               for c in stored]
    file = f'../{name}.composite.rush' if way == 'composite' else f'../{name}.rush'
    export_demo.write_json(folder / 'manifest.json', {'title': f'{name}, {way}', 'file': file, 'note': '', 'cases': outside, **options})


if __name__ == '__main__':
    main()
