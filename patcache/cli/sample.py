"""`patcache sample`: draw a sample, extend it, write it to a file, read one, list them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click as click_core
import rich_click as click
from click.core import ParameterSource

from patcache.cli.options import format_option, store_option, whole_numbers
from patcache.cli.output import say, say_lines, write_listing
from patcache.cli.progress import bar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patcache.steps.sampling import SampleReport
    from patcache.store import StoreFolder

LARGEST_NUMBER = 99
OPTIONS_FIRST = "\0"  # stands for the name that comes after the options; nobody can type it


class SampleGroup(click.RichGroup):
    """Draws a sample where the first word is no sub-command: `patcache sample NAME ...`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0].startswith("-") and args[0] not in ctx.help_option_names:
            args = [OPTIONS_FIRST, *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] == OPTIONS_FIRST:
            return draw.name, draw, args[1:]
        if args[0] not in self.commands:
            return draw.name, draw, args
        return super().resolve_command(ctx, args)


@click.group(
    cls=SampleGroup, no_args_is_help=True, options_metavar="", subcommand_metavar="NAME [OPTIONS]"
)
def sample() -> None:
    """Draw the sample NAME: graded tuples of patents from the IPC tree.

    Its options: patcache sample NAME --help. Besides: export, import, list.
    """


def _levels(_ctx: click.Context, _param: click.Parameter, text: str) -> tuple[int, ...]:
    return whole_numbers(text, LARGEST_NUMBER)


def _candidates(
    _ctx: click.Context, _param: click.Parameter, text: str | None
) -> tuple[int, ...] | None:
    return None if text is None else whole_numbers(text, LARGEST_NUMBER)


def _targets(_ctx: click.Context, _param: click.Parameter, text: str | None) -> int | str | None:
    if text is None or text == "all":
        return text
    if not text.isdigit() or int(text) < 1:
        raise click.BadParameter(f"{text!r} is neither a number from 1 nor 'all'")
    return int(text)


@click.command(name="NAME")
@click.argument("name", metavar="")
@click.option(
    "--targets",
    callback=_targets,
    metavar="N|all",
    help="Targets in each cell, year or section  [default: 100].",
)
@click.option(
    "--per",
    type=click.Choice(["cell", "year", "section"]),
    default="cell",
    show_default=True,
    help="What --targets counts; a cell is one year and section.",
)
@click.option(
    "--levels",
    callback=_levels,
    default="1-6",
    show_default=True,
    help="Levels: 1 other section ... 6 same code.",
)
@click.option(
    "--k", type=click.IntRange(min=1), default=1, show_default=True, help="Candidates a level."
)
@click.option(
    "--candidates",
    callback=_candidates,
    metavar="M|M..M",
    help="Candidates a tuple, 3 to 20; a span makes a sample of each: NAME-m3 ...",
)
@click.option(
    "--codes",
    type=click.Choice(["main", "strict"]),
    default="main",
    show_default=True,
    help="strict: no other code of theirs may share more than the level says.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), default=1, show_default=True, help="Seed."
)
@click.option("--where", metavar="SQL", help="All patents must meet it: \"language = 'en'\".")
@click.option("--allow-same-text", is_flag=True, help="Candidates may have the target's text.")
@click.option("--allow-family", is_flag=True, help="Candidates may be of the target's family.")
@click.option(
    "--preset",
    type=click.Choice(["study"]),
    help="study: 100 a cell, 1,000 a year or 5,000 a section; nobody but the target is left out.",
)
@click.option("--extend", is_flag=True, help="Add the cells that are new, and nothing else.")
@store_option(create=False)
def draw(store: StoreFolder, name: str, extend: bool, **asked: Any) -> None:
    """Draw the sample NAME, or --extend it by the cells that are new.

    The same seed and corpus give the same tuples; the name changes nothing.
    """
    from patcache.steps.sample_parameters import asked_samples
    from patcache.steps.sampling import draw_sample, extend_sample

    if extend:
        _refuse_options_of_a_draw()
        with bar(f"extending {name}") as progress:
            report = extend_sample(store, name, progress)
        say_lines(draw_lines(report))
        return
    targets = asked.pop("targets")
    if targets is not None:  # else the preset's own, or 100
        asked["targets"] = None if targets == "all" else targets
    for sample_name, parameters in asked_samples(name, **asked).items():
        with bar(f"drawing {sample_name}") as progress:
            report = draw_sample(store, sample_name, parameters, progress)
        say_lines(draw_lines(report))


@sample.command(name="export")
@click.argument("name")
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="File: .parquet, .csv, .tsv or .jsonl.",
)
@store_option(create=False)
def export_(store: StoreFolder, name: str, out: Path) -> None:
    """Write the sample NAME to a file, one row a candidate."""
    from patcache.steps.tuple_files import export_sample

    with bar(f"exporting {name}") as progress:
        n_rows = export_sample(store, name, out, progress)
    say(f"  {n_rows:,} rows in {out}")


@sample.command(name="import")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@store_option(create=False)
def import_(store: StoreFolder, name: str, file: Path) -> None:
    """Make the sample NAME of the tuples in FILE.

    FILE is an exported sample, or has the columns target, candidate and level (higher is more
    similar), and tuple_id where a target has several tuples.
    """
    from patcache.queries.samples import levels_words
    from patcache.steps.tuple_files import import_sample

    found = import_sample(store, name, file)
    shapes = [levels_words(levels) for levels in found.shapes]
    words = shapes[0] if len(shapes) == 1 else f"of {len(shapes)} kinds"
    say(f"  {found.n_tuples:,} tuples in {found.n_cells:,} cells · levels {words}")
    say("  next: patcache add MODEL")


@sample.command(name="list")
@store_option(create=False)
@format_option
def list_(store: StoreFolder, fmt: str) -> None:
    """List all samples."""
    from patcache.queries.samples import samples

    write_listing(samples(store), fmt)


def _refuse_options_of_a_draw() -> None:
    """Errors: UsageError where an option was given that only a new draw can follow."""
    ctx = click_core.get_current_context()
    given = [
        param
        for param in ctx.params
        if param not in ("name", "extend", "store_path", "wait_s")
        and ctx.get_parameter_source(param) is ParameterSource.COMMANDLINE
    ]
    if given:
        options = ", ".join(f"--{param.replace('_', '-')}" for param in given)
        raise click.UsageError(
            f"--extend draws as the sample was drawn: {options} cannot change that"
        )


def draw_lines(report: SampleReport) -> Iterator[str]:
    """What a draw came to, for people."""
    if report.is_extension and not report.n_cells_seen:
        yield f"  nothing new: {report.name} has seen every cell of the corpus"
    else:
        yield from _what_was_drawn(report, "new " if report.is_extension else "")
    if report.grown:
        n_more = sum(now - before for before, now in report.grown.values())
        yield (
            f"  {n_more:,} patents came to {len(report.grown):,} cells that were drawn before; "
            "their tuples stay as they are (a sample of another name would draw from them too)"
        )


def _what_was_drawn(report: SampleReport, new: str) -> Iterator[str]:
    from patcache.queries.samples import levels_words

    yield (
        f"  {report.n_tuples:,} {new}tuples in {report.n_cells:,} of {report.n_cells_seen:,} "
        f"{new}cells · levels {levels_words(report.shape.levels)} · "
        f"{report.n_texts:,} texts to embed"
    )
    if report.n_short:
        level = max(report.n_short_at, key=lambda level: report.n_short_at[level])
        yield (
            f"  short: {report.n_short:,} of {report.n_patents:,} patents lack a candidate at some "
            f"level (level {level}: {report.n_short_at[level]:,}) "
            f"-> patcache shortages {report.name}"
        )
    if report.n_pairs:
        removed = " (--codes strict removes them)" if report.n_deeper else ""
        yield (
            f"  label noise: {report.noise_share:.0%} of candidates share a deeper level by a "
            f"secondary code{removed}"
        )
    if report.n_family_unknown:
        yield (
            f"  family unknown for {report.n_family_unknown:,} patents: they exclude nobody by it"
        )
