"""How the numbers came about: a paragraph to paste, and everything they depend on."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from patcache.queries.samples import levels_words
from patcache.queries.wording import CORRECTION_NAMES, INDICATOR_NAMES, TEST_NAMES, year_spans

if TYPE_CHECKING:
    from patcache.queries.provenance import ModelFacts, Provenance
    from patcache.queries.question import Question

WORDS = {
    "dmax": "largest distance",
    "is_common": "common tuples only",
    "n_resamples": "resamples",
    "seed": "seed of resamples",
}
PLACES = ("folder",)  # where files lie on one machine: no part of what a model is
TEST_WORDS = {
    "u": "a Mann-Whitney U test (asymptotic, tie- and continuity-corrected; it takes the models' "
    "tuples as independent samples)",
    "signed-rank": "a Wilcoxon signed-rank test on the same tuples (zeros as by Pratt)",
    "permutation": "a seeded permutation test of the mean difference on the same tuples",
    "bootstrap": "a seeded bootstrap test of the mean difference on the same tuples",
}
ALTERNATIVE_WORDS = {
    "greater": "one-sided: does the first model have larger values",
    "less": "one-sided: does the first model have smaller values",
    "two-sided": "two-sided",
}


def methods(question: Question, source: Provenance, notes: tuple[str, ...]) -> str:
    """The text of methods.md. notes: what the leaderboard says of ties, intervals, tests."""
    lines = ["# Methods", "", " ".join(_paragraph(question, source)), "", "## Settings", ""]
    lines += [f"- {name}: {value}" for name, value in _settings(question, source)]
    lines += [f"- note: {note}" for note in notes]
    lines += ["", "## Models", ""]
    for model in source.models:
        lines += _model(model)
    return "\n".join(lines) + "\n"


def _paragraph(question: Question, source: Provenance) -> Iterator[str]:
    """Sentences for a paper."""
    n_models = len(source.models)
    yield (
        f"{n_models} text embedding model{'s' * (n_models != 1)} "
        f"({', '.join(model.label for model in source.models)}) ranked the candidates of "
        f"{source.n_tuples:,} graded tuples of patents (sample {source.sample}, {_origin(source)}, "
        f"corpus digest {source.corpus_digest[:16]})."
    )
    yield (
        "A tuple is a target and its candidates, each sharing more of the International Patent "
        f"Classification with it than the one before: levels {_levels(source)}."
    )
    if source.noise_share is not None:
        yield (
            f"By any of their codes, {source.noise_share:.1%} of the candidates share a deeper "
            "level with the target than their own."
        )
    name = INDICATOR_NAMES[question.indicator]
    yield _indicator(question, source, name)
    yield (
        "Similarities that differ by at most "
        f"{question.tie_tolerance:g} are ties; the value of a tuple is then the mean over every "
        "way to break them, so that a constant model lands at chance."
    )
    yield (
        "A tuple with a vector that is zero, infinite or not a number is undefined for that model "
        "and never ranked"
        + ("; only tuples defined for every model are compared." if question.is_common else ".")
    )
    yield (
        f"Models were compared by {TEST_WORDS[question.test]}, "
        f"{ALTERNATIVE_WORDS[question.alternative]}, at alpha {question.alpha:g}, "
        f"{_correction(question)}."
    )
    yield f"{_intervals(question)} Computed with {_versions(source)}."


def _origin(source: Provenance) -> str:
    if source.kind != "drawn":
        return "imported"
    per, targets = source.parameters.get("per"), source.parameters.get("targets")
    how_many = "every eligible target" if targets is None else f"up to {targets} targets a {per}"
    return f"{how_many}, seed {source.seed}"


def _levels(source: Provenance) -> str:
    return " or ".join(levels_words(shape.levels) for shape in source.shapes[:3])


def _indicator(question: Question, source: Provenance, name: str) -> str:
    if question.indicator != "footrule":
        return (
            f"{name} is concordant minus discordant pairs of candidates of different levels, over "
            "all such pairs (chance 0)."
        )
    largest = "m * m / 2, as the paper prints it" if question.dmax == "paper" else "the exact one"
    of = ", ".join(
        f"{shape.max_distance} ranks for {len(shape.levels)} candidates, where chance is "
        f"{shape.chance:.4f}"
        for shape in source.shapes[:3]
    )
    return (
        f"{name} is 1 minus Spearman's footrule distance to the gold order over the largest "
        f"distance ({largest}; exact is {of})."
    )


def _correction(question: Question) -> str:
    if question.correction == "none":
        return "without correction for many tests"
    return (
        f"corrected by {CORRECTION_NAMES[question.correction]} over all pairs of the matrix shown, "
        "and within each year or section where these are shown"
    )


def _intervals(question: Question) -> str:
    if question.n_resamples:
        return (
            f"95 % intervals: bootstrap over targets, cell by cell, {question.n_resamples:,} "
            f"resamples, seed {question.seed}."
        )
    return "95 % intervals: bootstrap over targets, cell by cell, in the limit of many resamples."


def _versions(source: Provenance) -> str:
    return ", ".join(f"{name} {value}" for name, value in source.versions.items())


def _settings(question: Question, source: Provenance) -> Iterator[tuple[str, str]]:
    """Every setting and digest, one a line."""
    for name, value in dataclasses.asdict(question).items():
        if name != "sample":
            yield _words(name), _value(name, value)
    yield "scoring", f"{source.scoring_id} (rule {source.rule_version})"
    yield "sample", f"{source.sample}, {source.kind}, {source.n_tuples:,} tuples"
    yield "sample parameters", _json(source.parameters)
    yield "corpus digest", source.corpus_digest
    yield (
        "cells",
        f"{source.n_cells_drawn:,} with tuples of {source.n_cells:,}; {source.n_patents:,} "
        f"patents, {source.n_eligible:,} with a candidate at every level",
    )
    for shape in source.shapes:
        yield (
            f"tuples of levels {levels_words(shape.levels)}",
            f"{shape.n_tuples:,}; largest distance {shape.max_distance} ranks, distances in units "
            f"of 1/{shape.units_per_rank} rank, {shape.n_cross_pairs} pairs of different level, "
            f"chance {shape.chance:.10g}",
        )
    for level, n_short in source.shortages.items():
        yield f"short at level {level}", f"{n_short:,} patents without a candidate; none is padded"
    for level, (n_pairs, n_deeper) in source.noise.items():
        yield f"label noise at level {level}", f"{n_deeper:,} of {n_pairs:,} share a deeper level"
    for path, sha256, n_rows, n_refused in source.imports:
        yield f"imported file {path}", f"sha256 {sha256}, {n_rows:,} rows, {n_refused:,} refused"
    for name, version in source.versions.items():
        yield name, version


def _value(name: str, value: Any) -> str:
    if name == "years" and value is not None:
        return year_spans(value)
    if name == "test":
        return TEST_NAMES[value]
    if name == "correction":
        return CORRECTION_NAMES[value]
    if value is None:
        return {"n_resamples": "in the limit of many"}.get(name, "all")
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _words(name: str) -> str:
    return WORDS.get(name, name.replace("_", " "))


def _model(model: ModelFacts) -> Iterator[str]:
    yield f"### {model.label}"
    yield ""
    yield f"- spec: {model.spec_id}; vectors: {model.vectors_id}; dimensions: {model.dim:,}"
    for name, value in sorted(model.identity.items()):
        if name not in PLACES:
            yield f"- {name.replace('_', ' ')}: {_json(value)}"
    yield f"- scored: {model.scored_at}, {model.n_scored:,} tuples"
    yield (
        f"- encoded here: {model.n_texts:,} texts on {', '.join(model.devices) or 'no device'}, "
        f"{model.n_truncated:,} truncated"
    )
    for made in model.libraries:
        kept = {name: value for name, value in made.items() if name not in PLACES}
        yield f"- made with: {_json(kept)}"
    yield ""


def _json(value: Any) -> str:
    if isinstance(value, str):
        return value or '""'
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
