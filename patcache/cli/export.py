"""`patcache export trec|mteb OUT`: results as files of other programs' formats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import store_option
from patcache.cli.output import say, say_lines
from patcache.cli.progress import bar
from patcache.cli.questions import dmax_option, question_options, value_options
from patcache.cli.report import whole_or_not

if TYPE_CHECKING:
    from patcache.queries.question import Question
    from patcache.store import StoreFolder

out_argument = click.argument("out", type=click.Path(path_type=Path, file_okay=False))


@click.group()
def export() -> None:
    """Write the results of a slice as files that other programs read."""


@export.command()
@out_argument
@store_option(create=False)
@value_options
def trec(store: StoreFolder, question: Question, out: Path) -> None:
    """Gold levels as qrels and each model's order as a run, for trec_eval and its kin.

    Undefined tuples are in no run, and counted. OUT/about.txt says how to read the files.
    """
    from patcache.report.exports.trec import export_trec

    with whole_or_not(out), bar(f"writing {out}") as progress:
        runs = export_trec(store, question, out, progress)
    say(f"  {out / 'qrels.txt'} · {len(runs)} runs · about.txt")
    say_lines(
        f"  {one.file}: {one.n_undefined:,} undefined tuples left out"
        for one in runs
        if one.n_undefined
    )


@export.command()
@out_argument
@store_option(create=False)
@dmax_option
@question_options
def mteb(store: StoreFolder, question: Question, out: Path) -> None:
    """Means of each model in the shape of MTEB's result files; MTEB did not make them."""
    from patcache.report.exports.mteb import export_mteb

    with whole_or_not(out):
        names = export_mteb(store, question, out)
    say_lines(f"  {out / name}" for name in names)
