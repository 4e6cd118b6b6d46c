"""OPERATORS.md: the implementation that it names for each operator is the one that the exporter and the runtime use."""

import pathlib
import sys

import pytest
import torch

import rushlight

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "tests/opinfo"))
import page  # noqa: E402


def test_the_page_names_the_files_that_the_sources_have():
    text = page.PAGE.read_text()
    assert text == page.renewed(text), "./dev test opinfo -- --tables renews the page"


def test_an_operator_without_an_implementation_is_missing():
    assert page.made_of("aten::_foreach_add.Tensor", page.tables()) == page.MISSING
    assert not list(page.becomes("aten::multinomial.out"))  # the exporter does not split random operators


# Calls of overloads that the exporter splits or drops, and the file of the function that then runs.
SPLIT = {
    "out": ("aten::all.dims_out", "reduce/sum.c", lambda x, out: torch.all(x, (0, 1), out=out[0, 0].bool())),
    "two results": ("aten::kthvalue.values", "sort/sort.c", lambda x, out: torch.kthvalue(x, 1, out=(out, out.long()))[0]),
    "in place": ("aten::float_power_.Tensor", "elementwise/arithmetic.c", lambda x, out: x.double().float_power_(x)),
    "in place by its row": ("aten::div_.Tensor_mode", "elementwise/arithmetic.c", lambda x, out: (x + 1).div_(x, rounding_mode="floor")),
    "copy of a view": ("aten::unfold_copy", "view/dims.c", lambda x, out: torch.unfold_copy(x, 0, 2, 1)),
    "copy of a view, out": ("aten::t_copy.out", "view/dims.c", lambda x, out: torch.t_copy(x, out=out)),
    "dropped": ("aten::detach", "", lambda x, out: x.detach() + 1),
}


@pytest.mark.parametrize("overload, file, call", SPLIT.values(), ids=SPLIT)
def test_the_page_names_what_the_exporter_makes(tmp_path, overload, file, call):
    examples = torch.arange(1.0, 10).reshape(3, 3), torch.zeros(3, 3)
    traced = torch.jit.trace(call, examples, check_trace=False)
    assert overload in {node.schema().partition("(")[0] for node in traced.graph.nodes()}
    kind, named = page.made_of(overload, page.tables())
    assert (kind, named) == ("C" if file else "dropped", file)
    report = rushlight.export(traced, examples, tmp_path / "m.rush")
    once = [overload, *page.becomes(overload)]
    known = {*once, *(op for other in once for op in page.becomes(other))}
    assert bool(known & set(report.ops)) == bool(file)  # what runs is one of the operators that the page looks up
