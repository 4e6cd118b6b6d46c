"""Control flow, and values that are not tensors."""
from conformance import *

POS, NEG = tensor([1.0, 2.0]), tensor([-1.0, -2.0])

# ---- if ------------------------------------------------------------------------------------------

row("if_on_a_sum", """
    if bool(x.sum() > 0):
        y = x * 2
    else:
        y = x - 1
    return y""", x=POS, also=[{"x": NEG}, {"x": tensor([])}])

row("if_without_else", """
    y = x
    if x.sum() > 0:
        y = y + 1
    return y""", x=POS, also=[{"x": NEG}])

row("if_elif_else", """
    if n < 0:
        return x - 1
    elif n == 0:
        return x
    elif n < 10:
        return x + n
    else:
        return x * n""", x=f32(3), n=-5, also=[{"n": 0}, {"n": 5}, {"n": 50}])

row("if_two_results_swapped", """
    a, b = x, x + 1
    if flag:
        a, b = b, a
    return a, b""", x=f32(3), flag=True, also=[{"flag": False}])

row("if_nested", """
    y = x
    if n > 0:
        if m > 0:
            y = x + 1
        else:
            if n > m + 5:
                y = x + 2
            else:
                y = x + 3
    else:
        if m > 0:
            y = x + 4
    return y, n, m""", x=f32(2), n=1, m=1, also=[{"n": 1, "m": -1}, {"n": 9, "m": -1}, {"n": -1, "m": 1}, {"n": -1, "m": -1}])

row("if_expression", "x + 1 if flag else x - 1", x=f32(3), flag=True, also=[{"flag": False}])
row("if_on_a_tensor_of_ints", "x if i[0] > i[1] else -x", x=f32(3), i=tensor([1, 2], "i64"), also=[{"i": tensor([2, 1], "i64")}])
row("if_and_or_not", """
    return (a and b, a or b, not a, a and not b or b and not a)""", a=True, b=True,
    also=[{"a": False}, {"b": False}, {"a": False, "b": False}])
row("if_short_circuits", """
    if n > 0 and 10 // n > 2:
        return 1
    return 0""", n=0, also=[{"n": 1}, {"n": 9}])
row("if_chained_comparison", "0 < n <= 5", n=0, also=[{"n": 1}, {"n": 5}, {"n": 6}])
row("if_result_of_two_dtypes", """
    if flag:
        y = x
    else:
        y = x.to(torch.int64)
    return y""", x=f32(3), flag=True, also=[{"flag": False}])
row("if_shape_depends", """
    if x.size(0) > 2:
        y = x[:2]
    else:
        y = torch.cat([x, x])
    return y""", x=f32(5), also=[{"x": f32(1)}, {"x": f32(0)}])
row("if_on_dim", "x.sum(0) if x.dim() == 2 else x", x=f32(2, 3), also=[{"x": f32(4)}])
row("if_writes_a_view", """
    y = x.clone()
    if flag:
        y[0] = 5.0
    return y""", x=f32(3), flag=True, also=[{"flag": False}])
row("if_unused_result", """
    if flag:
        z = x * 2
    else:
        z = x * 3
    return x""", x=f32(3), flag=True)

# ---- loops ---------------------------------------------------------------------------------------

row("for_sum", """
    s = torch.zeros(3)
    for i in range(n):
        s = s + x * i
    return s""", x=f32(3), n=4, also=[{"n": 0}, {"n": 1}, {"n": -3}])
row("for_range_step", """
    out: List[int] = []
    for i in range(a, b, c):
        out.append(i)
    return out""", a=0, b=10, c=3, also=[{"a": 10, "b": 0, "c": -4}, {"a": 5, "b": 5}, {"a": 5, "b": 0, "c": 1}])
row("for_over_a_tensor", """
    s = torch.zeros(2)
    for row in x:
        s = s * 0.5 + row
    return s""", x=f32(5, 2), also=[{"x": f32(1, 2)}, {"x": f32(0, 2)}])
row("for_over_a_list", """
    s = torch.zeros(2)
    for t in xs:
        s = s - t
    return s""", xs=[f32(2), f32(2), f32(1)], also=[{"xs": []}])
row("for_enumerate_zip", """
    out: List[int] = []
    for i, (a, b) in enumerate(zip(xs, ys)):
        out.append(i * a + b)
    return out""", xs=[1, 2, 3], ys=[10, 20, 30, 40])
row("for_over_a_string", """
    out: List[str] = []
    for c in s:
        out.append(c + c)
    return out""", s="abc", also=[{"s": ""}])
row("for_over_dict_items", """
    s = 0
    names: List[str] = []
    for k, v in d.items():
        names.append(k)
        s += v
    return names, s""", d={"one": 1, "two": 2, "three": 3})
row("for_break", """
    s = 0
    for i in range(100):
        if i * i > n:
            break
        s += i
    return s""", n=50, also=[{"n": -1}, {"n": 100000}])
row("for_continue", """
    out: List[int] = []
    for i in range(n):
        if i % 3 == 0:
            continue
        out.append(i)
    return out""", n=8)
row("for_else_return", """
    for i in range(n):
        if i == 3:
            return i * 10
    return -1""", n=10, also=[{"n": 2}])
row("for_break_and_continue_nested", """
    out: List[int] = []
    for i in range(n):
        if i == 1:
            continue
        for j in range(n):
            if j > i:
                break
            if (i + j) % 2 == 1:
                continue
            out.append(10 * i + j)
    return out""", n=5)
row("for_nested_carries", """
    a, b = x, x
    for i in range(n):
        for j in range(i):
            a, b = b + 1, a * 2
    return a, b""", x=f32(2), n=4, also=[{"n": 1}])
row("for_index_after", """
    i = -1
    for i in range(n):
        pass
    return i""", n=3, also=[{"n": 0}])
row("for_swaps_its_values", """
    a, b, c = 1, 2, 3
    for _ in range(n):
        a, b, c = b, c, a
    return a, b, c""", n=4, also=[{"n": 0}, {"n": 1}])
row("for_over_a_size", """
    y = x
    for i in range(x.size(0)):
        y = y.roll(1, 0) + i
    return y""", x=f32(4), also=[{"x": f32(0)}, {"x": f32(1)}])
row("for_appends_tensors", """
    out = []
    for i in range(x.size(0)):
        out.append(x[i] * i)
    return torch.stack(out)""", x=f32(5, 2))
row("for_list_comprehension", "[i * i for i in xs]", xs=[3, 1, 2])
row("for_list_comprehension_tensors", "torch.cat([t * 2 for t in x.split(2)])", x=f32(5))
row("for_slices_grow", """
    y = x[:1]
    for i in range(x.size(0)):
        y = torch.cat([y, x[i:i + 2]])
    return y""", x=f32(4))
row("for_fibonacci", """
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a""", n=80)
row("for_does_nothing", """
    for i in range(n):
        z = x * i
    return x""", x=f32(2), n=5)

row("while_halves", """
    n = 0
    while bool(x.abs().max() > 0.1):
        x = x / 2
        n += 1
    return x, n""", x=POS, also=[{"x": tensor([0.0, 0.05])}])
row("while_never", """
    while n > 100:
        n -= 1
    return n""", n=7)
row("while_collatz", """
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps""", n=27, also=[{"n": 1}])
row("while_true_break", """
    n = 1
    while True:
        n = n * 3
        if n > limit:
            break
    return n""", limit=1000)
row("while_with_tensor_condition", """
    i = torch.zeros(1)
    while i < n:
        i = i + 1
    return i""", n=5)
row("while_return_inside", """
    i = 0
    while True:
        i += 1
        if x[i % 3] > 0.5:
            return i
        if i > 20:
            return -i""", x=tensor([0.0, 0.2, 0.9]), also=[{"x": tensor([0.0, 0.0, 0.0])}])
row("while_newton", """
    y = x
    for _ in range(50):
        z = 0.5 * (y + x / y)
        if bool((z - y).abs().max() < 1e-6):
            return z
        y = z
    return y""", x=f32(5, lo=0.5, hi=9))

# ---- functions and modules -----------------------------------------------------------------------

row("call_nested_functions", """
def g(x, k: int):
    return x + k

def f(x, n: int):
    y = g(g(x, n), n + 1)
    return g(y, y.size(0))
""", x=f32(3), n=2)
row("call_early_return", """
def g(x, n: int):
    if n == 0:
        return x
    if n == 1:
        return x + 1
    x = x * n
    return x

def f(x):
    return g(x, 0), g(x, 1), g(x, 2)
""", x=f32(3))
row("call_default_arguments", """
def g(x, k: int = 3, s: float = 0.5):
    return x * s + k

def f(x):
    return g(x) + g(x, s=2.0) + g(x, 1)
""", x=f32(3))
row("call_a_method", """
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3
        self.register_buffer("b", torch.arange(3.0))

    def shift(self, x, n: int):
        return x + self.b * self.k + n

    def forward(self, x):
        return self.shift(self.shift(x, 1), 2)
""", x=f32(3))
row("call_submodules_in_a_list", """
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(3, 3) for _ in range(3)])

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = torch.relu(layer(x)) + i
        return x
""", x=f32(2, 3))
row("call_a_gate_in_a_loop", """
class Gate(torch.nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            return x
        else:
            return -x

class Cell(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Gate()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x, h):
        h = torch.tanh(self.gate(self.linear(x)) + h)
        return h, h

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.jit.trace(Cell(), (torch.rand(3, 4), torch.rand(3, 4)), check_trace=False)

    def forward(self, xs):
        h, y = torch.zeros(3, 4), torch.zeros(3, 4)
        for i in range(xs.size(0)):
            y, h = self.cell(xs[i], h)
        return y, h
""", xs=f32(5, 3, 4), also=[{"xs": f32(1, 3, 4)}, {"xs": f32(0, 3, 4)}])
row("call_no_grad", """
    with torch.no_grad():
        y = x * 2
    return y""", x=f32(3))
row("call_fork_and_wait", """
def g(x, n: int):
    return x * n

def f(x):
    a = torch.jit.fork(g, x, 2)
    b = torch.jit.fork(g, x, 3)
    return torch.jit.wait(a) + torch.jit.wait(b)
""", x=f32(3))
row("trace_a_module", """
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, x):
        y = self.linear(x)
        return y.view(y.size(0), -1) * 0.5 + y.shape[1]
""", x=f32(4, 3), trace=True, also=[{"x": f32(4, 3)}])
row("trace_shapes_are_values", """
def f(x):
    return x.reshape(x.size(1), x.size(0) * x.size(2)) / x.size(0)
""", x=f32(2, 3, 4), trace=True, also=[{"x": f32(5, 2, 1)}])

# ---- raising -------------------------------------------------------------------------------------

row("raise_an_error", """
    if n > 3:
        raise ValueError("n is too large")
    return n""", n=5, raises="n is too large")
row("raise_not_reached", """
    if n > 3:
        raise ValueError("n is too large")
    return n""", n=3)
row("raise_a_formatted_text", """
    if n > 3:
        raise RuntimeError(f"n is {n}, at most 3 may be")
    return n""", n=5, raises="n is 5, at most 3 may be")
row("assert_fails", """
    assert x.size(0) == 3, "three rows are wanted"
    return x""", x=f32(2), raises="three rows are wanted")
row("assert_holds", """
    assert x.size(0) == 3, "three rows are wanted"
    return x""", x=f32(3))
row("raise_division_by_zero", "10 // n", n=0, raises="")
row("raise_unwrap_none", """
    assert x is not None
    return x + 1""", x=None, raises="", types={"x": "Optional[Tensor]"})
row("raise_list_index", "xs[n]", xs=[1, 2, 3], n=3, raises="")
row("raise_list_pop_empty", "xs.pop()", xs=[], types={"xs": "List[int]"}, raises="")
row("raise_dict_key", "d[k]", d={"a": 1}, k="b", raises="")
row("raise_bool_of_many", "1 if x else 0", x=f32(2), raises="ambiguous")
row("raise_item_of_many", "x.item()", x=f32(2), raises="")
row("raise_shape_mismatch", "x + y", x=f32(2), y=f32(3), raises="")

# ---- results -------------------------------------------------------------------------------------

row("result_none", """
    y = x * 2
    return None""", x=f32(3))
row("result_nothing", """
    y = x * 2""" + "\n    return", x=f32(3))
row("result_same_tensor_twice", """
    y = x * 2
    return y, y""", x=f32(3))
row("result_an_input", "x", x=f32(3))
row("result_inputs_swapped", "(y, x, y)", x=f32(3), y=i64(2))
row("result_int_float_bool_str", "(n + 1, s * 2, not b, t + 'x')", n=3, s=0.25, b=True, t="ab")
row("result_nested", "((x, [n, n + 1]), {'k': [x, x * 2]})", x=f32(2), n=3)
row("result_optional", """
    r: Optional[Tensor] = None
    if flag:
        r = x
    return r""", x=f32(2), flag=True, also=[{"flag": False}])
row("result_list_of_tensors", "[x, x + 1, x[:1]]", x=f32(3))
row("result_empty_list", """
    out: List[int] = []
    return out""", n=1)
row("result_a_constant", "(1, 2.5, True, 'text', None, [1, 2])", n=1)
row("result_a_named_tuple", """
class Point(NamedTuple):
    x: Tensor
    n: int

def f(x, n: int):
    p = Point(x * 2, n)
    return Point(p.x + 1, p.n + 1)
""", x=f32(2), n=3)
row("result_a_scalar_tensor", "x.sum() * 2", x=f32(5))
row("result_item", "(x.sum().item(), i.max().item())", x=tensor([0.5, 0.25]), i=i64(4))
row("result_size", "(x.size(), x.shape[1], x.dim(), x.numel(), len(x))", x=f32(2, 3, 4), also=[{"x": f32(1, 0)}])
row("result_dtype_and_layout", "(x.dtype == torch.float32, x.is_contiguous(), x.is_floating_point())", x=f32(2, 3),
    also=[{"x": transposed(f64(2, 3))}])

# ---- tuples, optionals, unions -------------------------------------------------------------------

row("tuple_unpack", """
    a, b = t
    return b, a""", t=(f32(2), 3))
row("tuple_nested", """
    (a, b), c = t
    return a + b + c""", t=((1, 2), 3))
row("tuple_index_and_slice", "(t[0], t[-1], t[1:])", t=(1, 2.5, "x"))
row("tuple_compare", "(t == u, t != u)", t=(1, 2), u=(1, 2), also=[{"u": (1, 3)}])
row("tuple_in_a_list", """
    s = 0
    for a, b in ts:
        s += a * b
    return s""", ts=[(1, 2), (3, 4)])
row("optional_argument", "x if w is None else x * w", x=f32(2), w=None, also=[{"w": f32(2)}])
row("optional_int", "-1 if n is None else n * 2", n=4, types={"n": "Optional[int]"}, also=[{"n": None}])
row("optional_carried_by_a_loop", """
    best: Optional[Tensor] = None
    for i in range(x.size(0)):
        if best is None or bool(x[i].sum() > best.sum()):
            best = x[i]
    return best""", x=f32(5, 2), also=[{"x": f32(0, 2)}])
row("union_isinstance", """
    if isinstance(v, int):
        return v + 1
    else:
        return len(v)""", v=3, types={"v": "Union[int, str]"}, also=[{"v": "four"}])
row("optional_list_item", """
    s = 0
    for v in vs:
        if v is not None:
            s += v
    return s""", vs=[1, None, 3], types={"vs": "List[Optional[int]]"})

# ---- int and float arithmetic --------------------------------------------------------------------

SIGNS = [{"a": a, "b": b} for a, b in ((-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3), (0, 5))]
row("int_arithmetic", "(a + b, a - b, a * b, a // b, a % b, -a, a ** 2)", a=7, b=2, also=SIGNS)
row("int_division_is_float", "a / b", a=7, b=2, also=SIGNS)
row("int_compare", "(a < b, a <= b, a > b, a >= b, a == b, a != b)", a=7, b=2, also=[{"a": 2}, {"a": 1}])
row("int_bits", "(a & b, a | b, a ^ b, a << 2, a >> 1)", a=13, b=6, also=[{"a": -13}])
row("int_min_max_abs", "(min(a, b), max(a, b), abs(a), min([a, b, 3]), max([a, b, 3]))", a=-7, b=2)
row("int_divmod", "divmod(a, b)", a=7, b=2, also=SIGNS)
row("int_of_float", "(int(s), int(-s), round(s), math.floor(s), math.ceil(s), math.floor(-s))", s=2.5, also=[{"s": 2.4}, {"s": 3.5}])
row("int_large", "(n + 1, n * 2, n // 3, n % 1000)", n=4611686018427387905 // 2)
row("int_pow", "(a ** b, a ** 0)", a=3, b=4, also=[{"a": -2, "b": 5}])
row("int_to_float", "(float(n), n * 1.0, n + 0.5, n / 4)", n=3, also=[{"n": 9007199254740993}])
row("int_of_bool", "(int(b), float(b), bool(n), bool(s))", b=True, n=0, s=0.0, also=[{"b": False, "n": 2, "s": -0.5}])

FLOAT_SIGNS = [{"a": a, "b": b} for a, b in ((-7.5, 2.0), (7.5, -2.0), (-7.5, -2.0), (6.0, 3.0), (0.0, 5.0), (1e300, 1e-300))]
row("float_arithmetic", "(a + b, a - b, a * b, a / b, a // b, a % b, -a, a ** 2.0)", a=7.5, b=2.0, also=FLOAT_SIGNS)
row("float_compare", "(a < b, a <= b, a > b, a >= b, a == b, a != b)", a=7.5, b=2.0, also=[{"a": 2.0}, {"a": NAN}, {"b": INF}])
row("float_with_int", "(s + n, s * n, n - s, n / s, n // s, n % s, s ** n, n ** s, s < n, s == n)", s=2.5, n=3, also=[{"s": -1.5}])
row("float_math", """
    return (math.sqrt(s), math.exp(s), math.log(s), math.sin(s), math.cos(s), math.tan(s), math.atan(s), math.pow(s, 3.0),
            math.log1p(s), math.log10(s), math.fabs(-s), math.tanh(s))""", s=1.75)
row("float_math_more", """
    return (math.asin(s), math.acos(s), math.sinh(s), math.cosh(s), math.atan2(s, -1.0), math.copysign(1.0, -s),
            math.fmod(-7.5, s), math.degrees(s), math.radians(s), math.expm1(s), math.erf(s))""", s=0.5)
row("float_math_constants", "(math.pi * n, math.e, math.inf > n, math.isnan(s), math.isinf(s), math.isfinite(s))", n=2, s=1.0,
    also=[{"s": NAN}, {"s": INF}])
row("float_of_int_math", "(math.sqrt(n), math.floor(n), math.gcd(n, 12), math.factorial(5))", n=18)
row("float_list_min_max", "(max(a, b), min(a, b), max(b, a), min(b, a), max(a, c), min(a, c))", a=[1.5, 2.5], b=[NAN, 0.5, 3.0], c=[1.5, NAN],
    types={"a": "List[float]", "b": "List[float]", "c": "List[float]"})
row("float_min_max", "(min(a, b), max(a, b), abs(a))", a=-1.5, b=2.5)
row("float_division_by_zero", "(a / b, -a / b)", a=1.0, b=0.0)
row("float_round", "(round(s), round(-s), round(s + 1))", s=0.5, also=[{"s": 1.49}])
row("float_from_string", "(float(t), int('12') + 1)", t="2.5", also=[{"t": "inf"}])
row("scalar_times_tensor", "(x * n, x * s, n - x, s / x, x // 2, x % 3)", x=f32(5, lo=1, hi=9), n=3, s=0.5)
row("scalar_from_tensor_shape", "x * (1.0 / math.sqrt(x.size(-1)))", x=f32(2, 16))
row("scalar_int_tensor", "(int(i), float(x), bool(i), int(x))", i=tensor(3, "i64"), x=tensor(2.75))
row("scalar_of_number_union", "x * a + b", x=f32(3), a=2, b=0.5)

# ---- lists ---------------------------------------------------------------------------------------

row("list_basics", """
    out = [n, n + 1]
    out.append(7)
    out.extend([8, 9])
    out.insert(1, -5)
    out.reverse()
    out.remove(7)
    last = out.pop()
    first = out.pop(0)
    return out, last, first, len(out)""", n=3)
row("list_slices", "(xs[1:], xs[:-1], xs[::2], xs[1:4:2], xs[-2:], xs[10:], xs[:0])", xs=[1, 2, 3, 4, 5])
row("list_index", "(xs[0], xs[-1], xs.index(3), xs.count(3), 3 in xs, 9 in xs)", xs=[1, 3, 3])
row("list_set_item", """
    xs[0] = 9
    xs[-1] += 1
    return xs""", xs=[1, 2, 3], mutates=True)
row("list_sort", """
    ys = sorted(xs)
    xs.sort(reverse=True)
    return xs, ys""", xs=[3, 1, 2])
row("list_sort_floats_strings", "(sorted(a), sorted(b))", a=[2.5, -1.0, 0.0], b=["b", "a", "ab"])
row("list_operators", "(xs + ys, xs * 2, xs == ys, xs == xs, xs != ys)", xs=[1, 2], ys=[3])
row("list_sum_any_all", "(sum(xs), any(bs), all(bs), min(xs), max(xs))", xs=[1, 2, 3], bs=[True, False])
row("list_of_lists", """
    out: List[List[int]] = []
    for i in range(n):  # with a constant range PyTorch's own freeze loses the write below
        out.append([i] * i)
    out[1][0] = 7
    return out""", n=3)
row("list_is_shared", """
    a = [1]
    b = a
    b.append(2)
    c = a.copy()
    c.append(3)
    return a, b, c""", n=0)
row("list_clear", """
    xs.clear()
    return xs, len(xs)""", xs=[1, 2])
row("list_of_tensors_stack", "torch.stack(xs).sum(0)", xs=[f32(2, 3), f32(2, 3)])
row("list_of_strings", "(xs[0] + xs[1], '-'.join(xs), 'b' in xs)", xs=["a", "b"])
row("list_len_is_truth", "1 if len(xs) > 0 else 2", xs=[0], types={"xs": "List[int]"}, also=[{"xs": []}])
row("list_of_sizes", "x.view([-1] + list(x.shape[1:]))", x=f32(2, 3, 4))
row("list_unpack", """
    a, b, c = x.shape
    return a * 100 + b * 10 + c""", x=f32(2, 3, 4))

# ---- dicts ---------------------------------------------------------------------------------------

row("dict_basics", """
    d = {'a': n, 'b': n + 1}
    d['c'] = 7
    d['a'] = -1
    return d, len(d), d['b'], 'c' in d, 'z' in d""", n=3)
row("dict_get_pop", """
    a = d.get('a', 0)
    z = d.get('z', -1)
    b = d.pop('b')
    return a, z, b, d""", d={"a": 1, "b": 2, "c": 3})
row("dict_keys_values_items", "(list(d.keys()), list(d.values()), list(d.items()))", d={"x": 1.5, "y": 2.5})
row("dict_keeps_order", """
    d: Dict[int, int] = {}
    for i in range(n):
        d[(i * 7) % n] = i
    del d[0]
    d[0] = 100
    return d""", n=5)
row("dict_of_tensors", "{'sum': x + y, 'first': x}", x=f32(2), y=f32(2))
row("dict_update_clear", """
    d.update({'b': 5, 'n': 6})
    e = d.copy()
    d.clear()
    return d, e""", d={"a": 1, "b": 2})
row("dict_as_argument", "d['x'] * 2 + d['y']", d={"x": f32(3), "y": f32(3)})
row("dict_int_keys", "(d[2], 3 in d, d.get(9))", d={1: "one", 2: "two"})
row("dict_setdefault", """
    a = d.setdefault('a', 9)
    b = d.setdefault('z', 9)
    return a, b, d""", d={"a": 1})

# ---- strings -------------------------------------------------------------------------------------

row("str_basics", "(s + t, len(s), s == t, s != t, s[1], s[-1], s[1:3], 'b' in s)", s="abcd", t="b")
row("str_methods", """
    return (s.upper(), s.lower(), s.strip(), s.replace('b', 'xx'), s.find('b'), s.startswith(' a'), s.endswith('c '),
            s.count('b'))""", s=" aBbc ")
row("str_split_join", "(s.split(','), '+'.join(s.split(',')), s.split(',', 1), s.splitlines())", s="a,b,,c")
row("str_format", "('{} and {}'.format(n, t), 'n is %d' % n)", n=3, t="x")
row("str_fstring", "f'{n}:{s}:{t}:{b}'", n=3, s=0.5, t="x", b=True)
row("str_of_numbers", "(str(n), str(b), str([1, 2]))", n=3, b=False)
row("str_compare", "(s < t, s > t, s <= t, s >= t)", s="abc", t="abd")
row("str_is_checks", "(s.isdigit(), s.isalpha(), s.isupper(), s.isalnum(), s.isspace())", s="12", also=[{"s": "ab"}, {"s": "A1"}, {"s": " "}])
row("str_utf8", "(s + t, s == t)", s="h\u00e9", t="\u20ac")
row("str_chr_ord_hex", "(ord('a'), chr(98), hex(255), bin(5), oct(8))", n=0)
row("str_branches", """
    if mode == 'double':
        return x * 2
    elif mode == 'half':
        return x / 2
    return x""", x=f32(3), mode="double", also=[{"mode": "half"}, {"mode": "other"}])
