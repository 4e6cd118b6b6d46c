"""pipeline(): code before and after a model in one file."""

import functools

import pytest
import rushlight
import torch
from torch import Tensor
from torch.nn import functional as F
from torchvision.ops import nms


def letterbox(picture: Tensor):
    """Fits a picture [channels, height, width] of bytes into 32 by 32, and returns the scale."""
    height, width = picture.size(1), picture.size(2)
    scale = min(32 / height, 32 / width)
    if scale == 1.0:
        small = picture[None].float()
    else:
        small = F.interpolate(picture[None].float(), size=[max(1, int(height * scale)), max(1, int(width * scale))], mode="bilinear")
    padded = F.pad(small, [0, 32 - small.size(3), 0, 32 - small.size(2)], value=114.0)
    return padded / 255, torch.tensor(scale)


class Detector(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 5, 8, 8)

    def forward(self, x, more=None):
        return self.conv(x).flatten(2)[0].t().sigmoid()


def boxes(rows: Tensor, scale: Tensor):
    corners = torch.cat([rows[:, :2], rows[:, :2] + rows[:, 2:4]], 1) * 32
    kept = nms(corners, rows[:, 4], 0.3)
    return corners[kept] / scale, rows[kept, 4]


@pytest.fixture
def out(tmp_path):
    return tmp_path / "m.rush"


def picture(height, width):
    return torch.randint(256, (3, height, width), dtype=torch.uint8)


@torch.no_grad()
def test_a_letterbox_and_nms_around_a_detector(out):
    model = Detector().eval()
    joined = rushlight.pipeline(letterbox, model, boxes)
    report = rushlight.export(joined, picture(40, 60), out, dynamic_shapes={"picture": {1: "height", 2: "width"}})
    session = rushlight.load(out)
    assert session.inputs() == ["picture"] and not report.warnings
    for sizes in ((40, 60), (64, 20), (32, 32), (9, 90)):
        given = picture(*sizes)
        small, scale = letterbox(given)
        want = boxes(model(small), scale)
        torch.testing.assert_close(tuple(session(given)), want, rtol=1e-4, atol=1e-3)
        torch.testing.assert_close(joined(given), want)


def test_a_part_that_cannot_be_scripted_is_traced_with_a_warning(out):
    def doubled(x):
        return functools.reduce(lambda a, b: a + b, [x, x])

    with pytest.warns(UserWarning, match="pre of the pipeline is traced, because torch.jit.script refuses it: "):
        joined = rushlight.pipeline(doubled, torch.nn.Linear(3, 2))
    rushlight.export(joined, torch.rand(4, 3), out)
    x = torch.rand(4, 3)
    torch.testing.assert_close(rushlight.load(out)(x), joined(x).detach())


def test_labels_behind_a_classifier(out):
    def likeliest(logits: Tensor):
        scores, labels = logits.softmax(-1).topk(2)
        return scores, labels

    model = torch.nn.Linear(3, 4).eval()
    rushlight.export(rushlight.pipeline(None, model, likeliest), torch.rand(1, 3), out, output_names=["scores", "labels"])
    x = torch.rand(1, 3)
    got = rushlight.load(out).run({"input": x})
    torch.testing.assert_close(got["scores"], model(x).softmax(-1).topk(2)[0].detach())


def test_numbers_between_parts_are_refused(out):
    def sized(x: Tensor):
        return x, x.size(0)

    with pytest.raises(TypeError, match="must pass tensors, got the int 4, which tracing would fix"):
        rushlight.pipeline(sized, torch.nn.Linear(3, 2))(torch.rand(4, 3))
    with pytest.raises(TypeError, match="model must be a module or a function, got NoneType"):
        rushlight.pipeline(sized, None)
