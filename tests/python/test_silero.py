"""Exports silero-vad, a scripted model of another project, as its package has it."""

import sys
from pathlib import Path

import pytest
import rushlight
import torch

DEMO = Path(__file__).resolve().parents[2] / "demo"
sys.path[:0] = [str(DEMO / "05-voice-activity"), str(DEMO / "shared")]
import silero  # noqa: E402
import wheels  # noqa: E402


@pytest.fixture(scope="module")
def model():
    try:
        wheels.files("silero_vad")
    except wheels.Missing as reason:
        pytest.skip(str(reason))
    if silero.recording()[0] is None:
        pytest.skip("there is no speech")
    return silero.load()[0]


@pytest.fixture(scope="module")
def file(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("silero") / "silero.rush"
    report = rushlight.export(model, (torch.zeros(1, 512), 16000), path, methods=("forward", "reset_states"))
    assert report.verified and sorted(report.state) == ["_context", "_last_batch_size", "_last_sr", "_state"]
    return path


def sound(what):
    if what == "silence":
        return torch.zeros(32000), 16000
    if what == "noise":
        return torch.rand(32000, generator=torch.Generator().manual_seed(0)) * 2 - 1, 16000
    speech = silero.read(silero.recording()[0])
    return (speech, 16000) if what == "speech" else (speech[::2].contiguous(), 8000)


@pytest.mark.feature("TorchScript", "silero-vad, unchanged, on a whole recording")
@pytest.mark.parametrize("what", ["speech", "speech at 8 kHz", "silence", "noise"])
def test_every_chunk_has_pytorchs_probability(model, file, what):
    samples, rate = sound(what)
    chunks = silero.chunks(samples, rate)
    session = rushlight.load(file)
    model.reset_states()
    with torch.no_grad():
        want = torch.cat([model(x, rate) for x in chunks])
    got = torch.cat([session(x, rate) for x in chunks])
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
    assert (want > 0.5).any() == what.startswith("speech")


def test_reset_states_forgets_what_was_heard(model, file):
    chunks = silero.chunks(*sound("speech"))[250:280]
    session = rushlight.load(file)
    heard = [session(x, 16000) for x in chunks]
    assert not torch.equal(session(chunks[0], 16000), heard[0])
    assert session.call("reset_states") is None
    assert all(torch.equal(session(x, 16000), p) for x, p in zip(chunks, heard))


@pytest.mark.feature("TorchScript", "silero-vad on a chunk that is too short", pytorch="refuses", rushlight="refuses")
def test_a_chunk_that_is_too_short_is_refused_in_its_words(model, file):
    with pytest.raises(torch.jit.Error, match="Input audio chunk is too short"):
        model(torch.zeros(1, 100), 16000)
    with pytest.raises(rushlight.RushlightError, match="Input audio chunk is too short"):
        rushlight.load(file)(torch.zeros(1, 100), 16000)


def test_a_batch_is_heard_side_by_side(model, file):
    chunks = silero.chunks(*sound("speech"))[200:240].repeat(1, 3, 1)
    chunks[:, 1] *= 0.1
    session = rushlight.load(file)
    model.reset_states()
    with torch.no_grad():
        for x in chunks:
            torch.testing.assert_close(session(x, 16000), model(x, 16000), rtol=1e-4, atol=1e-5)
