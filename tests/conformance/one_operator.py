"""Makes programs with one operator, called by its own name. This can be an alias, which TorchScript replaces by the aliased
operator, or an overload that it would not select.

    row("absolute", "aten::absolute(x)", x=f32(5))
    row("get_or", "aten::get.default_str(d, 'k', 1)", d={"a": 2})

Arguments are names of inputs or constants. Keywords are those of the schema, and omitted arguments have their defaults.
"""
import ast
import re
import typing

import torch

CALL = re.compile(r"^(\w+::\w+(?:\.\w+)?)\((.*)\)$", re.S)


def is_call(body):
    return CALL.match(body.strip()) is not None


def schema_of(name):
    """Returns PyTorch's schema of "aten::add.Tensor"."""
    operator, _, overload = name.partition(".")
    return torch._C._get_schema(operator, overload)


def has_schema(name):
    try:
        return bool(schema_of(name))
    except RuntimeError:
        return False


class Name(str):
    """The name of an input, which replaces a constant."""


def parse(body):
    """Parses a row's body to ("aten::add.Tensor", arguments, {keyword: argument})."""
    name, text = CALL.match(body.strip()).groups()
    call = ast.parse(f"f({text})", mode="eval").body

    def value(node):
        if isinstance(node, ast.Name):
            return Name(node.id)
        return eval(compile(ast.Expression(node), "row", "eval"), {"torch": torch})  # noqa: S307 - our own rows

    return name, [value(a) for a in call.args], {k.arg: value(k.value) for k in call.keywords}


# ---- Types ---------------------------------------------------------------------------------------

def type_from(text):
    """Returns the JIT's type for text such as "List[int]"."""
    return torch.jit.annotations.ann_to_type(eval(text, {**vars(typing), "Tensor": torch.Tensor}), None)  # noqa: S307


def bind(type_, value, type_of, found):
    """Records in `found` the types that the variables of a schema's type (t, tVal) have for this value."""
    kind = type_.kind()
    if kind == "VarType":
        found.setdefault(str(type_), type_from(type_of(value)))
    elif kind == "OptionalType" and value is not None:
        bind(type_.getElementType(), value, type_of, found)
    elif kind == "ListType" and value:
        bind(type_.getElementType(), value[0], type_of, found)
    elif kind == "TupleType":
        for item, v in zip(type_.elements(), value):
            bind(item, v, type_of, found)
    elif kind == "DictType" and value:
        for item, v in zip((type_.getKeyType(), type_.getValueType()), next(iter(value.items()))):
            bind(item, v, type_of, found)


def concrete(type_, found):
    """Returns the type with its variables replaced."""
    kind = type_.kind()
    if kind == "VarType":
        return found[str(type_)]
    if kind == "OptionalType":
        return torch._C.OptionalType(concrete(type_.getElementType(), found))
    if kind == "ListType":
        return torch._C.ListType(concrete(type_.getElementType(), found))
    if kind == "TupleType":
        return torch._C.TupleType([concrete(t, found) for t in type_.elements()])
    if kind == "DictType":
        return torch._C.DictType(concrete(type_.getKeyType(), found), concrete(type_.getValueType(), found))
    return type_


# ---- Graphs --------------------------------------------------------------------------------------

def constant(graph, type_, value):
    while type_.kind() == "OptionalType":
        type_ = type_.getElementType()
    if type_.kind() == "FloatType" and isinstance(value, int):
        value = float(value)
    return graph.insertConstant(value)


def arguments_of(schema, given, keywords):
    """Returns [(argument of the schema, Name or constant)] in the order of the schema."""
    known = {a.name for a in schema.arguments}
    assert len(given) <= len(schema.arguments) and keywords.keys() <= known, f"{schema} has no such arguments"
    values = {a.name: v for a, v in zip(schema.arguments, given)} | keywords
    return [(a, values[a.name] if a.name in values else a.default_value) for a in schema.arguments]


def results_of(graph, node, also, shapes_only):
    """Returns one value with the results and the values in `also`."""
    outputs = [shape_of(graph, v) if shapes_only and str(v.type()) == "Tensor" else v for v in [*node.outputs(), *also]]
    if not outputs:
        return graph.insertConstant(None)
    if len(outputs) == 1:
        return outputs[0]
    made = graph.create("prim::TupleConstruct", outputs, 1)
    graph.appendNode(made)
    made.output().setType(torch._C.TupleType([v.type() for v in outputs]))
    return made.output()


def shape_of(graph, value):
    """Returns zeros with the shape of the value."""
    node = graph.create("aten::zeros_like", [value, *(graph.insertConstant(None) for _ in range(5))], 1)
    graph.appendNode(node)
    return node.output()


def function_of(name, arguments, types, variables, mutates=False, shapes_only=False):
    """Returns a ScriptFunction that only calls the operator. Raises if PyTorch selects another overload for these types.

    arguments: [(argument of the schema, Name of an input or constant)]; types: {input: type}; mutates: the inputs are also results."""
    schema = schema_of(name)
    graph, values = torch._C.Graph(), {}
    for key, type_ in types.items():
        values[key] = graph.addInput(key)
        values[key].setType(type_)
    operands = [values[v] if isinstance(v, Name) else constant(graph, a.type, v) for a, v in arguments]
    node = graph.create(name.partition(".")[0], operands, len(schema.returns))
    graph.appendNode(node)
    for value, result in zip(node.outputs(), schema.returns):
        value.setType(concrete(result.type, variables))
    graph.registerOutput(results_of(graph, node, list(values.values()) if mutates else [], shapes_only))
    if node.schema().split("(")[0] != name:
        raise ValueError(f"PyTorch takes it for {node.schema()}")
    return torch._C._create_function_from_graph("forward", graph)


def function_of_row(body, inputs, type_of, mutates):
    """Returns the function for a row's body and the values of its inputs."""
    name, given, keywords = parse(body)
    arguments, variables = arguments_of(schema_of(name), given, keywords), {}
    for argument, value in arguments:
        bind(argument.type, inputs[value] if isinstance(value, Name) else value, type_of, variables)
    taken = {v: concrete(a.type, variables) for a, v in arguments if isinstance(v, Name)}
    return function_of(name, arguments, {key: taken[key] for key in inputs}, variables, mutates)
