"""Exports scripted detectors of torchvision: each kind as a whole, around a small trunk."""

import pytest
import torch
from recorded_programs import keep
from torch import nn

pytest.importorskip("torchvision")
from torchvision.models import detection  # noqa: E402
from torchvision.models.detection import faster_rcnn, keypoint_rcnn, mask_rcnn, ssd  # noqa: E402
from torchvision.models.detection.anchor_utils import AnchorGenerator, DefaultBoxGenerator  # noqa: E402
from torchvision.models.detection.backbone_utils import BackboneWithFPN  # noqa: E402
from torchvision.ops import MultiScaleRoIAlign  # noqa: E402

CLASSES, CHANNELS = 5, 32
SIZES = {"min_size": 64, "max_size": 96}
MANY = {"topk_candidates": 50, "detections_per_img": 20}


class Trunk(nn.Module):
    """Three stages, each halving the image."""

    def __init__(self):
        super().__init__()
        for name, (before, after) in {"one": (3, 8), "two": (8, 12), "three": (12, 16)}.items():
            setattr(self, name, nn.Sequential(nn.Conv2d(before, after, 3, 2, 1), nn.BatchNorm2d(after), nn.ReLU(inplace=True)))


class Features(nn.Module):
    """A trunk as SSD requires it."""

    out_channels = [12, 16]

    def __init__(self):
        super().__init__()
        self.trunk = Trunk()

    def forward(self, x):
        two = self.trunk.two(self.trunk.one(x))
        return {"0": two, "1": self.trunk.three(two)}


def pyramid():
    return BackboneWithFPN(Trunk(), {"two": "0", "three": "1"}, [12, 16], CHANNELS)


def anchors(ratios=(0.5, 1.0, 2.0)):
    return AnchorGenerator(((8,), (16,), (32,)), (ratios,) * 3)


def regions(size):
    return MultiScaleRoIAlign(["0", "1"], size, 2)


def two_stages():
    return {"rpn_anchor_generator": anchors(), "rpn_pre_nms_top_n_test": 60, "rpn_post_nms_top_n_test": 40,
            "box_roi_pool": regions(3), "box_head": faster_rcnn.TwoMLPHead(CHANNELS * 9, 32),
            "box_predictor": faster_rcnn.FastRCNNPredictor(32, CLASSES), "box_detections_per_img": 20}


DETECTORS = {
    "faster_rcnn": lambda: detection.FasterRCNN(pyramid(), **SIZES, **two_stages()),
    "mask_rcnn": lambda: detection.MaskRCNN(
        pyramid(), **SIZES, **two_stages(), mask_roi_pool=regions(4), mask_head=mask_rcnn.MaskRCNNHeads(CHANNELS, (8, 8), 1),
        mask_predictor=mask_rcnn.MaskRCNNPredictor(8, 8, CLASSES)),
    "keypoint_rcnn": lambda: detection.KeypointRCNN(
        pyramid(), **SIZES, **two_stages(), keypoint_roi_pool=regions(4), keypoint_head=keypoint_rcnn.KeypointRCNNHeads(CHANNELS, (8, 8)),
        keypoint_predictor=keypoint_rcnn.KeypointRCNNPredictor(8, 3)),
    "retinanet": lambda: detection.RetinaNet(pyramid(), CLASSES, **SIZES, **MANY, anchor_generator=anchors()),
    "fcos": lambda: detection.FCOS(pyramid(), CLASSES, **SIZES, **MANY, anchor_generator=anchors((1.0,))),
    "ssd": lambda: ssd.SSD(Features(), DefaultBoxGenerator([[2], [2, 3]]), (64, 64), CLASSES, **MANY),
}


def settled(detector):
    """Makes scores differ clearly, so that rounding does not decide their order, and gives norms the statistics of images."""
    with torch.no_grad():
        for name, weight in detector.named_parameters():
            if weight.dim() > 1 and "backbone" not in name:
                nn.init.normal_(weight, std=1.5 * weight[0].numel() ** -0.5)
        for module in detector.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.momentum = None
        detector.train().backbone(detector.transform([torch.rand(3, 96, 128), torch.rand(3, 80, 96)])[0].tensors)
    return detector.eval()


@pytest.mark.feature("TorchScript", "all of torchvision's detectors")
@pytest.mark.parametrize("name", DETECTORS)
def test_a_detector(name):
    detector = torch.jit.script(settled(DETECTORS[name]()))
    two, one = [torch.rand(3, 64, 80), torch.rand(3, 50, 60)], [torch.rand(3, 70, 50)]
    with torch.no_grad():
        found = [len(image["scores"]) for images in (two, one) for image in detector(images)[1]]
    assert min(found) > 10  # otherwise this test shows little
    # A corner of a box is computed by some twenty layers and is a sum of image sizes, so it may differ by thousandths of a pixel.
    keep(f"detector_{name}", detector, (two,), (one,), rtol=1e-4, atol=1e-3)
