"""Speech to text: Whisper. docs/design/text.md describes its files."""

import contextlib

import torch
from torch import Tensor, nn

from .seq2seq import Seq2Seq

_RATE, _HOP, _WINDOW = 16000, 160, 400


@torch.jit.script
def padded(samples: Tensor, most: int) -> Tensor:
    """Returns `most` samples, with zeros after the given ones."""
    if samples.size(0) > most:
        raise ValueError(f"a recording must have at most {most} samples, got {samples.size(0)}")
    return torch.cat([samples, torch.zeros([most - samples.size(0)])])


@torch.jit.script
def median_filtered(weights: Tensor, width: int) -> Tensor:
    """Returns the median of `width` neighbours along the last dimension."""
    half = width // 2
    if weights.size(2) <= half:
        return weights
    around = nn.functional.pad(weights, [half, half], "reflect")
    return around.unfold(2, width, 1).sort(-1)[0][..., half]


@torch.jit.script
def begin_of_rows(costs: Tensor) -> Tensor:
    """Returns the first column of each row on the cheapest way through a matrix (dynamic time warping)."""
    rows, columns = costs.size(0), costs.size(1)
    values: list[float] = costs.double().flatten().tolist()
    infinite = float("inf")
    above = [0.0] + [infinite] * columns  # the costs of the row before
    came: list[int] = []  # 0: from above and left, 1: from above, 2: from left
    for i in range(rows):
        row = [infinite]
        for j in range(columns):
            c0, c1, c2 = above[j], above[j + 1], row[j]
            if c0 < c1 and c0 < c2:
                row.append(values[i * columns + j] + c0)
                came.append(0)
            elif c1 < c0 and c1 < c2:
                row.append(values[i * columns + j] + c1)
                came.append(1)
            else:
                row.append(values[i * columns + j] + c2)
                came.append(2)
        above = row
    first = [0] * rows
    i, j = rows - 1, columns - 1
    while i >= 0 and j >= 0:
        first[i] = j
        way = came[i * columns + j]
        if way != 2:
            i -= 1
        if way != 1:
            j -= 1
    return torch.tensor(first, dtype=torch.int64)


@torch.jit.script
def times_of(weights: Tensor, skip: Tensor, frames: Tensor, width: int, seconds: float) -> Tensor:
    """Returns the second at which each token begins.

    Args:
        weights: attention [heads, tokens, frames] of the heads that follow the sound
        skip: the number of tokens that are left out
        frames: the number of frames with sound
        width: of the median filter
        seconds: the time of a frame
    """
    kept = weights[:, int(skip):, :int(frames)]
    if kept.size(1) == 0 or kept.size(2) == 0:
        return torch.zeros([kept.size(1)])
    kept = (kept - kept.mean(1, keepdim=True)) / kept.std(1, unbiased=False, keepdim=True)
    return begin_of_rows(-median_filtered(kept, width).mean(0)) * seconds


class Speech(Seq2Seq):
    """The methods of the file."""

    def _prepare(self):
        config = self.model.config
        self.most = config.max_source_positions * 2 * _HOP
        self.register_buffer("filters", _mel_filters(config.num_mel_bins), persistent=False)
        self.register_buffer("window", torch.hann_window(_WINDOW), persistent=False)
        self.heads = [tuple(head) for head in getattr(self.model.generation_config, "alignment_heads", None) or []]

    def example(self):
        return torch.sin(torch.arange(min(self.most // 2, 8000)) / 9) * 0.3

    def _states(self, samples):
        return self._encoded(self._spectrogram(padded(samples, self.most))[None])

    def _spectrogram(self, samples):
        """Returns the logarithms [mels, frames] that WhisperFeatureExtractor computes."""
        waves = torch.stft(samples, _WINDOW, _HOP, window=self.window, return_complex=True)[:, :-1].abs() ** 2
        logs = (self.filters @ waves).clamp(min=1e-10).log10()
        return (logs.maximum(logs.max() - 8) + 4) / 4

    def encode(self, samples):
        """Takes samples [n], keeps the cross keys and values, and returns the mean of the encoder's states."""
        return super().encode(samples)

    def align(self, tokens, skip, frames):
        """Takes the tokens [1, n] of a segment, and returns the seconds at which those after the first `skip` ones begin."""
        with _weights_of(self.model):
            found = self._decoded(tokens, torch.zeros((), dtype=torch.int64), output_attentions=True).cross_attentions
        weights = torch.stack([found[layer][0, head] for layer, head in self.heads])
        return times_of(weights, skip, frames, self.model.config.median_filter_width, 2 * _HOP / _RATE)


@contextlib.contextmanager
def _weights_of(model):
    """Makes the model compute the weights of attention."""
    configs = {id(module.config): module.config for module in model.modules() if hasattr(module, "config")}.values()
    before = [(config, config._attn_implementation) for config in configs]
    try:
        for config in configs:
            config._attn_implementation = "eager"
        yield
    finally:
        for config, implementation in before:
            config._attn_implementation = implementation


def _mel_filters(count):
    from transformers.audio_utils import mel_filter_bank

    filters = mel_filter_bank(num_frequency_bins=1 + _WINDOW // 2, num_mel_filters=count, min_frequency=0.0, max_frequency=8000.0,
                              sampling_rate=_RATE, norm="slaney", mel_scale="slaney")
    return torch.from_numpy(filters).float().T.contiguous()


def facts_of(model, methods):
    """Returns what text.json says of a Whisper model."""
    generation = model.generation_config
    languages = {code.strip("<|>"): token for code, token in (getattr(generation, "lang_to_id", None) or {}).items()}
    no_timestamps = getattr(generation, "no_timestamps_token_id", None)
    return {"start": [generation.decoder_start_token_id], "sampleRate": _RATE, "samples": methods.most, "languages": languages,
            "tasks": getattr(generation, "task_to_id", None) or {}, "noTimestamps": no_timestamps,
            "timestamps": None if no_timestamps is None else no_timestamps + 1, "align": bool(methods.heads)}
