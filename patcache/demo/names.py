"""Coined names of compounds, polymers and alloys: the rare words of section C.

Names are put together as chemists do, from parts that exist; whether the substance does is left
open. Each code has a few names of its own, the same in every corpus.
"""

from __future__ import annotations

import zlib
from functools import cache

from patcache.demo.dice import Dice
from patcache.demo.words import word_lists

OWN_NAMES = {5: 2, 4: 2, 3: 2, 2: 2}  # names of a subgroup, main group, subclass, class


def coin(style: str, dice: Dice) -> str:
    """A name in the manner of the style: heterocycle, acyclic, polymer or alloy."""
    return COINERS[style](dice)


@cache
def own_names(code: str, style: str, depth: int) -> tuple[str, ...]:
    """The names that belong to one code; the code alone decides which."""
    dice = Dice(zlib.crc32(f"{style} {code}".encode()))
    return tuple(dict.fromkeys(coin(style, dice) for _ in range(OWN_NAMES.get(depth, 0))))


def _parts(name: str) -> tuple[str, ...]:
    return word_lists("names")[name]


def _heterocycle(dice: Dice) -> str:
    first, second = dice.pick(_parts("groups")), dice.pick(_parts("groups"))
    ring, end = dice.pick(_parts("rings")), dice.pick(_parts("endings"))
    if dice.chance(0.5):
        return f"{dice.whole(2, 7)}-{first}{ring}{end}"
    return f"{dice.whole(2, 6)}-{first}{second}{ring}{end}"


def _acyclic(dice: Dice) -> str:
    group, chain, tail = (dice.pick(_parts(name)) for name in ("groups", "chains", "tails"))
    return f"{dice.whole(2, 6)}-{group}{chain}{tail}"


def _polymer(dice: Dice) -> str:
    first, second = dice.several(_parts("mers"), 2)
    return dice.pick([f"poly{first}{second}", f"poly{first}co{second}", f"oligo{first}{second}"])


def _alloy(dice: Dice) -> str:
    base, *others = dice.several(_parts("metals"), dice.whole(3, 4))
    return base + "".join(f"{metal}{dice.whole(1, 29)}" for metal in others)


COINERS = {
    "heterocycle": _heterocycle,
    "acyclic": _acyclic,
    "polymer": _polymer,
    "alloy": _alloy,
}
