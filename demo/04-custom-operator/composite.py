"""my_ops::warp_perspective as a composite of PyTorch's operators, with OpenCV's rounding."""

import rushlight
import torch


def shifted(m: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    return m.roll([-rows, -columns], [0, 1])


@rushlight.register_decomposition("my_ops::warp_perspective")
def warp_perspective(image: torch.Tensor, warp: torch.Tensor) -> torch.Tensor:
    size, steps = 8, 32
    m = warp.double()
    cofactors = shifted(m, 1, 1) * shifted(m, 2, 2) - shifted(m, 1, 2) * shifted(m, 2, 1)
    det = (m[0] * cofactors[0]).sum()
    inverse = torch.where(det == 0, torch.zeros_like(m), cofactors.t() / det)

    place = torch.arange(size, dtype=torch.float64)
    rows = inverse[:, 0, None, None] * place + inverse[:, 1, None, None] * place[:, None] + inverse[:, 2, None, None]
    scale = torch.where(rows[2] == 0, torch.zeros_like(rows[2]), steps / rows[2])
    at = torch.clamp(rows[:2] * scale, -2147483648.0, 2147483647.0).round() / steps
    corner = at.floor()
    part = (at - corner).float()

    out = torch.zeros([size, size])
    for dy in range(2):
        for dx in range(2):
            i, j = corner[1].long() + dy, corner[0].long() + dx
            inside = (i >= 0) & (i < image.size(0)) & (j >= 0) & (j < image.size(1))
            pixel = image[i.clamp(0, image.size(0) - 1), j.clamp(0, image.size(1) - 1)]
            weight = (part[1] if dy == 1 else 1 - part[1]) * (part[0] if dx == 1 else 1 - part[0])
            out = out + torch.where(inside, pixel * weight, torch.zeros_like(weight))
    return out
