"""Figures with their units, as abstracts give them."""

from __future__ import annotations

from patcache.demo.dice import Dice

AMOUNTS = ("minor", "small", "effective", "catalytic", "controlled")
MICRO = ("nm", "µm")
FAST = ("milliseconds", "microseconds", "seconds")
SLOW = ("minutes", "hours", "seconds")
TIMES = ("twice", "three times", "four times", "1.5 times", "at least twice", "up to five times")
SPANS = ("{0} to {1}", "{0} to {1}", "about {0}", "approximately {1}")


def span(dice: Dice, low: int, high: int, unit: str) -> str:
    """`12 to 15 mm` or `about 12 mm`."""
    first = dice.whole(low, high)
    second = first + dice.whole(1, max(2, (high - low) // 2))
    return f"{dice.pick(SPANS).format(first, second)} {unit}"


def percent(dice: Dice) -> str:
    """`5 to 10 %`, `at least 5 %` or `about 10 %`."""
    low = dice.whole(1, 70)
    high = low + dice.whole(2, 28)
    return dice.pick((f"{low} to {high} %", f"at least {low} %", f"about {high} %"))


def dose(dice: Dice) -> str:
    """`5 to 10 % by weight`, `20 parts by weight` or `a small amount`."""
    amounts = (
        f"{percent(dice)} by weight",
        span(dice, 1, 40, "parts by weight"),
        f"a {dice.pick(AMOUNTS)} amount",
        percent(dice),
    )
    return dice.pick(amounts)


def ratio(dice: Dice) -> str:
    """`2:1 to 5:1`."""
    first = dice.whole(1, 9)
    return dice.pick((f"{first}:1 to {first + 3}:1", f"1:{first} to 1:{first + 4}"))
