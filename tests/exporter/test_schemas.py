"""The texts of all of torch's schemas, as the exporter parses them."""

import re

import torch
from rushlight.base import native

ALL = torch._C._jit_get_all_schemas()


def alias_of(info):
    return info and {"write": info.is_write, "before": {s.rpartition("::")[2] for s in info.before_set},
                     "after": {s.rpartition("::")[2] for s in info.after_set}}


def check(argument, parsed, text):
    assert parsed["name"] == argument.name, text
    assert ("initial" in parsed) == argument.has_default_value(), text
    assert parsed["keyword_only"] == argument.kwarg_only and parsed["out"] == argument.is_out, text
    assert parsed.get("repeat") == argument.N, text
    if argument.has_default_value() and isinstance(argument.default_value, (bool, int, float, type(None))):
        assert float(eval(parsed["initial"], {"nan": 0.0, "inf": float("inf")}) or 0) == float(argument.default_value or 0), text
    alias = alias_of(argument.alias_info)
    if alias and (alias["before"] or alias["after"]):  # those of items are merged
        assert parsed["alias"]["write"] == alias["write"] and set(parsed["alias"]["before"]) == alias["before"], text
        assert set(parsed["alias"]["after"]) == alias["after"], text


def test_every_schema_of_torch_is_parsed():
    for schema in ALL:
        text = str(schema)
        parsed = native.call("parse_schema", text=text)
        assert parsed["name"] == schema.name and parsed["variadic"] == ("..." in text), text
        for given, arguments in (schema.arguments, parsed["arguments"]), (schema.returns, parsed["returns"]):
            assert len(given) == len(arguments), text
            for argument, one in zip(given, arguments):
                check(argument, one, text)
    assert len(ALL) > 3000


def test_types_of_schemas():
    def types(text):
        return [a["type"] for a in native.call("parse_schema", text=f"a::b({text}) -> ()")["arguments"]]

    assert types("Tensor(a!)[] x, int[2]? n=None, *, Scalar s=1, MemoryFormat? f=None, t[] v, (int, Tensor) p, Future(int) q") == [
        "Tensor[]", "int[]?", "Scalar", "int?", "Any[]", "(int, Tensor)", "int"]
    assert types("Dict(str, Tensor(a)) d, __torch__.torch.classes.quantized.Packed w, float[] x=[1., 0.5]") == [
        "Dict(str, Tensor)", "Object(__torch__.torch.classes.quantized.Packed)", "float[]"]


def test_defaults_of_lists():
    (stride, mode, mask) = native.call("parse_schema", text='a::b(int[2] stride=1, str m="a\\"b", bool[2] k=[True, False]) -> ()')["arguments"]
    assert (stride["initial"], stride["repeat"], mode["initial"], mask["initial"]) == ("[1, 1]", 2, '"a\\"b"', "[True, False]")


def test_a_wrong_text_is_refused_with_the_place():
    try:
        native.call("parse_schema", text="a::b(Tensor x")
    except ValueError as e:
        assert re.search(r"a schema must have ',' at", str(e))
    else:
        raise AssertionError
