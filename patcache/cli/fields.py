"""`patcache fields`: the models in each IPC section."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import format_option, store_option
from patcache.cli.trend import parts_options, write_parts

if TYPE_CHECKING:
    from patcache.queries.question import Question
    from patcache.queries.testing import Family
    from patcache.report.grids.parts import Show
    from patcache.store import StoreFolder


@click.command()
@store_option(create=False)
@parts_options
@format_option
def fields(store: StoreFolder, question: Question, show: Show, family: Family, fmt: str) -> None:
    """How the models do in each IPC section: how many each one beats, or its mean RCI.

    table, md and latex show a line a section; csv, json and jsonl one record a section and model.
    """
    from patcache.queries import fields as queries

    write_parts(queries.fields(store, question, family=family), show, fmt)
