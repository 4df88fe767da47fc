"""A table as people read it: headings, and cells as text."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from patcache.listing import Listing
from patcache.quantities import bytes_text, p_text, rate_text, seconds_text

MISSING = "–"
NAMED_FORMATS: dict[str, Callable[[float], str]] = {
    "bytes": bytes_text,
    "p": p_text,
    "rate": rate_text,
    "seconds": seconds_text,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Grid:
    """A table as people read it: headings, cells as text, and which columns hold numbers."""

    headings: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    is_number: tuple[bool, ...]


def grid_of(listing: Listing[Any]) -> Grid:
    """A listing's shown columns with their headings and number formats applied."""
    fields = [f for f in dataclasses.fields(listing.row_type) if not f.metadata.get("hidden")]
    cells = tuple(
        tuple(cell_text(getattr(row, f.name), f.metadata.get("fmt", "")) for f in fields)
        for row in listing
    )
    is_number = tuple(
        any(isinstance(getattr(row, f.name), (int, float)) for row in listing) for f in fields
    )
    headings = tuple(f.metadata.get("heading") or f.name.replace("_", " ") for f in fields)
    return Grid(headings, cells, is_number)


def cell_text(value: Any, fmt: str = "", whole: str = ",") -> str:
    """One value for people: numbers in their format, nothing as a dash, lists with commas.

    whole: the format of whole numbers where fmt says nothing.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Decimal):
        return cell_text(plain_number(value), fmt, whole)
    if isinstance(value, (int, float)):
        if fmt in NAMED_FORMATS:
            return NAMED_FORMATS[fmt](value)
        text = format(value, fmt or (whole if isinstance(value, int) else ".4g"))
        is_minus_zero = text.startswith("-") and not text.strip("-0.%")
        return format(0.0, fmt or ".4g") if is_minus_zero else text
    if isinstance(value, (list, tuple)):
        return ", ".join(cell_text(item, whole=whole) for item in value)
    return value.hex() if isinstance(value, bytes) else str(value)


def plain_number(value: Decimal) -> int | float:
    """DuckDB's sums of integers come as decimals without decimals."""
    return int(value) if value == value.to_integral_value() else float(value)
