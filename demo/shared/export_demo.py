"""What both demos' export.py do: reference answers of PyTorch beside the exported model."""

import json
import sys
from pathlib import Path

import numpy
import torch

BUILD = Path(__file__).resolve().parents[2] / 'build' / 'demo'

# Debian's libtorch never comes back from the second call of some frozen graphs when its fuser is on.
torch._C._jit_set_texpr_fuser_enabled(False)
torch.set_num_threads(1)


def write_json(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + '\n', encoding='utf-8')


def export(module, inputs, folder, file, input_names, output_name, dynamic_shapes):
    """Exports the module, and prints the exporter's report."""
    import rushlight
    folder.mkdir(parents=True, exist_ok=True)
    report = rushlight.export(module, inputs, str(folder / file), input_names=input_names,
                              output_names=[output_name], dynamic_shapes=dynamic_shapes)
    print(report, file=sys.stderr)


def write_case(folder, name, module, inputs, output_name):
    """Stores inputs and PyTorch's answer as .npy; returns their names for the manifest."""
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
