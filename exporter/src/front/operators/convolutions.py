# As aten/src/ATen/native/ConvolutionTBC.cpp


def conv_tbc(x, weight, bias, pad: int):
    """A conv1d of [time, batch, channels], whose weight is [kernel, channels, outputs]."""
    assert x.dim() == 3, "Input must have 3 dims: time, batch, in_channel"
    assert weight.dim() == 3, "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels."
    assert bias.dim() == 1, "Bias must be 1-D"
    assert x.size(2) == weight.size(1), "Input dim 2 (input channels) is not == dim 1 in the weight tensor"
    assert weight.size(2) == bias.size(0), "Bias size must equal dim 2 in the weight tensor (output channels)."
    return torch.conv1d(x.permute([1, 2, 0]), weight.permute([2, 1, 0]), bias, [1], [pad]).permute([2, 0, 1]).contiguous()
