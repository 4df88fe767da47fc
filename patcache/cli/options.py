"""Options that several commands share: the store, the slice, the output format."""

from __future__ import annotations

import functools
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
YEARS = re.compile(r"(\d{4})(?:-(\d{4}))?")

format_option = click.option(
    "--format",
    "fmt",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How to write the rows.",
)


def store_option(*, create: bool) -> Callable[[Command], Command]:
    """Adds --store and --wait; the command gets `store`, opened (made, where `create`)."""

    def decorate(command: Command) -> Command:
        @click.option(
            "--store",
            "store_path",
            type=click.Path(path_type=Path, file_okay=False),
            envvar="PATCACHE_STORE",
            help="Folder of the store  [default: PATCACHE_STORE, else this folder if it is one].",
        )
        @click.option(
            "--wait",
            "wait_s",
            type=click.FloatRange(min=0),
            default=10.0,
            show_default=True,
            help="Seconds to wait for another process that uses the store.",
        )
        @functools.wraps(command)
        def with_store(*args: Any, store_path: Path | None, wait_s: float, **kwargs: Any) -> Any:
            from patcache.store import StoreFolder

            path = store_path or _store_here()
            return command(*args, store=StoreFolder(path, create=create, wait_s=wait_s), **kwargs)

        return with_store  # type: ignore[return-value]

    return decorate


def slice_options(command: Command) -> Command:
    """Adds --sample, --years, --sections and --models."""
    for option in reversed(
        (
            click.option("--sample", metavar="NAME", help="Sample  [default: the only one]."),
            click.option(
                "--years", callback=_years, metavar="2010-2020,2022", help="Years  [default: all]."
            ),
            click.option(
                "--sections",
                callback=_sections,
                metavar="A,B",
                help="IPC sections  [default: all].",
            ),
            click.option(
                "--models", callback=_names, metavar="A,B", help="Models by label  [default: all]."
            ),
        )
    ):
        command = option(command)
    return command


def _store_here() -> Path:
    here = Path.cwd()
    if (here / DATABASE_NAME).exists():
        return here
    raise NotThere(
        "no store was named",
        f"{here} is not a store" + (" (PATCACHE_STORE is empty)" if _is_set_empty() else ""),
        "name one with --store DIR or PATCACHE_STORE, or go into its folder",
    )


def _is_set_empty() -> bool:
    return os.environ.get("PATCACHE_STORE") == ""


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
