"""Makes the benchmark's models, with one input each, in build/bench/: as .rush and in the formats of rivals.

    python3 tests/bench/models.py [MODEL...]     # makes the .rush files that are missing
"""

import json
import os
import sys
import warnings
from pathlib import Path

import graph
import networks
import numpy
import tflite
import torch
from keys import exporter_files, key_of

TOP = Path(__file__).resolve().parents[2]
BUILD = TOP / 'build' / 'bench'
sys.path[:0] = [str(TOP / 'demo' / name) for name in ('01-image-classifier', '02-semantic-search', 'shared')]
torch._C._jit_set_texpr_fuser_enabled(False)


def efficientnet():
    import effnet
    torch.manual_seed(1)
    return effnet.load()[0], {'image': torch.rand(1, 3, 224, 224) * 2 - 1}


def mobilenet():
    import effnet
    torch.manual_seed(1)
    model, image = effnet.random_mobilenet(), torch.rand(1, 3, 224, 224) * 2 - 1
    with torch.no_grad():  # logits of size 1, whose rounding errors in float32 are below atol
        model.classifier[1].weight /= model(image).std()
    return model, {'image': image}


def minilm(length):
    def make():
        import minilm as module
        model = module.load()[0]
        ids = torch.randint(1000, 30000, (1, length), generator=torch.Generator().manual_seed(1))
        return model, {'ids': ids, 'mask': torch.ones_like(ids)}
    return make


LENGTHS = {'ids': {0: 'n', 1: 't'}, 'mask': {0: 'n', 1: 't'}}
PAST = {f'{what}{i}': {2: 't'} for i in range(12) for what in ('keys', 'values')}
#: name: the function that makes it, its (first) output, dynamic sizes. The first four are real models and the default.
MODELS = {
    'efficientnet-lite0': (efficientnet, 'logits', {}),
    'mobilenet-v2': (mobilenet, 'logits', {}),
    'minilm-21': (minilm(21), 'embedding', LENGTHS),
    'minilm-128': (minilm(128), 'embedding', LENGTHS),
    'minilm-16': (minilm(16), 'embedding', LENGTHS),
    'minilm-256': (minilm(256), 'embedding', LENGTHS),
    **{name.replace('_', '-'): (networks.torchvision(name), 'logits', {})
       for name in ('mobilenet_v3_small', 'efficientnet_b0', 'resnet18', 'resnet50', 'vit_b_16')},
    'unet-256': (networks.unet, 'mask', {}),
    'unet-64': (lambda: networks.unet(64), 'mask', {}),
    'gpt2-step': (networks.gpt2_step, 'logits', PAST),
    'lstm': (networks.lstm, 'y', {}),
    'mlp': (networks.mlp, 'y', {}),
    'pointwise-200': (networks.pointwise, 'y', {}),
    'minilm-16-int8': (minilm(16), 'embedding', LENGTHS),
    'minilm-128-int8': (minilm(128), 'embedding', LENGTHS),
    'gpt2-step-int8': (networks.gpt2_step, 'logits', PAST),
    'gpt2-step-int4': (networks.gpt2_step, 'logits', PAST),
}
#: By the suffix of a model's name: the value of quantize= at export, and the least cosine to float32's answer. Rivals only
#: have int8, and use it for both. Random weights of 4 bits, rounded in each of 12 layers, reach 0.975.
FEWER_BITS = {8: ('-int8', 'int8', 0.99), 4: ('-int4', 'int4:128', 0.97)}
USUAL = list(MODELS)[:4]
#: with --gpu
ON_GPU = ('mobilenet-v2', 'resnet18', 'minilm-16', 'minilm-128', 'unet-64', 'gpt2-step')
# Only the input differs, in formats with dynamic sizes.
SAME_FILE = {'minilm-16': 'minilm-21', 'minilm-128': 'minilm-21', 'minilm-256': 'minilm-21', 'minilm-128-int8': 'minilm-16-int8'}


def bits_of(name):
    """Returns the bits of the weights of linear layers: 4, 8 or 32."""
    return next((bits for bits, (end, _, _) in FEWER_BITS.items() if name.endswith(end)), 32)


def export_onnx(model, inputs, outputs, dynamic, path):
    from torch.onnx._internal import onnx_proto_utils
    # The `onnx` package is only needed for functions of onnxscript, and there are none.
    onnx_proto_utils._add_onnxscript_fn = lambda model_bytes, _: model_bytes
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        torch.onnx.export(model, tuple(inputs.values()), str(path), dynamo=False, opset_version=17,
                          input_names=list(inputs), output_names=outputs, dynamic_axes=dynamic)


def keys():
    """Returns the keys of the files. A .rush file depends on the model and the exporter, and the others on the model and the writer."""
    model = [Path(__file__), Path(networks.__file__), *(TOP / 'demo').glob('*/*.py')]
    lowered = key_of(*model, Path(graph.__file__), Path(tflite.__file__))
    return {'rush': key_of(*model, *exporter_files()), 'onnx': key_of(*model), 'tflite': lowered, 'graph': lowered}


def make(name, forms=(), again=False):
    """Makes the missing files of a model: .rush, and onnx, tflite and graph. A format that fails is left out."""
    build, output, dynamic = MODELS[name]
    bits = bits_of(name)
    folder = BUILD / name
    about = folder / 'bench.json'
    before = {'keys': {}, 'files': {}, **(json.loads(about.read_text()) if about.exists() else {})}
    wanted = keys()
    missing = [form for form in dict.fromkeys(['rush', *forms]) if again or before['keys'].get(form) != wanted[form]]
    if not missing:
        return
    print(f'» making {name}', file=sys.stderr, flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    model, inputs = build()
    with torch.no_grad():
        expected = model(*inputs.values())
    expected, *more = expected if isinstance(expected, tuple) else (expected,)
    outputs = [output, *(f'{output}{i + 1}' for i in range(len(more)))]
    files = dict(before['files'])
    lowered = None
    for form in missing:
        open_sizes = form in ('rush', 'onnx')
        file = (BUILD / SAME_FILE.get(name, name) if open_sizes else folder) / f'model.{"bin" if form == "graph" else form}'
        files[form] = os.path.relpath(file, folder)
        if bits < 32 and form in ('onnx', 'graph'):
            files[form] = None  # only LiteRT has int8
        if files[form] is None or open_sizes and name in SAME_FILE:
            continue  # made with the first one
        if form == 'rush':
            import rushlight
            rushlight.export(model, tuple(inputs.values()), str(file), input_names=list(inputs), output_names=outputs, dynamic_shapes=dynamic,
                             quantize=FEWER_BITS[bits][1] if bits < 32 else '')
            continue
        try:
            if form == 'onnx':
                export_onnx(model, inputs, outputs, dynamic, file)
            else:
                lowered = lowered or graph.lower(model, inputs)
                lowered.save(folder / 'model', consts=form == 'graph')
                if form == 'tflite':
                    tflite.write(lowered, file, bits < 32)
        except Exception as error:  # only this comparison is lost
            files[form] = None
            print(f'{name}: no {form}, so nothing to compare with: {error}', file=sys.stderr)
    with torch.no_grad():  # the reference, which PyTorch also differs from
        exact = model.double()(*(x.double() if x.is_floating_point() else x for x in inputs.values()))
    exact = exact[0] if isinstance(exact, tuple) else exact
    for tensor_name, tensor in {**inputs, 'expected': expected, 'exact': exact}.items():
        numpy.save(folder / f'{tensor_name}.npy', tensor.contiguous().numpy())
    about.write_text(json.dumps({
        'name': name, 'alike': FEWER_BITS[bits][2] if bits < 32 else 0, 'keys': {**before['keys'], **{form: wanted[form] for form in missing}}, 'inputs': list(inputs),
        'output': output, 'files': files}))


def make_all(names, forms=(), again=False):
    for name in dict.fromkeys([SAME_FILE.get(name, name) for name in names] + list(names)):
        make(name, forms, again)


if __name__ == '__main__':
    make_all(sys.argv[1:] or USUAL)
