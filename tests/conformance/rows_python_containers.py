"""Lists, tuples, dicts, strings and text. These rows go beyond rows_control.py: they cover every method, quirk and
refusal of libtorch 2.6."""
from conformance import *

XS = [3, 1, 2, 2, -5]


def each_list(name, cases, **options):
    for k, (key, body) in enumerate(cases.items()):
        row(f"{name}_{key}", body, **options)


# ---- Lists -----------------------------------------------------------------------------------------

each_list("list_reads", {
    "getitem": "(xs[0], xs[-1], xs[4], xs[-5])", "slice": "(xs[1:3], xs[:-1], xs[-2:], xs[::2], xs[1::2], xs[9:], xs[:-9], xs[3:1])",
    "slice_back": "(xs[::-1], xs[3:0:-1], xs[-1:-4:-2], xs[0::-1], xs[9::-3], xs[:-9:-1])", "add": "(xs + [7], [7] + xs, xs + xs)",
    "mul": "(xs * 2, xs * 0, 3 * [1, 2])", "contains": "(2 in xs, 9 in xs, 9 not in xs)", "count": "(xs.count(2), xs.count(9))",
    "index": "(xs.index(2), xs.index(-5))", "sorted": "(sorted(xs), xs)", "copy": "(xs.copy(), list(xs), xs[:])", "len": "len(xs)",
    "extremes": "(min(xs), max(xs), sum(xs), min(xs, [3, 0]), max(xs, [3, 0]))", "equal": "(xs == xs, xs == [3], xs != [3, 1, 2, 2, -5], xs == [3, 1, 2, 2, 5])",
    "is": "(xs is xs, xs is not xs)", "comprehension": "[x * x for x in xs]", "unpack": "a, b, c, d, e = xs\nreturn e, a",
    "enumerate_zip": "[i * x + y for (i, x), y in zip(enumerate(xs), xs)]",
}, xs=XS)
each_list("list_writes", {
    "append": "xs.append(7)\nreturn xs", "insert": "xs.insert(0, 9)\nxs.insert(-1, 8)\nxs.insert(99, 7)\nxs.insert(-99, 6)\nreturn xs",
    "pop": "a = xs.pop()\nb = xs.pop(0)\nc = xs.pop(-2)\nreturn a, b, c, xs", "remove": "xs.remove(2)\nreturn xs", "reverse": "xs.reverse()\nreturn xs",
    "sort": "xs.sort()\nreturn xs", "sort_reverse": "xs.sort(reverse=True)\nreturn xs", "clear": "xs.clear()\nreturn xs, len(xs)",
    "extend": "xs.extend([7, 8])\nxs.extend(xs)\nreturn xs", "iadd": "ys = xs\nxs += [8]\nreturn xs, ys", "imul": "xs *= 2\nreturn xs",
    "imul_zero": "xs *= 0\nreturn xs", "delete": "del xs[0]\ndel xs[-1]\nreturn xs", "set": "xs[1] = 5\nxs[-1] += 2\nreturn xs",
    "through_loop": "for i in range(len(xs)):\n    xs[i] = xs[i] * i\nreturn xs",
}, xs=XS)
row("list_getitem_beyond", "xs[5]", xs=XS, raises="list index out of range")
row("list_getitem_before", "xs[-6]", xs=XS, raises="list index out of range")
row("list_set_beyond", "xs[9] = 1\nreturn xs", xs=XS, raises="list index out of range")
row("list_pop_empty", "xs.clear()\nreturn xs.pop()", xs=XS, raises="pop from empty list")
row("list_pop_beyond", "xs.pop(9)", xs=XS, raises="list index out of range")
row("list_delete_beyond", "del xs[9]\nreturn xs", xs=XS, raises="list index out of range")
row("list_remove_missing", "xs.remove(9)\nreturn xs", xs=XS, raises="list.remove(x): x not in list")
row("list_index_missing", "xs.index(9)", xs=XS, raises="'9' is not in list")
row("list_slice_step_zero", "xs[::n]", xs=XS, n=0, raises="List slice should have non-zero step")
row("list_min_of_none", "xs.clear()\nreturn min(xs)", xs=XS, raises="min() arg is an empty sequence")
row("list_unpack_too_many", "a, b = xs\nreturn a", xs=XS, raises="Expected 2 elements in a list but found 5")
row("list_floats", "(sorted(xs), min(xs), max(xs), sum(xs), xs.index(2.5), xs == [2.5], xs * 2, 2.5 in xs)", xs=[2.5, -1.0, 1e9])
row("list_floats_sort", "xs.sort(reverse=True)\nxs.remove(2.5)\nreturn xs, sum(xs[:0])", xs=[2.5, -1.0, 1e9])
row("list_bools", "(any(xs), all(xs), sum(xs), xs.count(True), xs.index(False), xs == [True])", xs=[True, False, True])
row("list_any_all_empty", "(any(xs), all(xs), any([x > 1 for x in ys]), all([x > 1 for x in ys]))", xs=[True], ys=[2], also=[{"xs": [False]}], types={"xs": "List[bool]", "ys": "List[int]"})
row("list_strings", "xs.sort()\nreturn xs, sorted(xs), xs.index('b'), xs.count('a'), 'z' in xs, xs + ['q']", xs=["b", "a", "Z", "a", ""])
row("list_tuples_sort", "xs.sort()\nreturn xs, sorted(xs)", xs=[(2, "a"), (1, "b"), (1, "a")])
row("list_of_lists_alias", "ys = [xs, xs]\nys[0].append(7)\nreturn ys, len(ys[1])", xs=XS)
row("list_of_tensors", "ys = [x, x + 1]\nys[0] += 10\nys.append(x)\ny = ys.pop(1)\nreturn ys, y, x", x=f32(3))
row("list_tensors_inplace", "for y in x.unbind(0):\n    y *= 2\nreturn x", x=f32(2, 3))
ONE = dict(x=tensor(1.5), y=tensor(2.0))
AMBIGUOUS = dict(x=f32(2), y=f32(2), raises="Boolean value of Tensor with more than one value is ambiguous")
for key, body in {
    "index": "xs = [x, y]\nreturn xs.index(y)", "count": "[x, y, x].count(y)", "equal": "([x, y] == [x, y], [x, y] == [x], [x] != [y], [x, y] != [x, y])",
    "sort": "xs = [y, x, x]\nxs.sort()\nreturn xs", "sort_reverse": "xs = [x, y, x]\nxs.sort(reverse=True)\nreturn xs", "sorted": "xs = [y, x, x + 1]\nreturn sorted(xs), xs",
}.items():
    row(f"list_tensors_{key}", body, **ONE, also=[{"x": tensor([[2.0]]), "y": tensor([[2.0]])}, {"x": tensor(3.0), "y": tensor(3, "i64")}])
    row(f"list_tensors_{key}_of_several", body, **AMBIGUOUS)
row("list_tensors_nan", "([x].count(x), [x] == [x], [x] != [x])", x=tensor(NAN))
row("list_tensors_remove", "xs = [x, y, x]\nxs.remove(y)\nz = xs.pop()\nz += 1\nreturn xs, x", **ONE)
row("list_tensors_remove_of_several", "xs = [x, y]\nxs.remove(y)\nreturn xs", **AMBIGUOUS)
row("list_tensors_remove_missing", "xs = [x, x]\nxs.remove(y)\nreturn xs", **ONE, raises="list.remove(x): x not in list")
row("list_tensors_index_missing", "[x, x].index(y)", **ONE, raises="is not in list")
row("list_of_str_chars", "(list(s), [c + c for c in s])", s="abc")
row("range_lists", "([i for i in range(n)], [i for i in range(5, n, -2)], [i for i in range(-3, n, 2)], len(list(range(n))))", n=3)
row("range_step_zero", "[i for i in range(0, 5, n)]", n=0, raises="range() arg 3 must not be zero")

# ---- Tuples ------------------------------------------------------------------------------------------

row("tuple_index_slice", "(t[0], t[-1], t[1:], t[:2])", t=(1, 2.5, "x"))
row("tuple_unpack_nested", "a, (b, c) = t\nreturn c, b, a", t=(1, (2.5, "x")))
row("tuple_of_tensors", "a, b = t\na += b\nreturn t", t=(f32(3), f32(3)))
row("tuple_swap", "a, b = b, a\nreturn a, b", a=1, b=2)
row("named_tuple", """
class P(NamedTuple):
    x: Tensor
    n: int

def f(x: Tensor):
    p = P(x, 3)
    return p.x * p.n, p[1], p""", x=f32(3))

# ---- Dicts -------------------------------------------------------------------------------------------

D = {"k": 1, "l": 2}
each_list("dict_reads", {
    "getitem": "(d['k'], d['l'])", "get": "(d.get('k'), d.get('z'), d.get('z', 7), d.get('l', 7))", "keys": "(d.keys(), list(d.keys()), [k for k in d])",
    "values": "(d.values(), sum(d.values()))", "items": "(d.items(), [k + str(v) for k, v in d.items()])", "contains": "('k' in d, 'z' in d, 'z' not in d)",
    "len": "(len(d), len(d) > 0)", "copy": "e = d.copy()\ne['k'] = 9\nreturn d, e, dict(d)",
}, d=D)
each_list("dict_writes", {
    "set": "d['l'] = 9\nd['z'] = 3\nd['k'] += 1\nreturn d", "pop": "a = d.pop('k')\nb = d.pop('z', 3)\nreturn a, b, d", "popitem": "a = d.popitem()\nreturn a, d",
    "setdefault": "a = d.setdefault('z', 4)\nb = d.setdefault('k', 4)\nreturn a, b, d", "delete": "del d['k']\nreturn d", "clear": "d.clear()\nreturn len(d)",
    "update": "d.update({'k': 5, 'q': 6})\nreturn d", "reinsert": "del d['k']\nd['k'] = 3\nreturn list(d.keys())",
}, d=D)
row("dict_missing", "d['z']", d=D, raises="KeyError: z")
row("dict_delete_missing", "del d['z']\nreturn d", d=D, raises="KeyError: z")
row("dict_pop_missing", "d.pop('z')", d=D, raises="KeyError: z")
row("dict_int_missing", "d[7]", d={1: "a"}, raises="KeyError: 7")
row("dict_float_keys", "(d[1.5], 2.0 in d, d.get(2.0))", d={1.5: 5})
row("dict_bool_keys", "(d[True], False in d)", d={True: 5})
row("dict_of_pairs", "d = dict(xs)\nreturn d, len(d)", xs=[("x", 1), ("y", 2), ("x", 3)])
row("dict_of_lists", "d['a'].append(3)\nd['b'] = d['a']\nd['b'].append(4)\nreturn d", d={"a": [1]})
row("dict_of_tensors_alias", "d['y'] = d['x']\nd['y'] += 1\nreturn d['x'], d", d={"x": f32(3)})
row("dict_comprehension", "{k: v * 2 for k, v in d.items()}", d=D)
# Tensors are dict keys by identity, not by value.
for dtype in ("f32", "f16", "i64"):
    x, y = tensor([1, 2], dtype), tensor([1, 2], dtype)
    row(f"dict_of_tensor_keys_{dtype}", "d = {x: 1, y: 2}\nd[y] = d[y] + 5\nd[x.clone()] = 3\nreturn d[x], d[y], len(d), x in d, x + 1 in d, d.get(x), d.get(x + 1, 9), d.keys(), d.values()", x=x, y=y)
row("dict_of_tensor_keys_writes", "d = {x: 1}\na = d.setdefault(y, 7)\nb = d.pop(x)\ne = d.copy()\ndel d[y]\nd.update(e)\nf = dict([(x, n), (y, n)])\nreturn a, b, d.items(), len(e), e.pop(x, 8), dict(f).values()",
    x=f32(2), y=f32(2), n=4)
row("dict_of_tensor_keys_popitem", "d = {x: 1, y: 2}\na = d.popitem()\nd.clear()\nreturn a, len(d)", x=f32(2), y=f32(2))
row("dict_construct_repeats", "{'a': n, 'b': n + 1, 'a': n + 2}", n=1)

# ---- hash() ----------------------------------------------------------------------------------------------

row("hash_int", "hash(n)", n=5, also=[{"n": -1}, {"n": 2 ** 62}])
row("hash_float", "hash(x)", x=2.5, also=[{"x": -0.0}, {"x": 1e300}, {"x": INF}])
row("hash_bool", "(hash(b), hash(not b))", b=True)
row("hash_str", "hash(s)", s="abc", also=[{"s": ""}, {"s": "12345678"}, {"s": "it's a longer one"}, {"s": "\u00e4\u20ac"}])
row("hash_tuple", "(hash((n, s)), hash((n, (x, None), s)), hash((n,)))", n=3, s="q", x=0.5)
row("hash_tensor", "y = x\nreturn hash(x) == hash(y), hash(x) == hash(x + 0), hash((x, 1)) == hash((y, 1))", x=f32(3))
row("hash_list", "hash([n])", n=1, raises="unhashable type")

# ---- Strings -----------------------------------------------------------------------------------------

STRINGS = [" hello,World ", "", "12", "aB1", " ", "Aa Bb", "_x", "\tA\n", "x,y,,z", "a-b c-d", "it's A1b"]
for k, s in enumerate(STRINGS):
    row(f"str_case_{k}", "(s.upper(), s.lower(), s.capitalize(), s.title(), s.swapcase())", s=s)
    row(f"str_is_{k}", "(s.isdigit(), s.isalpha(), s.isalnum(), s.isspace(), s.islower(), s.isupper(), s.istitle(), s.isnumeric(), s.isdecimal(), s.isidentifier(), s.isprintable())", s=s)
    row(f"str_pad_{k}", "(s.center(20), s.center(21, '*'), s.ljust(15) + '|', s.rjust(15, '-'), s.zfill(15), s.center(2), s.expandtabs(), s.expandtabs(3))", s=s)
    row(f"str_strip_{k}", "(s.strip(), s.lstrip(), s.rstrip(), s.strip(' hx'), s.rstrip('1'), s.lstrip('_a'))", s=s)
    row(f"str_find_{k}", "(s.find('l'), s.find('a'), s.rfind('l'), s.rfind('-'), s.find(''), s.count('l'), s.count(','), s.startswith(' h'), s.endswith('d '), s.startswith(''))", s=s)
    row(f"str_split_{k}", "(s.split(), s.split(','), s.split('-', 1), s.rsplit('-', 1), s.rsplit(' '), s.partition(','), s.rpartition(','), s.splitlines())", s=s)
    row(f"str_slice_{k}", "(s[1:], s[:-1], s[::-1], s[2:5], s[::2], s[9:], len(s), list(s))", s=s)
    row(f"str_replace_{k}", "(s.replace('l', 'LL'), s.replace(',', ''), s.replace('a', 'b', 1), s.replace('zz', 'y'))", s=s)
row("str_count_nothing_at_the_end", "(s.count('', 3), s.count('', 3, 1), s.count('', 4))", s="-12")
row("str_find_limits", "(s.find('a', 2), s.find('a', -2), s.find('a', 1, 3), s.find('a', -2, -1), s.rfind('a', 0, 2), s.count('a', 1), s.count('aa'), s.find('b', 0, -2), s.startswith('a', 2), s.endswith('a', 0, -2))", s="aaaab")
row("str_split_limits", "(s.split(',', 0), s.split(',', 1), s.split(',', 9), s.rsplit(',', 0), s.rsplit(',', 2), s.split(None, 1))", s="a,b,c d,e")
row("str_splitlines", "(s.splitlines(), s.splitlines(True))", s="a\nb\r\nc\n")
row("str_join_list", "(s.join(xs), ''.join(xs))", s=", ", xs=["a", "", "b"])
row("str_index", "(s.index('b'), s.index('b', 2), s.rindex('b'), s.rindex('b', 0, 4), s.rindex('ab'))", s="abcabc")
row("str_rindex_missing", "s.rindex('q')", s="abc", raises="ValueError: substring not found")
row("str_index_missing", "s.index('q')", s="abc", raises="ValueError: substring not found")
row("str_getitem_beyond", "s[9]", s="abc", raises="")
row("str_empty_separator", "s.split('')", s="abc", raises="")
row("str_fill_too_long", "s.center(9, 'ab')", s="abc", raises="The fill character must be exactly one character long")
row("str_order", "(a < b, a <= b, a > b, a >= b, a == b, a + b)", a="ab", b="abc", also=[{"a": "b"}, {"a": "abc"}, {"a": ""}])

# ---- Numbers and strings -------------------------------------------------------------------------------

row("int_of_str", "int(s)", s="12", also=[{"s": "-7"}, {"s": "+3"}, {"s": " 5"}])
row("int_of_str_rest", "int(s)", s="12x", raises="invalid literal for int() with base 10: '12x'")
row("int_of_str_space", "int(s)", s="12 ", raises="invalid literal for int() with base 10")
row("int_of_str_none", "int(s)", s="x", raises="")
row("float_of_str", "float(s)", s="1.5e3", also=[{"s": "inf"}, {"s": "-0.25"}, {"s": "7"}, {"s": "nan"}, {"s": " +0x1.8p3"}, {"s": "-Infinity"}, {"s": "1e22"}])
row("float_of_str_rest", "float(s)", s="1.5x", raises="could not convert string to float: '1.5x'")
row("ord_chr", "(ord(s), chr(n), chr(65), ord(s) + 1)", s="a", n=98)
row("ord_of_two", "ord(s)", s="ab", raises="String for ord() must be 1 character, found 2")
row("bin_hex_oct", "(bin(n), hex(n), oct(n))", n=10, also=[{"n": -255}, {"n": 0}, {"n": 2 ** 62}])

# ---- Text ----------------------------------------------------------------------------------------------

row("text_of_floats", "[str(x) for x in xs]", xs=[1.0, 0.1, -0.0, 1e10, 1e17, 1e18, 1e19, 1e-5, 1e300, -2.5, 123456789012.0, 1 / 3, NAN, INF, -INF])
row("text_of_values", "(str(n), str(s), str(b), str(xs), str((n, s)), str(d), str((n,)), str(None), str([[1], [2]]), f'{xs}|{d}|{b}')",
    n=-3, s="it's", b=True, xs=[1.5, 2.0], d={"k": [1], "l": [2]})
row("text_format", "('{} {} {}'.format(n, s, b), '{}{}'.format(n, n, n), '{{}}'.format(n), 'x'.format(n), '{}'.format([n]))", n=3, s="x", b=False)
row("text_format_too_few", "'{} {}'.format(n)", n=3, raises="Too few arguments for format string: {} {}")
row("text_percent", "('%s %d %i' % (s, n, x), '%f|%e|%E|%F' % (x, x, n, n), '%s' % n, '%%%d' % n, '%c%c' % (n + 64, s), '%s' % x)", s="q", n=3, x=2.5)
row("text_percent_unknown", "'%5d' % n", n=3, raises="The specifier %5 is not supported in TorchScript format strings")
row("text_percent_too_few", "'%s %s' % n", n=3, raises="Too few arguments for format string")
row("text_percent_too_many", "'%s' % (n, n)", n=3, raises="Too many arguments for format string")
row("text_percent_no_number", "'%d' % s", s="x", raises="%d requires a number for formatting")
TENSORS = {
    "vector": tensor([1.5, 2.0]), "matrix": tensor([[0, 1, 2], [3, 4, 5]], "i64"), "scalar": tensor(3.5), "int_scalar": tensor(123456789, "i64"),
    "none": tensor([]), "none_2d": f32(0, 3), "none_3d": f32(2, 0, 3), "cube": tensor([[[1.5, 2.0]], [[3.0, 1234567.0]]]), "rank_4": tensor([[[[0.25, -7.5]], [[1.0, 2.0]]]]),
    "wide": tensor([[float(i) / 7 for i in range(40)], [float(-i) for i in range(40)]]), "small": tensor([1e-5, 1e5, NAN]), "bools": tensor([True, False], "b8"),
    "whole_large": tensor([1e10, 1.0, INF]), "whole": tensor([1.0, 2.0, 300.0]), "scaled": tensor([123456.5, 1e5]), "scaled_matrix": tensor([[123456.5, 1e5], [2e5, 3e5]]),
    "scaled_cube": tensor([[[123456.5, 1e5], [2e5, 3e5]]]), "tiny": tensor([1e-7, 2e-7]), "negative": tensor([1.5, -1000.5]), "extreme": tensor([1e300, 1e-300], "f64"),
    "nan": tensor([NAN]), "nan_scalar": tensor(NAN), "zero": tensor([0.0]), "thousandths": tensor([0.001, 0.5]), "mixed": tensor([1.0, 2.5, 1e5]),
    "ints": tensor([123456789, 1, -5], "i64"), "bytes": tensor([[1, 255]], "u8"), "int32": tensor([[-3], [14]], "i32"), "doubles": tensor([[1.5]], "f64"),
    "bool_scalar": tensor(True, "b8"), "turned": transposed(tensor([[1.0, 2.5], [3.0, 4.0]])), "many_ints": tensor([list(range(100, 150))], "i64"),
}
for name, x in TENSORS.items():
    row(f"text_of_tensor_{name}", "str(x)", x=x)
row("text_of_tensors_in_list", "('{} and {}'.format([x, x], (x,)), f'{x}')", x=tensor([1.5]))
row("print_is_silent_here", "print(x, 'a', 1, [2.5])\nreturn x", x=f32(2))

# ---- Raising and types -----------------------------------------------------------------------------------

row("raise_value_error", "if n > 0:\n    raise ValueError('bad {}'.format(n))\nreturn n", n=3, raises="bad 3")
row("assert_message", "assert n > 5, 'n is ' + str(n)\nreturn n", n=3, raises="n is 3")
row("assert_with_text_holds", "assert n > 5, 'n is small'\nreturn n", n=9)
row("unwrap_none", "torch.jit._unwrap_optional(n)", n=None, types={"n": "Optional[int]"}, raises="Unwrapping null optional")
row("isinstance_of_any", """
def kind(v: Any) -> str:
    if isinstance(v, int):
        return 'int'
    if isinstance(v, float):
        return 'float'
    if isinstance(v, str):
        return 'str'
    if isinstance(v, List[int]):
        return 'ints'
    if isinstance(v, (Tensor, List[str])):
        return 'tensor or strs'
    return 'other'

def f(x: Tensor):
    return [kind(1), kind(1.5), kind('s'), kind([1]), kind(x), kind(['a']), kind(True), kind((1, 2))]""", x=f32(1))
row("isinstance_of_a_list", """
def kinds(v: Any, o: Optional[List[int]], t: Optional[Tuple[int, str]], u: Union[int, Tuple[int, str], List[str]]) -> List[bool]:
    return [isinstance(v, list), isinstance(v, (float, int, str, list)), isinstance(o, (float, int, str, list)), isinstance(t, tuple), isinstance(t, (list, tuple)),
            isinstance(u, list), isinstance(u, tuple), isinstance(u, (list, tuple))]

def f(x: Tensor):
    return [kinds(None, None, None, 1), kinds([1], [1], (1, 'a'), (2, 'b')), kinds(x, [2], None, ['c']), kinds({'a': 1}, None, (3, 'd'), 2),
            kinds(['a'], [], (3, 'd'), (2, 'e')), kinds(2.5, None, None, 3)]""", x=f32(1))
row("optional_is_none_or_not", "(a is None, b is None, 0 if a is None else a + 1)", a=None, b=3, types={"a": "Optional[int]", "b": "Optional[int]"}, also=[{"a": 2}])
row("tolist", """
    a: List[float] = x.tolist()
    b: List[List[int]] = i.tolist()
    c: bool = m.tolist()
    d: List[bool] = (x > 0).tolist()
    return a, b, c, d""", x=noncontig(f32(3)), i=transposed(i64(2, 3)), m=tensor(True, "b8"))
row("tolist_wrong_depth", """
    a: List[float] = x.tolist()
    return a""", x=f32(2, 2), raises="")
