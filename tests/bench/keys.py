"""Keys of files that the benchmark makes once: hashes of all that they depend on."""

import hashlib
import os
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]


def key_of(*files):
    key = hashlib.sha256()
    for file in sorted(files):
        if file.is_file():
            key.update(hashlib.sha256(file.read_bytes()).digest())
    return key.hexdigest()


def exporter_files():
    """Returns the files of the exporter, with its libraries."""
    native = Path(os.environ.get('RUSH_NATIVE', TOP / 'build' / 'native'))
    return [*(TOP / 'exporter' / 'python').rglob('*.py'), native / 'bin' / 'rushlight',
            *(native / 'python').rglob('*.so'), *(native / 'lib').glob('*.so*')]
