# Follows aten/src/ATen/native/ConvolutionTBC.cpp


def conv_tbc(x, weight, bias, pad: int):
    """A conv1d for [time, batch, channels], with a weight [kernel, channels, outputs]."""
    assert x.dim() == 3, "Input must have 3 dims: time, batch, in_channel"
    assert weight.dim() == 3, "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels."
    assert bias.dim() == 1, "Bias must be 1-D"
    assert x.size(2) == weight.size(1), "Input dim 2 (input channels) is not == dim 1 in the weight tensor"
    assert weight.size(2) == bias.size(0), "Bias size must equal dim 2 in the weight tensor (output channels)."
    return torch.conv1d(x.permute([1, 2, 0]), weight.permute([2, 1, 0]), bias, [1], [pad]).permute([2, 0, 1]).contiguous()

# ---- Complex numbers: three convolutions of real numbers, as in aten/src/ATen/native/Convolution.cpp. They serve calls
# whose weight is known to be complex (front/decompose.cpp).


def parts_of_bias(bias: Optional[Tensor]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    """Returns the real part and the sum of both parts; None without a bias."""
    if bias is None:
        return None, None
    return torch.real(bias), torch.real(bias) + torch.imag(bias)


def combine_products(real, imaginary, both):
    return torch.complex(real - imaginary, both - real - imaginary)


def convolution__of_complex(x, weight, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], transposed: bool,
                            output_padding: List[int], groups: int):
    first, last = parts_of_bias(bias)
    a, b, v, w = torch.real(x), torch.imag(x), torch.real(weight), torch.imag(weight)
    return combine_products(torch.convolution(a, v, first, stride, padding, dilation, transposed, output_padding, groups),
                    torch.convolution(b, w, None, stride, padding, dilation, transposed, output_padding, groups),
                    torch.convolution(a + b, v + w, last, stride, padding, dilation, transposed, output_padding, groups))


def _convolution_mode__of_complex(x, weight, bias: Optional[Tensor], stride: List[int], padding: str, dilation: List[int], groups: int):
    first, last = parts_of_bias(bias)
    a, b, v, w = torch.real(x), torch.imag(x), torch.real(weight), torch.imag(weight)
    return combine_products(torch._convolution_mode(a, v, first, stride, padding, dilation, groups),
                    torch._convolution_mode(b, w, None, stride, padding, dilation, groups),
                    torch._convolution_mode(a + b, v + w, last, stride, padding, dilation, groups))


def _convolution__of_complex(x, weight, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], transposed: bool,
                             output_padding: List[int], groups: int, benchmark: bool, deterministic: bool, cudnn_enabled: bool, allow_tf32: bool):
    return convolution__of_complex(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def _convolution__deprecated_of_complex(x, weight, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], transposed: bool,
                                        output_padding: List[int], groups: int, benchmark: bool, deterministic: bool, cudnn_enabled: bool):
    return convolution__of_complex(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def convolve_complex(x, weight, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], transposed: bool,
                      output_padding: List[int], groups: int):
    if x.dim() == weight.dim():
        return convolution__of_complex(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    return convolution__of_complex(x.unsqueeze(0), weight, bias, stride, padding, dilation, transposed, output_padding, groups).squeeze(0)


def convolve_complex_by_mode(x, weight, bias: Optional[Tensor], stride: List[int], padding: str, dilation: List[int], groups: int):
    if x.dim() == weight.dim():
        return _convolution_mode__of_complex(x, weight, bias, stride, padding, dilation, groups)
    return _convolution_mode__of_complex(x.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(0)


def conv1d__of_complex(x, weight, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], groups: int):
    return convolve_complex(x, weight, bias, stride, padding, dilation, False, [0], groups)


def conv1d__padding_of_complex(x, weight, bias: Optional[Tensor], stride: List[int], padding: str, dilation: List[int], groups: int):
    return convolve_complex_by_mode(x, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d__of_complex(x, weight, bias: Optional[Tensor], stride: List[int], padding: List[int], output_padding: List[int],
                                  groups: int, dilation: List[int]):
    return convolve_complex(x, weight, bias, stride, padding, dilation, True, output_padding, groups)


def conv2d__of_complex(x, weight, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], groups: int):
    return convolve_complex(x, weight, bias, stride, padding, dilation, False, [0, 0], groups)


def conv2d__padding_of_complex(x, weight, bias: Optional[Tensor], stride: List[int], padding: str, dilation: List[int], groups: int):
    return convolve_complex_by_mode(x, weight, bias, stride, padding, dilation, groups)


def conv_transpose2d__input_of_complex(x, weight, bias: Optional[Tensor], stride: List[int], padding: List[int], output_padding: List[int],
                                        groups: int, dilation: List[int]):
    return convolve_complex(x, weight, bias, stride, padding, dilation, True, output_padding, groups)


def conv3d__of_complex(x, weight, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], groups: int):
    return convolve_complex(x, weight, bias, stride, padding, dilation, False, [0, 0, 0], groups)


def conv3d__padding_of_complex(x, weight, bias: Optional[Tensor], stride: List[int], padding: str, dilation: List[int], groups: int):
    return convolve_complex_by_mode(x, weight, bias, stride, padding, dilation, groups)


def conv_transpose3d__input_of_complex(x, weight, bias: Optional[Tensor], stride: List[int], padding: List[int], output_padding: List[int],
                                        groups: int, dilation: List[int]):
    return convolve_complex(x, weight, bias, stride, padding, dilation, True, output_padding, groups)
