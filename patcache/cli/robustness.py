"""`patcache robustness`: would another draw say the same, and does the size of tuples matter?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import rich_click as click

from patcache.cli.model_options import runtime_options
from patcache.cli.options import Command, format_option, store_option, whole_numbers
from patcache.cli.output import say, say_lines, write_listing
from patcache.cli.progress import bar
from patcache.cli.questions import dmax_option, value_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patcache.queries.question import Question
    from patcache.records import ModelRequest, Runtime
    from patcache.report.grid import Grid
    from patcache.steps.scoring import ScoreReport
    from patcache.steps.sweeping import Failure, Report
    from patcache.steps.sweeps import Sweep, Vary
    from patcache.store import StoreFolder

LARGEST_SEED = 2**63 - 1
LARGEST_TUPLE = 20
EXIT_SOME_FAILED = 1


def _seeds(
    _ctx: click.Context, _param: click.Parameter, text: str | None
) -> tuple[int, ...] | None:
    return None if text is None else whole_numbers(text, LARGEST_SEED)


def _candidates(
    _ctx: click.Context, _param: click.Parameter, text: str | None
) -> tuple[int, ...] | None:
    found = None if text is None else whole_numbers(text, LARGEST_TUPLE)
    if found is not None and min(found) < 3:
        raise click.BadParameter(f"{text!r}: a tuple has from 3 to {LARGEST_TUPLE} candidates")
    return found


def sweep_options(command: Command) -> Command:
    """Adds the base sample and which of its draws; the command gets `base`, `seeds`, `sizes`."""
    seeds = click.option("--seeds", callback=_seeds, metavar="1-5", help="Draws by their seed.")
    sizes = click.option(
        "--candidates",
        "sizes",
        callback=_candidates,
        metavar="3-20",
        help="Draws by how many candidates a tuple has.",
    )
    return click.argument("base", required=False, metavar="[SAMPLE]")(seeds(sizes(command)))


def named_base(question: Question, base: str | None) -> Question:
    """The question of the sample that was named, as an argument or by --sample."""
    if base is not None and question.sample not in (None, base):
        raise click.UsageError(f"two samples are named: {base} and {question.sample}")
    return replace(question, sample=base or question.sample)


@click.command()
@sweep_options
@click.option("--show-only", is_flag=True, help="Compute nothing: show what the store has.")
@click.option(
    "--show",
    type=click.Choice(("models", "draws")),
    default="models",
    show_default=True,
    help="A row a model over all draws, or a row a draw and model.",
)
@store_option(create=False)
@dmax_option
@value_options
@runtime_options
@format_option
def robustness(
    store: StoreFolder,
    question: Question,
    base: str | None,
    seeds: tuple[int, ...] | None,
    sizes: tuple[int, ...] | None,
    show_only: bool,
    show: str,
    runtime: Runtime,
    fmt: str,
) -> None:
    """Would another draw of SAMPLE say the same, and does the number of candidates matter?

    Draws samples like SAMPLE with other --seeds, or with other numbers of --candidates, encodes
    the texts that are new to the models scored for SAMPLE (or --models), scores, and compares.
    What was done before is not done again; without --seeds and --candidates nothing is done, and
    what the store has is shown.
    """
    from patcache.steps.sweeps import find_sweep

    question = named_base(question, base)
    asked: dict[Vary, tuple[int, ...] | None] = {"seed": seeds, "candidates": sizes}
    chosen = {vary: values for vary, values in asked.items() if values is not None}
    failures: list[Failure] = []
    if chosen and not show_only:
        sweeps = [find_sweep(store, question.sample, vary, chosen[vary]) for vary in chosen]
        question = replace(question, sample=sweeps[0].base)
        models, failures = _fill(store, sweeps, question, runtime)
        question = replace(question, models=models)
    _write(store, question, chosen or _stored(store, question), show, fmt)
    if failures:
        raise SystemExit(EXIT_SOME_FAILED)


def _fill(
    store: StoreFolder, sweeps: Sequence[Sweep], question: Question, runtime: Runtime
) -> tuple[tuple[str, ...] | None, list[Failure]]:
    """Does what is missing, telling of it; the models to show (None: all), and what failed."""
    from patcache.steps.embedding import EmbedReport
    from patcache.steps.sweeping import Failure, fill_sweeps, is_news

    requests = _requests(store, question)
    width = max(len(request.name) for request in requests)
    labels = {request.name: request.name for request in requests}
    failures, n_news = [], 0
    for report in fill_sweeps(
        store,
        sweeps,
        requests,
        tie_tolerance=question.tie_tolerance,
        runtime=runtime,
        bar=lambda name: bar(f"  {name:{width}}"),
    ):
        if isinstance(report, Failure):
            failures.append(report)
        if isinstance(report, EmbedReport):
            labels[report.asked_label] = report.label
        if is_news(report):
            n_news += 1
            say_lines(report_lines(report, width))
    if n_news == 0:
        n_draws = len({draw.name for sweep in sweeps for draw in sweep.draws})
        say(
            f"nothing to do: {n_draws} draw{'s' * (n_draws != 1)} and {len(requests)} "
            f"model{'s' * (len(requests) != 1)} are drawn, embedded and scored"
        )
    if question.models is None:
        return None, failures
    failed = {failure.subject for failure in failures}
    left = tuple(label for name, label in labels.items() if name not in failed)
    return left or question.models, failures


def _requests(store: StoreFolder, question: Question) -> list[ModelRequest]:
    """The models named, else those scored for the base. Errors: NotThere where there is none."""
    from patcache.queries.question import subject_of
    from patcache.records import ModelRequest

    if question.models is not None:
        return [ModelRequest(name) for name in question.models]
    with store.read() as cursor:
        return [ModelRequest(model.label) for model in subject_of(cursor, question).models]


def report_lines(report: Report, width: int) -> Iterator[str]:
    """What a step did or could not do, for people."""
    from patcache.cli.embed import embed_lines
    from patcache.cli.sample import draw_lines
    from patcache.steps.embedding import EmbedReport
    from patcache.steps.sampling import SampleReport
    from patcache.steps.sweeping import Failure, NewTexts

    match report:
        case SampleReport():
            yield f"  {report.name}: {next(iter(draw_lines(report))).strip()}"
        case NewTexts():
            new = f"{report.n_new:,} new {report.unit}" if report.n_new else "not embedded yet"
            yield f"  {report.label:{width}}  {new}"
        case EmbedReport():
            yield from embed_lines(report, width)
        case Failure():
            yield f"error: {report.subject}: {report.error.what}"
            yield from (f"  {line}" for line in (report.error.why, report.error.todo) if line)
        case _:
            yield _scored_line(report, width)


def _scored_line(reports: Sequence[ScoreReport], width: int) -> str:
    """What was scored of one model in all draws."""
    new = [report for report in reports if report.n_scored]
    return (
        f"  {reports[0].label:{width}}  {sum(report.n_scored for report in new):,} tuples of "
        f"{len(new)} draw{'s' * (len(new) != 1)} scored · "
        f"{sum(report.n_undefined for report in new):,} undefined · "
        f"{sum(report.n_near_ties for report in new):,} near-ties"
    )


def _stored(store: StoreFolder, question: Question) -> dict[Vary, None]:
    """The sweeps of which the store has several draws; by seed where it has none."""
    from patcache.steps.sweeps import VARIED, find_sweep

    several = {v: None for v in VARIED if len(find_sweep(store, question.sample, v).draws) > 1}
    return several or {"seed": None}


def _write(
    store: StoreFolder,
    question: Question,
    chosen: dict[Vary, tuple[int, ...]] | dict[Vary, None],
    show: str,
    fmt: str,
) -> None:
    """A table for each sweep; for machines one, whose column `vary` tells them apart."""
    from patcache.listing import Listing
    from patcache.queries import robustness as queries
    from patcache.report.formats import MACHINE_FORMATS
    from patcache.report.grids.robustness import grid_of_draws, grid_of_robustness

    found: list[tuple[Listing[Any], Grid]] = []
    for vary, values in chosen.items():
        if show == "draws":
            draws = queries.robustness_draws(store, question, vary, values)
            found.append((draws, grid_of_draws(draws)))
        else:
            models = queries.robustness(store, question, vary, values)
            found.append((models, grid_of_robustness(models)))
    if fmt in MACHINE_FORMATS:
        first = found[0][0]
        rows = tuple(row for listing, _ in found for row in listing)
        captions = tuple(line for listing, _ in found for line in listing.caption)
        write_listing(Listing(first.row_type, rows, captions, first.notes), fmt)
        return
    for number, (listing, grid) in enumerate(found):
        if number:
            click.echo()
        write_listing(listing, fmt, grid)
