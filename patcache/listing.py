"""What a query returns: records, with the words that belong above and below them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Row = TypeVar("Row")


def column(heading: str = "", *, fmt: str = "", hidden: bool = False) -> Any:
    """A record's field as a table column: heading, number format, and whether tables show it.

    fmt: as Python's format takes it, or "bytes", "p", "rate" or "seconds" for people's words.
    """
    return dataclasses.field(metadata={"heading": heading, "fmt": fmt, "hidden": hidden})


def known(value: float) -> float | None:
    """The number as a record holds it: None for NaN."""
    return None if math.isnan(value) else float(value)


@dataclass(frozen=True, slots=True)
class Listing(Sequence[Row], Generic[Row]):
    """Records of one dataclass, in order; caption and notes are the lines above and below them."""

    row_type: type[Row]
    rows: tuple[Row, ...]
    caption: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, index: int | slice) -> Row | tuple[Row, ...]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the records' fields."""
        return tuple(field.name for field in dataclasses.fields(self.row_type))  # type: ignore[arg-type]

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict a record, keys in the order of the fields."""
        return [{name: getattr(row, name) for name in self.columns} for row in self.rows]

    def to_arrow(self) -> pa.Table:
        """The records as an Arrow table."""
        import pyarrow as pa

        return pa.table({name: [getattr(row, name) for row in self.rows] for name in self.columns})

    def to_pandas(self) -> pd.DataFrame:
        """The records as a data frame; needs pandas."""
        return self.to_arrow().to_pandas()
