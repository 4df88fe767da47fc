"""Sweeps: samples of one store that were drawn alike but for the seed, or the size of tuples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from patcache.errors import Misused, NotThere, SampleRefused
from patcache.steps.sample_parameters import CANDIDATES, SampleParameters, parameters_of
from patcache.store.samples import DrawnSample, drawn_samples, sample_names

if TYPE_CHECKING:
    import duckdb

    from patcache.store import StoreFolder

Vary = Literal["seed", "candidates"]
VARIED: tuple[Vary, ...] = ("seed", "candidates")
SUFFIXES: dict[Vary, str] = {"seed": "seed", "candidates": "m"}


@dataclass(frozen=True, slots=True)
class Draw:
    """One sample of a sweep. value: its seed, or how many candidates a tuple has.

    name: of the sample, or the one it would get. sample_id, corpus_digest: None while it is not
    drawn.
    """

    value: int
    name: str
    parameters: SampleParameters
    sample_id: int | None = None
    corpus_digest: str | None = None

    @property
    def is_drawn(self) -> bool:
        return self.sample_id is not None


@dataclass(frozen=True, slots=True)
class Sweep:
    """The draws of a base sample by seed or by number of candidates, ascending."""

    vary: Vary
    base: str
    draws: tuple[Draw, ...]

    @property
    def drawn(self) -> tuple[Draw, ...]:
        return tuple(draw for draw in self.draws if draw.is_drawn)

    @property
    def missing(self) -> tuple[Draw, ...]:
        return tuple(draw for draw in self.draws if not draw.is_drawn)


def find_sweep(
    store: StoreFolder, base: str | None, vary: Vary, values: Sequence[int] | None = None
) -> Sweep:
    """The draws of a base sample (None: the only one, or the oldest where all others are draws).

    A sample is a draw by its stored parameters, whatever its name. values: of the seed, or of the
    number of candidates; None: those that were drawn.
    Errors: NotThere; SampleRefused for an imported sample, or values that cannot be; Misused
    where no sample is named and there are several.
    """
    with store.read() as cursor:
        drawn = drawn_samples(cursor)
        names = sample_names(cursor)
        found = _base(cursor, drawn, base)
    stored = _by_identity(drawn, found)
    parameters = parameters_of(found.parameters)
    if values is None:
        wanted = sorted(_values(stored, parameters, vary))
    else:
        wanted = sorted(dict.fromkeys(values))
    draws = tuple(_draw(stored, found, vary, value, names) for value in wanted)
    return Sweep(vary, found.name, draws)


def varied(parameters: SampleParameters, vary: Vary, value: int) -> SampleParameters:
    """The parameters with another seed, or with so many candidates a tuple."""
    if vary == "seed":
        return replace(parameters, seed=value)
    return replace(parameters, candidates=value, k=1)


def _base(
    cursor: duckdb.DuckDBPyConnection, drawn: Sequence[DrawnSample], name: str | None
) -> DrawnSample:
    names = sample_names(cursor)
    if not names:
        raise NotThere(
            "this store has no sample yet",
            "models are compared on the tuples of a sample",
            "draw one: patcache sample NAME --targets 100",
        )
    listed = ", ".join(names)
    wanted = name or base_of_all(cursor)
    if wanted is None:
        raise Misused("which sample?", f"there are {listed}", "name one of them")
    for sample in drawn:
        if sample.name == wanted:
            return sample
    if wanted not in names:
        raise NotThere(
            f"no sample {wanted!r} in this store", f"its samples: {listed}", "name one of them"
        )
    raise SampleRefused(
        f"sample {wanted!r} was imported",
        "only a sample that was drawn here can be drawn again",
        "draw one: patcache sample NAME --targets 100",
    )


def base_of_all(cursor: duckdb.DuckDBPyConnection) -> str | None:
    """The only sample, or the oldest where all others are draws of it; None where that is none."""
    names = sample_names(cursor)
    if len(names) < 2:
        return names[0] if names else None
    drawn = drawn_samples(cursor)
    return drawn[0].name if _are_one_family(drawn, len(names)) else None


def _are_one_family(drawn: Sequence[DrawnSample], n_samples: int) -> bool:
    """Whether all samples of a store are draws of the oldest, by seed or by candidates."""
    if len(drawn) < n_samples:
        return False
    stored = _by_identity(drawn, drawn[0])
    parameters = parameters_of(drawn[0].parameters)
    mine = {
        _identity(varied(parameters, vary, value))
        for vary in VARIED
        for value in _values(stored, parameters, vary)
    }
    return set(stored) <= mine


def _identity(parameters: SampleParameters) -> tuple[Any, ...]:
    """All that a draw depends on: two ways to ask for the same levels are one draw."""
    one = parameters
    where = (one.where, one.allow_same_text, one.allow_family)
    return (one.targets, one.per, one.codes, one.seed, *where, one.shape.levels)


def _by_identity(
    drawn: Sequence[DrawnSample], base: DrawnSample
) -> dict[tuple[Any, ...], DrawnSample]:
    """A sample for each draw: of several alike the base, else one of its corpus, else the last."""
    wanted = sorted(
        drawn, key=lambda s: (s.name == base.name, s.corpus_digest == base.corpus_digest)
    )
    return {_identity(parameters_of(sample.parameters)): sample for sample in wanted}


def _values(
    stored: dict[tuple[Any, ...], DrawnSample], parameters: SampleParameters, vary: Vary
) -> Iterator[int]:
    """The seeds, or numbers of candidates, of which there is a sample."""
    asked = {parameters_of(sample.parameters).seed for sample in stored.values()}
    for value in asked if vary == "seed" else CANDIDATES:
        if _identity(varied(parameters, vary, value)) in stored:
            yield value


def _draw(
    stored: dict[tuple[Any, ...], DrawnSample],
    base: DrawnSample,
    vary: Vary,
    value: int,
    names: Sequence[str],
) -> Draw:
    parameters = varied(parameters_of(base.parameters), vary, value)
    sample = stored.get(_identity(parameters))
    if sample is None:
        return Draw(value, _free_name(f"{base.name}-{SUFFIXES[vary]}{value}", names), parameters)
    return Draw(value, sample.name, parameters, sample.sample_id, sample.corpus_digest)


def _free_name(name: str, taken: Sequence[str]) -> str:
    """The name, or the first of NAME-2, NAME-3 ... that no sample has."""
    number, free = 2, name
    while free in taken:
        number, free = number + 1, f"{name}-{number}"
    return free
