"""Exports Whisper tiny.en into build/demo/, with transformers' words and logits for a recording."""

import sys
import wave
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'shared'))
import export_demo  # noqa: E402, I001 - before torch
import numpy  # noqa: E402
import rushlight  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
import whisper  # noqa: E402
from transformers.models.whisper import tokenization_whisper  # noqa: E402

FOLDER = export_demo.BUILD / '09-speech-to-text'
FILE, SAMPLE = 'whisper.rush', 'two-cities.wav'
SECONDS = 13.4  # of the recording: three sentences
COMPARED = 12  # tokens whose logits are compared
ROUNDING = 1e-4  # the greatest error of a logit, relative to the greatest one


def features(samples):
    return transformers.WhisperFeatureExtractor()(samples.numpy(), sampling_rate=whisper.RATE, return_tensors='pt').input_features


@torch.no_grad()
def transcribed(model, tokenizer, samples):
    """Returns transformers' tokens, and its words with their times."""
    made = model.generate(features(samples), return_timestamps=True, return_token_timestamps=True, return_dict_in_generate=True,
                          num_frames=torch.tensor([len(samples) // 160]))
    end = model.generation_config.eos_token_id
    tokens, times = made['sequences'][0].tolist(), made['token_timestamps'][0].tolist()
    kept = [i for i, token in enumerate(tokens) if token < end]
    texts, _, places = tokenization_whisper._combine_tokens_into_words(tokenizer, [tokens[i] for i in kept], 'english')
    spoken = [(times[i - 1], times[i]) for i in kept]
    words = [{'text': text, 'start': round(spoken[at[0]][0], 2), 'end': round(spoken[at[-1]][1], 2)} for text, at in zip(texts, places)]
    return [token for token in tokens if token != end], words


@torch.no_grad()
def write_case(name, model, samples, tokens):
    """Writes a case whose samples are encoded first, and whose tokens are passed one by one."""
    tokens = [model.generation_config.decoder_start_token_id, *tokens][:COMPARED]
    logits = model(features(samples), decoder_input_ids=torch.tensor([tokens])).logits[0]
    for key, tensor in (('samples', samples), ('tokens', torch.tensor([tokens])), ('logits', logits)):
        numpy.save(FOLDER / 'cases' / f'{name}.{key}.npy', tensor.numpy())
    return {'name': name, 'encode': {'samples': f'cases/{name}.samples.npy'}, 'pieces': [1] * len(tokens),
            'inputs': {'tokens': f'cases/{name}.tokens.npy'}, 'outputs': {'logits': f'cases/{name}.logits.npy'},
            'atol': ROUNDING * float(logits.abs().max())}


def write_wav(path, samples):
    with wave.open(str(path), 'wb') as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(whisper.RATE)
        file.writeframes(numpy.rint(samples.numpy() * 32768).clip(-32768, 32767).astype('<i2').tobytes())


def main():
    model, tokenizer, note = whisper.load()
    path, missing = whisper.recording()
    (FOLDER / 'cases').mkdir(parents=True, exist_ok=True)
    report = rushlight.export_text(model, tokenizer, FOLDER / FILE, length=448)
    print('\n'.join(filter(None, (str(report), note, missing))), file=sys.stderr)
    write_wav(FOLDER / SAMPLE, whisper.samples_of(path)[:int(SECONDS * whisper.RATE)])
    samples = whisper.samples_of(FOLDER / SAMPLE)
    tokens, words = transcribed(model.float(), tokenizer, samples)
    cases = [write_case('recording', model, samples, tokens)]
    export_demo.copy_text_libraries(FOLDER)
    export_demo.write_json(FOLDER / 'manifest.json', {
        'title': 'Whisper tiny.en', 'file': FILE, 'bytes': (FOLDER / FILE).stat().st_size,
        'note': ' '.join(filter(None, (note, missing))), 'cases': cases, 'sample': SAMPLE, 'words': words})


if __name__ == '__main__':
    main()
