"""Makes speech if the recording is not available: two voices of Debian's espeak-ng, or vowels without it."""

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'shared'))
import wheels  # noqa: E402

RATE = 16000
PACKAGES = ['espeak-ng', 'espeak-ng-data', 'libespeak-ng1', 'libpcaudio0', 'libsonic0']
# Voice, its text, and the seconds of silence before it.
LINES = [
    ('en-us', 'Good morning. Did you find the way?', 2.0),
    ('en-gb+f3', 'Yes, thank you. The bus was late, as always, and then I walked along the river.', 0.9),
    ('en-us', 'It is a nice walk when it does not rain.', 0.6),
    ('en-gb+f3', 'It did rain. But I like the smell of it, and nobody else was there.', 1.2),
    ('en-us', 'Well, come in and get dry. Coffee is ready.', 1.8),
]
# The three lowest formants of a vowel, in Hz.
FORMANTS = {'a': (730, 1090, 2440), 'e': (530, 1840, 2480), 'i': (270, 2290, 3010), 'o': (570, 840, 2410), 'u': (300, 870, 2240)}


def conversation():
    """Returns a WAV file of 16 bits and 16 kHz, which is made once. Raises wheels.Missing without espeak-ng."""
    return kept('conversation', lambda: functools.partial(say, *espeak()))


def vowels():
    """Returns a WAV file of the vowels alone. numpy synthesizes it, so it has no requirements."""
    return kept('vowels', lambda: sing)


def kept(name, speaker):
    """Returns the file of LINES, spoken by speaker()(voice, text)."""
    key = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
    path = wheels.cache_dir() / 'wheels' / f'{name}-{key}.wav'
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f'.{os.getpid()}.part')
        write(part, speaker())
        part.rename(path)
    return path


def write(path, say):
    parts = []
    for voice, text, pause in LINES:
        parts += [numpy.zeros(int(pause * RATE)), say(voice, text)]
    samples = numpy.concatenate([*parts, numpy.zeros(RATE)])
    with wave.open(str(path), 'wb') as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(numpy.rint(samples * 32767).clip(-32768, 32767).astype('<i2').tobytes())


def sing(voice, text):
    """Returns samples between -1 and 1 at RATE: a fifth of a second for each vowel, from harmonics filtered by its formants."""
    times = numpy.arange(RATE // 5) / RATE
    swell = numpy.sin(numpy.pi * times * 5) ** 0.5
    letters = [letter for letter in text.lower() if letter in FORMANTS]
    sung = []
    for place, letter in enumerate(letters):
        pitch = (210 if 'f' in voice else 120) * (1.1 - 0.2 * place / len(letters)) * (1 + 0.02 * numpy.sin(30 * times))
        phase = 2 * numpy.pi * numpy.cumsum(pitch) / RATE
        tone = sum(sum(1 / (1 + ((k * pitch - formant) / 90) ** 2) for formant in FORMANTS[letter]) * numpy.sin(k * phase) / k ** 0.5
                   for k in range(1, 3500 // 120))
        sung.append(0.5 * swell * tone / numpy.abs(tone).max())
    return numpy.concatenate(sung)


def say(program, environment, voice, text):
    """Returns samples between -1 and 1 at RATE, without the silence around them."""
    with tempfile.NamedTemporaryFile(suffix='.wav') as spoken:
        done = subprocess.run([program, '-v', voice, '-w', spoken.name, text], env=environment, capture_output=True, text=True)
        if done.returncode:
            raise wheels.Missing(f'espeak-ng does not speak: {done.stderr.strip()}')
        with wave.open(spoken.name) as file:
            samples, rate = numpy.frombuffer(file.readframes(-1), dtype='<i2') / 32768, file.getframerate()
    loud = numpy.flatnonzero(numpy.abs(samples) > 0.01)
    samples = samples[loud[0]:loud[-1] + 1]
    # Resamples in the spectrum, and drops frequencies above half of the new rate.
    size = round(len(samples) * RATE / rate)
    return numpy.fft.irfft(numpy.fft.rfft(samples)[:size // 2 + 1], size) * (size / len(samples))


def espeak():
    """Returns (program, environment), from this machine or from Debian's packages. It installs nothing."""
    here = shutil.which('espeak-ng')
    if here:
        return here, None
    root = wheels.cache_dir() / 'espeak-ng'
    if not root.is_dir():
        fetch(root)  # the first time
    library = next(root.glob('usr/lib/*/libespeak-ng.so.1')).parent
    return root / 'usr/bin/espeak-ng', {**os.environ, 'LD_LIBRARY_PATH': str(library), 'ESPEAK_DATA_PATH': str(library)}


def fetch(root):
    """Unpacks the packages there. apt checks their signatures. It uses separate lists, because the system is read-only."""
    if os.environ.get('RUSH_NO_WHEELS'):
        raise wheels.Missing('espeak-ng is not cached and RUSH_NO_WHEELS is set')
    if not shutil.which('apt-get'):
        raise wheels.Missing('espeak-ng is not installed, and this is not a Debian')
    print('getting espeak-ng', file=sys.stderr, flush=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root.parent) as temporary:
        for folder in ('lists/partial', 'cache/archives/partial', 'unpacked'):
            Path(temporary, folder).mkdir(parents=True)
        apt = ['apt-get', '-qq', '-o', f'Dir::State::lists={temporary}/lists', '-o', f'Dir::Cache={temporary}/cache',
               '-o', 'APT::Sandbox::User=', '-o', 'Acquire::Retries=5']
        try:
            run([*apt, 'update'], temporary)
            run([*apt, 'download', *PACKAGES], temporary)
            for package in Path(temporary).glob('*.deb'):
                run(['dpkg-deb', '-x', package, 'unpacked'], temporary)
        except subprocess.CalledProcessError as error:
            last = (error.stdout.strip().splitlines() or ['it said nothing'])[-1]
            raise wheels.Missing(f'espeak-ng could not be downloaded: {last}') from error
        try:
            Path(temporary, 'unpacked').rename(root)
        except OSError:  # another process was faster
            if not root.is_dir():
                raise


def run(command, folder):
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
