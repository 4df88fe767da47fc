"""`patcache score`: distances of tuples from vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import FiniteRange, store_option
from patcache.cli.output import say
from patcache.cli.progress import bar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from patcache.steps.scoring import ScoreReport
    from patcache.store import StoreFolder


@click.command()
@click.argument("models", nargs=-1, metavar="[MODEL]...")
@click.option("--sample", "samples", multiple=True, metavar="NAME", help="[default: all samples]")
@click.option(
    "--tie-tolerance",
    type=FiniteRange(min=0),
    default=1e-6,
    show_default=True,
    help="Similarities whose gap is at most this are tied.",
)
@store_option(create=False)
def score(
    store: StoreFolder, models: tuple[str, ...], samples: tuple[str, ...], tie_tolerance: float
) -> None:
    """Score the tuples of the samples under each MODEL (none named: all stored ones)."""
    score_all(store, models or None, samples or None, tie_tolerance)


def score_all(
    store: StoreFolder,
    models: Sequence[str] | None,
    samples: Sequence[str] | None,
    tie_tolerance: float | None = None,
) -> list[ScoreReport]:
    """Scores what is not scored yet, with a bar and a line for each sample and model."""
    from patcache.steps import scoring

    rule = {} if tie_tolerance is None else {"tie_tolerance": tie_tolerance}
    with bar("scoring") as progress:
        reports = scoring.score(store, samples=samples, models=models, progress=progress, **rule)
    for line in score_lines(reports):
        say(line)
    return reports


def score_lines(reports: Sequence[ScoreReport]) -> Iterable[str]:
    """What was scored, for people."""
    for report in reports:
        if report.n_missing:
            has_none = "pairs have no score" if report.is_pairs else "texts have no vectors"
            yield (
                f"  {report.sample} · {report.label}: not scored, {report.n_missing:,} {has_none} "
                f"(patcache embed {report.label} --sample {report.sample})"
            )
        elif report.n_scored:
            yield (
                f"  {report.sample} · {report.label}: {report.n_scored:,} tuples scored"
                f" · {report.n_undefined:,} undefined · {report.n_near_ties:,} near-ties"
            )
    if not any(report.n_scored or report.n_missing for report in reports):
        pairs = len(reports)
        yield f"  scores are up to date ({pairs} pair{'s' * (pairs > 1)} of sample and model)"
