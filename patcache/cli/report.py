"""`patcache report OUT`: a study on paper, in one folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli import EXIT_INTERRUPTED
from patcache.cli.options import store_option
from patcache.cli.output import say
from patcache.cli.progress import bar
from patcache.cli.questions import dmax_option, question_options

if TYPE_CHECKING:
    from patcache.queries.question import Question
    from patcache.store import StoreFolder


def _formats(_ctx: click.Context, _param: click.Parameter, text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(name.strip().lower() for name in text.split(",")))
    wrong = [name for name in found if name not in ("svg", "png", "pdf")]
    if wrong:
        raise click.BadParameter(f"{', '.join(wrong)!r}: figures are svg, png, pdf")
    return found


@contextmanager
def whole_or_not(out: Path) -> Iterator[None]:
    """Says after Ctrl-C what became of a folder that is written whole or not at all."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"interrupted: {out} is as it was")
        raise SystemExit(EXIT_INTERRUPTED) from None


@click.command()
@click.argument("out", type=click.Path(path_type=Path, file_okay=False))
@click.option("--title", metavar="TEXT", help="Of the page  [default: names the sample].")
@click.option(
    "--formats",
    callback=_formats,
    default="svg,png,pdf",
    show_default=True,
    metavar="A,B",
    help="Of the figures' files.",
)
@store_option(create=False)
@dmax_option
@question_options
def report(
    store: StoreFolder, question: Question, out: Path, title: str | None, formats: tuple[str, ...]
) -> None:
    """Write everything about a slice into the folder OUT: a page, figures, tables, methods.

    OUT/index.html is one page that needs nothing else. An earlier report in OUT is replaced; a
    folder that holds other things is refused.
    """
    from patcache.report.write import write_report

    with whole_or_not(out), bar(f"writing {out}") as progress:
        names = write_report(store, question, out, title=title, formats=formats, progress=progress)
    figures = sum(name.startswith("figures/") for name in names)
    tables = sum(name.startswith("tables/") for name in names)
    say(f"  {out / 'index.html'} · {figures} figures · {tables} tables · methods.md · rci.csv")
