"""The front for torch.export: an ExportedProgram, or its file."""

from ..exported_program.description import describe_program
from ..exported_program.interpreter import answer, trace
from ..exported_program.reference import inputs_of, reference_of
from .captured import Captured
from .torchscript.operator_programs import for_complex


def capture_program(program, source=True):
    """Converts the graph of an ExportedProgram. `source`: keep its Python lines and texts.

    Raises:
        RushlightError: it contains something that cannot be exported
    """
    described = describe_program(program, source, for_complex)
    return Captured(described, "torch.export", reference_of(program), notes=described["notes"], program=program,
                    graph=lambda _, args, exact: answer(program, inputs_of(program, args), exact),
                    tracer=lambda _, args, exact: trace(program, inputs_of(program, args), exact))
