"""What one patent is about: the concepts drawn for it, each under the name its author uses."""

from __future__ import annotations

from dataclasses import dataclass, field

from patcache.demo.dice import Dice
from patcache.demo.names import coin, own_names
from patcache.demo.tree import Field

Weights = dict[str, tuple[float, ...]]

# How often a concept comes from the section, class, subclass, main group or subgroup of the code:
# what two patents share then grows with what their codes share.
# Plain writers come to the point: their words say which group it is.
PLAIN: Weights = {
    "things": (0.0, 0.0, 0.1, 0.3, 0.6),
    "parts": (0.02, 0.04, 0.34, 0.3, 0.3),
    "stuff": (0.05, 0.1, 0.45, 0.2, 0.2),
    "acts": (0.0, 0.0, 0.3, 0.3, 0.4),
    "ills": (0.08, 0.12, 0.5, 0.3, 0.0),
    "gains": (0.08, 0.12, 0.5, 0.3, 0.0),
    "traits": (0.0, 0.0, 1.0, 0.0, 0.0),
    "sites": (0.15, 0.25, 0.6, 0.0, 0.0),
    "users": (0.0, 0.4, 0.6, 0.0, 0.0),
    "objects": (0.0, 0.0, 1.0, 0.0, 0.0),
}
# Dense writers share acts, troubles and gains across a section and a class; parts and substances
# tell their groups apart.
DENSE: Weights = {
    "things": (0.25, 0.0, 0.55, 0.1, 0.1),
    "parts": (0.1, 0.22, 0.16, 0.24, 0.28),
    "stuff": (0.1, 0.2, 0.2, 0.25, 0.25),
    "acts": (0.35, 0.0, 0.5, 0.1, 0.05),
    "ills": (0.4, 0.4, 0.2, 0.0, 0.0),
    "gains": (0.4, 0.4, 0.2, 0.0, 0.0),
    "traits": (0.0, 0.0, 1.0, 0.0, 0.0),
    "sites": (0.5, 0.4, 0.1, 0.0, 0.0),
    "users": (0.3, 0.6, 0.1, 0.0, 0.0),
    "objects": (0.8, 0.0, 0.2, 0.0, 0.0),
}
WEIGHTS = {"plain": PLAIN, "dense": DENSE}

# How many of each a patent has.
COUNTS = {"things": 1, "parts": 8, "stuff": 4, "acts": 5, "ills": 3, "gains": 3}
COUNTS |= {"traits": 3, "sites": 3, "users": 1, "objects": 6}
PLAIN_COUNTS = COUNTS | {"parts": 5, "stuff": 2, "acts": 3, "ills": 2, "traits": 2, "sites": 2}
PROCESS_COUNTS = COUNTS | {"parts": 3, "stuff": 7}
NAMED_COUNTS = PROCESS_COUNTS | {"stuff": 2, "acts": 3, "sites": 2}
COINED = {2: 2, 3: 2, 4: 2, 5: 2}  # names of the class ... of the subgroup in one patent
UNIQUE = (1, 2)  # ... and names that no other patent has
P_NEIGHBOUR = 0.5  # one part is of another field of the class


@dataclass(frozen=True, slots=True)
class Term:
    """A concept as one patent names it; deeds is empty or what this patent says it does."""

    noun: str
    deeds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """The material of one patent, enough for a title and an abstract."""

    kind: str  # device, process or system
    unit: str
    heat: tuple[int, int]  # degrees Celsius
    style: str  # plain or dense
    thing: str
    aims: tuple[str, ...]  # the acts that are not the whole section's
    terms: dict[str, list[Term]] = field(default_factory=dict)

    def nouns(self, topic: str) -> list[str]:
        return [term.noun for term in self.terms[topic]]


def draw_subject(place: Field, neighbour: Field, dice: Dice) -> Subject:
    """The material of a patent classified in place; neighbour lends it a word or two."""
    counts = _counts(place)
    terms = {topic: _draw(topic, place, count, dice) for topic, count in counts.items()}
    if place.setting("names"):
        terms["stuff"] = _coined(place, dice) + terms["stuff"]
    if neighbour.setting("kind") == place.setting("kind") and dice.chance(P_NEIGHBOUR):
        terms["parts"][-1:] = _draw("parts", neighbour, 1, dice) or terms["parts"][-1:]
    low, high = map(int, place.setting("heat", "20-180").split("-"))
    kind, unit = place.setting("kind"), place.setting("unit", "mm")
    style = place.setting("style")
    common = {name for act in place.path[0].topics.get("acts", ()) for name in act.names}
    aims = tuple(act.noun for act in terms["acts"] if act.noun not in common)
    return Subject(kind, unit, (low, high), style, terms["things"][0].noun, aims, terms)


def _draw(topic: str, place: Field, count: int, dice: Dice) -> list[Term]:
    drawn: dict[str, Term] = {}
    left = [list(node.topics.get(topic, ())) for node in place.path]
    while len(drawn) < count:
        weights = [
            w if some else 0.0
            for w, some in zip(WEIGHTS[place.setting("style")][topic], left, strict=False)
        ]
        if not any(weights):
            break
        depth = dice.weighted(range(len(left)), weights)
        concept = left[depth].pop(dice.whole(0, len(left[depth]) - 1))
        deeds = (dice.pick(concept.deeds),) if concept.deeds else ()
        drawn.setdefault(noun := dice.pick(concept.names), Term(noun, deeds))
    return list(drawn.values())


def _coined(place: Field, dice: Dice) -> list[Term]:
    """Substances with the names that belong to the code, the deepest first, and some of its own."""
    style = place.setting("names")
    nouns: list[str] = []
    for depth, count in sorted(COINED.items(), reverse=True):
        if depth <= len(place.path):
            nouns += dice.several(own_names(place.path[depth - 1].code, style, depth), count)
    nouns += [coin(style, dice) for _ in range(dice.whole(*UNIQUE))]
    return [Term(noun) for noun in nouns]


def _counts(place: Field) -> dict[str, int]:
    if place.setting("style") == "plain":
        return PLAIN_COUNTS
    if place.setting("kind") != "process":
        return COUNTS
    return NAMED_COUNTS if place.setting("names") else PROCESS_COUNTS
