"""How a sample is to be drawn: what is asked, checked, and stored with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from patcache.errors import SampleRefused
from patcache.records import Shape

Per = Literal["cell", "year", "section"]
Codes = Literal["main", "strict"]

ALL_LEVELS = (1, 2, 3, 4, 5, 6)
CANDIDATES = range(3, 21)
STUDY_TARGETS: Mapping[Per, int] = {"cell": 100, "year": 1000, "section": 5000}
NAME = re.compile(r"[^\W_][\w.@+-]*")
RESERVED = ("export", "import", "list")


@dataclass(frozen=True, slots=True)
class SampleParameters:
    """All that a draw depends on besides the corpus.

    targets: how many a cell, year or section (`per`); None takes every eligible patent.
    levels: the levels wanted, each with k candidates. candidates: m of them instead, whatever
    the number of levels (see `levels_of`). codes: "strict" asks that the level by main codes be
    the deepest of any pair of codes. where: a condition on the view `patents` that targets and
    candidates must meet. allow_...: candidates that have the target's text, or each other's
    (allow_same_text), or are of its family (allow_family).
    """

    targets: int | None = 100
    per: Per = "cell"
    levels: tuple[int, ...] = ALL_LEVELS
    k: int = 1
    candidates: int | None = None
    codes: Codes = "main"
    seed: int = 1
    where: str | None = None
    allow_same_text: bool = False
    allow_family: bool = False

    @property
    def shape(self) -> Shape:
        """The level of each candidate, in gold order. Errors: SampleRefused."""
        return Shape(levels_of(self.levels, self.k, self.candidates))


def study(per: Per = "cell", **changes: Any) -> SampleParameters:
    """The protocol of the study: levels 1-6; 100 a cell, 1,000 a year or 5,000 a section.

    It drew from all patents of the year and left out nothing but the target: patents with its
    text and members of its family may be candidates.
    """
    return SampleParameters(
        **{
            "targets": STUDY_TARGETS[per],
            "per": per,
            "allow_same_text": True,
            "allow_family": True,
            **changes,
        }
    )


def asked_samples(
    name: str, *, preset: str | None = None, candidates: tuple[int, ...] | None = None, **asked: Any
) -> dict[str, SampleParameters]:
    """The samples that a name with these settings stands for.

    preset: "study" starts from the study's protocol. Several numbers of candidates make a sample
    of each, NAME-m3, NAME-m4 ... Errors: SampleRefused for a preset that is none.
    """
    if preset not in (None, "study"):
        raise SampleRefused(f"no preset {preset!r} for a sample", "there is one: study")
    if preset == "study":
        parameters = study(**{**asked, "allow_same_text": True, "allow_family": True})
    else:
        parameters = SampleParameters(**asked)
    if candidates is None:
        return {name: parameters}
    names = [name] if len(candidates) == 1 else [f"{name}-m{m}" for m in candidates]
    return {
        each: replace(parameters, candidates=m) for each, m in zip(names, candidates, strict=True)
    }


def levels_of(
    levels: tuple[int, ...], k: int = 1, candidates: int | None = None
) -> tuple[int, ...]:
    """The level of each candidate, ascending: k of each, or `candidates` of them in all.

    With fewer candidates than levels, levels drop out from the second deepest down, so that the
    shallowest and the deepest stay; with more, extras go to the levels in turn, deepest first.
    Errors: SampleRefused for levels outside 1-6, fewer than two, or a number that cannot be.
    """
    wanted = sorted(set(levels))
    if len(wanted) < 2 or not set(wanted) <= set(ALL_LEVELS) or len(wanted) != len(levels):
        raise SampleRefused(
            f"levels {', '.join(map(str, levels)) or 'none'} make no order",
            "a tuple needs at least two different levels of 1-6, each named once",
            "--levels 1-6, --levels 1-5 or --levels 1,3,6",
        )
    if candidates is None:
        return _checked(tuple(sorted(wanted * k)))
    if candidates not in CANDIDATES or k != 1:
        raise SampleRefused(
            f"{candidates} candidates" + (f" and {k} a level" if k != 1 else ""),
            "a number of candidates is from 3 to 20, and takes the place of --k",
        )
    while len(wanted) > candidates:
        del wanted[-2]
    extra = [wanted[::-1][n % len(wanted)] for n in range(candidates - len(wanted))]
    return tuple(sorted([*wanted, *extra]))


def parameters_of(stored: Mapping[str, Any]) -> SampleParameters:
    """Parameters as they were stored."""
    return SampleParameters(**{**stored, "levels": tuple(stored["levels"])})


def check(name: str, parameters: SampleParameters) -> None:
    """Errors: SampleRefused for a name that is none, or parameters that contradict each other."""
    check_name(name)
    if parameters.targets is not None and parameters.targets < 1:
        raise SampleRefused(f"{parameters.targets} targets", "a sample has at least one")
    if not 0 <= parameters.seed < 2**63:
        raise SampleRefused(f"seed {parameters.seed}", "a seed is from 0 to 2^63 - 1")
    _ = parameters.shape


def _checked(levels: tuple[int, ...]) -> tuple[int, ...]:
    if not 2 <= len(levels) <= max(CANDIDATES):
        raise SampleRefused(f"{len(levels)} candidates", "a tuple has 2 to 20 candidates")
    return levels


def check_name(name: str) -> None:
    """Errors: SampleRefused for a name that the command line could not tell from another word."""
    if not NAME.fullmatch(name) or name in RESERVED:
        raise SampleRefused(
            f"{name!r} is no name for a sample",
            f"a name is letters, digits and . _ @ + -, and not {', '.join(RESERVED)}",
        )
