"""Pictures, and what torchvision makes of them: python3 torchvision_rows.py FOLDER. For image.test.js and tests/browser.

Leaves PICTURE.png, PICTURE.npy (uint8, [height, width, 4]), ROW.npy and rows.json: {name, picture, options, layout} with the
options of imageToTensor."""

import json
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests"), str(TOP / "demo" / "shared")]
import reference  # noqa: E402, F401, I001 - before torch
import numpy  # noqa: E402
import torch  # noqa: E402
import wheels  # noqa: E402
from PIL import Image  # noqa: E402
from torchvision.transforms.v2 import InterpolationMode  # noqa: E402
from torchvision.transforms.v2 import functional as tv  # noqa: E402

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def pictures():
    """RGBA pictures by name: photographs, or drawings where these cannot be had; and noise of odd sizes."""
    noise = numpy.random.default_rng(0)
    try:
        folder = wheels.files("skimage") / "skimage" / "data"
        yield "chelsea", Image.open(folder / "chelsea.png").convert("RGBA")
        yield "rocket", Image.open(folder / "rocket.jpg").convert("RGBA")
    except wheels.Missing as reason:
        wheels.say(f"{reason}. Drawings take the place of the photographs")
        y, x = numpy.mgrid[:300, :451]
        waves = [127.5 + 127.5 * numpy.sin(x / a + y * y / b) for a, b in ((7, 900), (31, 400), (3, 5000))]
        drawn = numpy.stack([*waves, numpy.full_like(waves[0], 255)], -1).astype(numpy.uint8)
        yield "chelsea", Image.fromarray(drawn)
        yield "rocket", Image.fromarray(numpy.tile(drawn, (2, 1, 1))[:427])
    for name, (width, height) in {"odd": (97, 61), "tall": (31, 113), "dot": (1, 1)}.items():
        yield name, Image.fromarray(noise.integers(0, 256, (height, width, 3), dtype=numpy.uint8)).convert("RGBA")
    yield "clear", Image.fromarray(noise.integers(0, 256, (40, 50, 4), dtype=numpy.uint8))


def rows():
    imagenet = {"size": 256, "crop": 224, "mean": MEAN, "std": STD}
    yield "chelsea", imagenet
    yield "rocket", {**imagenet, "interpolation": "bicubic"}
    yield "chelsea", {**imagenet, "like": "pil"}
    yield "rocket", {**imagenet, "like": "pil", "interpolation": "bicubic"}
    yield "chelsea", {"size": 224, "dtype": "uint8"}
    yield "chelsea", {"size": 224, "dtype": "uint8", "interpolation": "bicubic", "layout": "hwc"}
    yield "rocket", {"size": [130, 77], "dtype": "uint8", "like": "pil", "interpolation": "bicubic", "layout": "chw"}
    yield "rocket", {"size": 28, "channels": 1, "mean": 0.1307, "std": 0.3081}
    yield "rocket", {"size": 28, "channels": 1, "like": "pil"}
    for picture in ("odd", "tall", "dot"):
        for size in (None, 50, [37], [200, 31], [7, 300]):
            yield picture, {**({"size": size} if size else {}), "layout": "nhwc"}
            yield picture, {**({"size": size} if size else {}), "interpolation": "bicubic", "like": "pil", "dtype": "uint8"}
        for crop in (1, 2, [60, 30], [61, 98], [112, 33], [150, 151], [200, 10]):
            yield picture, {"crop": crop, "mean": MEAN, "std": STD}
        yield picture, {"size": 50, "crop": [49, 64], "interpolation": "bicubic", "layout": "hwc"}
    for background in (255, [10, 200, 0], None):
        yield "clear", {"size": 20, "background": background}


def expected(image, size=None, crop=None, mean=0.0, std=1.0, interpolation="bilinear", like="tensor", dtype="float32",
             channels=3, background=255, layout="nchw"):
    if background is not None:
        below = numpy.broadcast_to(numpy.array(background), 3)
        rgba = numpy.asarray(image).astype(float)
        seen = rgba[..., :3] * rgba[..., 3:] / 255 + below * (1 - rgba[..., 3:] / 255)
        image = Image.fromarray(seen.round().astype(numpy.uint8))
    x = image.convert("RGB")
    if like == "tensor":
        x = tv.pil_to_tensor(x).float()  # where torchvision resizes uint8 by other kernels, by processor, they differ by one
        if dtype == "float32":
            x /= 255
    if size is not None:
        size = size if isinstance(size, list) else [size]
        x = tv.resize(x, size, interpolation=InterpolationMode(interpolation), antialias=True)
    if crop is not None:
        x = tv.center_crop(x, crop if isinstance(crop, list) else [crop])
    if channels == 1:
        x = tv.rgb_to_grayscale(x)
    if like == "pil":
        x = tv.pil_to_tensor(x)
        if dtype == "float32":
            x = tv.to_dtype(x, torch.float32, scale=True)
    if dtype == "uint8":
        x = x.float().round().clamp(0, 255).to(torch.uint8)
    else:
        per_channel = [v if isinstance(v, list) else [v] * channels for v in (mean, std)]
        x = tv.normalize(x, *per_channel)
    if layout.endswith("c"):
        x = x.permute(1, 2, 0)
    return x[None] if layout.startswith("n") else x


def main(folder):
    made = dict(pictures())
    for name, image in made.items():
        Image.fromarray(numpy.asarray(image)).save(folder / f"{name}.png")  # without a color profile: PIL does not look at it, a browser does
        numpy.save(folder / f"{name}.npy", numpy.asarray(image))
    table = []
    for picture, options in rows():
        name = f"{len(table)}"
        numpy.save(folder / f"{name}.npy", expected(made[picture], **options).contiguous().numpy())
        table.append({"name": name, "picture": picture, "options": options})
    (folder / "rows.json").write_text(json.dumps(table))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
