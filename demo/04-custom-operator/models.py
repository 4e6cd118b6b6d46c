"""The models of this demo. They use my_ops::warp_perspective between relu and matmul in a trace, and in a script's control flow."""

import torch


def trace(image, warp, mix):
    return torch.ops.my_ops.warp_perspective(torch.relu(image), warp) @ mix


def script(image: torch.Tensor, warp: torch.Tensor, mix: torch.Tensor):
    warped = torch.ops.my_ops.warp_perspective(image, warp)
    rounds = 0
    while bool(warped.mean() > 0.25) and rounds < 8:
        warped = torch.ops.my_ops.warp_perspective(warped, warp)
        rounds += 1
    if bool(warped.max() == 0):
        return image @ mix
    return warped @ mix + rounds


def example():
    """Returns an image, a perspective and a matrix that mirrors columns."""
    image = torch.rand(8, 8, generator=torch.Generator().manual_seed(0))
    return image, torch.tensor([[1.1, 0.2, -1], [-0.1, 0.9, 0.5], [0.02, 0.01, 1]]), torch.eye(8).flip(1).contiguous()
