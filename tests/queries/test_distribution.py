"""Distributions of similarities and RCIs: equal to numpy and scipy on all values at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from patcache.errors import NotThere, PatcacheError
from patcache.queries import similarities as reading
from patcache.queries.distribution import distribution
from patcache.queries.question import Question
from patcache.records import Shape
from patcache.store import StoreFolder
from tests.queries.fill import STUDY, Tuples, fill, from_similarities

UNEVEN = Shape((1, 2, 2, 6))
N = 90


@pytest.fixture(scope="module")
def tuples() -> Tuples:
    """Two shapes; the similarities of "loose" and "tight" grow with the level, "flat" is constant.

    "loose" has a NaN and an infinite similarity in tuples 3 and 4, "none" nothing but NaN.
    """
    rng = np.random.default_rng(2)
    shapes = [UNEVEN if i % 3 == 0 else STUDY for i in range(N)]
    levels = [np.array(shape.levels) for shape in shapes]
    similarities = {
        "loose": [0.1 * level + rng.normal(size=len(level)) * 0.1 for level in levels],
        "tight": [0.9 + 0.01 * level - rng.gamma(2, 0.01, size=len(level)) for level in levels],
        "flat": [np.full(len(level), 0.5) for level in levels],
        "none": [np.full(len(level), np.nan) for level in levels],
    }
    similarities["loose"][3][1], similarities["loose"][4][0] = np.nan, np.inf
    rows = {name: [row.tolist() for row in of] for name, of in similarities.items()}
    years, sections = [2010 + i % 2 for i in range(N)], ["AB"[i % 2] for i in range(N)]
    return from_similarities(shapes, years, sections, rows)


@pytest.fixture(scope="module")
def scored(tuples: Tuples, tmp_path_factory: pytest.TempPathFactory) -> StoreFolder:
    return fill(tmp_path_factory.mktemp("distribution") / "store", tuples)


def values(tuples: Tuples, model: str, level: int | None = None) -> np.ndarray:
    """All similarities of a model (of one level) in tuples where it is defined, as float32."""
    assert tuples.similarities is not None
    found = []
    for shape, row in zip(tuples.shapes, tuples.similarities[model], strict=True):
        if np.isfinite(row).all():
            found += [x for x, of in zip(row, shape.levels, strict=True) if level in (None, of)]
    return np.array(found, dtype=np.float32).astype(np.float64)


def test_moments_range_and_interval_are_those_of_all_values(
    scored: StoreFolder, tuples: Tuples
) -> None:
    listing = distribution(scored)
    rows = {row.model: row for row in listing}
    low = min(values(tuples, model).min() for model in ("loose", "tight", "flat"))
    high = max(values(tuples, model).max() for model in ("loose", "tight", "flat"))
    for model in ("loose", "tight"):
        row, raw = rows[model], values(tuples, model)
        assert (row.n, row.kind) == (len(raw), "cosine")
        assert row.mean == pytest.approx(raw.mean(), rel=1e-12)
        assert row.deviation == pytest.approx(raw.std(ddof=1), rel=1e-10)
        assert row.skewness == pytest.approx(stats.skew(raw), rel=1e-8)
        assert (row.lowest, row.highest) == (raw.min(), raw.max())
        # Quantiles are those of fine bins, or differ from numpy's by a gap between two values.
        assert row.low == pytest.approx(np.quantile(raw, 0.025), abs=0.01)
        assert row.high == pytest.approx(np.quantile(raw, 0.975), abs=0.01)
        wanted, _ = np.histogram(raw, bins=40, range=(low, high))
        assert row.histogram == tuple(wanted)
        assert (row.bins_from, row.bins_to) == (low, high)
    assert rows["loose"].n_undefined == 2
    assert rows["tight"].skew == "left-skewed"  # a tail of low similarities
    assert rows["tight"].skewness is not None
    assert rows["tight"].skewness < -0.1
    assert "undefined tuples left out: loose 2; none 90" in listing.notes


def test_constant_and_undefined_models_have_words_and_no_nan(scored: StoreFolder) -> None:
    rows = {row.model: row for row in distribution(scored)}
    flat, none = rows["flat"], rows["none"]
    assert (flat.mean, flat.deviation, flat.skewness, flat.skew) == (0.5, 0.0, None, "constant")
    assert sum(flat.histogram) == flat.n
    assert (none.n, none.n_undefined, none.skew) == (0, 90, "too few")
    assert (none.mean, none.deviation, none.low, none.lowest, none.bins_from) == (None,) * 5
    only = distribution(scored, Question(models=("none",)), by="level")
    assert [(row.level, row.n) for row in only] == [(None, 0)]


def test_levels_are_described_and_separated_each_from_the_one_below(
    scored: StoreFolder, tuples: Tuples
) -> None:
    rows = {(row.model, row.level): row for row in distribution(scored, by="level")}
    assert [level for model, level in rows if model == "loose"] == [1, 2, 3, 4, 5, 6]
    for level in range(1, 7):
        row, raw = rows["loose", level], values(tuples, "loose", level)
        assert (row.n, row.mean) == (len(raw), pytest.approx(raw.mean(), rel=1e-12))
        if level == 1:
            assert row.separation is None
            continue
        below = values(tuples, "loose", level - 1)
        pooled = (len(raw) - 1) * raw.var(ddof=1) + (len(below) - 1) * below.var(ddof=1)
        wanted = (raw.mean() - below.mean()) / np.sqrt(pooled / (len(raw) + len(below) - 2))
        assert row.separation == pytest.approx(wanted, rel=1e-9)
    assert {rows["flat", level].separation for level in range(1, 7)} == {None}


def test_pieces_give_what_the_whole_gives(
    scored: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = distribution(scored, by="level")
    monkeypatch.setattr(reading, "WINDOW_TUPLES", 7)
    for one, other in zip(whole, distribution(scored, by="level"), strict=True):
        assert (one.n, one.histogram, one.lowest) == (other.n, other.histogram, other.lowest)
        assert (one.mean or 0) == pytest.approx(other.mean or 0, rel=1e-14)
        assert (one.skewness is None) == (other.skewness is None) == (one.model in ("flat", "none"))
        assert (one.skewness or 0) == pytest.approx(other.skewness or 0, rel=1e-9)


def test_a_slice_and_common_tuples_leave_the_others_out(
    scored: StoreFolder, tuples: Tuples
) -> None:
    assert tuples.similarities is not None
    odd = Question(models=("loose", "tight"), years=(2011,), sections=("B",), is_common=True)
    rows = {row.model: row for row in distribution(scored, odd)}
    inside = [i for i in range(N) if i % 2 == 1 and i != 3]
    wanted = np.concatenate([np.float32(tuples.similarities["tight"][i]) for i in inside])
    assert rows["tight"].n == rows["loose"].n == len(wanted)
    assert rows["tight"].mean == pytest.approx(wanted.astype(float).mean(), rel=1e-12)
    with pytest.raises(NotThere, match="no tuples in this slice"):
        distribution(scored, Question(years=(1999,)))


def test_scores_of_pairs_are_named_and_have_bins_of_their_own(tmp_path: Path) -> None:
    rows = {"cosine": [[0.1, 0.2, 0.3]] * 4, "bm25": [[3.0, 7.0, 40.0]] * 4}
    store = fill(
        tmp_path / "s", from_similarities([Shape((1, 2, 3))] * 4, [2020] * 4, ["A"] * 4, rows)
    )
    with store.write() as cursor:
        cursor.execute("UPDATE data.specs SET identity = '{\"pairs\": true}' WHERE label = 'bm25'")
    listing = distribution(store)
    found = {row.model: row for row in listing}
    assert (found["bm25"].kind, found["bm25"].bins_to) == ("score", 40.0)
    assert found["cosine"].kind == "cosine"
    assert found["cosine"].bins_to == pytest.approx(0.3)
    assert any(note.startswith("scores, no cosines") and "bm25" in note for note in listing.notes)


@pytest.mark.parametrize("indicator", ["footrule", "concordance"])
def test_rcis_are_distributed_as_their_raw_values(tmp_path: Path, indicator: str) -> None:
    rng = np.random.default_rng(6)
    rows = {"a": (rng.normal(size=(80, 6)) + 0.5 * np.arange(6)).tolist()}
    tuples = from_similarities([STUDY] * 80, [2020] * 80, ["A"] * 80, rows)
    store = fill(tmp_path / "s", tuples)
    defined = [value for value in tuples.values["a"] if value is not None]
    raw = np.array(
        [1 - v[0] / 1080 if indicator == "footrule" else v[1] / 15 for v in defined], dtype=float
    )
    (row,) = distribution(store, Question(indicator=indicator), of="rci")  # type: ignore[arg-type]
    assert row.kind == ("RCI" if indicator == "footrule" else "Kendall")
    assert row.mean == pytest.approx(raw.mean(), rel=1e-12)
    assert row.deviation == pytest.approx(raw.std(ddof=1), rel=1e-12)
    assert row.skewness == pytest.approx(stats.skew(raw), rel=1e-9)
    assert row.low == pytest.approx(np.quantile(raw, 0.025, method="inverted_cdf"))
    assert row.high == pytest.approx(np.quantile(raw, 0.975, method="inverted_cdf"))
    n_bins, edges = (10, (0, 1)) if indicator == "footrule" else (8, (-1, 1))
    wanted, _ = np.histogram(raw.round(12), bins=n_bins, range=edges)
    assert row.histogram == tuple(wanted)
    assert row.chance == (pytest.approx(19 / 54) if indicator == "footrule" else 0.0)
    with pytest.raises(PatcacheError, match="RCIs have no level"):
        distribution(store, of="rci", by="level")
