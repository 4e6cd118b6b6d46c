"""Exports MTCNN into build/demo/, with PyTorch's faces in five photographs."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'shared'))
import export_demo  # noqa: E402, I001 - before torch
import mtcnn  # noqa: E402
import numpy  # noqa: E402
import photos  # noqa: E402
import rushlight  # noqa: E402
import torch  # noqa: E402
import wheels  # noqa: E402
from PIL import Image  # noqa: E402

FOLDER = export_demo.BUILD / '08-face-detection'
FILE = 'mtcnn.rush'
OUTPUTS = ['boxes', 'probability', 'points']


def pictures():
    """Yields (name, uint8 [h, w, 3], facts): a gray picture without a face, and the photographs."""
    yield 'gray', numpy.full((90, 120, 3), 127, numpy.uint8), None
    try:
        copied = photos.copied_to(FOLDER)
    except wheels.Missing as reason:
        wheels.say(reason)
        return
    for path, facts in copied:
        yield path.stem, numpy.asarray(Image.open(path).convert('RGB')), facts


def write_case(model, name, picture):
    with torch.no_grad():
        answer = dict(zip(OUTPUTS, model(torch.tensor(picture))))
    case = {'name': name, 'inputs': {'picture': f'cases/{name}.picture.npy'}, 'outputs': {}}
    numpy.save(FOLDER / case['inputs']['picture'], picture)
    for key, tensor in answer.items():
        case['outputs'][key] = f'cases/{name}.{key}.npy'
        numpy.save(FOLDER / case['outputs'][key], tensor.contiguous().numpy())
    return case


def main():
    model, note = mtcnn.load()
    (FOLDER / 'cases').mkdir(parents=True, exist_ok=True)
    given = list(pictures())
    part = torch.tensor(given[-1][1][40:190, 150:310])  # the face in the last photograph
    with torch.no_grad():
        faces = model(part)
    # Synthetic pictures have no face, so the file stores this one as its test vector.
    report = rushlight.export(model, (part,), FOLDER / FILE, input_names=['picture'], output_names=OUTPUTS,
                              tests=[((part,), faces)], test_vectors=False)
    print('\n'.join(filter(None, (str(report), note))), file=sys.stderr)
    cases = [write_case(model, name, picture) for name, picture, _ in reversed(given)]
    export_demo.write_json(FOLDER / 'manifest.json', {
        'title': 'MTCNN', 'file': FILE, 'bytes': (FOLDER / FILE).stat().st_size, 'note': note, 'cases': cases,
        'samples': [facts for _, _, facts in reversed(given) if facts]})


if __name__ == '__main__':
    main()
