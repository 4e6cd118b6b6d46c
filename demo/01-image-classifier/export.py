"""Exports EfficientNet-Lite0 into build/demo/, with PyTorch's answers on five photographs."""

import sys
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'shared'))
import export_demo  # noqa: E402, I001 - before torch
import effnet  # noqa: E402
import photos  # noqa: E402
import torch  # noqa: E402
import wheels  # noqa: E402

FOLDER = export_demo.BUILD / '01-image-classifier'
FILE = 'efficientnet-lite0.rush'


def pictures():
    """Returns (name, tensor, facts) for each photograph, or noise if there are none."""
    try:
        copied = photos.copied_to(FOLDER)
    except wheels.Missing as reason:
        wheels.say(f'{reason}. Noise takes the place of the photographs')
        yield 'noise', torch.rand(1, 3, effnet.SIZE, effnet.SIZE) * 2 - 1, None
        return
    for path, facts in copied:
        yield path.stem, effnet.preprocess(Image.open(path).convert('RGB'))[None], facts


def main():
    model, note = effnet.load()
    if note:
        print(note, file=sys.stderr)
    noise = torch.rand(1, 3, effnet.SIZE, effnet.SIZE, generator=torch.Generator().manual_seed(0)) * 2 - 1
    export_demo.export(model, (noise,), FOLDER, FILE,
                       ['image'], 'logits', {'image': {0: 'pictures'}})
    export_demo.write_json(FOLDER / 'classes.json', effnet.class_names())
    cases, samples = [], []
    for name, tensor, facts in pictures():
        cases.append(export_demo.write_case(FOLDER, name, model, {'image': tensor}, 'logits'))
        if facts:
            samples.append(facts)
    export_demo.write_json(FOLDER / 'manifest.json', {
        'title': 'EfficientNet-Lite0', 'file': FILE, 'bytes': (FOLDER / FILE).stat().st_size,
        'note': note, 'cases': cases, 'samples': samples})


if __name__ == '__main__':
    main()
