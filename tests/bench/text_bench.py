"""Times language models beside wllama and onnxruntime-web, for `./dev bench --text`.

Each contender has two turns with a model, each in a new page of Chromium: it loads the file, reads the prompt and generates tokens,
several times. All contenders have their first turn before one has its second. A time is the least of all. A turn that exceeds its limit
is named. Results are printed and written one by one. `rushlight-weights` is a file whose activations have 16 bits.

In the first turn, SmolLM2 also answers ten questions, and other models the prompt. `same tokens` counts the tokens that agree with
PyTorch's before the first that differs, of all questions. Weights of other models are random, and so are their tokens. `cosine` compares
the logits after the questions, less their mean: the mean of all, and the least. `page MB` is the memory of the page's process.
"""

import statistics

import turns
from tables import table

OURS = ('rushlight', 'rushlight-weights')
RIVALS = ('wllama', 'ort')
TURNS = 2
QUICK = ('smollm2-135m',)  # the models of a run without names, on one thread
FILE = turns.HERE.parents[1] / 'build' / 'bench' / 'text' / 'results.json'


def jobs(names, rivals, arguments):
    """Makes each model before its first turn, so that the results of those before it are there."""
    import language_models
    threads = sorted({1, arguments.threads or (2 if arguments.all else 1)})
    for name in names:
        for bits in language_models.BITS:
            folder = language_models.make(name, bits, arguments.tokens).name
            for count in threads:
                for turn in range(TURNS):
                    for rival in (*OURS, *rivals):
                        yield {'folder': folder, 'rival': rival, 'threads': count, 'rounds': arguments.rounds or 3, 'compare': not turn,
                               'limit': 1000 * arguments.limit}


def add(results, result):
    """Adds a turn to the results: the least times of the turns of one contender, and what only its first one measures."""
    key = [result[what] for what in ('folder', 'rival', 'threads')]
    known = next((r for r in results if [r['folder'], r['rival'], r['threads']] == key), None)
    if known is None:
        results.append(result)
    elif 'error' in result:
        known.update(error=result['error'])
    elif 'error' not in known:
        known.update({what: min(known[what], result[what]) for what in ('load', 'prompt', 'decode')})


def ratios(results, rival):
    """Returns how many times a rival's tokens a second Rushlight has, in prompts and in decoding, with each model and number of threads."""
    good = {(r['folder'], r['threads'], r['rival']): r for r in results if 'error' not in r}
    pairs = [(r, good[folder, threads, rival]) for (folder, threads, who), r in good.items()
             if who == 'rushlight' and (folder, threads, rival) in good]
    return [theirs[what] / ours[what] for ours, theirs in pairs for what in ('prompt', 'decode')]


def said(result):
    """Returns a line on a turn that has ended."""
    what = f'{result["folder"]}, {result["rival"]}, threads {result["threads"]}: '
    if 'error' in result:
        return what + result['error'].split('\n', 1)[0]
    return what + f'prompt {1000 / result["prompt"]:.0f} tokens/s, decoding {1000 / result["decode"]:.1f} tokens/s'


def show(results, tokens):
    import language_models
    rows = []
    for r in results:
        if 'error' in r:
            continue
        rows.append([r['folder'], r['rival'], r['threads'], f'{1000 / r["prompt"]:.0f}', f'{1000 / r["decode"]:.1f}', f'{r["load"]:.0f}',
                     f'{r["memory"] / 1e6:.0f}', f'{r["bytes"] / 1e6:.0f}',
                     f'{sum(r["same"])} of {len(r["same"]) * tokens}' if r['folder'].startswith(language_models.REAL) else '–',
                     f'{statistics.mean(r["cosines"]):.4f}', f'{min(r["cosines"]):.4f}'])
    table(['model', 'contender', 'threads', 'prompt, tokens/s', 'decoding, tokens/s', 'load ms', 'page MB', 'file MB', 'same tokens', 'cosine',
           'least'], rows)
    for rival in dict.fromkeys(r['rival'] for r in results):
        each = ratios(results, rival)
        if rival in RIVALS and each:
            print(f"Rushlight's tokens a second are {statistics.geometric_mean(each):.1f} times {rival}'s, as a geometric mean, and at least "
                  f'{min(each):.1f} times.')


def main(arguments):
    import language_models
    rivals = turns.chosen(arguments.vs, RIVALS)
    names = arguments.model or (list(language_models.MODELS) if arguments.all else QUICK)
    for name in names:
        if name not in language_models.MODELS:
            turns.fail(f'there is no language model {name}: {", ".join(language_models.MODELS)}')
    results = []
    for job in jobs(names, rivals, arguments):
        result = turns.run('text_turns.mjs', job)
        print(said(result), flush=True)
        add(results, result)
        turns.write(arguments.json or FILE, {'results': results})
    print(f'\n{results[0]["host"]}')
    show(results, arguments.tokens)
