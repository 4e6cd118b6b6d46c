"""Operators that create tensors: from sizes, ranges, triangles and lists."""
from conformance import *

row("creation", "torch.zeros([2, 3]), torch.ones([n], dtype=torch.int64), torch.full([2], 1.5), torch.full([2], True), torch.full([2], 7), "
    "torch.eye(3), torch.eye(2, 4, dtype=torch.bool), torch.zeros_like(x), torch.full_like(x, 2), x.new_zeros([2]), x.new_full([2, 2], 3.0), "
    "torch.ones_like(x, dtype=torch.uint8), torch.scalar_tensor(3.5)", x=f32(2, 3), n=4)
row("ranges", "torch.arange(5), torch.arange(n), torch.arange(2.5), torch.arange(1, 9, 3), torch.arange(9, 1, -2), torch.arange(0.0, 1.0, 0.1), "
    "torch.arange(3, dtype=torch.float64), torch.arange(2, 5), torch.linspace(0, 1, 11), torch.linspace(-3, 3, 4), torch.linspace(2, 5, 1)", n=7)
for key, made in {"zeros": "zeros([2, 3]", "ones": "ones([2, 3]", "full": "full([2, 3], 2.5", "eye": "eye(3", "eye_m": "eye(2, 3", "arange": "arange(6", "arange_start": "arange(2.5, 9.0, 1.5",
                  "range": "range(1, 6", "range_step": "range(1.0, 9.0, 2.5", "linspace": "linspace(0.0, 7.5, 6", "logspace": "logspace(0.0, 2.0, 6"}.items():
    row(f"{key}_into", f"y = torch.{made}, out=o)\nreturn y, o, y is o", o=f32(0), also=[{"o": i64(0)}, {"o": f64(0, 2)}, {"o": random("f16", 0)}])
for key, made in {"arange": "arange(6", "linspace": "linspace(0.0, 7.5, 6", "logspace": "logspace(0.0, 2.0, 6", "range": "range(1, 6"}.items():
    row(f"{key}_into_as_many", f"y = torch.{made}, out=o)\nreturn y, o", o=f32(2, 3), also=[{"o": transposed(f32(3, 2))}])
row("range", "torch.range(1, n), torch.range(0.5, 9.0, 2.0), torch.range(n, -3, -2), torch.range(1, 4, dtype=torch.int64), torch.range(0.0, 1.0, 0.1, dtype=torch.float64)", n=6)
row("range_wrong_step", "torch.range(1, 5, -1)", raises="upper bound and larger bound inconsistent with step sign")
row("factories_into_a_part", "y = torch.full([2, 3], 2.5, out=o[1])\nz = torch.eye(2, 3, out=o[0])\nreturn y, z, o", o=transposed(f32(2, 2, 3)))
row("empty_into", "y = torch.empty([2, 3], out=o)\nreturn y, o, y is o", o=f32(2, 3))
row("arange_wrong_step", "torch.arange(1, 5, -1)", raises="inconsistent with step sign")
row("tensor_of_lists", "torch.tensor([1, 2, n]), torch.tensor([[1.0, 2.0], [x, 4.0]]), torch.tensor(n), torch.tensor(x), torch.tensor([True, False]), "
    "torch.tensor([1, 2], dtype=torch.float32)", n=5, x=2.5)
for dtype in ALL:
    row(f"triangles_{dtype}", "torch.tril(x), torch.triu(x, 1), torch.tril(x, -2), torch.triu(x.transpose(0, 1), -1), torch.tril(x[:, :, :0])",
        x=random(dtype, 3, 4, 5))
row("one_hot", "F.one_hot(x), F.one_hot(x, 9)", x=tensor([[0, 3], [2, 1]], "i64"))
row("one_hot_too_few", "F.one_hot(x, 2)", x=tensor([0, 3], "i64"), raises="smaller than num_classes")
row("fill", "x.fill_(2.5), y.zero_(), z[:, 1].fill_(7), z", x=f32(3), y=i64(4), z=f32(3, 4), mutates=True)
row("meshgrid", "(torch.meshgrid([x, y]), torch.meshgrid([x, y], indexing='xy'), torch.meshgrid([x, y, z], indexing='xy'), torch.meshgrid([x]))",
    x=f32(3), y=f32(2), z=f32())
row("meshgrid_strides", """
    a, b, c = torch.meshgrid([x, y, x], indexing='xy')
    return a.stride(), b.stride(), c.stride(), torch.meshgrid([x, y], indexing='ij')[1].stride()""", x=f32(3), y=noncontig(f32(2)))
row("tril_triu_indices", "(torch.tril_indices(3, 4), torch.triu_indices(4, 3, 1), torch.tril_indices(3, 3, -1), torch.tril_indices(2, 5, 9), torch.triu_indices(3, 2, -9), torch.tril_indices(0, 3))", n=0)

# ---- By their own names (one_operator.py) ------------------------------------------------------------

row("new_empty", "x.new_empty([2, n]).fill_(1), x.new_empty([n], dtype=torch.int32).fill_(2)", x=f64(3), n=3)
row("empty_strided", "y = torch.empty_strided([2, n], [1, 2]).fill_(1)\nreturn y, y.stride()", n=3)
row("new_empty_strided", "y = x.new_empty_strided([2, n], [1, 2]).fill_(1)\nreturn y, y.stride()", x=f64(3), n=3)
for kind, value in {"int": 3, "float": 2.5, "bool": True}.items():
    row(f"name_tensor_of_{kind}", f"aten::tensor.{kind}(a)", a=value)
    row(f"name_tensor_of_{kind}_as_half", f"aten::tensor.{kind}(a, dtype=d)", a=value, d=5)
    row(f"name_as_tensor_of_{kind}", f"aten::as_tensor.{kind}(a)", a=value)
row("name_tensor_of_complex_as_real", "aten::tensor.complex(a, dtype=d)", a=1.5 - 2j, d=6, also=[{"d": 3}, {"d": 9}])
row("name_as_tensor_of_list", "aten::as_tensor.list(a)", a=[1.5, 2.0])
row("name_as_tensor", "aten::as_tensor(x, dtype=d)", x=f32(2), d=7, also=[{"d": None}])
row("name_tril_indices", "aten::tril_indices(a, b, n)", a=4, b=3, n=0, also=[{"n": 1}, {"n": -2}, {"a": 0}])
row("name_arange_of_bytes", "aten::arange.start_step(0, n, 1, dtype=torch.uint8)", n=-0.5, also=[{"n": 5.5}])
row("tensor_of_typed_empty_lists", """
    a: List[int] = []
    b: List[bool] = []
    c: List[List[int]] = []
    d: List[float] = []
    return torch.tensor(a), torch.tensor(b), torch.tensor(c), torch.tensor(d), torch.tensor(x), torch.as_tensor(x), torch.tensor(y), torch.tensor(x, dtype=torch.float64)""",
    x=[], y=[[]], types={"x": "List[int]", "y": "List[List[bool]]"}, also=[{"x": [1, 2], "y": [[True], [False]]}])
