"""Runs embed.py on this machine's cores, natively and in PyTorch, and compares the tables. The native run loses a worker.

    ./dev test many-machines
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEMO = HERE.parent
sys.path[:0] = [str(DEMO / '02-semantic-search'), str(DEMO / 'shared')]
import export as semantic  # noqa: E402
import minilm  # noqa: E402
import torch  # noqa: E402
import wheels  # noqa: E402

MODEL = DEMO.parent / 'build' / 'demo' / '02-semantic-search' / semantic.FILE
WORKERS = 2


def sentences():
    """Returns token ids of the sentences of 02-semantic-search, twice, so that each worker gets several batches."""
    texts = (DEMO / '02-semantic-search' / 'sentences.txt').read_text(encoding='utf-8').splitlines()
    try:
        words = (minilm.model_folder() / 'vocab.txt').read_text(encoding='utf-8').split('\n')
    except wheels.Missing:
        return [[101, *(1000 + hash_of(word) % 20000 for word in text.split()), 102] for text in texts] * 2
    words = {word: i for i, word in enumerate(words)}
    return [semantic.tokenize(text, words)[:256] for text in texts] * 2


def hash_of(word):
    return int(hashlib.sha256(word.encode()).hexdigest()[:8], 16)


def embed(folder, model, tokens, *options):
    """Returns the table that embed.py writes, by row."""
    import pyarrow.parquet
    out = folder / f'{model.suffix[1:]}-table'
    environment = {
        'RAY_USAGE_STATS_ENABLED': '0', 'RAY_TMPDIR': str(folder), 'RAY_DATA_DISABLE_PROGRESS_BARS': '1',
        'RAY_worker_niceness': '0',  # with Ray's 15, workers on a busy machine get almost no time
    }
    subprocess.run([sys.executable, HERE / 'embed.py', model, tokens, '--out', out, '--workers', str(WORKERS), *options],
                   check=True, env={**os.environ, **environment})
    return pyarrow.parquet.read_table(out).sort_by('row').to_pydict()


def check(holds, what):
    if not holds:
        sys.exit(f'06-many-machines: {what}')


def main():
    subprocess.run([sys.executable, DEMO / 'run', '--export'], check=True)
    model, _ = minilm.load()
    rows = sentences()
    with tempfile.TemporaryDirectory(prefix='ray-', dir='/tmp') as temporary:  # the paths of Ray's sockets must be short
        folder = Path(temporary)
        tokens, script = folder / 'tokens.json', folder / 'model.pt'
        tokens.write_text(json.dumps(rows))
        torch.jit.script(model).save(str(script))
        killed = folder / 'killed'
        killed.mkdir()
        table = embed(folder, MODEL, tokens, '--kill-one', killed)
        started = len(list(killed.glob('started-*')))
        check((killed / 'died').exists(), 'no worker died')
        check(started == WORKERS + 1, f'{started} workers were started, not {WORKERS} and one in place of the dead')
        check(table['row'] == list(range(len(rows))), 'a row is lost, or there twice')
        torch_table = embed(folder, script, tokens)
        check(torch_table['row'] == table['row'], 'a row of PyTorch is lost, or there twice')
        ours, theirs = torch.tensor(table['embedding']), torch.tensor(torch_table['embedding'])
        check(torch.allclose(ours, theirs, rtol=1e-4, atol=1e-5), f'the vectors differ by {(ours - theirs).abs().max():.1e}')
    print(f'{len(rows)} sentences, {WORKERS} workers, one of which died: each sentence is there once, at most '
          f'{(ours - theirs).abs().max():.1e} from PyTorch')
    for name, seconds in ('Rushlight', table['seconds']), ('PyTorch', torch_table['seconds']):
        print(f'{name:<12} {len(rows) / sum(seconds):.0f} sentences/s on each worker')


if __name__ == '__main__':
    main()
