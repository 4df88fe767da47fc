"""`patcache run`: a whole study from one file."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.model_options import runtime_options
from patcache.cli.options import FiniteRange, format_option, store_here
from patcache.cli.output import say, say_lines
from patcache.cli.progress import bar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patcache.records import Runtime
    from patcache.steps.study import Report

EXIT_SOME_REFUSED = 5


@click.command()
@click.argument("study", type=click.Path(path_type=Path, dir_okay=False), default="study.toml")
@click.option(
    "--store",
    "store_path",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the store  [default: as the file says, else PATCACHE_STORE, else this folder "
    "if it is a store, else a folder beside the file, with its name].",
)
@click.option("--wait", "wait_s", type=FiniteRange(min=0), default=10.0, show_default=True)
@runtime_options
@format_option
def run(study: Path, store_path: Path | None, wait_s: float, runtime: Runtime, fmt: str) -> None:
    """Do what the file STUDY asks for and is not done yet; then show who ranks best.

    It imports, samples, embeds and scores, in that order. A second run finds nothing to do.
    """
    from patcache.cli.leaderboard import show_leaderboard
    from patcache.steps.study import is_news, run_study
    from patcache.steps.study_file import read_study
    from patcache.store import StoreFolder

    start = time.perf_counter()
    asked = read_study(study)
    path = store_path or asked.store_path or store_here() or study.absolute().with_suffix("")
    store = StoreFolder(path, wait_s=wait_s)
    n_news = n_refused = 0
    for report in run_study(store, asked, runtime, bar):
        if is_news(report):
            n_news += 1
            say_lines(report_lines(report))
        n_refused += _n_refused(report)
    if n_news == 0:
        elapsed_s = time.perf_counter() - start
        n_samples, n_models = len(asked.samples), len(asked.models)
        say(
            f"everything is up to date ({n_models} model{'s' * (n_models != 1)}, "
            f"{n_samples} sample{'s' * (n_samples != 1)}) · {elapsed_s:.1f} s"
        )
    elif asked.models:
        for name in asked.samples:
            show_leaderboard(store, replace(asked.question, sample=name), fmt)
    if n_refused and n_news:
        raise SystemExit(EXIT_SOME_REFUSED)


def report_lines(report: Report) -> Iterator[str]:
    """What a step did, for people."""
    from patcache.cli.embed import embed_lines
    from patcache.cli.import_ import file_lines
    from patcache.cli.sample import draw_lines
    from patcache.cli.score import score_lines
    from patcache.steps.embedding import EmbedReport
    from patcache.steps.importing import ImportReport
    from patcache.steps.sampling import SampleReport

    match report:
        case ImportReport():
            for file in report.files:
                yield from file_lines(file)
        case SampleReport():
            yield f"sample {report.name}"
            yield from draw_lines(report)
        case EmbedReport():
            yield from embed_lines(report)
        case _:
            yield from score_lines(report)


def _n_refused(report: Report) -> int:
    from patcache.steps.importing import ImportReport

    return report.counts.n_rejected if isinstance(report, ImportReport) else 0
