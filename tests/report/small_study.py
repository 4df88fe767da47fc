"""A whole small study, scored: three models, one with a label that is hard on any format."""

from __future__ import annotations

from pathlib import Path

from patcache.api import Store
from tests.steps.study_by_hand import LetterEmbedder, add_patents, add_tuples, random_texts

HARD = 'org/<b>&"q"</b>:x_$y$%'
TITLES = {"fields": ["title"], "separator": ". "}
CLAIMS = {"fields": ["abstract"], "separator": ". "}
N_PATENTS, N_TUPLES = 60, 48


def small_study(path: Path) -> Store:
    """48 tuples of three years; tuple 5 is undefined for every model but one."""
    import numpy as np

    store = Store(path)
    texts = random_texts(N_PATENTS - 1, 3)
    add_patents(store, [*texts, ("123", "abc")])  # no letter in its title: a vector of zeros
    rng = np.random.default_rng(4)
    tuples = [rng.choice(N_PATENTS - 1, 7, replace=False).tolist() for _ in range(N_TUPLES)]
    tuples[5][0] = N_PATENTS - 1
    add_tuples(store, "main", tuples, levels=range(1, 7))
    store.add(LetterEmbedder("letters"))
    store.add(LetterEmbedder(HARD, text=CLAIMS))
    store.add(LetterEmbedder("titles", text=TITLES))
    return store
