"""From what PyTorch has to a .rush file."""

import contextlib
import copy
import dataclasses
import itertools
import os
import re
import warnings

import torch
import torch.fx
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from . import _C, dynamic, exported, fast_path, fx, gradients, opened, returned
from . import inputs as inputs_
from .decomposition import decompositions
from .errors import RushlightError, unsupported


class Report:
    """What was exported, which way it came in, how large it is, and how it was verified. print() it.

    Attributes:
        path: of the file
        text: what print() shows
        way: "TorchScript", "traced", "torch.export", "FX graph, scripted" or why it was traced, "traced with gradients"
        ops: {operator: how many instructions use it}
        missing: the same of operators that the runtime lacks (with allow_missing)
        warnings: the tracer's, with their Python lines: branches and sizes that were baked in
        notes: in which way the file differs from the model in another mode
        inputs: of the first method, as text
        outputs: likewise
        state: attributes that the program writes
        file_bytes: size of the file
        weights_bytes: of the weights in it, without the test vectors
        test_vectors: how many the file holds
        verified: how many examples were run and compared with PyTorch
        not_verified: why none was
        tried: sizes other than the example's that were verified, because dynamic_shapes leave them open: larger by one, doubled, odd,
            1 and 2, or the smallest sizes that the constraints allow, and each name's alone. Sizes that PyTorch refuses are not among them
        max_abs: the greatest difference to PyTorch, of floating-point numbers
        max_rel: the same relative to PyTorch's, of numbers above a thousandth of the greatest of their tensor
        measured: how many tensors and numbers were compared with what the same program gives in float64, too; of the one
            that is furthest from that:
        pytorch: how far PyTorch's answer is from float64's: {"max": the greatest difference in units of the greatest
            element, "l2": the root of the sum of squares in units of that of the elements}
        rushlight: how far Rushlight's is from it
        difference: how far these two are from each other
        quantized: None without `quantize`; else {"bits": its word, "layers": how many layers have fewer bits, "kept": how many
            could have and have not, "before", "after": the bytes of the former's weights; and how far the answer is from PyTorch's, of
            the tensor that is furthest: "max": the greatest difference in units of the greatest element, "l2": as above,
            "cosine": of the angle between the two, each None with verify=False; "rows": None, or where values decide how many rows
            an answer has, as behind nms, how many there are: {"pytorch", "rushlight", "matched"}. Rows that belong together are
            compared then, boxes by their overlap, and what comes before such an operator}
        not_measured: why the program could not be run in float64, where that was wanted
        random: an operator that draws random numbers, with which answers change from call to call; "" where there is none
    """

    def __init__(self, fields):
        self.__dict__.update(fields)

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"<rushlight.Report of {self.path}: {self.file_bytes} bytes, verified on {self.verified}>"


def export(
    model,
    example_inputs=None,
    path=None,
    *,
    methods=("forward",),
    inputs=(),
    input_names=(),
    output_names=(),
    dynamic_shapes=None,
    tests=(),
    test_inputs=(),
    verify=True,
    test_vectors=True,
    train=False,
    source=True,
    trace=False,
    allow_missing=False,
    quantize="",
    calibration=None,
    dump_after="",
    rtol=-1.0,
    atol=-1.0,
):
    """Writes `model` to `path` as a .rush file, runs it natively and compares with PyTorch.

    TorchScript is frozen (torch/csrc/jit/passes/freeze_module.cpp), inlined and fused; what an operator means stays that
    of its ATen schema. Sizes stay dynamic where the program leaves them so. All tensors of the model are stored, on the
    CPU and in their dtypes: float16 to float64, bfloat16, int8 to int64, uint8, bool, complex.

    Args:
        model: an nn.Module (traced with example_inputs; of torch.compile's and DataParallel's the one inside), a ScriptModule,
            a function (traced), a ScriptFunction, a torch.fx.GraphModule (scripted, or traced where that is refused), an
            ExportedProgram, or the path of a file of torch.jit.save or torch.export.save
        example_inputs: a tuple of positional arguments (or one tensor), or a dict of them by name, as a tokenizer gives: to
            trace and to verify with. They are forward's, or where that is not exported the first method's
        path: of the file to write
        methods: the methods to export; other names than forward need a ScriptModule
        inputs: in place of examples: random inputs described as for the command line, "x=1x3x224x224:float32"
        input_names: of the first method, by place; by default the program's own
        output_names: likewise
        dynamic_shapes: {input: {dimension: name}}: constraints on sizes; the file stores them and each runtime enforces them:
            sizes of one name are equal, a Dim's are in its range, an int is the only one. Sizes that are not told may be
            any that the program takes; an ExportedProgram's are as it was exported. Also in the other forms of
            torch.export: ({0: Dim("n", max=8)}, None) by place, {"x": (Dim("n"), None)}; of tensors inside of a list or dict in
            its nesting, {"xs": [{0: "n"}, None]}: these are verified at other sizes, and callers not held to them
        tests: test vectors to store as they are: (args, expected), (args, expected, rtol, atol) or (args, expected, rtol,
            atol, method); expected None: PyTorch answers. What a model that draws random numbers is expected to give is
            PyTorch's answer after torch.manual_seed(1), and each replay has that seed
        test_inputs: more inputs to verify with, each in the form of example_inputs, which the file does not keep: real ones show
            what random ones do not, such as a detector's boxes
        verify: run the file natively and compare with PyTorch; where they differ there is no file
        test_vectors: store synthetic test vectors, for verify() in each runtime
        train: leave the training mode as it is; else the model is exported in evaluation mode
        source: store the Python lines (relative paths) and PyTorch's own texts of graph and code
        trace: store what each operator gives in PyTorch during the first test vector, for diff
        allow_missing: write the file although the runtime lacks operators of it, which are then the user's to supply
        quantize: fewer bits, for constant weights of 1024 elements and more. "int8": linear layers (linear, addmm, matmul)
            with weights of 8 bits, a scale for each output, and activations that are quantized row by row as they come (256
            steps between the row's least and greatest element and 0): smaller and faster. "int8-static", for convolutional
            networks: these, and linear layers as with "int8", with convolutions in 8 bits, too (of any size; weights symmetric,
            a scale for each output channel), sums, pools, channel-wise products and activations between them; a tensor's 256 steps
            lie where the squared error over the examples is least. Other operators stay as they are. "int4": linear layers
            with weights of 4 bits, in groups of 32 with a scale each, and activations that become 8 bits as they come, each
            group's with a scale of its own; "int4:64" and "int4:128" for other groups, each also with ":zero-points".
            "int8-weights", "int4-weights" (in groups as "int4"): weights alone, in memory too, while activations keep 16 bits,
            in pieces of at most 256 elements with a scale each. "float16": weights alone, in memory too, of convolutions
            in the file only; answers are those of the rounded weights in float32. All but "int8-static" hold embeddings so
            too: in 8 bits ("int8" those that are a layer's weight), "float16" in halves. The answers are then not PyTorch's, and the
            report says how far they are from it; test vectors expect what the file itself answers
        calibration: for "int8-static": examples of what the model will be given, each in the form of example_inputs; by
            default those. Some ten to a hundred that are typical make the ranges right
        dump_after: the name of a pass: print the graph after it
        rtol: how close the answers must be, as in torch.allclose. By default what the dtype deserves; an answer is then
            right also where it is as near as PyTorch's own to what the program gives in float64
            (wasm/include/rushlight/verdict.h has the rule)
        atol: likewise

    Returns:
        A Report.

    Raises:
        RushlightError: the model needs or holds what Rushlight does not have ('unsupported'; operators are listed, with
            their Python lines); the answers differ ('mismatch'; the message says where) or the program fails; a file
            that cannot be read
        ValueError: arguments that do not fit

    And what PyTorch raises. In each case there is no file.

    The report's warnings come as Python warnings, too; what tracing bakes in is a torch.jit.TracerWarning at the model's line.
    """
    if path is None:
        raise ValueError("export needs a path to write to")
    for name, words in {"methods": methods, "input_names": input_names, "output_names": output_names}.items():
        if isinstance(words, str):
            raise ValueError(f"{name} wants a list of names, [{words!r}], not a string")
    model = inputs_.unwrapped(model)
    example_inputs, by_name = inputs_.by_place(model, example_inputs)
    input_names = input_names or (by_name or ())[:len(example_inputs or ())]
    for value in pytree.tree_leaves([example_inputs, [test[:2] for test in tests]]):
        if type(value).__module__ == "numpy":
            raise ValueError(f"an example holds a numpy.{type(value).__name__}: give a tensor (torch.from_numpy) or a number of Python's")

    methods = tuple(methods)
    came = front(model, example_inputs, train, source, by_name)
    if came.program is not None:
        if methods != ("forward",):
            raise ValueError("an ExportedProgram has the one method forward")
        if example_inputs is None and not inputs:
            example_inputs = exported.example_of(came.program)

    if not isinstance(quantize or "", str):
        raise ValueError(f"quantize is a word, such as \"int8\", not {quantize!r}")
    if calibration is not None:
        calibration = _calibration_of(model, calibration, quantize)

    first = "forward" if "forward" in methods else methods[0]
    examples = [] if example_inputs is None else [_example(example_inputs, None, rtol, atol, first)]
    for args in _by_place(model, test_inputs, "test_inputs"):
        examples.append(_example(args, None, rtol, atol, first, only_compared=True))
    for test in tests:
        args, expected, *rest = test
        t_rtol, t_atol, method = (*rest, *(-1.0, -1.0, first)[len(rest):])
        examples.append(_example(args, expected, t_rtol, t_atol, method, store=True))
    settings = {
        "path": os.fspath(path),
        "methods": list(methods),
        "inputs": list(inputs),
        "input_names": list(input_names),
        "output_names": list(output_names),
        "dynamic": [*came.constraints(input_names),
                    *dynamic.constraints(dynamic_shapes or {}, came.input_names(input_names), example_inputs or ()).items()],
        "verify": verify,
        "tracer_warned": bool(came.seen),
        "test_vectors": test_vectors,
        "train": train,
        "source": source,
        "trace": trace,
        "allow_missing": allow_missing,
        "quantize": quantize or "",
        "calibration": calibration or [],
        "dump_after": dump_after,
        "lines": came.lines,
        "decompositions": decompositions(),
    }
    try:
        if came.program is not None:
            fields = _C.export_graph(came.target, settings, examples, came.reference, came.graph,
                                     came.tracer if trace else None)
        else:
            fields = _C.export_model(came.target, settings, examples, came.reference)
    except RushlightError as error:
        text = _explained(str(error), came)
        if text is None:
            raise
        raise RushlightError(error.code, text, error.op, error.source) from error
    for text in fields["warnings"]:
        warnings.warn(text, stacklevel=2)
    fields["way"] = came.way
    fields["warnings"] += came.seen
    fields["notes"] = came.notes + _mode_notes(model, train)
    fields["text"] += f"  came as   {came.way}\n"
    fields["text"] += "".join(f"  note      {text}\n" for text in fields["notes"])
    fields["text"] += "".join(f"  warning   {text}\n" for text in _by_message(came.seen))
    return Report(fields)


_OTHER_SIZES = "at sizes other than the example's"

# Added to the message about a constraint on a size that does not hold.
_CONSTRAINT = ("if such sizes never occur, give a range (Dim(name, min=..., max=...)); a size that dynamic_shapes leave out stays as "
            "open as the program leaves it, and is neither tried nor checked")

_INT = ("int(...) makes a number of a size, which stays the example's: write sizes with whole numbers alone, h // 14 * 14 in place of "
        "int(h / 14) * 14, and without int() around them")


def _explained(text, came):
    """A refusal with what tracing has fixed; None where it has nothing to do with it."""
    fixed = {"sizes": _OTHER_SIZES, "values": "tracing fixed numbers that depend on"}
    kept = next((what for what, words in fixed.items() if words in text), None)
    if kept is None:
        return None
    if came.way == "traced":
        baked = _by_message(came.seen) or ["(it warned of none: they are in the model's own Python numbers)"]
        text += "\n".join([f"\ntracing keeps what it saw of the example's {kept}:", *(f"  {line}" for line in baked)])
        if kept == "sizes" and any("to a Python integer" in line for line in came.seen):
            text += f"\n{_INT}"
    return f"{text}\n{_CONSTRAINT}" if kept == "sizes" else text


def _by_message(seen):
    """Warnings with their lines, each message once."""
    places = {}
    for text in seen:
        found = re.match(r"(\S+:\d+): (.*)", text, re.S)
        place, message = found.groups() if found else ("", text)
        places.setdefault(message, []).append(place)
    return [f"{', '.join(lines)}: {message}" if lines[0] else message for message, lines in places.items()]


def _mode_notes(model, train):
    if train or not getattr(model, "training", False) or isinstance(model, torch.export.ExportedProgram):
        return []
    return ["the model is in training mode; the file has evaluation mode, in which answers may differ (train=True keeps the mode)"]


def _by_place(model, given, what):
    """Several examples by place. Raises ValueError, with the place of the one that is wrong."""
    if isinstance(given, torch.Tensor):
        raise ValueError(f"{what} is a list of examples, and got one tensor: give [tensor], or list(tensor.split(1))")
    examples = []
    for one in given:
        where = f"{what}[{len(examples)}]"
        if one is None:
            raise ValueError(f"{where} is None: give what the model is called with")
        for value in pytree.tree_leaves(one):
            if type(value).__module__ == "numpy":
                raise ValueError(f"{where} holds a numpy.{type(value).__name__}: give a tensor (torch.from_numpy)")
        examples.append(inputs_.by_place(model, one, where)[0])
    return examples


def _calibration_of(model, calibration, quantize):
    """The examples by place. Raises ValueError, with the place of the one that is wrong."""
    if quantize != "int8-static":
        raise ValueError('calibration is for quantize="int8-static": no other way of fewer bits looks at examples')
    examples = _by_place(model, calibration, "calibration")
    if not examples:
        raise ValueError("calibration is empty: give examples, or leave it out, and example_inputs calibrate the model")
    return examples


@dataclasses.dataclass
class Front:
    """What the exporter takes, and how a model became that."""

    target: object  # TorchScript, the path of its file, or a description of an ExportedProgram
    way: str = "TorchScript"
    reference: object = None  # answers as PyTorch does; None: the target does
    seen: list = dataclasses.field(default_factory=list)  # the tracer's warnings
    notes: list = dataclasses.field(default_factory=list)  # in which way it differs from the model in another mode
    lines: dict = dataclasses.field(default_factory=dict)  # as fx.lines_of
    program: object = None  # the ExportedProgram
    graph: object = None  # what its graph answers, of an ExportedProgram, for given arguments, in float64 where asked for
    tracer: object = None  # likewise what its nodes give

    def input_names(self, given=()):
        """Of forward, where `given` has no others; no more than those where only the file knows them."""
        names = []
        if self.program is not None:
            names = [port["name"] for port in self.target["inputs"]]
        elif isinstance(self.target, torch.jit.ScriptFunction):
            names = [a.name for a in self.target.schema.arguments]
        elif isinstance(self.target, torch.jit.ScriptModule) and hasattr(getattr(self.target, "forward", None), "schema"):
            names = [a.name for a in self.target.forward.schema.arguments[1:]]
        names = _C.unique_names(names)
        return [*(mine or own for mine, own in itertools.zip_longest(given, names[: len(given)])), *names[len(given):]]

    def constraints(self, given=()):
        """[(input, the constraints that an ExportedProgram has on its sizes), ...]"""
        ports = self.target["inputs"] if self.program is not None else []
        return [(name, port.get("constraints", [])) for name, port in zip(self.input_names(given), ports)]


def front(model, example_inputs, train=False, source=True, by_name=None):
    """Brings whatever PyTorch has into a form that the exporter takes; see export(). `by_name`: as of inputs.by_place."""
    target = model
    if isinstance(model, (str, os.PathLike)):
        target = os.fspath(model)
        if exported.is_program_file(target):
            model = torch.export.load(target)
    _refuse_meta(model, example_inputs)
    if isinstance(model, torch.export.ExportedProgram):
        described = exported.describe_program(model, source)
        return Front(described, "torch.export", exported.reference_of(model), notes=described["notes"], program=model,
                     graph=lambda args, exact: exported.answer(model, exported.inputs_of(model, args), exact),
                     tracer=lambda args, exact: exported.trace(model, exported.inputs_of(model, args), exact))
    prepared = ["the model is prepared for quantization and not converted: its observers run and keep what they see; "
                "export the model as it was before"] * any(map(_is_observer, _modules_of(model)))
    for text in prepared:
        warnings.warn(text, stacklevel=3)
    if isinstance(model, torch.fx.GraphModule):
        eager = _eager(model, train)
        target, way, seen, lines = fx.scripted_or_traced(
            model, example_inputs, lambda m: _traced(m, tuple(example_inputs), train)[:2])
        return Front(target, way, eager, prepared + seen, lines=lines)
    if isinstance(target, str) or isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        return Front(target)
    if isinstance(model, type):
        raise TypeError(f"{model.__name__} is a class: give a model of it, {model.__name__}(...)")
    if not callable(model):
        weights = isinstance(model, dict) and any(isinstance(value, torch.Tensor) for value in model.values())
        raise TypeError(f"{type(model).__name__} is nothing that can be exported"
                        + (": weights belong to a model, which load_state_dict() gives them" if weights else ""))
    if example_inputs is None:
        raise ValueError("example_inputs are needed to trace this model")
    eager = _eager(model, train, by_name)
    try:
        with gradients.refused():
            target, seen, notes = _traced(model, tuple(example_inputs), train, by_name, eager)
        return Front(target, "traced", eager, prepared + seen, notes)
    except Exception as error:  # what the model raises, too
        if not gradients.is_in_the_way(error):
            raise
    return _with_gradients(model, example_inputs, train, by_name, eager, prepared)


def _with_gradients(model, example_inputs, train, by_name, eager, prepared):
    fresh = _copy(model)
    try:
        with opened.compiled_opened(fresh), opened.data_opened(), opened.attention_opened(), opened.autocast_refused(), \
                fast_path.opened(fresh) as zeros, _mode(fresh, train):
            graph, notes = gradients.graph_of(fresh, tuple(example_inputs), by_name)
    except RushlightError:
        raise
    except Exception as error:  # make_fx's refusals are of many types
        refusal = error
    else:
        for text in notes:
            warnings.warn(text, torch.jit.TracerWarning, stacklevel=4)
        target, _, seen, lines = fx.scripted_or_traced(graph, example_inputs, lambda m: _traced(m, tuple(example_inputs), train)[:2])
        return Front(target, "traced with gradients", eager, prepared + notes + seen, zeros, lines)
    try:
        target, seen, notes = _traced(model, tuple(example_inputs), train, by_name, eager)
        return Front(target, "traced", eager, prepared + seen, notes)
    except RuntimeError as error:
        if isinstance(error, RushlightError) or not gradients.is_in_the_way(error):
            raise
        whys = [str(e).strip().partition("\n")[0] or type(e).__name__ for e in (error, refusal)]
        raise unsupported(f"the model takes gradients in forward, or uses torch.func, and neither torch.jit.trace ({whys[0]}) nor make_fx "
                          f"({whys[1]}) can follow it: where numbers decide how it goes on, or it writes its own tensors, have forward "
                          "do without, or compute the gradient in operators of its own") from refusal


def _refuse_meta(model, example_inputs):
    if isinstance(model, torch.export.ExportedProgram):
        tensors = itertools.chain(model.state_dict.items(), model.constants.items())
    else:
        is_module = isinstance(model, torch.nn.Module)
        tensors = itertools.chain(model.named_parameters(), model.named_buffers()) if is_module else ()
    for name, t in tensors:
        if isinstance(t, torch._subclasses.FakeTensor):
            raise RushlightError("bad-argument", f"torch.export kept no values of {name}, a tensor that the model makes and then writes "
                                 "past its sight (.data): export the model itself, or have it write the tensor")
        if isinstance(t, torch.Tensor) and t.is_meta:
            raise RushlightError("bad-argument", f"{name} is on the meta device, where it has no values: load the weights first")
    for t in pytree.tree_leaves(example_inputs):
        if isinstance(t, torch.Tensor) and t.is_meta:
            raise ValueError("an example is on the meta device, where it has no values: give tensors on the CPU")


def _modules_of(model):
    return model.modules() if isinstance(model, torch.nn.Module) else ()


def _is_observer(module):
    return any(c.__name__ in ("ObserverBase", "FakeQuantizeBase") and c.__module__.startswith("torch.ao.quantization")
               for c in type(module).__mro__)


def _example(args, expected, rtol, atol, method, store=False, only_compared=False):
    out = {"method": method, "args": tuple(args), "rtol": rtol, "atol": atol, "store": store, "only_compared": only_compared}
    if expected is not None:
        out["expected"] = expected
    return out


@contextlib.contextmanager
def _mode(model, train, fused=False):
    """Evaluation mode for a while, without gradients; where not `fused`, without fused attention, which has no operators of its
    own."""
    modules = list(model.modules()) if isinstance(model, torch.nn.Module) and not train else []
    before = [m.training for m in modules]
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(fast and fused)
    try:
        for m in modules:
            m.training = False
        with torch.no_grad():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        for m, mode in zip(modules, before):
            m.training = mode


@dataclasses.dataclass
class _Held:
    """A parameter or buffer, as it is before tracing."""

    owner: dict
    name: str
    path: str
    tensor: torch.Tensor
    data: torch.Tensor
    value: torch.Tensor

    def has_other_data(self):
        now, before = self.tensor, self.data
        return now.layout == torch.strided and (now.data_ptr(), now.shape, now.dtype) != (before.data_ptr(), before.shape, before.dtype)

    def put_back(self):
        self.owner[self.name] = self.tensor
        if self.has_other_data():
            self.tensor.data = self.data
        self.data.copy_(self.value)


@contextlib.contextmanager
def _state_kept(model):
    """Tracing runs the model, which may write its parameters and buffers: afterwards they are as they were. Gives a list
    of those that the model set anew, which a trace does not show, and a dict of those whose data it set: {path: data}."""
    modules = list(model.named_modules()) if isinstance(model, torch.nn.Module) else []
    hooks = [(owner, dict(owner)) for _, m in modules for name, owner in vars(m).items()
             if name in ("_forward_hooks", "_forward_pre_hooks")]
    held = [_Held(owner, name, f"{path}.{name}".lstrip("."), t, t.data, t.detach().clone()) for path, m in modules
            for owner in (m._parameters, m._buffers) for name, t in owner.items()
            if t is not None and not is_traceable_wrapper_subclass(t)]  # of others, whose own it is to copy
    set_anew, new_data = [], {}
    try:
        yield set_anew, new_data
        for h in held:
            if h.name not in h.owner or h.owner[h.name] is not h.tensor:
                set_anew.append(h.path)
            elif h.has_other_data():
                new_data[h.path] = h.tensor.data
    finally:
        for h in held:
            h.put_back()
        for owner, before in hooks:  # those of a forward that did not come to its end
            owner.clear()
            owner.update(before)


def _with_data(traced, new_data):
    """Has a traced module hold what the model gave its parameters: the trace shares them with the model."""
    for path, data in new_data.items():
        owner, _, name = path.rpartition(".")
        traced.get_submodule(owner)._c.setattr(name, data.clone())


# What PyTorch's tracer refuses with these words goes under these modes, which see every call and so come second.
_MODES = {"We don't have an op for": opened.bools_opened,
          "to be a single integer value or a list of": opened.lengths_opened,
          "should contain one int (got 0)": opened.lengths_opened,
          "must either be a single int": opened.lengths_opened,
          "Cannot insert a Tensor that requires grad as a constant": opened.constants_opened,
          "calls a function that torch.compile made": opened.compiled_functions_opened,
          "must be bool, not Tensor": opened.comparisons_opened}


def _traced(model, example_inputs, train, by_name=None, eager=None):
    """A ScriptModule or ScriptFunction, the tracer's warnings as text, and in which way the trace differs from the model in another
    mode. The warnings are issued again, each once. `eager` answers as
    the model does, whose numbers are then numbers in the trace."""
    lengths = opened.len_opened()
    modes, as_numbers = [lambda: lengths], False
    while True:
        try:
            return _traced_with(modes, model, example_inputs, train, by_name, eager)
        except Exception as error:  # what the model raises, too
            more = [mode for words, mode in _MODES.items() if words in str(error) and mode not in modes]
            if not more and (as_numbers or not lengths.asked):
                raise
            if not more:
                del modes[0]
                as_numbers = True
            modes += more


def _traced_with(modes, model, example_inputs, train, by_name, eager):
    with warnings.catch_warnings(record=True) as caught, opened.compiled_opened(model), fast_path.opened(model) as notes, \
            _mode(model, train), _state_kept(model) as (set_anew, new_data):
        warnings.simplefilter("always")
        given = copy.deepcopy(tuple(example_inputs))  # the model may write them
        try:
            with opened.functions_opened(), opened.data_opened(), opened.attention_opened(), opened.masks_opened(), \
                    opened.autocast_refused(), opened.modules_opened(model), opened.gradients_opened(), opened.numbers_opened(), \
                    contextlib.ExitStack() as stack:
                for mode in modes:
                    stack.enter_context(mode())
                traced = _jit_traced(model, given, by_name, eager)
        except RuntimeError as error:
            refusal = inputs_.refusal_of(error, given)
            if refusal is None:
                raise
            raise refusal from error
    _with_data(traced, new_data)
    seen = [f"tracing does not see that the model sets '{name}' anew: write into it (copy_), or script the model"
            for name in set_anew]
    seen += [f"tracing does not see that the model sets the data of '{name}': the file keeps what the example gave it" for name in new_data]
    for text in seen:
        warnings.warn(text, torch.jit.TracerWarning, stacklevel=4)
    for w in caught:
        # It checks its own arguments, that is not baked in; under a mode the frame is the mode's.
        inside_torch = "-packages/torch/" in w.filename or w.filename == opened.__file__
        if issubclass(w.category, torch.jit.TracerWarning) and not inside_torch:
            text = f"{_C.stored_path(w.filename)}:{w.lineno}: {str(w.message).splitlines()[0]}"
            if text not in seen:
                seen.append(text)
                warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    return traced, seen, list(dict.fromkeys(notes))


def _jit_traced(model, given, by_name, eager):
    before = copy.deepcopy(given)

    def answer():
        return eager("forward", copy.deepcopy(before)) if eager else None

    if by_name and not inputs_.have_places(model, by_name, given):
        try:
            return returned.traced(model, before, by_name, answer())
        except returned.NoType as error:
            raise inputs_.no_type(error) from error
    try:
        if by_name and isinstance(model, torch.nn.Module):
            traced = torch.jit.trace(model, example_kwarg_inputs=dict(zip(by_name, given)), check_trace=False, strict=False)
        else:
            function = (lambda *args: inputs_.call(model, "forward", args, by_name)) if by_name else model
            traced = torch.jit.trace(function, given, check_trace=False, strict=False)
        if not returned.has_numbers(traced, answer):
            return traced
    except RuntimeError as error:
        if not any(words in str(error) for words in inputs_.OF_RESULT):
            raise
        try:
            return returned.traced(model, before, by_name, answer())
        except returned.NoType:
            raise error from None
    try:
        return returned.traced(model, before, by_name, answer())
    except returned.NoType:
        return traced


def _copy(model, shared=()):
    """The model in its first state, but for what cannot be copied (a Python module, a lock) and the tensors that are shared,
    which both have."""
    if not isinstance(model, torch.nn.Module):
        return model
    memo = {id(t): t for t in shared}
    try:
        return copy.deepcopy(model, dict(memo))
    except Exception:  # what __deepcopy__ and __reduce__ raise is of many types
        memo |= {id(value): value for m in model.modules() for name, value in vars(m).items()
                 if name not in ("_modules", "_parameters", "_buffers") and not _can_be_copied(value)}
    try:
        return copy.deepcopy(model, memo)
    except RuntimeError:  # computed weights
        return model


def _can_be_copied(value):
    try:
        copy.deepcopy(value)
    except Exception:
        return False
    return True


def _eager(model, train, by_name=None):
    """Answers as the model does that is given, whatever of its Python attributes a trace then sets anew."""
    weights = itertools.chain(model.parameters(), model.buffers()) if isinstance(model, torch.nn.Module) else ()
    with opened.compiled_opened(model):
        first = _copy(model, weights)

    def answer(method, args):
        fresh = _copy(first)
        with opened.compiled_opened(fresh), _mode(fresh, train, fused=True):
            return returned.plain(inputs_.call(fresh, method, args, by_name))

    return answer
