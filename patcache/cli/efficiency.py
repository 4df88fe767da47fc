"""`patcache efficiency`: what each model costs, and what one gets for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.model_options import runtime_options
from patcache.cli.options import format_option, is_given, store_option, whole_numbers
from patcache.cli.output import say, write_listing
from patcache.cli.progress import bar
from patcache.cli.questions import dmax_option, value_options

if TYPE_CHECKING:
    from patcache.queries.efficiency import Times
    from patcache.queries.question import Question
    from patcache.records import Runtime
    from patcache.steps.measuring import Measured, Plan
    from patcache.store import StoreFolder

LARGEST_BATCH = 4096
EXIT_SOME_FAILED = 1
OF_MEASURING = {"batch": "batches", "tuples": "n_tuples", "repeats": "n_repeats"}

times_option = click.option(
    "--times",
    type=click.Choice(("embedding", "measured")),
    help="Recorded by embedding, or of the fastest batch measured  [default: embedding; with "
    "--measure, measured].",
)


def _batches(_ctx: click.Context, _param: click.Parameter, text: str) -> tuple[int, ...]:
    found = whole_numbers(text, LARGEST_BATCH)
    if min(found) < 1:
        raise click.BadParameter(f"{text!r}: a batch has at least one text")
    return found


@click.command()
@click.option("--measure", is_flag=True, help="Load each model again and time it on a few tuples.")
@click.option(
    "--batch",
    "batches",
    callback=_batches,
    default="1,2,4,8,16,32,64",
    show_default=True,
    help="With --measure: texts handed over in one call.",
)
@click.option(
    "--tuples",
    "n_tuples",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="With --measure: tuples of the sample whose texts are encoded.",
)
@click.option(
    "--repeats",
    "n_repeats",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="With --measure: of which the median counts.",
)
@times_option
@click.option(
    "--show",
    type=click.Choice(("models", "batch")),
    default="models",
    show_default=True,
    help="A row a model and device, or a row a batch as measured.",
)
@store_option(create=False)
@dmax_option
@value_options
@runtime_options
@format_option
def efficiency(
    store: StoreFolder,
    question: Question,
    measure: bool,
    batches: tuple[int, ...],
    n_tuples: int,
    n_repeats: int,
    times: Times | None,
    show: str,
    runtime: Runtime,
    fmt: str,
) -> None:
    """What does each model cost (seconds a text, bytes a vector), and which RCI does it give?

    Times are those that embedding recorded, or, with --measure, of encoding the same few real
    tuples again, in batches of several sizes.
    """
    from patcache.queries import efficiency as queries
    from patcache.report.grids.efficiency import grid_of_efficiency
    from patcache.steps.measuring import Plan

    given = [f"--{name}" for name, key in OF_MEASURING.items() if is_given(key)]
    if given and not measure:
        raise click.UsageError(f"{', '.join(given)}: only with --measure, which times the models")
    n_failed = 0
    if measure:
        plan = Plan(batches, n_tuples, n_repeats, runtime)
        n_measured, n_failed = _measure(store, question, plan)
        times = times or ("measured" if n_measured else "embedding")
    if show == "batch":
        write_listing(queries.batches(store, question), fmt)
    else:
        listing = queries.efficiency(store, question, times or "embedding")
        between = " -- " if fmt == "latex" else " ─●─ "
        write_listing(listing, fmt, grid_of_efficiency(listing, between))
    if n_failed:
        raise SystemExit(EXIT_SOME_FAILED)


def _measure(store: StoreFolder, question: Question, plan: Plan) -> tuple[int, int]:
    """Times the models of the question, telling of each; how many were, and how many failed."""
    from patcache.queries.question import subject_of
    from patcache.steps.measuring import Measured, Skipped, measure

    with store.read() as cursor:
        subject = subject_of(cursor, question)
    labels = [model.label for model in subject.models]
    width = max(map(len, labels))
    n_measured = n_failed = 0
    for found in measure(
        store,
        subject.sample,
        labels,
        plan,
        is_named=question.models is not None,
        bar=lambda name: bar(f"  {name:{width}}"),
    ):
        match found:
            case Measured():
                n_measured += 1
                say(f"  {found.label:{width}}  {_speed(found)}")
            case Skipped():
                say(f"  {found.label:{width}}  not measured: {found.why}")
            case _:
                n_failed += 1
                say(f"error: {found.subject} was not measured: {found.error.what}")
                for line in (found.error.why, found.error.todo):
                    if line:
                        say(f"  {line}")
    return n_measured, n_failed


def _speed(measured: Measured) -> str:
    """The slowest and the fastest batch, for people."""
    unit = "pairs" if measured.is_pairs else "texts"
    best = min(measured.timings, key=lambda timing: timing.s_per_text)
    batches = ", ".join(str(timing.batch) for timing in measured.timings)
    return (
        f"{best.n_texts} {unit} of {best.n_tuples} tuples in batches of {batches} on "
        f"{best.device} · fastest {1 / best.s_per_text:,.3g}/s at {best.batch}"
    )
