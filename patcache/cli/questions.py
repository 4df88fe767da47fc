"""The options that leaderboard, matrix and cells share: they become one Question."""

from __future__ import annotations

import functools
from typing import Any

import rich_click as click

from patcache.cli.options import Command, FiniteRange, slice_options
from patcache.records import CORRECTIONS, INDICATORS, TESTS

NAMES = (
    *("sample", "years", "sections", "models"),
    *("indicator", "test", "alternative", "alpha", "correction", "is_common", "tie_tolerance"),
    *("n_resamples", "seed"),
)
indicator_option = click.option(
    "--indicator",
    type=click.Choice(INDICATORS),
    default="footrule",
    show_default=True,
    help="RCI (footrule) or Kendall (concordance).",
)
common_option = click.option(
    "--common", "is_common", is_flag=True, help="Only tuples defined for every model."
)
tolerance_option = click.option(
    "--tie-tolerance",
    type=FiniteRange(min=0),
    default=1e-6,
    show_default=True,
    help="The scoring to compare by, as given to `patcache score`.",
)
test_option = click.option(
    "--test",
    type=click.Choice(TESTS),
    default="u",
    show_default=True,
    help="Mann-Whitney U; or on the same tuples Wilcoxon signed-rank, permutation of signs, "
    "bootstrap of the mean.",
)
alternative_option = click.option(
    "--alternative",
    type=click.Choice(("greater", "less", "two-sided")),
    default="greater",
    show_default=True,
    help="Is the row's model better, worse, or different?",
)
alpha_option = click.option(
    "--alpha",
    type=FiniteRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="A corrected p below this is a win.",
)
correction_option, discovery_option = (
    click.option(
        "--correction",
        type=click.Choice(CORRECTIONS),
        default=default,
        show_default=True,
        help="For many tests at once.",
    )
    for default in ("holm", "bh")
)
resampling_options = (
    click.option(
        "--resamples",
        "n_resamples",
        type=click.IntRange(min=1),
        metavar="N",
        help="For permutation and bootstrap  [default: 9999]; when given, intervals are resampled "
        "as well.",
    ),
    click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True),
)
DATA_OPTIONS = (common_option, tolerance_option, *resampling_options)
OPTIONS = (
    indicator_option,
    test_option,
    alternative_option,
    alpha_option,
    correction_option,
    *DATA_OPTIONS,
)
BOTH_WAYS_OPTIONS = (indicator_option, test_option, alpha_option, discovery_option, *DATA_OPTIONS)
SIDES_OPTIONS = (indicator_option, alpha_option, correction_option, *DATA_OPTIONS)
VALUE_OPTIONS = (indicator_option, common_option, tolerance_option)

dmax_option = click.option(
    "--dmax",
    type=click.Choice(("exact", "paper")),
    default="exact",
    show_default=True,
    help="Largest distance in the RCI shown: exact, or m*m/2 as in the paper.",
)


def question_options(command: Command) -> Command:
    """Adds the options of a comparison; the command gets `question`, and `dmax` goes into it."""
    return _with_question(command, OPTIONS)


def both_ways_options(command: Command) -> Command:
    """Adds the options of two-sided tests whose false discoveries are limited."""
    return _with_question(command, BOTH_WAYS_OPTIONS)


def sides_options(command: Command) -> Command:
    """Adds the options of comparing independent samples: their test is given."""
    return _with_question(command, SIDES_OPTIONS)


def value_options(command: Command) -> Command:
    """Adds the options of what tests nothing; the command gets `question`."""
    return _with_question(command, VALUE_OPTIONS)


def _with_question(command: Command, options: tuple[Any, ...]) -> Command:
    @functools.wraps(command)
    def with_question(*args: Any, **kwargs: Any) -> Any:
        from patcache.queries.question import Question

        asked = {name: kwargs.pop(name) for name in (*NAMES, "dmax") if name in kwargs}
        return command(*args, question=Question(**asked), **kwargs)

    decorated: Any = with_question
    for option in reversed(options):
        decorated = option(decorated)
    return slice_options(decorated)  # type: ignore[no-any-return]
