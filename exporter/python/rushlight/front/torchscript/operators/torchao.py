# Operators of torchao, whose tensors are integers with scales by blocks. Follows torchao/quantization/quant_primitives.py.


# The sizes of x with each dimension of several blocks split in two.
def sizes_by_blocks(x, block_size: List[int]) -> List[int]:
    sizes: List[int] = []
    for i in range(x.dim()):
        if block_size[i] != x.size(i) and block_size[i] > 1:
            assert x.size(i) % block_size[i] == 0, "the size of a dimension must be a multiple of its block_size"
            sizes.append(x.size(i) // block_size[i])
            sizes.append(block_size[i])
        else:
            sizes.append(x.size(i))
    return sizes


# The dimensions that are within a block.
def dims_of_blocks(x, block_size: List[int]) -> List[int]:
    dims: List[int] = []
    at = 0
    for i in range(x.dim()):
        if block_size[i] != x.size(i) and block_size[i] > 1:
            dims.append(at + 1)
            at += 1
        elif block_size[i] != 1:
            dims.append(at)
        at += 1
    return dims


# One number for each block, in the shape that broadcasts to sizes_by_blocks.
def by_blocks(numbers, x, block_size: List[int]):
    sizes = sizes_by_blocks(x, block_size)
    for d in dims_of_blocks(x, block_size):
        sizes[d] = 1
    return numbers.reshape(sizes)


# The range of integers of a dtype: torchao gives it where it is not that of the dtype.
def range_of_dtype(dtype: int, least: Optional[number], most: Optional[number]) -> Tuple[float, float]:
    low = -128.0 if dtype == 1 else -32768.0 if dtype == 2 else -2147483648.0 if dtype == 3 else 0.0
    high = 127.0 if dtype == 1 else 32767.0 if dtype == 2 else 2147483647.0 if dtype == 3 else 255.0
    if least is not None:
        low = float(least)
    if most is not None:
        high = float(most)
    return low, high


def quant_quantize_affine(input, block_size: List[int], scale, zero_point: Optional[Tensor], output_dtype: int, quant_min: Optional[number], quant_max: Optional[number], zero_point_domain: str):
    low, high = range_of_dtype(output_dtype, quant_min, quant_max)
    x, step = input.reshape(sizes_by_blocks(input, block_size)), by_blocks(scale, input, block_size)
    if zero_point_domain == "FLOAT":
        assert zero_point is not None
        least = by_blocks(zero_point, input, block_size) - step * ((high + low + 1) / 2)
        quantized = torch.round((x - least) / step)
    else:
        quantized = torch.round(x * (1.0 / step))
        if zero_point is not None and zero_point.numel() > 0:
            quantized = quantized + by_blocks(zero_point, input, block_size)
    return torch.clamp(quantized, low, high).reshape(input.size()).to(output_dtype)


def quant_dequantize_affine(input, block_size: List[int], scale, zero_point: Optional[Tensor], input_dtype: int, quant_min: Optional[number], quant_max: Optional[number], zero_point_domain: Optional[str], output_dtype: int):
    x, step = input.reshape(sizes_by_blocks(input, block_size)), by_blocks(scale, input, block_size)
    domain = "INT" if zero_point_domain is None else zero_point_domain
    if domain == "FLOAT":
        low, high = range_of_dtype(input_dtype, quant_min, quant_max)
        out = (x - (high + low + 1) / 2).to(output_dtype) * step
        if zero_point is not None:
            out = out + by_blocks(zero_point, input, block_size)
    else:
        whole = x.to(torch.int32)
        if zero_point is not None:
            whole = whole - by_blocks(zero_point, input, block_size).to(torch.int32)
        out = whole.to(output_dtype) * step
    return out.reshape(input.size()).to(output_dtype)


def quant_choose_qparams_affine(input: Optional[Tensor], mapping_type: str, block_size: List[int], target_dtype: int, quant_min: Optional[number], quant_max: Optional[number], eps: Optional[float], scale_dtype: Optional[int], zero_point_dtype: Optional[int], preserve_zero: bool, zero_point_domain: Optional[str], min_val: Optional[Tensor], max_val: Optional[Tensor]):
    low, high = range_of_dtype(target_dtype, quant_min, quant_max)
    if input is not None:
        x = input.reshape(sizes_by_blocks(input, block_size))
        dims = dims_of_blocks(input, block_size)
        least, most = torch.amin(x, dims), torch.amax(x, dims)
    else:
        assert min_val is not None and max_val is not None
        least, most = min_val, max_val
    of = least.dtype
    smallest = eps if eps is not None else 1.1920928955078125e-07 if of == torch.float32 else 0.0009765625 if of == torch.float16 else 0.0078125
    if preserve_zero:
        least, most = torch.clamp(least, max=0), torch.clamp(most, min=0)
    if mapping_type == "ASYMMETRIC":
        scale = torch.clamp((most - least) / (high - low), min=smallest)
        if preserve_zero:
            zero_point = torch.clamp(low - torch.round(least / scale), low, high)
        else:
            zero_point = least + scale * ((high + low + 1) / 2)
    else:
        if mapping_type == "SYMMETRIC":
            scale = torch.maximum(-least, most) / ((high - low) / 2)
        else:
            scale = torch.maximum(least / low, most / high)
        zero_point = torch.full_like(scale, float(int((high + low + 1) / 2)))
        scale = torch.clamp(scale, min=smallest)
    domain = "INT" if zero_point_domain is None else zero_point_domain
    if domain == "NONE":
        zero_point = torch.empty([0], dtype=of)
    return scale.to(scale_dtype if scale_dtype is not None else of), zero_point.to(zero_point_dtype if zero_point_dtype is not None else of)
