"""Uses the whole public API of the Python package. mypy --strict and pyright check this file: ./dev test types.

Each `type: ignore` stands on a line that a checker must refuse.
"""

from pathlib import Path

import rushlight


def exports(model: object, example: object) -> rushlight.Report:
    report = rushlight.export(
        model, (example,), Path("model.rush"), methods=["forward"], inputs=["x=1x3:float32"], input_names=["x"], output_names=["y"],
        dynamic_shapes={"x": {0: "batch"}}, tests=[((example,), None)], test_inputs=[(example,)], verify=True, test_vectors=False, train=False,
        source=False, trace=True, allow_missing=False, assets={"labels.txt": "cat\ndog", "raw": b"", "file": Path("file")},
        quantize={"head": "int8", "*": None}, calibration=[(example,)], dump_after="", rtol=1e-4, atol=1e-5)
    numbers: list[int] = [report.file_bytes, report.weights_bytes, report.test_vectors, report.verified, report.measured]
    texts: list[str] = [report.path, report.text, report.route, report.not_verified, report.not_measured, report.random, *report.warnings,
                        *report.notes, *report.inputs, *report.outputs, *report.state, *report.verified_sizes]
    distances: list[float] = [report.max_abs, report.max_rel, report.pytorch["max"], report.rushlight["l2"], report.difference["max"]]
    counts: dict[str, int] = {**report.ops, **report.missing}
    if report.quantized is not None and report.real_inputs:
        print(report.quantized["layers"], numbers, texts, distances, counts)
    rushlight.export(model, example, 3)  # type: ignore[arg-type]
    rushlight.export(model, example, "m.rush", quantise="int8")  # type: ignore[call-arg]
    return report


def exports_text(model: object, tokenizer: object) -> None:
    report: rushlight.Report = rushlight.export_text(
        model, tokenizer, "chat.rush", length=512, pooling=None, normalize=True, assets={"a": b""}, quantize="int4")
    print(report)


def joins(before: object, model: object) -> None:
    rushlight.export(rushlight.pipeline(before, model, post=None), 1, "joined.rush")


def runs(contents: bytes) -> None:
    session: rushlight.Session = rushlight.load("model.rush", threads=2, max_bytes=1 << 30, max_steps=0)
    other = rushlight.Session(contents)
    session(1, scale=2.0)
    session.call("forward", 1)
    print(session.run({"x": 1}, method="forward")["y"], other.clone())
    session.set_state({**session.state()})
    session.reset()
    session.manual_seed(1)
    names: list[str] = [*session.methods(), *session.inputs(), *session.outputs("forward"), *session.assets()]
    raw: bytes = session.asset("labels.txt")
    for replay in session.verify():
        largest, relative, compared = replay
        distances: list[float] = [largest, relative, replay.max_abs, replay.max_rel, replay.pytorch["max"], replay.rushlight["l2"],
                                  replay.difference["max"]]
        print(distances, compared, replay.compared, replay.measured, names, raw)
    session.run([1])  # type: ignore[arg-type]
    rushlight.load("model.rush", 2)  # type: ignore[call-arg]
    session.forward(1)  # type: ignore[attr-defined]


def describes() -> None:
    text: str = rushlight.describe(Path("model.rush"), json=True)
    print(text, rushlight.__version__)
    print(rushlight.no_such_name)  # type: ignore[attr-defined]


def compares(model: object, example: object) -> bool:
    found: rushlight.Diff = rushlight.diff("model.rush", model, (example,), method="forward", train=False, rtol=1e-4, atol=1e-5)
    texts: list[str] = [found.where, found.text, str(found)]
    numbers: list[float] = [found.compared, found.unpaired, found.max_abs, found.max_rel]
    print(texts, numbers)
    return found.agree and bool(found)


def lowers(model: object, example: object) -> rushlight.Lowered:
    path: str = rushlight.load_library()
    print(path)
    return rushlight.lower(model, (example,), methods=("forward",), quantize="float16")


@rushlight.register_decomposition("my_ops::scale")
def scale(x: float, by: float) -> float:
    return x * by


scaled: float = scale(1.0, by=2.0)


def fails() -> None:
    try:
        rushlight.load("missing.rush")
    except rushlight.RushlightError as error:
        code: str = error.code
        where: list[str | None] = [error.op, error.source, error.specialized]
        print(code, where)
