"""MTCNN finds faces in a picture: networks and all the code between them are one TorchScript program.

Source: Zhang et al., "Joint Face Detection and Alignment Using Multitask Cascaded Convolutional Networks", 2016. The constants and
the arithmetic of the boxes are those of the package facenet-pytorch, whose weights it uses.
"""

from typing import List, Tuple

import mtcnn_networks
import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate
from torchvision.ops import nms


def scaled(x: Tensor, height: int, width: int) -> Tensor:
    """Resizes pictures by means over areas, from 0 .. 255 to -1 .. 1."""
    return (interpolate(x, size=[height, width], mode='area') - 127.5) * 0.0078125


def shifted(boxes: Tensor, by: Tensor, extra: float) -> Tensor:
    """Moves the edges of boxes [n, 4] by parts of their sizes."""
    size = (boxes[:, 2:] - boxes[:, :2] + extra).repeat(1, 2)
    return boxes + by * size


def squares(boxes: Tensor) -> Tensor:
    """Makes boxes square around their centers."""
    size = boxes[:, 2:] - boxes[:, :2]
    side = size.amax(1, keepdim=True)
    corner = boxes[:, :2] + size * 0.5 - side * 0.5
    return torch.cat([corner, corner + side], 1)


def crops(picture: Tensor, boxes: Tensor, side: int) -> Tensor:
    """Cuts boxes out of a picture [1, 3, h, w], whose first pixel is number 1. Returns [n, 3, side, side]."""
    out = torch.empty(boxes.size(0), 3, side, side)
    for k in range(boxes.size(0)):
        edges: List[int] = boxes[k].long().tolist()
        x, y = max(edges[0], 1) - 1, max(edges[1], 1) - 1
        out[k] = scaled(picture[:, :, y:edges[3], x:edges[2]], side, side)[0]
    return out


def inside(boxes: Tensor, size: Tensor) -> Tensor:
    """Returns which boxes overlap a picture of this (width, height)."""
    left = boxes[:, :2].long().clamp(min=1)
    right = torch.minimum(boxes[:, 2:].long(), size)
    return (right >= left).all(1)


def outermost(boxes: Tensor, score: Tensor, threshold: float) -> Tensor:
    """Returns the indices of boxes that are left when a box drops those that share more than this part of the smaller one."""
    kept = torch.empty(0, dtype=torch.long)
    rest = score.argsort(descending=True)
    area = (boxes[:, 2:] - boxes[:, :2] + 1).prod(1)
    while rest.numel() > 0:
        best, rest = rest[:1], rest[1:]
        kept = torch.cat([kept, best])
        low, high = torch.maximum(boxes[best, :2], boxes[rest, :2]), torch.minimum(boxes[best, 2:], boxes[rest, 2:])
        shared = (high - low + 1).clamp(min=0).prod(1)
        rest = rest[shared / torch.minimum(area[best], area[rest]) <= threshold]
    return kept


class FaceDetector(nn.Module):
    """Finds faces in one picture, whose sides are at least `smallest` pixels.

    Args:
        picture: uint8 [height, width, 3 or 4], RGB or RGBA

    Returns:
        boxes: float32 [faces, 4], left, top, right and bottom in pixels; the most probable face is first
        probability: float32 [faces]
        points: float32 [faces, 5, 2], x and y of the eyes, the nose and the corners of the mouth
    """

    def __init__(self, pnet, rnet, onet, smallest=40.0):
        super().__init__()
        self.pnet, self.rnet, self.onet, self.smallest = pnet, rnet, onet, smallest

    def forward(self, picture: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        x = picture[:, :, :3].permute(2, 0, 1)[None].float()
        size = torch.tensor([x.size(3), x.size(2)])
        boxes = squares(self.proposed(x))
        boxes = squares(self.refined(x, boxes[inside(boxes, size)]))
        return self.final(x, boxes[inside(boxes, size)])

    def proposed(self, x: Tensor) -> Tensor:
        """Looks at each place of the picture in several scales."""
        height, width = x.size(2), x.size(3)
        boxes, scores, shifts = torch.empty(0, 4), torch.empty(0), torch.empty(0, 4)
        scale = 12 / self.smallest
        while min(height, width) * scale >= 12:
            classes, shift = self.pnet(scaled(x, int(height * scale + 1), int(width * scale + 1)))
            face = classes.softmax(1)[0, 1]
            row, column = (face >= 0.6).nonzero().unbind(1)
            corner = torch.stack([column, row], 1).float() * 2
            box = torch.cat([((corner + 1) / scale).floor(), ((corner + 12) / scale).floor()], 1)
            kept = nms(box, face[row, column], 0.5)
            boxes, scores = torch.cat([boxes, box[kept]]), torch.cat([scores, face[row, column][kept]])
            shifts = torch.cat([shifts, shift[0][:, row, column].t()[kept]])
            scale = scale * 0.709
        kept = nms(boxes, scores, 0.7)
        return shifted(boxes[kept], shifts[kept], 0.0)

    def refined(self, x: Tensor, boxes: Tensor) -> Tensor:
        classes, shifts = self.rnet(crops(x, boxes, 24))
        score = classes.softmax(1)[:, 1]
        good = score > 0.7
        boxes, score, shifts = boxes[good], score[good], shifts[good]
        kept = nms(boxes, score, 0.7)
        return shifted(boxes[kept], shifts[kept], 1.0)

    def final(self, x: Tensor, boxes: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        classes, shifts, points = self.onet(crops(x, boxes, 48))
        score = classes.softmax(1)[:, 1]
        good = score > 0.7
        boxes, score, shifts = boxes[good], score[good], shifts[good]
        size = (boxes[:, 2:] - boxes[:, :2] + 1)[:, None]
        points = points[good].reshape(-1, 2, 5).transpose(1, 2) * size + boxes[:, None, :2] - 1
        boxes = shifted(boxes, shifts, 1.0)
        kept = outermost(boxes, score, 0.7)
        return boxes[kept], score[kept], points[kept]


def load():
    """Returns the scripted detector, and why it has random weights ('' if they are real)."""
    made, note = mtcnn_networks.load()
    return torch.jit.script(FaceDetector(**made).eval()), note
