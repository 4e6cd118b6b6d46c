"""Every row that writes a tensor, with each of its other tensors in the same memory: where PyTorch refuses, so does the
runtime; else the answer is PyTorch's for a copy of that tensor, so that a row reads what was there before the call."""

import random
import re
from pathlib import Path

import pytest
import rushlight
import torch
from torch import Tensor  # noqa: F401 - what is scripted below names it

TABLES = Path(__file__).resolve().parents[2] / "wasm/src/ops"
ROW = re.compile(r'^\w+\(\w+,\s*"(aten::[\w.]+)(\(.*\) -> [^"]*)",\s*([^)]*(?:\([^)]*\)[^)]*)*)\)$', re.M)
SHAPES = (4,), (2, 2), (1, 2, 2), (), (2,), (1, 2, 2, 2)
DTYPES = torch.float32, torch.int64, torch.bool, torch.float64
SIZE = 64  # elements of the shared memory
TEXTS = "sum", "prod", "add", "none"
TRIES = 20000


def written_in_place(name):
    base, _, overload = name.partition(".")
    return f"{base}_" + (f".{overload}" if overload else "")


def find(name):
    """Returns PyTorch's operator of that name. Returns None for overloads that only TorchScript has."""
    packet, _, overload = name.removeprefix("aten::").partition(".")
    packet = getattr(torch.ops.aten, packet, None)
    return getattr(packet, overload or "default", None)


def is_tensor(argument):
    return "Tensor" in str(argument.type)


def rows():
    """Names of the rows that write one of several tensors, whose schemas PyTorch has."""
    found = set()
    for table in sorted(TABLES.glob("*/*.def")):
        for name, arguments, flags in ROW.findall(table.read_text()):
            names = [written_in_place(name)] if "RUSH_OP_INPLACE" in flags else []
            names += [name] if "Tensor(a!)" in arguments else []
            found.update(n for n in names if find(n) and sum(map(is_tensor, find(n)._schema.arguments)) > 1)
    return sorted(found)


def fill(dtype, n):
    """Zeros and ones: indices, masks and probabilities, too."""
    return torch.tensor([0, 1, 1, 0, 1, 0, 0, 1] * (n // 8 + 1))[:n].to(dtype)


def make(shape, dtype):
    n = torch.Size(shape).numel()
    return fill(dtype, n).reshape(shape)


def draw(rng, argument, shape, dtype):
    """Returns a possible value of an argument."""
    kind = str(argument.type)
    if "Tensor" in kind:
        other = make(rng.choice((shape, shape, *SHAPES)), rng.choice((dtype, dtype, dtype, *DTYPES)))
        return [other] if "List" in kind else other
    if argument.has_default_value():
        return argument.default_value
    plain = {"int": (0, 1), "number": (1, 2), "bool": (False,), "float": (0.5,), "str": TEXTS}
    if kind in plain:
        return rng.choice(plain[kind])
    return [0] if "List" in kind else None


def call(op, values):
    arguments = op._schema.arguments
    return op(*[v for a, v in zip(arguments, values) if not a.kwarg_only],
              **{a.name: v for a, v in zip(arguments, values) if a.kwarg_only})


def the_tensor(value):
    return value[0] if isinstance(value, list) else value


def examples(name, op, written, shared, wanted):
    """Arguments that PyTorch takes, of which these two have one dtype: at most so many."""
    arguments = op._schema.arguments
    rng, found = random.Random(name), []
    for attempt in range(TRIES):
        dtype, shape = DTYPES[attempt % 4], SHAPES[attempt // 4 % len(SHAPES)]
        values = [draw(rng, a, shape, dtype) for a in arguments]
        values[written] = make(shape, dtype)
        if the_tensor(values[shared]).dtype != dtype or the_tensor(values[shared]).numel() == 0:
            continue
        try:
            call(op, [v.clone() if isinstance(v, Tensor) else v for v in values])
        except (RuntimeError, IndexError, ValueError, NotImplementedError):
            continue
        found.append(values)
        if len(found) == wanted:
            break
    assert found, f"{name}: PyTorch took none of {TRIES} calls"
    return found


def strides_of(shape, step):
    return [stride * step for stride in torch.empty(shape, device="meta").stride()]


def place(values, written, shared, how, base):
    """Returns the same arguments in one memory, also as TorchScript. `apart` leaves them where they are."""
    views, texts = list(values), {}
    for k in (written, shared) if how != "apart" else (written,):
        tensor = the_tensor(values[k])
        step, offset = (2, 0) if how == "strided" and k == shared else (1, how == "shifted" and k == shared)
        where = list(tensor.shape), strides_of(tensor.shape, step), int(offset)
        views[k] = base.as_strided(*where)
        texts[k] = "b.as_strided([{}], [{}], {})".format(*(", ".join(map(str, w)) for w in where[:2]), where[2])
        if isinstance(values[k], list):
            views[k], texts[k] = [views[k]], f"[{texts[k]}]"
    return views, texts


def source_of(case, name, op, values, texts):
    """Returns a program that writes to a copy of its input and returns the copy."""
    inputs, words = [], []
    for k, (argument, value) in enumerate(zip(op._schema.arguments, values)):
        if k in texts:
            word = texts[k]
        elif isinstance(the_tensor(value), Tensor):
            inputs.append(the_tensor(value))
            word = f"[t{len(inputs)}]" if isinstance(value, list) else f"t{len(inputs)}"
        elif argument.has_default_value() and value == argument.default_value:
            continue
        else:
            word = repr(value)
        words.append(f"{argument.name}={word}" if argument.name != "from" else word)
    parameters = "".join(f", t{i + 1}: Tensor" for i in range(len(inputs)))
    packet = name.removeprefix("aten::").partition(".")[0]
    return (f"def {case}(self, base: Tensor{parameters}):\n    b = base.clone()\n"
            f"    torch.ops.aten.{packet}({', '.join(words)})\n    return b\n"), inputs


def expected(op, values, written, shared, how):
    """Returns PyTorch's answer for a copy of the shared tensor; None if PyTorch refuses the tensor itself. If PyTorch fails for another reason (an element is not an index of such a tensor), returns its error."""
    bases = [fill(values[written].dtype, SIZE) for _ in range(2)]
    views, _ = place(values, written, shared, how, bases[0])
    apart = the_tensor(views[shared]).clone()
    views[shared] = [apart] if isinstance(views[shared], list) else apart
    call(op, views)
    views, _ = place(values, written, shared, how, bases[1])
    try:
        call(op, views)
    except RuntimeError as e:
        if "unsupported operation: some elements of the input tensor" not in str(e):
            raise
        return None
    return bases[0]


def cases_of(name, wanted):
    op = find(name)
    arguments = op._schema.arguments
    written = next(k for k, a in enumerate(arguments) if a.alias_info is not None and a.alias_info.is_write)
    for shared, argument in enumerate(arguments):
        if shared == written or not is_tensor(argument) or (argument.alias_info and argument.alias_info.is_write):
            continue
        n = 0
        for values in examples(name, op, written, shared, wanted):
            for how in ("apart", "same", "shifted", "strided"):
                try:
                    answer = expected(op, values, written, shared, how)
                except (IndexError, RuntimeError):
                    continue
                n += how != "apart"
                yield argument.name, how, op, values, answer, place(values, written, shared, how, fill(values[written].dtype, SIZE))[1]
        assert n > 0, f"{name}: no example for {argument.name}"


@pytest.mark.parametrize("name", rows())
@pytest.mark.filterwarnings("ignore")
def test_operands_in_the_memory_that_a_row_writes(name, tmp_path):
    for wanted in (3, 24):  # further arguments, because the runtime refuses the first ones for reasons of its own
        operands, compared = compare_all(name, wanted, str(tmp_path / f"{wanted}.rush"))
        if compared == operands:
            return
    raise AssertionError(f"{name}: nothing was compared for {operands - compared}")


def compare_all(name, wanted, path):
    """Names of the operands, and of those that were compared."""
    module, runs = torch.jit.ScriptModule(), []
    for operand, how, op, values, answer, texts in cases_of(name, wanted):
        case = f"{re.sub(chr(92) + 'W', '_', name)}_{wanted}_{len(runs)}"  # TorchScript shares names between modules
        source, inputs = source_of(case, name, op, values, texts)
        module.define(source)
        written = next(k for k in texts)
        runs.append((operand, how, case, source, [fill(values[written].dtype, SIZE), *inputs], answer))
    if not runs:
        return set(), set()  # all of its tensors are written
    rushlight.export(module, path=path, methods=[run[2] for run in runs], verify=False, test_vectors=False)
    session, compared, taken = rushlight.load(path), set(), False
    for operand, how, case, source, inputs, answer in runs:
        if how == "apart":  # a refusal of the arguments themselves is not about memory
            taken = takes(session, case, inputs)
        elif taken:
            compared.add(operand)
            compare(session, case, source, inputs, answer)
    return {run[0] for run in runs}, compared


def takes(session, case, inputs):
    try:
        session.call(case, *inputs)
    except rushlight.RushlightError as e:
        return "unsupported operation" in str(e)
    return True


def compare(session, case, source, inputs, answer):
    if answer is None:
        with pytest.raises(rushlight.RushlightError, match="unsupported operation"):
            session.call(case, *inputs)
            pytest.fail(f"PyTorch refuses\n{source}")
    else:
        torch.testing.assert_close(session.call(case, *inputs), answer, equal_nan=True, msg=lambda m: f"{m}\n{source}")


def test_rows_are_found():
    """Checks that the table is read correctly."""
    names = rows()
    assert {"aten::masked_scatter_", "aten::scatter_.src", "aten::add_.Tensor", "aten::copy_"} <= set(names)
