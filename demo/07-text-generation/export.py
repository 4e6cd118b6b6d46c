"""Exports SmolLM2, and a small Llama and GPT-2, into build/demo/, with PyTorch's logits token by token."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'shared'))
import export_demo  # noqa: E402
import models  # noqa: E402
import numpy  # noqa: E402
import rushlight  # noqa: E402
import smollm  # noqa: E402
import torch  # noqa: E402

FOLDER = export_demo.BUILD / '07-text-generation'
QUESTIONS = {'capital': 'What is the capital of France?', 'seasons': 'Name the 4 seasons.'}
LONGEST = 20  # tokens of an answer
# The greatest error of a logit, relative to the greatest one: for float sums, and for products with int8 weights (16-bit inputs).
EXACT, SIXTEEN_BITS = 1e-5, 1e-3


def export(model, folder, example, **options):
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f'{folder.name}.rush'
    report = rushlight.export(torch.jit.script(model), (torch.tensor([example]), 0), file, input_names=['tokens', 'position'],
                              output_names=['logits'], dynamic_shapes={'tokens': {1: 'n'}}, **options)
    print(report, file=sys.stderr)
    return {'file': file.name, 'bytes': file.stat().st_size}


def write_case(name, folder, tokens, pieces, logits, rounding, **more):
    """Writes a case whose tokens are passed piece by piece from position 0 on. logits [pieces, words] are PyTorch's. Logits near 0
    are sums of terms as large as the greatest logit's, so their absolute error is the same."""
    (folder / 'cases').mkdir(exist_ok=True)
    for key, tensor in (('tokens', torch.tensor([tokens])), ('logits', logits)):
        numpy.save(folder / 'cases' / f'{name}.{key}.npy', tensor.numpy())
    return {'name': name, 'pieces': pieces, 'inputs': {'tokens': f'cases/{name}.tokens.npy'},
            'outputs': {'logits': f'cases/{name}.logits.npy'}, 'atol': rounding * float(logits.abs().max()), **more}


@torch.no_grad()
def answer_in_pieces(model, tokens, pieces):
    logits, position = [], 0
    for piece in torch.tensor([tokens]).split(pieces, 1):
        logits.append(model(piece, position))
        position += piece.size(1)
    return torch.cat(logits)


@torch.no_grad()
def write_greedy(name, folder, model, prompt, end):
    """Writes a case of the prompt and then the likeliest tokens, one by one. Rounding cannot change the choice of the first `sure`
    tokens: the error of a difference of two logits is at most twice that of one."""
    tokens, pieces, logits, sure = list(prompt), [len(prompt)], [], None
    while True:
        logits.append(model(torch.tensor([tokens[-pieces[-1]:]]), len(tokens) - pieces[-1]))
        best, next_best = logits[-1][0].topk(2).values.tolist()
        if sure is None and best - next_best < 2 * SIXTEEN_BITS * float(logits[-1].abs().max()):
            sure = len(pieces) - 1
        token = int(logits[-1].argmax())
        if token == end or len(pieces) == LONGEST:
            break
        tokens.append(token)
        pieces.append(1)
    answer = [*tokens[len(prompt):], token]
    return write_case(name, folder, tokens, pieces, torch.cat(logits), SIXTEEN_BITS, answer=answer,
                      sure=len(answer) if sure is None else sure)


def small(name, make):
    """Exports a model with random weights, and cases with pieces of many sizes."""
    torch.manual_seed(0)
    model, folder = make().eval(), FOLDER / name
    tokens = torch.randint(97, (24,)).tolist()
    facts = export(model, folder, tokens[:5])
    cases = [write_case(f'pieces-of-{max(pieces)}', folder, tokens, pieces, answer_in_pieces(model, tokens, pieces), EXACT)
             for pieces in ([24], [1] * 24, [5, 1, 1, 1, 9, 1, 6])]
    export_demo.write_json(folder / 'manifest.json', {'title': name, 'note': '', 'cases': cases, **facts})


def main():
    model, tokens, merges, note = smollm.load()
    if note:
        print(note, file=sys.stderr)
    tokenizer, folder = smollm.Tokenizer(tokens, merges), FOLDER / 'smollm2'
    facts = export(model, folder, tokenizer.encode('Once upon a time'), quantize='int8-weights', assets=smollm.assets(tokens, merges))
    end, = tokenizer.encode(smollm.CHAT['end'])
    cases = []
    for name, question in QUESTIONS.items():
        prompt = tokenizer.encode(smollm.CHAT['system'] + smollm.CHAT['user'].format(question))
        case = write_greedy(name, folder, model, prompt, end)
        cases.append({**case, 'question': question, 'text': tokenizer.decode(case['answer'])})
    export_demo.copy_text_libraries(folder)
    manifest = {'title': 'SmolLM2-135M-Instruct', 'note': note, **facts}
    export_demo.write_json(folder / 'manifest.json', {**manifest, 'cases': cases})
    small('llama', models.Llama)
    small('gpt2', models.Gpt2)
    export_demo.write_json(FOLDER / 'manifest.json', {**manifest, 'variants': ['smollm2', 'llama', 'gpt2']})


if __name__ == '__main__':
    main()
