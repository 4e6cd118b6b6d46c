"""Exports the cases of one entry and dtype, many in one file, and replays them natively."""

import copy
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance")]
import cases  # noqa: E402, I001 - reference, before torch
import torch  # noqa: E402
import rushlight  # noqa: E402
from generate import TOLERANCES, dtypes_in  # noqa: E402

AT_ONCE = 200  # vectors in a file
GIVE_UP = 30  # consecutive failures after which the remaining cases count as failed


def tolerance(case):
    dtypes = dtypes_in((case.args, case.expected))
    return next((pair for dtype, pair in TOLERANCES.items() if dtype in dtypes), (1e-7, 1e-9))


def reason(error):
    words = " | ".join(s.strip() for s in str(error).splitlines() if s.strip())
    return words[:300] or type(error).__name__


def seeded_trace(trace):
    with torch.no_grad(), torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(cases.SEED)
        return trace()


def traced_right(program, case):
    """Returns whether PyTorch's trace gives PyTorch's answer. A trace may omit a write, or make a size constant."""
    with torch.no_grad():
        torch.manual_seed(cases.SEED)
        result = cases.flat(program(*copy.deepcopy(case.args)))
    return all(a.shape == b.shape and torch.allclose(a, b, equal_nan=True) if a.dtype == b.dtype else False
               for a, b in zip(cases.tensors_of(result), cases.tensors_of(case.expected)))


class Programs:
    """A ScriptModule with a method for each program. Cases with the same graph share a method, with other sizes and values."""

    def __init__(self):
        self.module = torch.jit.trace(torch.nn.Identity(), torch.zeros(1))
        self.by_graph, self.count = {}, 0

    def method_of(self, case):
        """Returns the name of the case's method. Raises PyTorch's error if it cannot trace the case."""
        how = (case.function, copy.deepcopy(case.args), lambda _: "", False, False)  # not strict, and in-place operators are kept
        names = [f"a{i}" for i in range(len(case.args))]
        graph, _ = seeded_trace(lambda: torch._C._create_graph_by_tracing(*how, None, names))
        torch._C._jit_pass_erase_shape_information(graph)
        text = graph.str(False)
        if text in self.by_graph:
            return self.by_graph[text]
        name, self.count = f"m{self.count}", self.count + 1
        seeded_trace(lambda: self.module._c._create_method_from_trace(name, *how, names, False))
        if "<Tensor>" not in text:
            self.by_graph[text] = name
        return name

    def graph_of(self, method):
        return self.module._c._get_method(method).graph


def overloads_of(graph):
    """Returns the operators that PyTorch's graph calls."""
    for node in graph.nodes():
        if node.kind().startswith("aten::"):
            yield node.schema().split("(")[0]


class Replay:
    """The outcomes of the cases."""

    def __init__(self, folder, stem):
        self.folder, self.stem, self.files = folder, stem, 0
        self.failed = []  # (case, why)
        self.passed = []  # (case, file, vector)
        self.overloads, self.ops = {}, {}

    def of(self, found, refused, alone):
        """Replays cases. `alone` names cases that get their own file. None stands for all cases, which share files if possible."""
        self.refused = refused
        if alone is not None:
            self.each([case for case in found if case.what in alone])
            return
        programs, groups = Programs(), {}
        for case in found:
            try:
                method = groups_of(groups, case.shared) if case.shared else None
                method = method or (None if case.script else programs.method_of(case))
            except Exception as error:
                why = "PyTorch cannot trace it: " + reason(error)[:80]
                refused[why] = refused.get(why, 0) + 1
                continue
            groups.setdefault(method, []).append(case)
        alone = groups.pop(None, [])
        for method in groups:
            self.overloads.update(dict.fromkeys(overloads_of(programs.graph_of(method))))
        for chunk in chunks(groups):
            try:
                alone += self.replay(programs.module, chunk)
            except Exception:  # one of the programs failed, so each gets its own file
                alone += self.one_by_one(programs.module, chunk)
        self.each(alone)

    def each(self, alone):
        in_a_row = 0
        for case in alone:
            if in_a_row >= GIVE_UP:
                self.failed.append((case, self.failed[-1][1]))
                continue
            why = self.by_itself(case)
            in_a_row = in_a_row + 1 if why else 0
            if why:
                self.failed.append((case, why))

    def one_by_one(self, module, chunk):
        alone, in_a_row, last = [], 0, ""
        for method, members in chunk.items():
            try:
                if in_a_row >= GIVE_UP:
                    raise RuntimeError(last)
                alone += self.replay(module, {method: members})
                in_a_row = 0
            except Exception as error:
                last, in_a_row = reason(error), in_a_row + 1
                self.failed += [(case, last) for case in members]
        return alone

    def replay(self, module, chunk):
        """Returns the cases that differ. Raises if the programs cannot be exported, or the file is refused."""
        members = [(case, method) for method, group in chunk.items() for case in group]
        path = self.export(module, [(case.args, case.expected, *tolerance(case), method) for case, method in members], tuple(chunk))
        return [case for case, why in self.run(path, [case for case, _ in members]) if why]

    def by_itself(self, case):
        """Returns why the case fails, or None. It is traced from its own arguments, and float64 decides which answers are as
    accurate as PyTorch's."""
        try:
            program = case.script or seeded_trace(lambda: torch.jit.trace(case.function, copy.deepcopy(case.args), check_trace=False, strict=False))
            self.overloads.update(dict.fromkeys(overloads_of(program.graph)))
            path = self.export(program, [(case.args, case.expected)], ("forward",))
            (_, why), = self.run(path, [case])
            if why and not case.script and not traced_right(program, case):
                self.refused["PyTorch's trace gives another answer"] = self.refused.get("PyTorch's trace gives another answer", 0) + 1
                return None
        except Exception as error:
            why = reason(error)
        if why and not case.only_shapes and not case.script and case.is_random():
            return self.by_itself(case.shapes_only())
        return why

    def export(self, model, tests, methods):
        path = self.folder / f"{self.stem}-{self.files}.rush"
        self.files += 1
        report = rushlight.export(model, path=path, tests=tests, methods=methods, verify=False, source=False)
        self.ops.update(report.ops)
        return path

    def run(self, path, group):
        """Returns [(case, why it fails, or None)]."""
        session, out = rushlight.load(str(path)), []
        for i, case in enumerate(group):
            why = None
            try:
                session.reset()
                session._call("verify", test=i)
                self.passed.append((case, str(path), i))
            except Exception as error:
                why = reason(error)
            out.append((case, why))
        return out


def groups_of(groups, case):
    return next((method for method, members in groups.items() if any(m is case for m in members)), None)


def chunks(groups):
    """Splits {method: cases} into parts with about AT_ONCE cases."""
    part = {}
    for method, members in groups.items():
        part[method] = members
        if sum(map(len, part.values())) >= AT_ONCE:
            yield part
            part = {}
    if part:
        yield part


def run_entry(name, dtype, folder, alone=None):
    """Returns the result of an entry and dtype as plain data, for all cases or those named in `alone`."""
    op = cases.entries()[name]
    found, refused = cases.cases_of(op, dtype)
    replay = Replay(folder, f"{name}-{dtype}".replace("/", "_"))
    replay.of(found, refused, alone)
    return {
        "entry": name, "dtype": dtype, "passed": len(replay.passed), "failed": len(replay.failed), "refused": refused,
        "whys": [[case.what, why] for case, why in replay.failed[:5]],
        "vectors": [[path, i, case.what] for case, path, i in replay.passed],
        "overloads": list(replay.overloads), "ops": list(replay.ops),
    }
