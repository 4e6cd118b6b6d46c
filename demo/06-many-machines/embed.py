#!/usr/bin/env python3
"""Maps a table of sentences to a table of vectors, on many cores and machines.

Ray Data passes batches to actors, one for each core, which load the model once. If an actor dies, it restarts and its
batch runs again, so each row is in the table once.

    embed.py MODEL.rush TOKENS.json --out FOLDER                    # on this machine
    embed.py MODEL.rush TOKENS.json --out FOLDER --address auto     # on the cluster that it belongs to

TOKENS.json is a list of lists of token ids. FOLDER gets Parquet files with the columns row, embedding and seconds (of the
model, for each row). The machines of a cluster need torch and rushlight. The actors bring the model.
MODEL may also be a TorchScript file (.pt). The same actors then run PyTorch.
"""

import argparse
import json
import os
import signal
import time
from pathlib import Path

import ray


class Embeds:
    """An actor with one core and one model."""

    def __init__(self, model, kills):
        import torch
        torch.set_num_threads(1)
        self.torch, self.model, self.kills = torch, ray.get(model[0]), kills
        if isinstance(self.model, bytes):
            import io
            self.model = torch.jit.freeze(torch.jit.load(io.BytesIO(self.model)))
        if kills:
            (Path(kills) / f'started-{os.getpid()}').touch()

    def __call__(self, batch):
        torch, rows = self.torch, batch['tokens']
        self.die_once()
        longest = max(map(len, rows))
        ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
        mask = (torch.arange(longest) < torch.tensor([[len(row)] for row in rows])).long()
        start = time.perf_counter()
        # TorchScript's optimizer would recompile for each length.
        with torch.inference_mode(), torch.jit.optimized_execution(False):
            vectors = self.model(ids, mask)
        seconds = (time.perf_counter() - start) / len(rows)
        return {'row': batch['row'], 'embedding': list(vectors.numpy()), 'seconds': [seconds] * len(rows)}

    def die_once(self):
        """Kills the worker in the very first batch, for the test."""
        if not self.kills:
            return
        try:
            (Path(self.kills) / 'died').touch(exist_ok=False)
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)


def model_of(path):
    """Returns the object that every actor receives: a session, which includes its file, or the bytes of TorchScript."""
    if path.suffix == '.pt':
        return path.read_bytes()
    import rushlight
    return rushlight.load(str(path))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('model', type=Path)
    parser.add_argument('tokens', type=Path)
    parser.add_argument('--out', type=Path, required=True)
    parser.add_argument('--address', help="of a cluster: 'auto', or what `ray start --head` says; without, this machine is one")
    parser.add_argument('--workers', type=int, default=2, help='how many actors, on a core each')
    parser.add_argument('--batch', type=int, default=16, help='how many sentences at a time')
    parser.add_argument('--kill-one', type=Path, metavar='FOLDER', help='a worker is killed once, and the folder has a file for each')
    args = parser.parse_args()

    # One core more than the actors use is for reading and writing. A dashboard would listen on a port.
    local = {} if args.address else {'num_cpus': args.workers + 1, 'include_dashboard': False, 'object_store_memory': 500 << 20}
    ray.init(address=args.address, logging_level='ERROR', **local)
    model = ray.put(model_of(args.model))  # once for all actors of a machine
    tokens = json.loads(args.tokens.read_text())
    table = ray.data.from_items([{'row': i, 'tokens': ids} for i, ids in enumerate(tokens)], override_num_blocks=4 * args.workers)
    vectors = table.map_batches(
        Embeds, fn_constructor_args=([model], args.kill_one and str(args.kill_one.resolve())),
        batch_size=args.batch, compute=ray.data.ActorPoolStrategy(size=args.workers), num_cpus=1)
    vectors.write_parquet(str(args.out.resolve()))


if __name__ == '__main__':
    main()
