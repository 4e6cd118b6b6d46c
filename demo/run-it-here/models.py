"""The models that the page times and that no other demo has, with seeded weights of the right shape."""

import sys
from pathlib import Path

import torch
from torch import nn

sys.path.append(str(Path(__file__).resolve().parents[2] / 'tests' / 'bench'))
import networks  # noqa: E402


class Conv(nn.Sequential):
    def __init__(self, into, out, size=1, stride=1):
        super().__init__(nn.Conv2d(into, out, size, stride, size // 2, bias=False), nn.BatchNorm2d(out), nn.SiLU())


class Bottleneck(nn.Module):
    def __init__(self, width, adds):
        super().__init__()
        self.body, self.adds = nn.Sequential(Conv(width, width, 3), Conv(width, width, 3)), adds

    def forward(self, x):
        return x + self.body(x) if self.adds else self.body(x)


class C2f(nn.Module):
    def __init__(self, into, out, count=1, adds=False):
        super().__init__()
        self.first, self.last = Conv(into, out), Conv((2 + count) * out // 2, out)
        self.parts = nn.ModuleList(Bottleneck(out // 2, adds) for _ in range(count))

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for part in self.parts:
            parts.append(part(parts[-1]))
        return self.last(torch.cat(parts, 1))


class Pooled(nn.Module):
    """The three poolings of 5x5, one after another, whose results are joined."""

    def __init__(self, width):
        super().__init__()
        self.first, self.last = Conv(width, width // 2), Conv(width * 2, width)

    def forward(self, x):
        parts = [self.first(x)]
        for _ in range(3):
            parts.append(nn.functional.max_pool2d(parts[-1], 5, 1, 2))
        return self.last(torch.cat(parts, 1))


class Head(nn.Module):
    """The boxes and the classes of one scale."""

    def __init__(self, into, boxes=64, classes=80):
        super().__init__()
        self.boxes = nn.Sequential(Conv(into, boxes, 3), Conv(boxes, boxes, 3), nn.Conv2d(boxes, boxes, 1))
        self.classes = nn.Sequential(Conv(into, classes, 3), Conv(classes, classes, 3), nn.Conv2d(classes, classes, 1))

    def forward(self, x):
        return torch.cat([self.boxes(x), self.classes(x)], 1).flatten(2)


class Yolo(nn.Module):
    """The layers of the smallest YOLOv8, without its NMS."""

    def __init__(self):
        super().__init__()
        self.to3 = nn.Sequential(Conv(3, 16, 3, 2), Conv(16, 32, 3, 2), C2f(32, 32, 1, True), Conv(32, 64, 3, 2), C2f(64, 64, 2, True))
        self.to4 = nn.Sequential(Conv(64, 128, 3, 2), C2f(128, 128, 2, True))
        self.to5 = nn.Sequential(Conv(128, 256, 3, 2), C2f(256, 256, 1, True), Pooled(256))
        self.up4, self.up3 = C2f(384, 128), C2f(192, 64)
        self.down4, self.down5 = C2f(192, 128), C2f(384, 256)
        self.half3, self.half4 = Conv(64, 64, 3, 2), Conv(128, 128, 3, 2)
        self.heads = nn.ModuleList(Head(width) for width in (64, 128, 256))

    def forward(self, image):
        p3 = self.to3(image)
        p4 = self.to4(p3)
        p5 = self.to5(p4)
        n4 = self.up4(torch.cat([nn.functional.interpolate(p5, scale_factor=2.0), p4], 1))
        n3 = self.up3(torch.cat([nn.functional.interpolate(n4, scale_factor=2.0), p3], 1))
        m4 = self.down4(torch.cat([self.half3(n3), n4], 1))
        m5 = self.down5(torch.cat([self.half4(m4), p5], 1))
        return torch.cat([head(x) for head, x in zip(self.heads, (n3, m4, m5))], 2)


def mobile_sam():
    """The encoder of MobileSAM is a TinyViT of 5 million weights, whose windows fit pictures of every size."""
    import timm
    return timm.create_model('tiny_vit_5m_224', num_classes=0, global_pool='')


class Depth(nn.Module):
    """A small DINOv2 with the head of Depth Anything."""

    def __init__(self):
        super().__init__()
        from transformers import DepthAnythingConfig, DepthAnythingForDepthEstimation
        backbone = {'model_type': 'dinov2', 'hidden_size': 384, 'num_hidden_layers': 12, 'num_attention_heads': 6, 'image_size': 518,
                    'patch_size': 14, 'out_indices': [3, 6, 9, 12], 'reshape_hidden_states': False, 'apply_layernorm': True}
        self.model = DepthAnythingForDepthEstimation(DepthAnythingConfig(
            backbone_config=backbone, reassemble_hidden_size=384, neck_hidden_sizes=[48, 96, 192, 384], fusion_hidden_size=64))

    def forward(self, image):
        return self.model(image).predicted_depth


class Whisper(nn.Module):
    """The encoder of Whisper-tiny on 30 seconds of sound."""

    def __init__(self):
        super().__init__()
        from transformers import WhisperConfig
        from transformers.models.whisper.modeling_whisper import WhisperEncoder
        self.encoder = WhisperEncoder(WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536))

    def forward(self, spectrum):
        return self.encoder(spectrum).last_hidden_state


#: name: title, the function that makes it, its input, and its row of docs/status/SPEED.md
SEEDED = {
    'efficientnet-b0': ('EfficientNet-B0, one picture', lambda: networks.torchvision('efficientnet_b0')()[0], ('image', [1, 3, 224, 224])),
    'yolo': ('YOLOv8n, one picture of 640 pixels', Yolo, ('image', [1, 3, 640, 640])),
    'mobile-sam': ("MobileSAM's encoder, one picture of 1024 pixels", mobile_sam, ('image', [1, 3, 1024, 1024])),
    'depth-anything-small': ('Depth Anything small, one picture of 518 pixels', Depth, ('image', [1, 3, 518, 518])),
    'whisper-tiny': ("Whisper-tiny's encoder, 30 seconds of sound", Whisper, ('spectrum', [1, 80, 3000])),
}
