"""The three networks of MTCNN, with the weights of the package facenet-pytorch."""

import sys
from collections import OrderedDict
from pathlib import Path
from typing import List

import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'shared'))
import wheels  # noqa: E402


class Network(nn.Module):
    """Layers, and several last layers on the same features."""

    def __init__(self, layers, heads):
        super().__init__()
        self.layers, self.heads = nn.Sequential(OrderedDict(layers)), nn.ModuleDict(heads)

    def forward(self, x: Tensor) -> List[Tensor]:
        x = self.layers(x)
        out: List[Tensor] = []
        for head in self.heads.values():
            out.append(head(x))
        return out


class Columns(nn.Module):
    """Flattens pictures [n, c, h, w] column by column."""

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(0, 3, 2, 1).flatten(1)


def convolutions(sizes, kernels, pools):
    """Yields named layers: a convolution, a PReLU and a pool of (kernel, stride) where there is one."""
    for i, (kernel, pool) in enumerate(zip(kernels, pools), 1):
        yield f'conv{i}', nn.Conv2d(sizes[i - 1], sizes[i], kernel)
        yield f'prelu{i}', nn.PReLU(sizes[i])
        if pool:
            yield f'pool{i}', nn.MaxPool2d(*pool, ceil_mode=True)


def dense(number, inputs, outputs):
    return ('columns', Columns()), (f'dense{number}', nn.Linear(inputs, outputs)), (f'prelu{number}', nn.PReLU(outputs))


def networks():
    """Returns the networks by name. The heads give two classes, the shift of the box and, in `onet`, five points."""
    p = convolutions([3, 10, 16, 32], [3, 3, 3], [(2, 2), None, None])
    r = convolutions([3, 28, 48, 64], [3, 3, 2], [(3, 2), (3, 2), None])
    o = convolutions([3, 32, 64, 64, 128], [3, 3, 3, 2], [(3, 2), (3, 2), (2, 2), None])
    return {
        'pnet': Network(p, {'conv4_1': nn.Conv2d(32, 2, 1), 'conv4_2': nn.Conv2d(32, 4, 1)}),
        'rnet': Network([*r, *dense(4, 576, 128)], {'dense5_1': nn.Linear(128, 2), 'dense5_2': nn.Linear(128, 4)}),
        'onet': Network([*o, *dense(5, 1152, 256)], {f'dense6_{i}': nn.Linear(256, n) for i, n in ((1, 2), (2, 4), (3, 10))}),
    }


def load():
    """Returns the networks in eval mode, and why they have random weights ('' if they are real)."""
    torch.manual_seed(0)
    made = networks()
    try:
        folder = wheels.files('facenet_pytorch') / 'facenet_pytorch' / 'data'
    except wheels.Missing as reason:
        wheels.say(reason)
        return made, 'The weights of MTCNN could not be downloaded. It has random ones: its faces mean nothing.'
    for name, network in made.items():
        weights = torch.load(folder / f'{name}.pt', weights_only=True)
        names = {key.split('.', 1)[1]: key for key in network.state_dict()}
        network.load_state_dict({names[key]: value for key, value in weights.items()})
    return made, ''
