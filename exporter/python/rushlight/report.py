"""The result of an export."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .front.captured import grouped


_NEAR = 0.99


class Report:
    """Describes an exported file and its verification. `print(report)` shows it on one screen.

    Attributes:
        path (str): path of the file
        text (str): the text that print() shows
        route (str): how the model was captured: "TorchScript", "traced", "torch.export", "FX graph, scripted", "FX graph, traced
            because ..." or "traced with gradients"
        ops (dict): {operator: number of instructions that use it}
        missing (dict): the same for operators that the runtime lacks; empty without `allow_missing`
        warnings (list of str): the tracer's warnings with their Python lines, such as branches and sizes that it fixed, and the
            exporter's
        notes (list of str): differences between the file and the model in another mode
        inputs (list of str): inputs of the first method, with dtypes and sizes
        outputs (list of str): outputs of the first method
        state (list of str): attributes that the program writes
        file_bytes (int): size of the file in bytes
        weights_bytes (int): size of the weights in the file in bytes, without test vectors and assets
        test_vectors (int): number of test vectors in the file
        verified (int): number of examples for which the file's answers were compared with PyTorch's
        not_verified (str): the reason if there were none
        verified_sizes (list of str): other sizes at which the file was compared, because dynamic_shapes allow them: one larger, doubled,
            odd, 1 and 2, or the smallest that the constraints allow. Sizes that PyTorch itself refuses are left out
        max_abs (float): the largest absolute difference to PyTorch's floating-point numbers
        max_rel (float): the largest relative difference, over numbers above a thousandth of the largest of their tensor
        measured (int): number of tensors and numbers that were also compared with the program's answer in float64. The next three
            fields describe the one that is furthest from it. Each is a dict: "max" is the largest difference in units of the largest
            element, "l2" the root of the sum of squared differences in units of the root of the sum of squares
        pytorch (dict): distance of PyTorch's answer from float64's
        rushlight (dict): distance of Rushlight's answer from float64's
        difference (dict): distance between these two answers
        not_measured (str): the reason if the program could not run in float64
        quantized (dict or None): None without `quantize`. Otherwise "bits" is its value, "layers" the number of quantized layers,
            "kept" the number of layers that could be quantized and are not, and "before" and "after" are the sizes of the quantized
            weights in bytes. "max", "l2" (as above) and "cosine" (of the angle) compare the answer with PyTorch's; they are None with
            `verify=False`. "rows" is None, or {"pytorch", "rushlight", "matched"} if values decide the number of rows, as after nms.
            Then rows that belong together are compared, boxes by their overlap. "by_layer" lists the quantized layers: "path" of the
            module, "bits", "before", "after", and "error", the norm of the weight's error in units of the weight's norm
        real_inputs (bool): whether some of the compared inputs came from `test_inputs` or `tests`
        random (str): an operator that draws random numbers, so that answers differ from call to call; "" if there is none
    """

    if TYPE_CHECKING:  # the docstring describes them
        path: str
        text: str
        route: str
        ops: dict[str, int]
        missing: dict[str, int]
        warnings: list[str]
        notes: list[str]
        inputs: list[str]
        outputs: list[str]
        state: list[str]
        file_bytes: int
        weights_bytes: int
        test_vectors: int
        verified: int
        not_verified: str
        verified_sizes: list[str]
        max_abs: float
        max_rel: float
        measured: int
        pytorch: dict[str, float]
        rushlight: dict[str, float]
        difference: dict[str, float]
        not_measured: str
        quantized: dict[str, Any] | None
        real_inputs: bool
        random: str

    def __init__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<rushlight.Report of {self.path}: {self.file_bytes} bytes, verified on {self.verified}>"


def note_cosines(fields, cosines):
    """Adds to the report of a quantized file how near the answers of its methods are to PyTorch's, run one after the other."""
    quantized, lines = fields["quantized"], []
    for method, cosine in cosines.items():
        least = quantized["cosine"]
        quantized["cosine"] = cosine if least is None else min(least, cosine)
        lines.append(f"  in turn   cosine {cosine:.6f} of the answer of {method}")
        if cosine < _NEAR:
            text = (f"the cosine of the answer of the quantized method '{method}' and PyTorch's is {cosine:.3f}, below {_NEAR}, after the "
                    "methods before it: give typical inputs as calibration, or more bits to the layers that lose most")
            fields["warnings"].append(text)
            lines.append(f"  warning   {text}")
    fields["text"] += "".join(f"{line}\n" for line in lines)


def report_of(fields, captured, notes):
    """Returns the Report with the exporter's facts about the file and the front's facts about the model."""
    fields = dict(fields, route=captured.route, notes=notes)
    fields["warnings"] = [*fields["warnings"], *map(str, captured.warnings)]
    lines = [f"  route     {captured.route}"]
    lines += [f"  note      {text}" for text in notes]
    lines += [f"  warning   {text}" for text in grouped(captured.warnings)]
    fields["text"] += "".join(f"{line}\n" for line in lines)
    return Report(fields)
