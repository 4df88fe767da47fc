"""Which column of a file is which field of a record: as named by the user, else by its name."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

from patcache.errors import ImportRefused
from patcache.importers.base import FIELDS

# Names of columns in real exports, the likeliest first, without case, white space and marks.
GUESSES = {
    "publication_number": (
        "publicationnumber publicationno publicationid pubnumber pubno patentnumber patentno"
        " patentid publnr displaykey lensid docnumber documentid documentnumber number id"
        " 公开公告号 公开号 公告号 공개번호 등록번호"
    ),
    "ipc": (
        "ipc ipcr ipcs ipccodes ipccode ipcall ipcrclassifications ipcclassifications"
        " ipcrclassification ipcclassification classificationsipcr classificationsipc ipcrlabels"
        " ipcclasssymbol originalipcall internationalclassification internationalclassifications"
        " classifications classification 分类号 ipc分类号 ipcmain mainipc mainipcrlabel"
        " originalipcmain 主分类号 主ipc分类号小组 主ipc分类号"
    ),
    "title": (
        "title inventiontitle patenttitle titleen applntitle titel titre titulo"
        " 名称 标题 专利名称 发明名称 발명의명칭"
    ),
    "abstract": (
        "abstract patentabstract abstracttext abstracten applnabstract zusammenfassung abrege"
        " resumen resumo 摘要 요약"
    ),
    "claims": (
        "claims claim claimtext claimstext anspruche ansprueche"
        " 权利要求 主权项 首项权利要求 대표청구항"
    ),
    "year": "year publicationyear pubyear publnyear grantyear jahr annee 公开年",
    "publication_date": (
        "publicationdate pubdate datepublished patentdate publndate grantdate patentissuedate"
        " issuedate date 公开公告日 公开日 공개일 등록일"
    ),
    "family_id": (
        "familyid simplefamilyid docdbfamilyid inpadocfamilyid extendedfamilyid family familynumber"
    ),
    "language": "language lang titlelanguage textlanguage 语言",
}
SHORT_NAMES = {
    "number": "publication_number",
    "id": "publication_number",
    "date": "publication_date",
    "family": "family_id",
    "claim": "claims",
    "lang": "language",
}
REQUIRED = (("publication_number",), ("ipc",), ("title", "abstract"), ("year", "publication_date"))


def choose_columns(
    columns: Sequence[str], mapping: Mapping[str, str], file_name: str
) -> dict[str, str]:
    """Field -> column, in the order of FIELDS.

    Errors: ImportRefused for an unknown field, a column that is not there, or a field without
    which there is no patent; all of them list the columns there are.
    """
    named = {_field(name): column for name, column in mapping.items()}
    chosen = {f: _named_column(f, c, columns, file_name) for f, c in named.items() if c}
    taken = set(chosen.values())
    for name in FIELDS:
        if name in named:
            continue
        guess = _guess(name, [column for column in columns if column not in taken])
        if guess is not None:
            chosen[name] = guess
            taken.add(guess)
    for wanted in REQUIRED:
        if not any(name in chosen for name in wanted):
            raise ImportRefused(
                f"{file_name} has no column for {' or '.join(wanted)}",
                there_are(columns),
                f"say which it is: --map {wanted[0]}=COLUMN",
            )
    return {name: chosen[name] for name in FIELDS if name in chosen}


def there_are(columns: Sequence[str]) -> str:
    """The columns of a file, for an error."""
    return "its columns are " + ", ".join(columns) if columns else "it has no columns"


def _field(name: str) -> str:
    full = SHORT_NAMES.get(name, name)
    if full not in FIELDS:
        raise ImportRefused(
            f"unknown field {name!r} in --map", f"the fields are {', '.join(FIELDS)}"
        )
    return full


def _named_column(field: str, column: str, columns: Sequence[str], file_name: str) -> str:
    if column in columns:
        return column
    alike = [there for there in columns if _bare(there) == _bare(column)]
    if len(alike) == 1:
        return alike[0]
    raise ImportRefused(f"{file_name} has no column {column!r} for {field}", there_are(columns))


def _guess(field: str, columns: Sequence[str]) -> str | None:
    by_name = {_bare(column): column for column in reversed(columns)}  # the first of equals
    return next((by_name[name] for name in GUESSES[field].split() if name in by_name), None)


def _bare(name: str) -> str:
    """'IPCR Classifications' and 'ipcr_classifications' are one name; accents do not count."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    return "".join(letter for letter in letters if letter.isalnum())
