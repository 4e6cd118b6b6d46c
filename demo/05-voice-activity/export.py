"""Exports Silero VAD into build/demo/, with PyTorch's probabilities for a recording, slower speech and silence."""

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'shared'))
import export_demo  # noqa: E402
import numpy  # noqa: E402
import rushlight  # noqa: E402
import silero  # noqa: E402
import torch  # noqa: E402

FOLDER = export_demo.BUILD / '05-voice-activity'
FILE = 'silero-vad.rush'


def write_case(name, model, samples, rate):
    """Writes a case whose input x is passed chunk by chunk, beginning with the initial state."""
    x = silero.chunks(samples, rate)
    model.reset_states()
    with torch.no_grad():
        heard = torch.stack([model(chunk, rate) for chunk in x])
    for key, tensor in (('x', x), ('probability', heard)):
        numpy.save(FOLDER / 'cases' / f'{name}.{key}.npy', tensor.numpy())
    return {'name': name, 'steps': 'x', 'numbers': {'sr': rate}, 'inputs': {'x': f'cases/{name}.x.npy'},
            'outputs': {'probability': f'cases/{name}.probability.npy'}}


def main():
    model, note = silero.load()
    path, begins, missing = silero.recording()
    (FOLDER / 'cases').mkdir(parents=True, exist_ok=True)
    noise = torch.rand(1, 512, generator=torch.Generator().manual_seed(0)) * 2 - 1
    report = rushlight.export(model, None, FOLDER / FILE, methods=('forward', 'reset_states'),
                              input_names=['x', 'sr'], output_names=['probability'],
                              tests=[((noise, 16000), None), ((noise[:, :256], 8000), None)])  # chunks of both sizes
    print('\n'.join(filter(None, (str(report), note, missing))), file=sys.stderr)
    sample = 'conversation.wav'
    shutil.copyfile(path, FOLDER / sample)
    speech = silero.read(path)
    cases = [write_case('conversation', model, speech, 16000),
             write_case('conversation-8-khz', model, speech[::2].contiguous(), 8000),
             write_case('silence', model, torch.zeros(32000), 16000)]
    export_demo.write_json(FOLDER / 'manifest.json', {
        'title': 'Silero VAD', 'file': FILE, 'bytes': (FOLDER / FILE).stat().st_size,
        'note': ' '.join(filter(None, (note, missing))), 'cases': cases, 'sample': sample,
        'begins': begins})  # start of speech in seconds


if __name__ == '__main__':
    main()
