"""The sources of the demos' weights, pictures and sounds, and their replacements."""

import hashlib
import re
import sys
import wave
import zipfile
from pathlib import Path

import pytest

DEMO = Path(__file__).resolve().parents[2] / "demo"
sys.path[:0] = [str(DEMO / "05-voice-activity"), str(DEMO / "shared")]
import silero  # noqa: E402
import speech  # noqa: E402
import wheels  # noqa: E402

TEXT = b"what is taken\n"


@pytest.fixture
def served(monkeypatch, tmp_path):
    """Returns served(**files), after which the registry has a wheel with these files, and the cache is empty."""
    monkeypatch.setenv("RUSH_CACHE", str(tmp_path / "cache"))

    def serve(compression, **files):
        def download(requirement, folder):
            path = Path(folder) / "a.whl"
            with zipfile.ZipFile(path, "w", compression) as archive:
                for name, content in files.items():
                    archive.writestr(name, content)
            return path
        monkeypatch.setattr(wheels, "_download", download)
    return serve


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_wheel_that_was_packed_anew_gives_its_files(served, monkeypatch, compression):
    monkeypatch.setitem(wheels.FILES, "it", ("it==1", {"data": sha256(TEXT)}))
    served(compression, data=TEXT, other=b"anything")
    folder = wheels.files("it")
    assert [p.name for p in folder.iterdir()] == ["data"] and (folder / "data").read_bytes() == TEXT


def test_a_file_that_is_another_is_refused_and_not_kept(served, monkeypatch, tmp_path):
    monkeypatch.setitem(wheels.FILES, "it", ("it==1", {"data": sha256(TEXT)}))
    for files in ({"data": b"another"}, {"date": TEXT}):
        served(zipfile.ZIP_STORED, **files)
        with pytest.raises(wheels.Missing, match="expected|holds no data"):
            wheels.files("it")
    assert list((tmp_path / "cache" / "wheels").iterdir()) == []


def test_code_is_pinned_whole(served, monkeypatch):
    served(zipfile.ZIP_STORED, **{"module.py": b"raise SystemExit"})
    monkeypatch.setitem(wheels.CODE, "it", ("it==1", sha256(TEXT)))
    before = list(sys.path)
    with pytest.raises(wheels.Missing, match="it==1 has sha256"):
        wheels.code("it")
    assert sys.path == before


@pytest.mark.parametrize("voice", ["computer voices", "Vowels"])
def test_a_computer_voice_speaks_where_the_recording_is_missing(monkeypatch, voice):
    def missing(*_):
        raise wheels.Missing(f"it has sha256 {sha256(TEXT)}, expected another")
    try:
        speech.conversation()
    except wheels.Missing as reason:
        if voice != "Vowels":
            pytest.skip(str(reason))
    monkeypatch.setattr(wheels, "files", missing)
    if voice == "Vowels":
        monkeypatch.setattr(speech, "conversation", missing)
    path, begins, note = silero.recording()
    with wave.open(str(path)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 16000)
        assert file.getnframes() > 15 * file.getframerate()
    samples = silero.read(path)
    first = int(samples.abs().gt(0.02).nonzero()[0]) / 16000
    assert abs(first - begins) < 0.1
    assert voice in note and not re.search("[0-9a-f]{8}|sha256|==", note)


def test_what_a_page_says_of_what_is_missing_has_no_hash_in_it(monkeypatch):
    def missing(*_):
        raise wheels.Missing(f"it==1 has sha256 {sha256(TEXT)}, expected another")
    for owner, name in ((wheels, "files"), (wheels, "code"), (speech, "conversation")):
        monkeypatch.setattr(owner, name, missing)
    sys.path[:0] = [str(DEMO / "01-image-classifier"), str(DEMO / "02-semantic-search"), str(DEMO / "08-face-detection")]
    import effnet
    import minilm
    import mtcnn
    notes = [mtcnn.load()[1], silero.load()[1], silero.recording()[2], effnet.load()[1], minilm.load()[1]]
    for note in notes:
        assert re.fullmatch(r"[A-Z][^=]*\.", note) and not re.search("[0-9a-f]{8}|sha256", note)
