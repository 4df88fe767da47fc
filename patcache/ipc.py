"""IPC codes: every spelling of one code is one canonical code, and how much two codes share.

Pure Python, without numpy or DuckDB. `parse` is for one code, `read_all` for columns of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

# 'A61B', also 'A61b', 'A 61 B', and '6 A 21 D' with the edition of the IPC before it
SUBCLASS = r"(?:[1-8] +)?([A-H]) ?([0-9]{2}) ?([A-Z])"
# what may follow a code: '(2006.01)I', '()', ' 20060101AFI20070316BHEP', ' A', 'A0'
SUFFIX = r"((?:[\s(A-Z-][\sA-Z0-9().-]*)?)"
SLASHED = re.compile(SUBCLASS + r"[\s-]*([0-9]{1,4})\s*/\s*([0-9]{2,6})" + SUFFIX)
LONG = re.compile(SUBCLASS + r"\s*([0-9]{4})([0-9]{6})" + SUFFIX)  # 'A61B0005010300'
# the group right-aligned in three columns: 'A61B  506', 'C07C 4968', 'C07C24900'
FIXED = re.compile(SUBCLASS + r"([0-9]{3}|\s[0-9]{2}|\s\s[0-9])([0-9]{2,6})" + SUFFIX)
# the same after two spaces were made one: 'A61b 506'
SQUEEZED = re.compile(SUBCLASS + r"\s([0-9])([0-9]{2})" + SUFFIX)
# 'A21D 8 02 20060101 A F I'; a lone year after the group is no subgroup
SPACED = re.compile(
    SUBCLASS + r"\s+([0-9]{1,3})\s+(?!(?:19|20)[0-9]{2}(?![0-9]))([0-9]{2,6})" + SUFFIX
)

FIRST = re.compile(
    r"\s*(?:\(?[0-9]{4}\.?[0-9]{2}(?:[0-9]{2})?\)?\s*[ACS]?|[ACS])\s*F(?![A-HJ-MO-Z])"
)
ANOTHER_CODE = re.compile(r"(?<![0-9A-Z])[A-H][0-9]{2}[A-Z]")
DESIGN_OR_PLANT = re.compile(
    r"[0-9]{2}[-/ ]?[0-9]{2}|D ?[0-9]{1,2}[-/ .] ?[0-9].*|PLT.*", re.DOTALL
)

WHOLE = r"[\s-]*[0-9]{1,4}\s*/\s*[0-9]{2,6}(?![0-9])"

# Why a text that is no code is none: the first pattern that matches says it.
REASONS = (
    (re.compile(r""), "empty"),
    (re.compile(r"Y[0-9]{2}[A-Z].*", re.DOTALL), "section Y is CPC only"),
    (re.compile(SUBCLASS + r"[\s-]*[0-9]{1,4}\s*/\s*[0-9](?![0-9]).*", re.DOTALL),
     "subgroup needs at least two digits"),
    (re.compile(SUBCLASS + r"[\s-]*[0-9]{1,4}\s*/\s*[0-9]{7,}.*", re.DOTALL),
     "subgroup has more than six digits"),
    (re.compile(SUBCLASS + WHOLE + r".*(?<![0-9A-Z])[A-H][0-9]{2}[A-Z].*", re.DOTALL),
     "more than one code"),
    (re.compile(SUBCLASS + WHOLE + r".*", re.DOTALL), "unknown text after the code"),
    (re.compile(SUBCLASS + r"[\s-]*[0-9]{1,4}(?![0-9]).*", re.DOTALL), "no subgroup"),
    (re.compile(SUBCLASS + r"[\s()-]*"), "subclass only"),
    (re.compile(SUBCLASS + r"[\s/-].*", re.DOTALL), "no group"),
    (re.compile(r"[A-H][0-9]{2}[\s()-]*"), "class only"),
    (re.compile(r"[A-H]"), "section only"),
)  # fmt: skip
OTHERWISE = "not an IPC code"

SECTION_TITLES = {  # as the IPC has them, in few words
    "A": "Human necessities",
    "B": "Operations, transport",
    "C": "Chemistry, metallurgy",
    "D": "Textiles, paper",
    "E": "Fixed constructions",
    "F": "Mechanical engineering",
    "G": "Physics",
    "H": "Electricity",
}

SEPARATORS = re.compile(r"[;|,\n\r、]+")
QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")


class IpcInvalid(ValueError):
    """A text that is no IPC code; `reason` says why, in the words of the reject table."""

    def __init__(self, raw: str, reason: str) -> None:
        super().__init__(f"{raw!r}: {reason}")
        self.raw = raw
        self.reason = reason


@dataclass(frozen=True, slots=True)
class IpcCode:
    """One code and its levels: A, A61, A61B, A61B 5, A61B 5/00. Subgroups are text, not numbers."""

    section: str
    ipc_class: str
    subclass: str
    main_group: str
    code: str

    def __str__(self) -> str:
        return self.code


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text is: a code, or the reason why not.

    is_first: the text itself flags it as the patent's first code (the F of '20060101AFI...').
    """

    code: IpcCode | None
    reason: str = ""
    is_first: bool = False


def parse(raw: str) -> IpcCode:
    """The code that a text spells. Errors: IpcInvalid, with the reason."""
    reading = read(raw)
    if reading.code is None:
        raise IpcInvalid(raw, reading.reason)
    return reading.code


def read(raw: str) -> Reading:
    """The code that a text spells, or the reason why it spells none; never raises."""
    text = _plain(raw)
    match = SLASHED.fullmatch(text)
    if match is not None:
        return _reading(match, match[5])
    match = LONG.fullmatch(text)
    if match is not None:
        return _reading(match, match[5].rstrip("0").ljust(2, "0"))
    match = FIXED.fullmatch(text) or SQUEEZED.fullmatch(text) or SPACED.fullmatch(text)
    if match is not None:
        return _reading(match, match[5])
    reason = next((why for shape, why in REASONS if shape.fullmatch(text)), OTHERWISE)
    return Reading(None, reason)


def read_all(raws: Iterable[str]) -> list[Reading]:
    """Readings of a column, each distinct text read once: a million codes in seconds."""
    texts = list(raws)
    readings = {text: read(text) for text in set(texts)}
    return [readings[text] for text in texts]


def split(raw: str) -> list[str]:
    """The codes listed in one text, in order; [] for a blank one.

    Separators are ; | , and line ends, and the quotes of a list in JSON. White space is none: in
    'A61B  506' it has a meaning.
    """
    text = raw.strip()
    if text.startswith("[") and text.endswith("]"):
        if "{" in text:
            return [text]  # a list of objects is none of codes
        quoted = [double or single for double, single in QUOTED.findall(text)]
        text = "\n".join(quoted) if quoted else text[1:-1]
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return [part for part in map(str.strip, SEPARATORS.split(text)) if part]


def shared_level(a: IpcCode, b: IpcCode) -> int:
    """How much two codes share, 1 to 6.

    1 nothing, 2 section, 3 class, 4 subclass, 5 main group, 6 the same code.
    """
    if a.section != b.section:
        return 1
    if a.ipc_class != b.ipc_class:
        return 2
    if a.subclass != b.subclass:
        return 3
    if a.main_group != b.main_group:
        return 4
    return 6 if a.code == b.code else 5


def is_design_or_plant(raw: str) -> bool:
    """Whether a text is a class of designs or plants: '0205', 'D14-341', 'PLT-161'."""
    return DESIGN_OR_PLANT.fullmatch(_plain(raw)) is not None


def _plain(raw: str) -> str:
    """Upper case, without white space around it, full-width letters as plain ones."""
    if not raw.isascii():
        raw = unicodedata.normalize("NFKC", raw)
    return raw.strip().upper()


def _reading(match: re.Match[str], subgroup: str) -> Reading:
    section, digits, letter, group, _, suffix = match.groups()
    reading = _code(section, digits, letter, group.strip().lstrip("0"), subgroup)
    if not suffix or reading.code is None:
        return reading
    if ANOTHER_CODE.search(suffix):
        return Reading(None, "more than one code")
    return Reading(reading.code, "", is_first=True) if _is_first(suffix) else reading


@lru_cache(maxsize=1 << 17)  # more than there are codes
def _code(section: str, digits: str, letter: str, group: str, subgroup: str) -> Reading:
    if not group or digits == "00":
        return Reading(None, OTHERWISE)
    if len(group) > 3:
        return Reading(None, "groups of four digits are CPC only")
    ipc_class = section + digits
    subclass = ipc_class + letter
    main_group = f"{subclass} {group}"
    return Reading(IpcCode(section, ipc_class, subclass, main_group, f"{main_group}/{subgroup}"))


@lru_cache(maxsize=1 << 14)
def _is_first(suffix: str) -> bool:
    return FIRST.match(suffix) is not None
