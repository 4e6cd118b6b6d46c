"""The benchmark's models as .rush and as ONNX, with one input each, in build/bench/.

    python3 tests/bench/models.py [MODEL...]     # makes what is missing
"""

import hashlib
import json
import os
import sys
import warnings
from pathlib import Path

import networks
import numpy
import torch

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
    with torch.no_grad():  # logits of size 1: float32 leaves no more than atol of their last digits
        model.classifier[1].weight /= model(image).std()
    return model, {'image': image}


def minilm(length):
    def make():
        import minilm as module
        model = module.load()[0]
        ids = torch.randint(1000, 30000, (1, length), generator=torch.Generator().manual_seed(1))
        return torch.jit.script(model), {'ids': ids, 'mask': torch.ones_like(ids)}
    return make


#: name: what makes it, its (first) output, sizes that are open. The first four are real models, and what runs without a name.
MODELS = {
    'efficientnet-lite0': (efficientnet, 'logits', {}),
    'mobilenet-v2': (mobilenet, 'logits', {}),
    'minilm-21': (minilm(21), 'embedding', {'ids': {0: 'n', 1: 't'}, 'mask': {0: 'n', 1: 't'}}),
    'minilm-128': (minilm(128), 'embedding', {'ids': {0: 'n', 1: 't'}, 'mask': {0: 'n', 1: 't'}}),
    'minilm-256': (minilm(256), 'embedding', {'ids': {0: 'n', 1: 't'}, 'mask': {0: 'n', 1: 't'}}),
    **{name.replace('_', '-'): (networks.torchvision(name), 'logits', {})
       for name in ('mobilenet_v3_small', 'efficientnet_b0', 'resnet18', 'resnet50', 'vit_b_16')},
    'unet-256': (networks.unet, 'mask', {}),
    'gpt2-step': (networks.gpt2_step, 'logits', {f'{what}{i}': {2: 't'} for i in range(12) for what in ('keys', 'values')}),
    'lstm': (networks.lstm, 'y', {}),
    'mlp': (networks.mlp, 'y', {}),
    'pointwise-200': (networks.pointwise, 'y', {}),
}
USUAL = list(MODELS)[:4]
SAME_FILE = {'minilm-128': 'minilm-21', 'minilm-256': 'minilm-21'}  # only the input differs


def export_onnx(model, inputs, outputs, dynamic, path):
    from torch.onnx._internal import onnx_proto_utils
    # Without the `onnx` package: it is needed for functions of onnxscript only, and there are none.
    onnx_proto_utils._add_onnxscript_fn = lambda model_bytes, _: model_bytes
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        torch.onnx.export(model, tuple(inputs.values()), str(path), dynamo=False, opset_version=17,
                          input_names=list(inputs), output_names=outputs, dynamic_axes=dynamic)


def key_of(*files):
    key = hashlib.sha256()
    for file in sorted(files):
        if file.is_file():
            key.update(hashlib.sha256(file.read_bytes()).digest())
    return key.hexdigest()


def keys():
    """A .rush file is made again when the model or the exporter is another one, ONNX for the model only."""
    native = Path(os.environ.get('RUSH_NATIVE', TOP / 'build' / 'native'))
    model = [Path(__file__), *(TOP / 'demo').glob('*/*.py')]
    exporter = [*(TOP / 'exporter' / 'python').rglob('*.py'), native / 'bin' / 'rushlight',
                *(native / 'python').rglob('*.so'), *(native / 'lib').glob('*.so*')]
    return key_of(*model), key_of(*model, *exporter)


def make(name, again=False):
    build, output, dynamic = MODELS[name]
    folder = BUILD / name
    file = BUILD / SAME_FILE.get(name, name) / 'model'
    model_key, key = keys()
    about = folder / 'bench.json'
    before = json.loads(about.read_text()) if about.exists() else {}
    if not again and before.get('key') == key:
        return
    print(f'» making {name}', file=sys.stderr, flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    model, inputs = build()
    with torch.no_grad():
        expected = model(*inputs.values())
    expected, *more = expected if isinstance(expected, tuple) else (expected,)
    outputs = [output, *(f'{output}{i + 1}' for i in range(len(more)))]
    if name not in SAME_FILE:
        import rushlight
        rushlight.export(model, tuple(inputs.values()), str(file.with_suffix('.rush')),
                         input_names=list(inputs), output_names=outputs, dynamic_shapes=dynamic)
        if before.get('model_key') != model_key or not file.with_suffix('.onnx').exists():
            try:
                export_onnx(model, inputs, outputs, dynamic, file.with_suffix('.onnx'))
            except Exception as error:  # only the comparison is lost
                print(f'{name}: no ONNX file, so nothing to compare with: {error}', file=sys.stderr)
    for tensor_name, tensor in {**inputs, 'expected': expected}.items():
        numpy.save(folder / f'{tensor_name}.npy', tensor.contiguous().numpy())
    onnx = file.with_suffix('.onnx')
    about.write_text(json.dumps({
        'name': name, 'key': key, 'model_key': model_key, 'inputs': list(inputs), 'output': output,
        'rush': os.path.relpath(file.with_suffix('.rush'), folder),
        'onnx': os.path.relpath(onnx, folder) if onnx.exists() else None}))


def make_all(names, again=False):
    for name in dict.fromkeys([SAME_FILE.get(name, name) for name in names] + list(names)):
        make(name, again)


if __name__ == '__main__':
    make_all(sys.argv[1:] or USUAL)
