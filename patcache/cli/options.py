"""Options that several commands share: the store, the slice, the output format."""

from __future__ import annotations

import functools
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import rich_click as click

from patcache.cli.output import FORMATS
from patcache.errors import NotThere
from patcache.records import SECTIONS

Command = TypeVar("Command", bound=Callable[..., Any])
DATABASE_NAME = "patcache.duckdb"
SPAN = re.compile(r"(\d+)(?:(?:\.\.|-)(\d+))?")
MOST_NUMBERS = 1000
YEARS = re.compile(r"(\d{4})(?:-(\d{4}))?")


class FiniteRange(click.FloatRange):
    """A range of numbers: nan, which is inside every range, and inf are none."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


format_option = click.option(
    "--format",
    "fmt",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How to write the rows.",
)


def store_option(
    *, create: bool, files_only: bool = False, optional: bool = False
) -> Callable[[Command], Command]:
    """Adds --store and --wait; the command gets `store`, opened (made, where `create`).

    files_only: for a command that does not need the database, and works while it is busy.
    optional: the command gets None where no store is named and it runs in none.
    """

    def decorate(command: Command) -> Command:
        @click.option(
            "--store",
            "store_path",
            type=click.Path(path_type=Path, file_okay=False),
            help="Folder of the store  [default: PATCACHE_STORE, else this folder if it is one].",
        )
        @click.option(
            "--wait",
            "wait_s",
            type=FiniteRange(min=0),
            default=10.0,
            show_default=True,
            help="Seconds to wait for another process that uses the store; when given, also for "
            "one that writes the same vectors.",
        )
        @functools.wraps(command)
        def with_store(*args: Any, store_path: Path | None, wait_s: float, **kwargs: Any) -> Any:
            from patcache.store import StoreFolder

            if optional and store_path is None and store_here() is None:
                return command(*args, store=None, **kwargs)
            store = StoreFolder(
                _named_store(store_path),
                create=create,
                wait_s=wait_s,
                busy_wait_s=wait_s if is_given("wait_s") else 0.0,
                files_only=files_only,
            )
            return command(*args, store=store, **kwargs)

        return with_store  # type: ignore[return-value]

    return decorate


def years_option(command: Command) -> Command:
    """Adds --years."""
    return click.option(
        "--years", callback=_years, metavar="2010-2020,2022", help="Years  [default: all]."
    )(command)


def sections_option(command: Command) -> Command:
    """Adds --sections."""
    return click.option(
        "--sections", callback=_sections, metavar="A,B", help="IPC sections  [default: all]."
    )(command)


def slice_options(command: Command) -> Command:
    """Adds --sample, --years, --sections and --models."""
    for option in reversed(
        (
            click.option(
                "--sample",
                metavar="NAME",
                help="Sample  [default: the only one, or that of which all others are draws].",
            ),
            years_option,
            sections_option,
            click.option(
                "--models", callback=_names, metavar="A,B", help="Models by label  [default: all]."
            ),
        )
    ):
        command = option(command)
    return command


def whole_numbers(text: str, largest: int) -> tuple[int, ...]:
    """Whole numbers as people list them: "1-5", "1,3,6", "3..20". Errors: BadParameter."""
    found: list[int] = []
    for part in text.split(","):
        matched = SPAN.fullmatch(part.strip())
        if matched is None:
            raise click.BadParameter(f"{part!r} is neither a number nor a span such as 1-5")
        first, last = int(matched[1]), int(matched[2] or matched[1])
        if last < first:
            raise click.BadParameter(f"{part!r}: a span goes from a number to a larger one")
        if last > largest or last - first >= MOST_NUMBERS:
            most = f"at most {MOST_NUMBERS:,} numbers, up to {largest:,}"
            raise click.BadParameter(f"{part!r} is too much: {most}")
        found.extend(range(first, last + 1))
    return tuple(dict.fromkeys(found))


def is_given(name: str) -> bool:
    """Whether an option was typed (or set in the environment) rather than left at its default."""
    context = click.get_current_context(silent=True)
    source = None if context is None else context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def store_here() -> Path | None:
    """The store of PATCACHE_STORE, else the folder one stands in, when it is a store."""
    named = os.environ.get("PATCACHE_STORE")
    here = Path.cwd()
    if named:
        return Path(named)
    return here if (here / DATABASE_NAME).exists() else None


def no_store() -> NotThere:
    """What to say where no store is named, and none is here."""
    return NotThere(
        "no store was named",
        f"{Path.cwd()} is not a store",
        "name one with --store DIR or PATCACHE_STORE, or go into its folder",
    )


def _named_store(path: Path | None) -> Path:
    found = path or store_here()
    if found is None:
        raise no_store()
    return found


def _years(
    _ctx: click.Context, _param: click.Parameter, text: str | None
) -> tuple[int, ...] | None:
    if text is None:
        return None
    years: set[int] = set()
    for part in text.split(","):
        matched = YEARS.fullmatch(part.strip())
        if matched is None:
            raise click.BadParameter(f"{part!r} is neither a year nor a span such as 2010-2020")
        first, last = int(matched[1]), int(matched[2] or matched[1])
        if last < first:
            raise click.BadParameter(f"{part!r} ends before it begins")
        years.update(range(first, last + 1))
    return tuple(sorted(years))


def _sections(
    _ctx: click.Context, _param: click.Parameter, text: str | None
) -> tuple[str, ...] | None:
    if text is None:
        return None
    asked = [letter for letter in text.upper() if letter not in ", "]
    wrong = [letter for letter in asked if letter not in SECTIONS]
    if wrong or not asked:
        raise click.BadParameter(f"{text!r}: sections are letters from A to H, such as A,B or AB")
    return tuple(sorted(set(asked)))


def _names(
    _ctx: click.Context, _param: click.Parameter, text: str | None
) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise click.BadParameter("no model is named")
    return names
