"""All models of torchvision."""

import torch
import torchvision
from entry import Entry
from torchvision.models import quantization

SIZE = 64
# Models with a fixed or minimum size: {prefix of the name: height and width}.
SIZES = {"vit_": 224, "maxvit_t": 224, "inception_v3": 96, "quantized_inception_v3": 224, "swin_v2": 128, "raft_": 128, "mvit_": 224, "s3d": 224}
FRAMES = {"mvit_": 16, "s3d": 16}
# Detectors scale images to these sizes. They keep few boxes, because rounding decides among thousands of random ones.
LAST = ("block.2.1", "block.3.1")  # the last norm of MobileNet's blocks
SMALL = {"min_size": 96, "max_size": 128}
FEW = {"topk_candidates": 30, "detections_per_img": 10, "score_thresh": 0.0}
FEW_OF_TWO_STAGES = {"rpn_pre_nms_top_n_test": 20, "rpn_post_nms_top_n_test": 10, "box_detections_per_img": 6}


def names():
    return torchvision.models.list_models()


def module_of(name):
    return torchvision.models.get_model_builder(name).__module__


def kind(name):
    """Returns a heading of the page."""
    parts = module_of(name).removeprefix("torchvision.models.").split(".")
    return parts[0] if parts[0] in ("detection", "optical_flow", "quantization", "segmentation", "video") else "classification"


def of(table, name, otherwise):
    return next((value for beginning, value in table.items() if name.startswith(beginning)), otherwise)


def make(name):
    size, what = of(SIZES, name, SIZE), kind(name)
    if what == "detection":
        return detector(name)
    options = {"weights": None}
    if what == "segmentation":
        options["weights_backbone"] = None
    if name in ("googlenet", "inception_v3"):
        options["init_weights"] = True
    if what == "quantization":
        return Entry(torchvision.models.get_model(name, **options, quantize=False), (torch.randn(2, 3, size, size),), prepare=quantized)
    model = torchvision.models.get_model(name, **options)
    if what == "video":
        return Entry(model, (torch.randn(1, 3, of(FRAMES, name, 8), size, size),))
    if what == "optical_flow":
        return Entry(model, (torch.rand(1, 3, size, size) * 2 - 1, torch.rand(1, 3, size, size) * 2 - 1))
    return Entry(model, (torch.randn(2, 3, size, size),))


def quantized(entry):
    """Quantizes the model. Its norms have statistics before the observers see images."""
    torch.backends.quantized.engine = "qnnpack"
    quantization.utils.quantize_model(entry.model, "qnnpack")


def detector(name):
    """Scripts the detector, because a trace makes the example's number of boxes constant."""
    options = {**(FEW_OF_TWO_STAGES if "rcnn" in name else FEW), **({} if name.startswith("ssd") else SMALL)}
    model = torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=7, **options)
    with torch.no_grad():
        for path, weight in model.named_parameters():  # scores that differ clearly, so that rounding does not decide their order
            if weight.dim() > 1 and "backbone" not in path:
                torch.nn.init.normal_(weight, std=0.7 * weight[0].numel() ** -0.5)
        for path, norm in model.named_modules():  # a block adds little, as after training; otherwise rounding errors grow with depth
            if path.endswith("bn3") or type(norm).__name__ == "FrozenBatchNorm2d" and path.endswith(LAST):
                norm.weight.mul_(0.2)
    return Entry(model, ([torch.rand(3, 96, 112), torch.rand(3, 80, 96)],), ways=("scripted",))
