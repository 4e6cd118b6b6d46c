"""Exports MiniLM into build/demo/, with its tokenizer and PyTorch's answers on some sentences."""

import re
import shutil
import sys
import unicodedata
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'shared'))
import export_demo  # noqa: E402
import minilm  # noqa: E402
import torch  # noqa: E402
import wheels  # noqa: E402

FOLDER = export_demo.BUILD / '02-semantic-search'
FILE = 'minilm-l6-v2.rush'
TOKENIZER_JS = HERE.parents[1] / 'tests/node_modules/@huggingface/tokenizers/dist/tokenizers.mjs'


def tokenize(text, words):
    """Splits plain European sentences by WordPiece, which is enough for the reference answers made here.
    The pages use a complete tokenizer (tokenizer.js), and a test compares the two."""
    text = ''.join(c for c in unicodedata.normalize('NFD', text.lower())
                   if unicodedata.category(c) != 'Mn')
    ids = []
    for word in re.findall(r'[^\W_]+|[^\w\s]|_', text):
        pieces, at = [], 0
        while at < len(word):
            end = len(word)
            while end > at and ('##' if at else '') + word[at:end] not in words:
                end -= 1
            if end == at:
                pieces = [words['[UNK]']]
                break
            pieces.append(words[('##' if at else '') + word[at:end]])
            at = end
        ids += pieces
    return [words['[CLS]'], *ids, words['[SEP]']]


def batch(rows):
    length = max(map(len, rows))
    ids = torch.tensor([row + [0] * (length - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in rows])
    return {'ids': ids, 'mask': mask}


def cases():
    """Returns batches of token ids: the three published sentences, one sentence, eight, and a long text."""
    sentences = (HERE / 'sentences.txt').read_text(encoding='utf-8').splitlines()
    texts = {
        'known': minilm.KNOWN,
        'one': sentences[:1],
        'eight': sentences[40:48],
        'long': [' '.join(sentences[:18])],
    }
    try:
        vocabulary = (minilm.model_folder() / 'vocab.txt').read_text(encoding='utf-8')
    except wheels.Missing:
        generator = torch.Generator().manual_seed(0)
        for name, rows in texts.items():
            yield name, rows, batch([torch.randint(1000, 30000, (2 + len(row) // 4,),
                                                   generator=generator).tolist() for row in rows])
        return
    words = {word: i for i, word in enumerate(vocabulary.split('\n'))}
    for name, rows in texts.items():
        yield name, rows, batch([tokenize(row, words)[:256] for row in rows])


def main():
    model, note = minilm.load()
    if note:
        print(note, file=sys.stderr)
    scripted = torch.jit.script(model)
    example = batch([[101, 7592, 2088, 102], [101, 7592, 102]])
    export_demo.export(scripted, tuple(example.values()), FOLDER, FILE, ['ids', 'mask'], 'embedding',
                       {name: {0: 'texts', 1: 'tokens'} for name in example})
    if not note:
        for file in ('tokenizer.json', 'tokenizer_config.json'):
            shutil.copyfile(minilm.model_folder() / file, FOLDER / file)
    if TOKENIZER_JS.exists():
        shutil.copyfile(TOKENIZER_JS, FOLDER / 'tokenizers.mjs')
    export_demo.write_json(FOLDER / 'manifest.json', {
        'title': 'all-MiniLM-L6-v2', 'file': FILE, 'bytes': (FOLDER / FILE).stat().st_size,
        'note': note,
        'cases': [{**export_demo.write_case(FOLDER, name, model, inputs, 'embedding'), 'texts': rows}
                  for name, rows, inputs in cases()]})


if __name__ == '__main__':
    main()
