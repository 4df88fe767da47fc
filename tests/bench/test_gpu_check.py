"""The check of the GPU path runs its steps on a CPU, and says where there is no card."""

from __future__ import annotations

import json

import pytest

from bench import gpu_check

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")


def test_every_case_passes_on_small_shapes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["gpu_check", "--tiny", "--device", "cpu"])
    assert gpu_check.main() == 0
    *lines, summary = capsys.readouterr().out.splitlines()
    cases = [json.loads(line) for line in lines if line.startswith("{")]
    named = [(case["model"], case["engine"], case["arithmetic"]) for case in cases]
    assert named == [
        ("bert", "torch", "fp32"),
        ("bert", "torch", "fp16"),
        ("bert", "torch", "bf16"),
        ("bert", "onnx", "fp32"),
        ("decoder", "torch", "fp32"),
        ("decoder", "torch", "fp16"),
        ("decoder", "torch", "bf16"),
    ]
    for case in cases:
        assert case["verdict"] == "PASS"
        assert case["largest_difference"] <= case["tolerance"]
        assert case["n_texts"] == 24
    assert summary == "7 of 7 passed on cpu"


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_without_a_card_nothing_is_run_and_the_exit_code_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["gpu_check"])
    assert gpu_check.main() == 2
    assert "no CUDA here" in capsys.readouterr().out
