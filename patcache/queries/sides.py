"""What a comparison of two sides is of: years of one sample, two samples, or two stores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from patcache.errors import Misused, NotThere
from patcache.queries.counts import IN_SLICE, no_tuples, parameters
from patcache.queries.question import SAMPLES, subject_of
from patcache.queries.wording import year_spans
from patcache.steps.sweeps import base_of_all

if TYPE_CHECKING:
    from patcache.queries.question import Question, Subject
    from patcache.store import StoreFolder

YEARS = f"""
SELECT DISTINCT t.year FROM data.tuples t
WHERE t.sample_id = $sample AND {IN_SLICE.format("t")} ORDER BY t.year"""
OF_SLICE = ("sample", "years", "sections")


@dataclass(frozen=True, slots=True)
class Side:
    """One side as asked for: a store, a question of it, and what people call it."""

    store: StoreFolder
    question: Question
    name: str


def sides_asked(
    store: StoreFolder,
    question: Question,
    split: int | None,
    with_sample: str | None,
    with_store: StoreFolder | None,
) -> tuple[Side, Side]:
    """The two sides that are asked for, each with its store and question.

    Errors: Misused unless there is one way to the second side, and it is not the first;
    NotThere for a sample that is not there, or a side without tuples.
    """
    is_other = with_sample is not None or with_store is not None
    if (split is None) != is_other:
        raise Misused(
            "compare with what?" if not is_other else "a split and another side are two questions",
            "the second side is some years of the sample, another sample, or another store",
            "name one: --split YEAR, --with-sample NAME or --with-store DIR",
        )
    if split is not None:
        return _split(store, question, split)
    other = with_store or store
    samples = (question.sample, _second_sample(other, with_sample))
    names = tuple(
        _subject(one, replace(question, sample=sample)).sample
        for one, sample in zip((store, other), samples, strict=True)
    )
    if names[0] == names[1] and other.path.resolve() == store.path.resolve():
        raise Misused(
            f"both sides are sample {names[0]}",
            "a sample does not differ from itself",
            "name another: --with-sample NAME or --with-store DIR",
        )
    shown = names if names[0] != names[1] else _with_folders(names, store, other)
    return (
        Side(store, replace(question, sample=names[0]), shown[0]),
        Side(other, replace(question, sample=names[1]), shown[1]),
    )


def _split(store: StoreFolder, question: Question, split: int) -> tuple[Side, Side]:
    """The years before and from a year on. Errors: NotThere where there are none."""
    with store.read() as cursor:
        subject = subject_of(cursor, question)
        asked = {name: parameters(subject, question)[name] for name in OF_SLICE}
        years = [year for (year,) in cursor.execute(YEARS, asked).fetchall()]
    if not years:
        raise no_tuples(subject, question)
    before = tuple(year for year in years if year < split)
    after = tuple(year for year in years if year >= split)
    for side, words in ((before, f"before {split}"), (after, f"from {split} on")):
        if not side:
            raise NotThere(
                f"sample {subject.sample} has no tuples {words}",
                f"its years here: {year_spans(years)}",
                "split it at a later year than the first, up to the last"
                if len(years) > 1
                else "one year cannot be split: widen --years or --sections",
            )
    question = replace(question, sample=subject.sample)
    return (
        Side(store, replace(question, years=before), f"before {split}"),
        Side(store, replace(question, years=after), f"from {split}"),
    )


def _second_sample(store: StoreFolder, name: str | None) -> str | None:
    with store.read() as cursor:
        names = [row[1] for row in cursor.execute(SAMPLES).fetchall()]
        name = name or base_of_all(cursor)
    if name is None and names:
        where, there = f"which sample of {store.path}?", f"there are {', '.join(names)}"
        raise Misused(where, there, "name one: --with-sample NAME")
    return name


def _subject(store: StoreFolder, question: Question) -> Subject:
    with store.read() as cursor:
        return subject_of(cursor, question)


def _with_folders(
    names: tuple[str, ...], first: StoreFolder, second: StoreFolder
) -> tuple[str, ...]:
    """Equal names told apart by their stores' folders, or by the whole paths."""
    paths = [store.path.resolve() for store in (first, second)]
    is_plain = paths[0].name != paths[1].name
    folders = [path.name if is_plain else str(path) for path in paths]
    return tuple(f"{name} ({folder})" for name, folder in zip(names, folders, strict=True))


def of_common_models(
    pair: tuple[Side, Side],
) -> tuple[tuple[Side, Side], tuple[list[str], list[str]]]:
    """The sides with the models that both have, and the labels that only one has."""
    first, second = (
        [model.label for model in _subject(side.store, side.question).models] for side in pair
    )
    common = tuple(label for label in first if label in second)
    if not common:
        raise NotThere(
            "no model is on both sides",
            f"{pair[0].name}: {', '.join(first)}; {pair[1].name}: {', '.join(second)}",
            "models are matched by label: name one alike with --label, or embed it here, too",
        )
    one, two = (replace(side, question=replace(side.question, models=common)) for side in pair)
    alone = (
        [label for label in first if label not in common],
        [label for label in second if label not in common],
    )
    return (one, two), alone
