"""The front for torch.export: an ExportedProgram, or its file."""

from ..base.lent_weights import LentWeights
from ..exported_program.containers import Dict, is_leaf
from ..exported_program.description import describe_program
from ..exported_program.interpreter import answer, trace
from ..exported_program.reference import inputs_of, reference_of
from .captured import Captured, are_names
from .torchscript.operator_programs import for_complex


def capture_program(program, source=True, method="forward", attributes=None, first=None):
    """Converts the graph of an ExportedProgram.

    Args:
        source: keep its Python lines and texts
        method, attributes, first: as for describe_program

    Raises:
        RushlightError: it contains something that cannot be exported
    """
    lent = LentWeights(dict(program.named_parameters()))
    spec, reference = program.call_spec.out_spec, reference_of(program, lent)
    fields = list(Dict.keys(spec)) if not is_leaf(spec) and Dict.is_for(spec) and are_names(Dict.keys(spec)) else None

    def result(_, value):
        return tuple(value[name] for name in fields) if fields else value

    described = describe_program(program, source, for_complex, fields, method, attributes, first)
    return Captured(described, "torch.export", lambda *call: result(method, reference(*call)), notes=described["notes"], program=program,
                    result=result,
                    graph=lambda _, args, exact: result(method, lent.run(lambda w: answer(program, inputs_of(program, args), exact, w))),
                    tracer=lambda _, args, exact: lent.run(lambda w: trace(program, inputs_of(program, args), exact, w)))
