"""Silero VAD from its package, and a recording of speech, with substitutes if they are not available."""

import sys
import wave
from pathlib import Path

import numpy
import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / 'shared')]
import speech  # noqa: E402
import wheels  # noqa: E402

RATES = {16000: 512, 8000: 256}  # samples of a chunk: 32 ms


class Loudness(torch.nn.Module):
    """A substitute with the methods of the real model, which takes loud sound for speech."""

    def __init__(self):
        super().__init__()
        self._last = 0.0

    def forward(self, x: torch.Tensor, sr: int):
        self._last = 0.5 * self._last + 0.5 * float(x.abs().mean())
        return torch.sigmoid(torch.full([x.size(0), 1], 100 * self._last - 3))

    @torch.jit.export
    def reset_states(self):
        self._last = 0.0


def load():
    """Returns (a ScriptModule, note). The note names the substitute for the real model, if any."""
    try:
        return torch.jit.load(str(wheels.files('silero_vad') / 'silero_vad/data/silero_vad.jit')).eval(), ''
    except wheels.Missing as reason:
        wheels.say(reason)
        return torch.jit.script(Loudness()).eval(), 'Silero VAD could not be downloaded. Loudness takes its place.'


def recording():
    """Returns (path of a .wav with 16 bits and 16 kHz, start of speech in seconds, note)."""
    try:
        return wheels.files('pyannote_audio') / 'pyannote/audio/sample/sample.wav', 6.8, ''
    except wheels.Missing as reason:
        wheels.say(reason)
    try:
        return speech.conversation(), speech.LINES[0][2], 'The recording could not be downloaded. Two computer voices speak instead.'
    except wheels.Missing as reason:
        wheels.say(reason)
        return speech.vowels(), speech.LINES[0][2], 'No recording or computer voice could be had. Vowels of sine waves take its place.'


def read(path):
    """Returns samples between -1 and 1."""
    with wave.open(str(path)) as file:
        return torch.from_numpy(numpy.frombuffer(file.readframes(-1), dtype=numpy.int16) / 32768).float()


def chunks(samples, rate):
    """Splits sound into [n, 1, chunk], with silence at the end."""
    size = RATES[rate]
    return torch.nn.functional.pad(samples, (0, -len(samples) % size)).view(-1, 1, size)
