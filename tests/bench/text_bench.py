"""Times language models beside wllama and onnxruntime-web, for `./dev bench --text`.

Each contender has one turn with a model in a new page of Chromium: it loads the file, reads the prompt and generates tokens, several
times. A time is the least of these. `same tokens` counts the generated tokens that agree with PyTorch's before the first that differs.
`cosine` compares the logits after the prompt, less their mean. `page MB` is the memory of the page's process.
"""

import statistics

import turns
from tables import table

RIVALS = ('wllama', 'ort')


def jobs(folders, rivals, threads, rounds):
    for folder in folders:
        for count in sorted({1, threads}):
            for rival in ('rushlight', *rivals):
                yield {'folder': folder, 'rival': rival, 'threads': count, 'rounds': rounds}


def ratios(results, rival):
    """Returns how many times a rival's tokens a second Rushlight has, in prompts and in decoding, with each model and number of threads."""
    good = {(r['folder'], r['threads'], r['rival']): r for r in results if 'error' not in r}
    pairs = [(r, good[folder, threads, rival]) for (folder, threads, who), r in good.items()
             if who == 'rushlight' and (folder, threads, rival) in good]
    return [theirs[what] / ours[what] for ours, theirs in pairs for what in ('prompt', 'decode')]


def show(part, tokens):
    print(f'\n{part["host"]}')
    rows = []
    for r in part['results']:
        if 'error' in r:
            print(f'{r["folder"]}, {r["rival"]}, threads {r["threads"]}: {r["error"]}')
            continue
        rows.append([r['folder'], r['rival'], r['threads'], f'{1000 / r["prompt"]:.0f}', f'{1000 / r["decode"]:.1f}', f'{r["load"]:.0f}',
                     f'{r["memory"] / 1e6:.0f}', f'{r["bytes"] / 1e6:.0f}', f'{r["same"]} of {tokens}', f'{r["cosine"]:.5f}'])
    table(['model', 'contender', 'threads', 'prompt, tokens/s', 'decoding, tokens/s', 'load ms', 'page MB', 'file MB', 'same tokens', 'cosine'],
          rows)
    for rival in dict.fromkeys(r['rival'] for r in part['results']):
        each = ratios(part['results'], rival)
        if rival != 'rushlight' and each:
            print(f"Rushlight's tokens a second are {statistics.geometric_mean(each):.1f} times {rival}'s, as a geometric mean, and at least "
                  f'{min(each):.1f} times.')


def main(arguments):
    import language_models
    rivals = turns.chosen(arguments.vs, RIVALS)
    names = arguments.model or list(language_models.MODELS)
    for name in names:
        if name not in language_models.MODELS:
            turns.fail(f'there is no language model {name}: {", ".join(language_models.MODELS)}')
    folders = [language_models.make(name, bits, arguments.tokens).name for name in names for bits in language_models.BITS]
    part = turns.run('text_turns.mjs', {'jobs': list(jobs(folders, rivals, arguments.threads or 2, arguments.rounds or 3))})
    show(part, arguments.tokens)
    if arguments.json:
        turns.write(arguments.json, part)
