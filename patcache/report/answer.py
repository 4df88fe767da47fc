"""The answer in a paragraph: who ranks best, by how much, how sure, and where not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from patcache.errors import NotThere, SampleRefused
from patcache.kernels.outcomes import MIN_DEFINED, Outcome
from patcache.queries.cells import cells
from patcache.queries.leaderboard import leaderboard
from patcache.queries.matrix import matrix
from patcache.queries.robustness import robustness
from patcache.queries.wording import CORRECTION_NAMES, INDICATOR_NAMES, TEST_NAMES, slice_words

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.cells import CellRow
    from patcache.queries.leaderboard import LeaderboardRow
    from patcache.queries.matrix import PairRow
    from patcache.queries.provenance import Provenance
    from patcache.queries.question import Question
    from patcache.queries.robustness import RobustnessRow
    from patcache.records import TestName
    from patcache.store import StoreFolder

MOST_NAMED = 6
OTHER_TEST: dict[TestName, TestName] = {"u": "signed-rank"}  # of any other, the U-test


@dataclass(frozen=True, slots=True)
class Findings:
    """What the answer is made from: models best first, pairs by two tests, years and sections."""

    question: Question
    models: Listing[LeaderboardRow]
    pairs: Sequence[PairRow]
    other_test: TestName
    other_pairs: Sequence[PairRow]
    years: Sequence[CellRow]
    sections: Sequence[CellRow]
    draws: Sequence[RobustnessRow]

    @property
    def best(self) -> LeaderboardRow:
        return self.models[0]

    def of_best(self) -> list[PairRow]:
        """The best model against each other one, in their order."""
        return [pair for pair in self.pairs if pair.model == self.best.model]


def findings(store: StoreFolder, question: Question) -> Findings:
    """Everything the answer rests on. Errors: as for the leaderboard."""
    other: TestName = OTHER_TEST.get(question.test, "u")
    return Findings(
        question,
        leaderboard(store, question),
        matrix(store, question),
        other,
        matrix(store, replace(question, test=other)),
        cells(store, question, by="year"),
        cells(store, question, by="section"),
        _draws(store, question),
    )


def _draws(store: StoreFolder, question: Question) -> Sequence[RobustnessRow]:
    """The models over other draws of the sample; none where it was not drawn again."""
    try:
        return robustness(store, question)
    except (NotThere, SampleRefused):
        return ()


def answer(found: Findings, source: Provenance) -> list[str]:
    """Sentences, the first ones the most important; nothing is said that was not tested."""
    if found.best.mean is None:
        return [f"No model has a defined tuple in {_where(found, source)}: nothing can be said."]
    return [
        *_who(found, source),
        *_rivals(found),
        *_reversed(found),
        *_tests(found),
        *_other_draws(found),
        *_chance(found),
        *_places(found.question, found.years, "year"),
        *_places(found.question, found.sections, "section"),
        *_limits(found, source),
    ]


def _who(found: Findings, source: Provenance) -> list[str]:
    best, name = found.best, INDICATOR_NAMES[found.question.indicator]
    value = f"mean {name} {best.mean:.3f}{_interval(best)}, chance {best.chance:.3f}"
    where = _where(found, source)
    if len(found.models) == 1:
        return [f"In {where} one model is scored, {best.model}: {value}. It is compared with none."]
    rivals = len(found.models) - 1
    if best.n < MIN_DEFINED:
        return [
            f"In {where} {best.model} has the highest mean ({value}), on {best.n} defined "
            f"tuple{'s' * (best.n != 1)}: too few for any test."
        ]
    if best.beats == rivals:
        other = f"all {rivals} others" if rivals > 1 else "the other"
        return [f"In {where} {best.model} ranks best: {value}; it beats {other} ({_test(found)})."]
    return [
        f"In {where} no model is shown to be best. {best.model} has the highest mean ({value}) "
        f"and beats {best.beats or 'none'} of {rivals} other{'s' * (rivals != 1)} "
        f"({_test(found)})."
    ]


def _rivals(found: Findings) -> list[str]:
    """By how much, and against whom it is not shown."""
    pairs = found.of_best()
    if not pairs or found.best.n < MIN_DEFINED:
        return []
    nearest = pairs[0]
    said = []
    if nearest.mean_difference is not None:
        between = ""
        if nearest.low is not None and nearest.high is not None:
            low, high = f"{nearest.low:+z.3f}", f"{nearest.high:+z.3f}"
            between = f" (95 % interval {low} to {high})"
        said.append(
            f"Over the {nearest.n_common:,} tuples they share it is "
            f"{nearest.mean_difference:+z.3f} from the next, {nearest.other}{between}."
        )
    verb = "differ from" if found.question.alternative == "two-sided" else "beat"
    endings = {
        "tested": f"It is not shown to {verb} {{}}, which is no proof that they are equal.",
        Outcome.NO_DIFFERENCE.words: "There is no difference at all to {}.",
        Outcome.TOO_FEW.words: "With {} it has too few tuples to be tested.",
    }
    for outcome, words in endings.items():
        others = [pair.other for pair in pairs if not pair.beats and pair.outcome == outcome]
        said += [words.format(_names(others))] if others else []
    return said


def _reversed(found: Findings) -> list[str]:
    """Who beats the model with the highest mean: ranks and means ask two things."""
    above = [pair.model for pair in found.pairs if pair.other == found.best.model and pair.beats]
    return [f"By rank, however, it is beaten by {_names(above)}."] if above else []


def _tests(found: Findings) -> list[str]:
    """Whether the other test, corrected alike, decides the same."""
    if not any(pair.p is not None for pair in found.pairs):
        return []
    shown = {(pair.model, pair.other) for pair in found.pairs if pair.beats}
    other = {(pair.model, pair.other) for pair in found.other_pairs if pair.beats}
    names = TEST_NAMES[found.question.test], TEST_NAMES[found.other_test]
    if shown == other:
        return [f"The {names[1]}, corrected alike, decides every pair as the {names[0]} does."]
    only = [
        f"{a} > {b} by the {name} only"
        for pairs, name in ((shown - other, names[0]), (other - shown, names[1]))
        for a, b in sorted(pairs)
    ]
    return [f"The tests disagree on {len(only)} of {len(found.pairs)} pairs: {_names(only)}."]


def _chance(found: Findings) -> list[str]:
    rows = [row for row in found.models if row.low is not None and row.high is not None]
    near = [row.model for row in rows if _holds(row)]
    below = [row.model for row in rows if row.high is not None and row.high < row.chance]
    said = []
    if near:
        said.append(f"Not told from chance: {_names(near)}.")
    if below:
        said.append(f"Worse than chance: {_names(below)}.")
    return said


def _holds(row: LeaderboardRow) -> bool:
    """Whether the level of chance is inside the interval of the mean."""
    return row.low is not None and row.high is not None and row.low <= row.chance <= row.high


def _places(question: Question, rows: Sequence[CellRow], what: str) -> list[str]:
    """In how many years or sections which model has the highest mean, and beats all its rivals."""
    parts: dict[tuple[int | None, str | None], list[CellRow]] = {}
    for row in rows:
        parts.setdefault((row.year, row.section), []).append(row)
    if len(parts) < 2 or len({row.model for row in rows}) < 2:
        return []
    tested = [of for of in parts.values() if any(row.is_winner for row in of)]
    if not tested:
        return [f"Every {what} has too few tuples for a test."]
    few = len(parts) - len(tested)
    leaders = _counted([row.model for of in tested for row in of if row.is_winner])
    winners = _counted([row.model for of in tested for row in of if 0 < row.n_rivals == row.beats])
    without = f" (too few in {few} more)" if few else ""
    sure = f"all rivals are beaten there by {winners}" if winners else "nowhere are all beaten"
    how = "without correction" if question.correction == "none" else f"corrected within a {what}"
    return [
        f"Of {len(tested)} {what}s with enough tuples{without} the highest mean is that of "
        f"{leaders}; {sure} ({how})."
    ]


def _counted(models: Sequence[str]) -> str:
    """Each name with how often it occurs, the most frequent first: "a in 5 and b in 2"."""
    times = sorted(Counter(models).items(), key=lambda one: (-one[1], one[0]))
    return _names([f"{model} in {n}" for model, n in times]) if times else ""


def _other_draws(found: Findings) -> list[str]:
    """Whether another draw of the sample says the same."""
    best = next((row for row in found.draws if row.model == found.best.model), None)
    if best is None or max(row.n_draws for row in found.draws) < 2:
        return ["Whether another draw of tuples would say the same was not tried."]
    if best.n_draws < 2:
        return [f"There are other draws of tuples, but {best.model} is scored in this one only."]
    if best.n_first is None:
        return [f"Another draw of tuples was tried, but {best.model} is not in all of them."]
    return [f"It has the highest mean in {best.n_first} of {best.n_draws} draws of tuples."]


def _limits(found: Findings, source: Provenance) -> list[str]:
    said = []
    n_undefined = sum(row.n_undefined for row in found.models)
    if n_undefined and not found.question.is_common:
        who = [f"{row.model} {row.n_undefined:,}" for row in found.models if row.n_undefined]
        said.append(f"Undefined tuples, which do not count: {_names(who)}.")
    if source.noise_share is not None:
        said.append(
            f"{source.noise_share:.0%} of the candidates share a deeper level with their target "
            "by a secondary code: the gold order is that uncertain."
        )
    return said


def _where(found: Findings, source: Provenance) -> str:
    n = max(row.n + row.n_undefined for row in found.models)
    words = slice_words(found.question).replace(" · ", ", ")
    return f"sample {source.sample} ({n:,} tuples, {words})"


def _test(found: Findings) -> str:
    question = found.question
    correction = CORRECTION_NAMES[question.correction]
    n_tests = sum(pair.p is not None for pair in found.pairs)
    n_tests //= 2 if question.alternative == "two-sided" else 1
    over = f" over {n_tests} tests" if question.correction != "none" else ""
    return f"{TEST_NAMES[question.test]}, {correction}{over}, alpha {question.alpha:g}"


def _interval(row: LeaderboardRow) -> str:
    if row.low is None or row.high is None:
        return ""
    return f", 95 % interval {row.low:.3f} to {row.high:.3f}"


def _names(names: Sequence[str]) -> str:
    """Names as a list in a sentence, the first few of many."""
    shown = list(names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        return f"{', '.join(shown)} and {len(names) - MOST_NAMED} more"
    return ", ".join(shown[:-1]) + (" and " if len(shown) > 1 else "") + shown[-1]
