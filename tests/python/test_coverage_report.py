"""The table of tests/coverage names files below their floor, and does not count code for other processors."""

import importlib.util
import json
import pathlib
import sys

import pytest

FILE = pathlib.Path(__file__).parents[1] / "coverage" / "report.py"


def covered(path, lines, branches):
    return {"filename": f"/top/{path}", "segments": [[1, 1, 0, True], [2, 1, 5, True], [3, 2, 0, False]], "branches": [],
            "summary": {"lines": dict(zip(("covered", "count"), lines)), "branches": dict(zip(("covered", "count"), branches))}}


@pytest.fixture
def report(monkeypatch, tmp_path):
    spec = importlib.util.spec_from_file_location("coverage_report", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # for its dataclasses
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "TOP", pathlib.Path("/top"))
    monkeypatch.setattr(module, "BUILD", tmp_path)
    monkeypatch.setattr(module, "FLOORS", tmp_path / "floors.txt")
    monkeypatch.setattr(module, "features", lambda: {"sse2"})
    monkeypatch.setattr(sys, "argv", ["report"])
    files = [covered("a.c", (900, 1000), (3, 4)), covered("wide.c", (0, 10), (0, 4)), covered("narrow.c", (0, 10), (0, 4))]
    function = {"filenames": ["/top/a.c"], "regions": [[2, 3, 2, 9, 5, 0, 1, 1]], "branches": [[7, 1, 7, 5, 5, 0, 1]]}
    (tmp_path / "c.json").write_text(json.dumps({"data": [{"files": files, "functions": [function]}]}))
    return module


def floors(report, lines, branches):
    report.FLOORS.write_text(f"# a comment\n {lines} {branches} C\n 0 0 JavaScript\n 0 0 Python\n {lines} {branches} a.c\n"
                             " 90 90 wide.c avx\n 90 90 narrow.c !sse2\n")


def test_what_is_below_its_floor_is_named_with_the_figure(report, capsys, monkeypatch):
    floors(report, 95, 70)
    monkeypatch.setattr(report.pathlib.Path, "exists", lambda self: str(self).startswith(("/top", str(report.BUILD / "c.json"))))
    assert report.main() == 1
    said = capsys.readouterr().out
    assert "a.c: 90.0 % of lines ran (900 of 1000), and its floor is 95 %" in said
    assert "branches ran" not in said and "wide.c" not in said and "narrow.c" not in said


def test_floors_that_are_reached_pass_and_are_lifted(report, capsys, monkeypatch):
    floors(report, 80, 20)
    monkeypatch.setattr(report.pathlib.Path, "exists", lambda self: str(self).startswith(("/top", str(report.BUILD / "c.json"))))
    monkeypatch.setattr(sys, "argv", ["report", "--raise"])
    assert report.main() == 0, capsys.readouterr().out
    assert " 88  20  a.c\n" in report.FLOORS.read_text()
    assert " 90  90  wide.c avx\n" in report.FLOORS.read_text()


def test_a_branch_of_a_macro_is_missed_where_the_macro_is_used(report):
    found = {f.path: f for f in report.c_files()}
    assert found["a.c"].missed_branches == [(2, 3, "false")]
    assert found["a.c"].missed_lines == [1]
