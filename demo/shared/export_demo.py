"""Shared by the export.py files: exports a model and stores PyTorch's reference answers beside it."""

import json
import shutil
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILD = TOP / 'build' / 'demo'
sys.path.append(str(TOP / 'tests'))
import reference  # noqa: E402, F401, I001 - PyTorch as the tests have it, the same on every processor
import numpy  # noqa: E402
import torch  # noqa: E402


def write_json(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + '\n', encoding='utf-8')


def copy_text_libraries(folder):
    """Copies the packages for tokenizers and chat templates beside a text model, for pages without a bundler."""
    packages = TOP / 'tests/node_modules/@huggingface'
    for name, library in {'tokenizers.mjs': 'tokenizers/dist/tokenizers.mjs', 'jinja.mjs': 'jinja/dist/index.js'}.items():
        if (packages / library).exists():
            shutil.copyfile(packages / library, folder / name)


def export(module, inputs, folder, file, input_names, output_name, dynamic_shapes):
    """Exports the module, and prints the exporter's report."""
    import rushlight
    folder.mkdir(parents=True, exist_ok=True)
    report = rushlight.export(module, inputs, str(folder / file), input_names=input_names,
                              output_names=[output_name], dynamic_shapes=dynamic_shapes)
    print(report, file=sys.stderr)


def write_case(folder, name, module, inputs, output_name):
    """Stores inputs and PyTorch's answer as .npy. Returns their names for the manifest."""
    (folder / 'cases').mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        output = module(*inputs.values())
    case = {'name': name, 'inputs': {}, 'outputs': {}}
    for kind, tensors in (('inputs', inputs), ('outputs', {output_name: output})):
        for key, tensor in tensors.items():
            file = f'cases/{name}.{key}.npy'
            numpy.save(folder / file, tensor.contiguous().numpy())
            case[kind][key] = file
    return case
