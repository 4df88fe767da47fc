"""What a comparison is asked of: a sample, a slice of it, models, an indicator and a test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from patcache.errors import Misused, NotThere
from patcache.kernels.footrule import DEFAULT_TIE_TOLERANCE
from patcache.records import (
    CORRECTIONS,
    INDICATORS,
    TESTS,
    Alternative,
    Correction,
    Indicator,
    TestName,
)
from patcache.steps.sweeps import base_of_all
from patcache.store.scores import scoring_id

if TYPE_CHECKING:
    import duckdb

LargestDistance = Literal["exact", "paper"]

SAMPLES = "SELECT sample_id, name FROM data.samples ORDER BY name"
N_TUPLES = "SELECT count(*) FROM data.tuples WHERE sample_id = ?"
SCORED = """
SELECT p.spec_id, p.label, s.n_tuples, sum(e.elapsed_s) / nullif(sum(e.n_texts), 0),
  coalesce((p.identity->>'pairs')::BOOLEAN, false)
FROM data.scores s JOIN data.specs p USING (spec_id) LEFT JOIN data.encodings e USING (spec_id)
WHERE s.sample_id = ? AND s.scoring_id = ?
GROUP BY ALL ORDER BY p.label"""


@dataclass(frozen=True, slots=True)
class Question:
    """Everything that changes what a leaderboard, a matrix or a list of cells says.

    sample: None is the only one, or the one that all others are draws of. years, sections, models:
    None is all of them. is_common: only tuples that are defined for every model. dmax: "paper"
    shows RCI with m * m / 2, as the study prints it; no test changes. n_resamples: of the tests by
    resampling (None: 9,999), and of the intervals, which are otherwise the limit of many; seed: of
    both.
    Errors: ValueError for a choice that is none.
    """

    sample: str | None = None
    years: tuple[int, ...] | None = None
    sections: tuple[str, ...] | None = None
    models: tuple[str, ...] | None = None
    indicator: Indicator = "footrule"
    test: TestName = "u"
    alternative: Alternative = "greater"
    alpha: float = 0.05
    correction: Correction = "holm"
    is_common: bool = False
    dmax: LargestDistance = "exact"
    tie_tolerance: float = DEFAULT_TIE_TOLERANCE
    n_resamples: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        for value, choices in (
            (self.indicator, INDICATORS),
            (self.test, TESTS),
            (self.correction, CORRECTIONS),
            (self.alternative, ("greater", "less", "two-sided")),
            (self.dmax, ("exact", "paper")),
        ):
            if value not in choices:
                raise ValueError(f"{value!r} is none of {', '.join(choices)}")
        if not 0 < self.alpha < 1:
            raise ValueError(f"alpha {self.alpha} is not between 0 and 1")
        for name, least in (("n_resamples", 1), ("seed", 0)):
            number = getattr(self, name)
            if number is not None and (type(number) is not int or number < least):
                raise ValueError(f"{name} {number!r} is not a whole number of at least {least}")
        scoring_id(self.tie_tolerance)  # refuses what is none

    @property
    def scoring_id(self) -> str:
        return scoring_id(self.tie_tolerance)


@dataclass(frozen=True, slots=True)
class ScoredModel:
    """A spec that has scores in the sample.

    s_per_text: None where nothing was encoded here; of a scorer of pairs, seconds per pair.
    """

    spec_id: str
    label: str
    n_scored: int
    s_per_text: float | None
    is_pairs: bool


@dataclass(frozen=True, slots=True)
class Subject:
    """What a question's names stand for in one store."""

    sample_id: int
    sample: str
    n_tuples: int
    models: tuple[ScoredModel, ...]


def subject_of(cursor: duckdb.DuckDBPyConnection, question: Question) -> Subject:
    """The sample and the models a question names.

    Errors: NotThere for a sample or model that is not there or not scored; Misused where
    no sample is named and there are several.
    """
    sample_id, sample = _sample(cursor, question.sample)
    n_tuples = cursor.execute(N_TUPLES, [sample_id]).fetchall()[0][0]
    rows = cursor.execute(SCORED, [sample_id, question.scoring_id]).fetchall()
    scored = tuple(ScoredModel(*row) for row in rows)
    if not scored:
        raise NotThere(
            f"no model is scored for sample {sample}",
            _rule_words(question) or f"its {n_tuples:,} tuples are drawn, none has a score",
            "run `patcache add MODEL`, or `patcache score` if it is embedded",
        )
    return Subject(sample_id, sample, n_tuples, _chosen(scored, question.models, sample))


def _sample(cursor: duckdb.DuckDBPyConnection, name: str | None) -> tuple[int, str]:
    rows: list[tuple[int, str]] = cursor.execute(SAMPLES).fetchall()
    if not rows:
        raise NotThere(
            "this store has no sample yet",
            "models are compared on the tuples of a sample",
            "draw one: patcache sample NAME --targets 100",
        )
    names = ", ".join(row[1] for row in rows)
    name = name or base_of_all(cursor)
    if name is None:
        raise Misused("which sample?", f"there are {names}", "name one: --sample NAME")
    for row in rows:
        if name == row[1]:
            return row
    raise NotThere(
        f"no sample {name!r} in this store", f"its samples: {names}", "name one: --sample NAME"
    )


def _chosen(
    scored: tuple[ScoredModel, ...], labels: tuple[str, ...] | None, sample: str
) -> tuple[ScoredModel, ...]:
    if labels is None:
        return scored
    if not labels:
        raise NotThere("no model is named", f"scored for sample {sample}: {_names(scored)}")
    by_label = {model.label: model for model in scored}
    labels = tuple(dict.fromkeys(labels))
    missing = [label for label in labels if label not in by_label]
    if missing:
        raise NotThere(
            f"no scores of {', '.join(missing)} for sample {sample}",
            f"scored: {_names(scored)}",
            f"run `patcache add {' '.join(missing)}`",
        )
    return tuple(by_label[label] for label in labels)


def _names(models: tuple[ScoredModel, ...]) -> str:
    return ", ".join(model.label for model in models)


def _rule_words(question: Question) -> str:
    if question.tie_tolerance == DEFAULT_TIE_TOLERANCE:
        return ""
    return f"with a tie tolerance of {question.tie_tolerance:g}"
