"""The demo corpus: about 1,300 readable English patents that never existed.

What the generator does, so that nobody takes its figures for a finding:

- Every patent has a main code of the tree and draws its words from the nodes above that code
  (subject.WEIGHTS): what two patents share grows with what their codes share. A part of another
  field, lists of industries, figures and the general language of patents are the noise.
- Sections A, E and G are written plainly and in synonyms: the kettle of one author is the water
  boiler of the next. A pretrained encoder knows that they are one thing, a count of words does
  not.
- Sections B, C, D, F and H are dense: many parts under abbreviations of their own (a drip tray
  (DTY), the DTY), coined names of compounds, polymers and alloys that belong to one group
  (names.py), lists of industries; and acts, troubles and gains that a whole section shares. A
  count of words goes by the rare terms; to a small encoder much of a section looks alike, most of
  all in D, where the things have much the same names everywhere, too.
- Some patents have secondary codes (so there is label noise), some belong to a family, a few
  repeat an abstract (continuations), a few have a title only.

So the order of two models differs between sections because it was made to differ. Everything
follows from the seed, by the uniform numbers of PCG64 alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from patcache.demo.dice import Dice
from patcache.demo.grammar import Writer
from patcache.demo.subject import draw_subject
from patcache.demo.tree import Field, fields
from patcache.records import SECTIONS

if TYPE_CHECKING:
    import pyarrow as pa

YEARS = (2018, 2019, 2020, 2021)
CELL_PATENTS = 38  # patents a year and section
MAX_WORDS = 150
WANTED_WORDS = {"plain": (80, 98), "dense": (112, 132)}
P_MAIN_GROUP = 0.3  # weight of `A01B 3/00` against a subgroup's 1
P_SECONDARY = 0.4
P_CONTINUATION = 0.015
P_FAMILY = 0.04
P_TITLE_ONLY = 0.01
BODY_RULES = ("body", "body", "body", "examples", "examples", "detail", "context")
PROCESS_RULES = ("body", "body", "examples", "examples", "examples", "detail", "context")


@dataclass(frozen=True, slots=True)
class DemoPatent:
    """One row of the demo's file."""

    publication_number: str
    title: str
    abstract: str | None
    ipc: str
    publication_date: str
    family_id: str
    language: str = "en"


def generate(seed: int = 1) -> pa.Table:
    """The corpus as a table with the columns of a user's file, in order of publication number."""
    import pyarrow as pa

    patents = sorted(patents_of(seed), key=lambda patent: patent.publication_number)
    names = DemoPatent.__slots__
    return pa.table({name: [getattr(patent, name) for patent in patents] for name in names})


def patents_of(seed: int) -> Iterator[DemoPatent]:
    """The patents of every cell, and after some of them a relative of theirs."""
    number = 10_000_000
    for year in YEARS:
        for section in SECTIONS:
            places = [field for field in fields() if field.code[0] == section]
            for index in range(CELL_PATENTS):
                dice = Dice(seed, year, ord(section), index)
                number += dice.whole(2, 90)  # room for a relative
                patent = _patent(number, year, places, dice)
                yield patent
                if (relative := _relative(patent, places, dice)) is not None:
                    yield relative


def _patent(number: int, year: int, places: Sequence[Field], dice: Dice) -> DemoPatent:
    place = dice.weighted(places, [P_MAIN_GROUP if f.code.endswith("/00") else 1.0 for f in places])
    others = _secondary(place, places, dice)
    near = [field for field in others or places if field.code[:3] == place.code[:3]] or [place]
    subject = draw_subject(place, dice.pick(near), dice)
    writer = Writer(subject, dice)
    title = writer.title()
    abstract = None if dice.chance(P_TITLE_ONLY) else write_abstract(writer, dice)
    codes = "; ".join(field.code for field in (place, *others))
    date = f"{year}-{dice.whole(1, 12):02d}-{dice.whole(1, 28):02d}"
    return DemoPatent(f"US{number}B2", title, abstract, codes, date, f"F{number}")


def _secondary(place: Field, places: Sequence[Field], dice: Dice) -> list[Field]:
    """Other codes of a patent: rather of its own section than of another."""
    if not dice.chance(P_SECONDARY):
        return []
    pools = [places if dice.chance(0.6) else fields() for _ in range(dice.whole(1, 2))]
    drawn = {field.code: field for field in map(dice.pick, pools)}
    return [field for code, field in drawn.items() if code != place.code]


def _relative(patent: DemoPatent, places: Sequence[Field], dice: Dice) -> DemoPatent | None:
    """A continuation with the same abstract, or a family member written anew; mostly none."""
    number = int(patent.publication_number[2:-2])
    if dice.chance(P_CONTINUATION):
        return replace(patent, publication_number=f"US{number + 1}B2")
    if dice.chance(P_FAMILY):
        place = next(field for field in places if field.code == patent.ipc.split(";")[0])
        year = int(patent.publication_date[:4])
        member = _patent(number + 1, year, [place], dice)
        return replace(member, family_id=patent.family_id)
    return None


def write_abstract(writer: Writer, dice: Dice) -> str:
    """Sentences of 80 to MAX_WORDS words in all: what it is, how it works, what it gives."""
    rules = PROCESS_RULES if writer.subject.kind == "process" else BODY_RULES
    style = writer.subject.style
    wanted = dice.whole(*WANTED_WORDS[style])
    sentences = [writer.sentence("opening")]
    industries_at = None if style == "plain" else dice.whole(1, 2)
    while (count := sum(len(s.split()) for s in sentences)) < wanted:
        ends = dice.chance(0.7) and wanted - count < 30
        rule = "closing" if ends else dice.pick(rules)
        added = writer.sentence("industries" if len(sentences) == industries_at else rule)
        if count + len(added.split()) <= MAX_WORDS:
            sentences.append(added)
    return " ".join(sentences)
