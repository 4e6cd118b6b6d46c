"""Random numbers. Every row runs with one seed (README.md); manual_seed in a body sets another.
A last draw shows that the generator's state equals PyTorch's."""
from conformance import *

NEXT = dict(rtol=1e-6, atol=1e-6, why="the numbers are PyTorch's; a normal one is made of log and cos, which differ in the last place")


def drawn(name, draw, **inputs):
    row(f"random_{name}", f"a = {draw}\nreturn a, torch.rand(2)", **NEXT, **inputs)


# ---- Uniform and normal ------------------------------------------------------------------------

for n in (0, 1, 5, 15, 16, 17, 31, 48, 700):  # randn uses another algorithm from 16 elements on
    drawn(f"rand_{n}", f"torch.rand({n})")
    drawn(f"rand_f64_{n}", f"torch.rand({n}, dtype=torch.float64)")
    drawn(f"randn_{n}", f"torch.randn({n})")
    drawn(f"randn_f64_{n}", f"torch.randn({n}, dtype=torch.float64)")
for seed in (0, 42, 2**31 + 5, 2**40 + 7, -3):
    row(f"random_seed_{seed}".replace("-", "minus_"), f"torch.manual_seed({seed})\nreturn torch.rand(3), torch.randn(5), torch.randint(9, [4])", **NEXT)
row("random_seed_given", "torch.manual_seed(s)\na = torch.randn(3)\ntorch.manual_seed(s)\nreturn a, torch.randn(3)", s=5,
    also=[{"s": 1}, {"s": 2**62}], **NEXT)
row("random_seed_forgets_the_second_normal", "a = torch.randn(1)\ntorch.manual_seed(3)\nreturn a, torch.randn(2)", **NEXT)
row("random_normal_pairs_are_kept", "a = torch.randn(3)\nb = torch.rand(2)\nreturn a, b, torch.randn(2), torch.randn(20), torch.randn(1)", **NEXT)
for dtype in ("complex64", "complex128", "float16", "bfloat16"):
    for n in (0, 5, 8, 16, 19, 40):
        drawn(f"randn_{dtype}_{n}", f"torch.randn({n}, dtype=torch.{dtype})")
    drawn(f"uniform_of_{dtype}", f"torch.zeros(3, 7, dtype=torch.{dtype}).uniform_(1.0, 3.0)")
    drawn(f"normal_of_{dtype}", f"torch.zeros(3, 7, dtype=torch.{dtype}).normal_(2.0, 3.0)")
drawn("sizes_given", "torch.randn(n, 3, 2)", n=2, also=[{"n": 0}, {"n": 5}])
drawn("rand_like", "torch.rand_like(x)", x=f32(3, 7), also=[{"x": transposed(f32(3, 7))}, {"x": noncontig(f32(2, 5))}, {"x": f64(3)}])
drawn("randn_like", "torch.randn_like(x)", x=f32(5, 7), also=[{"x": transposed(f32(5, 7))}, {"x": channels_last(f32(2, 3, 4, 5))}, {"x": f32()}])
drawn("randn_like_dtype", "torch.randn_like(x, dtype=torch.float64)", x=i64(3, 7))
drawn("rand_like_format", "torch.rand_like(x, memory_format=torch.channels_last)", x=f32(2, 3, 4, 5))
row("random_normal_sizes", "a = torch.normal(2.0, 3.0, [20])\nreturn a, torch.rand(2)", rtol=1e-6, atol=3e-6,
    why="3 times a standard normal's: PyTorch has the angle in float64, and with AVX2 in float32")
drawn("normal_means", "torch.normal(m, 0.5)", m=f32(3, 7), also=[{"m": transposed(f32(3, 7))}, {"m": f64(5)}, {"m": f32(0)}])
drawn("normal_stds", "torch.normal(2.0, s)", s=f32(3, 7, lo=0, hi=2), also=[{"s": noncontig(f32(3, 7, lo=0, hi=2))}])
drawn("normal_both", "torch.normal(m, s)", m=f32(3, 7), s=f32(7, lo=0, hi=2), also=[{"m": f32(1), "s": f32(4, 5, lo=0, hi=2)}, {"m": f64(20), "s": f64(20, lo=0, hi=2)}])
row("random_normal_stds_negative", "torch.normal(m, s)", m=f32(2), s=tensor([1.0, -1.0]), raises="normal expects all elements of std >= 0.0")
for name, draw in {"normal": "torch.normal(1.0, 2.0, [3, 7], out=o)", "rand": "torch.rand([3, 7], out=o)", "randn": "torch.randn([5, 4], out=o)"}.items():
    drawn(f"{name}_into", draw, o=f32(3, 7), also=[{"o": f64(2)}, {"o": transposed(f32(3, 7))}])
for name, draw in {"randint": "torch.randint(9, [3, 7], out=o)", "randint_low": "torch.randint(-3, 9, [3, 7], out=o)", "randperm": "torch.randperm(8, out=o)"}.items():
    drawn(f"{name}_into", draw, o=f32(3, 7), also=[{"o": i64(3, 7)}, {"o": i32(2)}])
drawn("generator_none", "torch.rand([3], generator=None) + torch.randn([3], generator=None)")
row("random_randn_of_ints", "torch.randn([3], dtype=torch.int64)", raises="not implemented for 'Long'")
row("random_rand_of_ints", "torch.rand([3], dtype=torch.int64)", raises="not implemented for 'Long'")


def written(name, write, **options):
    """Adds an in-place draw, to dense and to strided tensors."""
    inputs = [{"x": noncontig(f32(3, 7))}, {"x": transposed(f32(3, 7))}, {"x": f64(3, 7)}, {"x": f32(0)}, {"x": f32(3, 17)}]
    row(f"random_{name}", f"y = {write}\nreturn y, x, torch.rand(1)", x=f32(3, 7), also=options.pop("also", inputs), **NEXT, **options)


written("uniform_", "x.uniform_()")
written("uniform_range_", "x.uniform_(-3., 5.5)")
written("normal_", "x.normal_()")
written("normal_moments_", "x.normal_(2., 0.5)")
written("exponential_", "x.exponential_(2.)")
written("cauchy_", "x.cauchy_(1., 0.25)")
written("log_normal_", "x.log_normal_(0.5, 0.25)")
written("geometric_", "x.geometric_(0.3)")
row("random_geometric_of_ints", "x.geometric_(0.3)", x=i64(3, 7))
row("random_views_are_written", "y = x.t()\ny[1:].normal_()\nreturn x, y", x=f32(3, 7), **NEXT)
row("random_uniform_bounds", "x.uniform_(2., 1.)", x=f32(3), raises="uniform_ expects to return a [from, to) range")
row("random_normal_std", "x.normal_(0., -1.)", x=f32(3), raises="normal expects std >= 0.0")
row("random_exponential_lambda", "x.exponential_(0.)", x=f32(3), raises="exponential_ expects lambda > 0.0")
row("random_expanded", "x.uniform_()", x=expanded(f32(1, 3), 2, 3), raises="more than one element")

# ---- Integers ----------------------------------------------------------------------------------

for dtype in ALL:
    d = str(DTYPES[dtype])
    high = 2 if dtype == "b8" else 100
    drawn(f"randint_{dtype}", f"torch.randint({high}, [33], dtype={d})")
    row(f"random_unbounded_{dtype}", "x.random_()\nreturn x, torch.rand(1)", x=random(dtype, 9), **NEXT)
drawn("randint_low", "torch.randint(-5, 6, [3, 7])")
drawn("randint_one", "torch.randint(3, 4, [5])")
drawn("randint_wide", "torch.randint(-(1 << 62), 1 << 62, [9])")
drawn("randint_32_bits", "torch.randint(0, 1 << 32, [9])")
drawn("randint_below_32_bits", "torch.randint(0, (1 << 32) - 1, [9])")
drawn("randint_like", "torch.randint_like(x, 50)", x=i64(3, 7), also=[{"x": transposed(f32(3, 7))}])
drawn("randint_like_low", "torch.randint_like(x, -50, 50)", x=f32(3, 7))
drawn("randint_generator_none", "torch.randint(9, [5], generator=None) + torch.randint(2, 9, [5], generator=None)")
row("random_from", "x.random_(-3, 8)\nreturn x, torch.rand(1)", x=i64(3, 7), also=[{"x": noncontig(i32(3, 5))}, {"x": f64(9)}], **NEXT)
row("random_to", "x.random_(8)\nreturn x, torch.rand(1)", x=i64(9), **NEXT)
row("random_from_alone", "x.random_(-3, None)\nreturn x, torch.rand(1)", x=i64(9), also=[{"x": f32(9)}, {"x": i32(9)}, {"x": f64(9)}], **NEXT)
row("random_all_64_bits", "x.random_(-9223372036854775807 - 1, None)\nreturn x", x=i64(9), also=[{"x": f64(9)}])
row("random_float_bounds", "x.random_(16777217, 16777221)\nreturn x", x=f32(20), also=[{"x": f64(20)}])
row("random_empty_range", "x.random_(3, 3)", x=i64(2), raises="random_ expects 'from' to be less than 'to'")
row("random_out_of_bounds", "torch.randint(300, [3], dtype=torch.uint8)", raises="out of bounds")
for n in (0, 1, 2, 17, 100):
    drawn(f"randperm_{n}", f"torch.randperm({n})")
for dtype in ("i32", "u8", "f32", "f64"):
    drawn(f"randperm_{dtype}", f"torch.randperm(20, dtype={DTYPES[dtype]})")
drawn("randperm_given", "torch.randperm(n)", n=5, also=[{"n": 3000}])
row("random_randperm_too_many", "torch.randperm(300, dtype=torch.uint8)", raises="")

# ---- Bernoulli, dropout, multinomial -----------------------------------------------------------

drawn("bernoulli", "torch.bernoulli(x)", x=f32(3, 7, lo=0, hi=1), also=[{"x": transposed(f32(3, 7, lo=0, hi=1))}, {"x": f64(9, lo=0, hi=1)}, {"x": f32(0)}])
drawn("bernoulli_p", "torch.bernoulli(x, 0.3)", x=f32(3, 7), also=[{"x": i64(9)}, {"x": transposed(f32(3, 7))}])
drawn("bernoulli_certain", "torch.bernoulli(x)", x=tensor([0.0, 1.0, 0.0, 1.0]))
written("bernoulli_float_", "x.bernoulli_(0.25)", also=[{"x": noncontig(f32(3, 7))}, {"x": b8(9)}, {"x": i64(9)}])
row("random_bernoulli_each_", "y = x.bernoulli_(p)\nreturn y, x, torch.rand(1)", x=f32(3, 7), p=f32(3, 7, lo=0, hi=1),
    also=[{"p": f64(7, lo=0, hi=1)}, {"x": transposed(f32(3, 7))}, {"p": transposed(f32(3, 7, lo=0, hi=1))}, {"x": b8(3, 7)}], **NEXT)
row("random_bernoulli_ints", "torch.bernoulli(x)", x=i64(3), raises="expected probabilities tensor to have floating type")
row("random_bernoulli_outside", "torch.bernoulli(x)", x=tensor([0.5, 1.5]), raises="p_in")
row("random_bernoulli_p_outside", "x.bernoulli_(1.5)", x=f32(3), raises="bernoulli_ expects p to be in [0, 1]")

LAID_OUT = [{"x": transposed(f32(3, 7))}, {"x": noncontig(f32(3, 7))}, {"x": f64(3, 7)}, {"x": f32(0)}, {"x": special(17)}]
for p in (0.0, 0.3, 1.0):
    drawn(f"dropout_{p}".replace(".", "_"), f"F.dropout(x, {p}, True)", x=f32(3, 7), also=LAID_OUT)
row("random_dropout_", "F.dropout(x, 0.3, True, True)\nreturn x, torch.rand(1)", x=f32(3, 7), **NEXT)
row("random_dropout_chosen", "F.dropout(x, 0.5, t), torch.rand(1)", x=f32(3, 7), t=True, also=[{"t": False}], **NEXT)
drawn("alpha_dropout", "F.alpha_dropout(x, 0.3, True)", x=f32(3, 7), also=LAID_OUT)
drawn("feature_dropout", "F.dropout2d(x, 0.3, True)", x=f32(3, 5, 4, 4), also=[{"x": channels_last(f32(3, 5, 4, 4))}])
drawn("feature_alpha_dropout", "F.feature_alpha_dropout(x, 0.3, True)", x=f32(3, 5, 4))
for train in (True, False):
    drawn(f"native_dropout_{train}", f"torch.native_dropout(x, 0.3, {train})", x=f32(3, 7), also=[{"x": transposed(f32(3, 7))}])
row("random_dropout_of_ints", "F.dropout(x, 0.5, True)", x=i64(3), raises="result type Float can't be cast")

CHANCES = f32(6, lo=0.1, hi=2)
for k, replace in ((1, False), (4, False), (6, False), (1, True), (20, True)):
    drawn(f"multinomial_{k}{'_replaced' if replace else ''}", f"torch.multinomial(x, {k}, {replace})", x=CHANCES,
          also=[{"x": f32(5, 7, lo=0, hi=2)}, {"x": f64(5, 7, lo=0, hi=2)}, {"x": transposed(f32(5, 7, lo=0, hi=2))}])
row("random_multinomial_too_many", "torch.multinomial(x, 7)", x=CHANCES, raises="without replacement")
row("random_multinomial_negative", "torch.multinomial(x, 1)", x=tensor([1.0, -1.0]), raises="element < 0")
row("random_multinomial_zero", "torch.multinomial(x, 1)", x=tensor([0.0, 0.0]), raises="sum of probabilities <= 0")

row("random_in_a_loop", """
def f(n: int):
    out = torch.zeros(0)
    for i in range(n):
        if i % 2 == 0:
            out = torch.cat([out, torch.randn(2)])
        else:
            out = torch.cat([out, torch.rand(1)])
    return out""", n=5, types={"n": "int"}, also=[{"n": 0}], **NEXT)

# ---- By their own names (one_operator.py) ------------------------------------------------------------

row("name_normal_functional", "aten::normal_functional(x, 1.0, 2.0)", x=f32(3, 7), **NEXT)
row("name_randperm_generator", "aten::randperm.generator(n, generator=None, dtype=d)", n=9, d=4, also=[{"d": None}, {"n": 0}, {"d": 3}])
row("name_rand_complex", "aten::rand(n, dtype=torch.complex64)", n=[3, 5], **NEXT)
for dtype in SHORTS + HALVES:
    row(f"random_unbounded_{dtype}", "x.random_()\nreturn x, torch.rand(1)", x=random(dtype, 9), **NEXT)
    row(f"random_from_{dtype}", "x.random_(3, 90)\nreturn x, torch.rand(1)", x=random(dtype, 9), **NEXT)
for dtype in HALVES:
    row(f"random_beyond_what_is_exact_{dtype}", "aten::random.from(x, a, b)", x=random(dtype, 9), a=-3, b=None, also=[{"a": 1000, "b": 2**20 if dtype == "bf16" else 60000}])
row("random_complex_like_a_half", "torch.rand_like(x, dtype=torch.complex64)", x=random("f16", 5), **NEXT)
row("random_normal_of_mixed_dtypes", "torch.normal(x, y)", x=f32(3, 4), y=i32(4, lo=1, hi=3), also=[{"y": f64(4, lo=1, hi=3)}], **NEXT)
row("random_doubles_like_a_half", "(torch.rand_like(x, dtype=torch.float64), torch.randn_like(x, dtype=torch.float64))", x=random("f16", 17), **NEXT)
row("random_normal_of_doubles_and_halves", "torch.normal(x, y)", x=f64(17), y=random("f16", 1, lo=1, hi=2), also=[{"x": f64(3)}], **NEXT)
row("random_normal_of_complex_means", "(torch.normal(x, y), torch.normal(x, 2.0))", x=random("c64", 3, 7), y=f32(7, lo=0, hi=3), also=[{"x": random("c128", 3, 7)}, {"y": f64(7, lo=0, hi=3)}], **NEXT)
row("random_normal_of_complex_deviations_refused", "torch.normal(x, y)", x=f32(3), y=random("c64", 3), raises="to be non-complex")
row("random_normal_of_half_deviations", "(torch.normal(-0.6196, y), torch.normal(x, y), torch.normal(x, 1.3))", x=random("bf16", 17), y=random("bf16", 17, lo=0.1, hi=3), also=[{"x": random("f16", 17), "y": random("f16", 17, lo=0.1, hi=3)}], **NEXT)
row("random_complex_like_many_halves", "(torch.randn_like(x, dtype=torch.complex64), torch.rand_like(x, dtype=torch.complex128))", x=random("f16", 17), also=[{"x": random("bf16", 33)}], **NEXT)
row("random_normal_into_strided_halves", "x.normal_(0.5, 2.0)", x=noncontig(random("f16", 9, 17)), also=[{"x": transposed(random("bf16", 9, 17))}, {"x": random("f16", 9, 17)}, {"x": random("bf16", 3)}, {"x": noncontig(f32(9, 17))}], **NEXT)
row("random_sample_dirichlet", "torch._sample_dirichlet(x)", x=f32(5, 4, lo=0.05, hi=4), also=[{"x": f64(7, lo=0.05, hi=4)}, {"x": tensor([[1e-3, 1.0], [1e-3, 1e4]])}], **NEXT)
row("random_standard_gamma", "torch._standard_gamma(x)", x=f32(5, 4, lo=0.05, hi=4), also=[{"x": f64(7, lo=0.05, hi=4)}, {"x": tensor([0.0, 1.0, 1000.0, 1e-4])}], **NEXT)
