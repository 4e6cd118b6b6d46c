"""Times language models beside wllama and onnxruntime-web, for `./dev bench --text`.

Each contender has one turn with a model in a new page of Chromium: it loads the file, reads the prompt and generates tokens, several
times. A time is the least of these. A turn that exceeds its limit is named. Results are printed and written one by one. `same tokens` counts the generated tokens that agree with PyTorch's before the first that differs.
`cosine` compares the logits after the prompt, less their mean. `page MB` is the memory of the page's process.
"""

import statistics

import turns
from tables import table

RIVALS = ('wllama', 'ort')
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
                for rival in ('rushlight', *rivals):
                    yield {'folder': folder, 'rival': rival, 'threads': count, 'rounds': arguments.rounds or 3, 'limit': 1000 * arguments.limit}


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
    rows = []
    for r in results:
        if 'error' in r:
            continue
        rows.append([r['folder'], r['rival'], r['threads'], f'{1000 / r["prompt"]:.0f}', f'{1000 / r["decode"]:.1f}', f'{r["load"]:.0f}',
                     f'{r["memory"] / 1e6:.0f}', f'{r["bytes"] / 1e6:.0f}', f'{r["same"]} of {tokens}', f'{r["cosine"]:.5f}'])
    table(['model', 'contender', 'threads', 'prompt, tokens/s', 'decoding, tokens/s', 'load ms', 'page MB', 'file MB', 'same tokens', 'cosine'],
          rows)
    for rival in dict.fromkeys(r['rival'] for r in results):
        each = ratios(results, rival)
        if rival != 'rushlight' and each:
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
        results.append(turns.run('text_turns.mjs', job))
        print(said(results[-1]), flush=True)
        turns.write(arguments.json or FILE, {'results': results})
    print(f'\n{results[0]["host"]}')
    show(results, arguments.tokens)
