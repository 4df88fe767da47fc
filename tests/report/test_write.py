"""A whole report of a small study: one page without anything outside, and the same bytes again."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from patcache.api import Store
from patcache.errors import NotThere, PatcacheError
from patcache.report.sections import SECTIONS
from tests.report.small_study import HARD, N_TUPLES, small_study

ROOT = Path(__file__).parents[2]
TITLE = 'Models <compared> & "judged"'
VOID = {"meta", "br", "link", "img", "input", "hr", "col"}
PROGRAM = """
import sys
from patcache.api import Store
Store(sys.argv[1]).report(sys.argv[2], title=sys.argv[3], formats=("svg",))
"""


class Page(HTMLParser):
    """What a browser would make of the page: open tags must close in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[tuple[tuple[str, ...], str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> out of order"

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.words.append((tuple(self.open), data.strip()))

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def said(self, tag: str) -> list[str]:
        return [text for path, text in self.words if path and path[-1] == tag]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return small_study(tmp_path_factory.mktemp("report") / "store")


@pytest.fixture(scope="module")
def out(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "out"
    store.report(out, title=TITLE, formats=("svg",))
    return out


@pytest.fixture(scope="module")
def text(out: Path) -> str:
    return (out / "index.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def files(folder: Path) -> dict[str, bytes]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_tags_are_balanced_and_ids_are_unique(page: Page) -> None:
    assert page.open == []
    ids = Counter(attributes["id"] for _, attributes in page.tags if "id" in attributes)
    assert [name for name, n in ids.items() if n > 1] == []
    for _, attributes in page.tags:
        named = (attributes.get("aria-labelledby") or "").split()
        assert set(named) <= set(ids)


def test_nothing_comes_from_outside(page: Page, text: str) -> None:
    for _, attributes in page.tags:
        for name in ("src", "href", "xlink:href", "srcset", "data", "action"):
            target = attributes.get(name)
            assert target is None or target.startswith(("#", "data:")), target
    assert {"script", "link", "iframe", "object", "base"} & {tag for tag, _ in page.tags} == set()
    assert re.findall(r"https?://|@import|url\((?!#)", text) == []


def test_links_and_references_lead_somewhere(page: Page, text: str) -> None:
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    assert set(re.findall(r'(?:href="|url\()#([^")]*)', text)) <= ids
    assert [a["href"] for a in page.named("a")] == [
        *(f"#{section.name}" for section in SECTIONS),
        "#methods",
    ]


def test_a_screen_reader_and_a_phone_find_their_way(page: Page, text: str) -> None:
    assert page.named("html") == [{"lang": "en"}]
    viewport = {"name": "viewport", "content": "width=device-width, initial-scale=1"}
    assert viewport in page.named("meta")
    headings = [tag for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert headings == ["h1"] + ["h2"] * (len(SECTIONS) + 1)
    assert all(th.get("scope") in ("col", "row") for th in page.named("th"))
    assert len(page.said("title")) == 1 + len(page.named("svg"))
    assert len(page.said("figcaption")) == len(page.named("svg"))
    assert len(page.named("caption")) == len(page.named("table"))
    assert text.count('class="scroll"') == len(page.named("table")) + len(page.named("svg"))
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_titles_and_labels_are_text(page: Page, text: str) -> None:
    assert page.said("h1") == [TITLE]
    assert "<b>" not in text
    assert HARD in page.said("th")
    assert any(HARD in words for words in page.said("p"))


def test_the_answer_comes_first_and_every_section_has_its_place(page: Page) -> None:
    paragraphs = page.said("p")
    assert paragraphs[0].startswith(
        "In sample main (48 tuples, all years, all sections) no model is shown to be best."
    )
    assert page.said("h2") == [section.title for section in SECTIONS] + ["Methods"]
    notes = page.said("li")
    assert any(note.startswith("Not shown: sample 'main' was imported") for note in notes)


def test_the_files_are_those_of_the_page(out: Path, page: Page) -> None:
    names = set(files(out))
    assert {"index.html", "methods.md", "rci.csv", "patcache-report.sha256"} < names
    figures = {name for name in names if name.startswith("figures/")}
    assert len(figures) == len(page.named("svg"))
    tables = {name.split(".")[0] for name in names if name.startswith("tables/")}
    assert len(tables) == len(page.named("table"))
    for table in tables:
        assert {f"{table}.csv", f"{table}.md", f"{table}.tex"} <= names


def test_raw_values_have_a_row_for_each_tuple_and_model(out: Path, store: Store) -> None:
    with (out / "rci.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 3 * N_TUPLES
    for model in store.leaderboard():
        values = [float(r["rci"]) for r in rows if r["model"] == model.model and r["rci"]]
        assert len(values) == model.n
        assert sum(values) / len(values) == pytest.approx(model.mean, abs=1e-12)
        undefined = [r for r in rows if r["model"] == model.model and r["is_undefined"] == "true"]
        assert len(undefined) == model.n_undefined
    one = next(row for row in rows if row["rci"])
    assert float(one["rci"]) == pytest.approx(1 - float(one["distance_in_ranks"]) / 18, abs=1e-12)


def test_methods_name_every_digest(out: Path, store: Store) -> None:
    methods = (out / "methods.md").read_text(encoding="utf-8")
    for row in store.leaderboard():
        assert row.spec_id in methods
    assert "scoring: f141df4a3700695d (rule 1)" in methods
    assert "corpus digest: digest" in methods
    assert "Mann-Whitney U test" in methods
    assert "corrected by Holm" in methods
    assert "on cpu" in methods


@pytest.mark.slow
def test_another_process_with_another_hash_seed_writes_the_same_bytes(
    store: Store, out: Path, tmp_path: Path
) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PROGRAM, str(store.path), str(tmp_path / "again"), TITLE]
    subprocess.run(command, check=True, env=environment, cwd=tmp_path)
    assert files(tmp_path / "again") == files(out)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"models": ["letters"]}, "one model is scored, letters"),
        ({"years": 2002, "sections": "A"}, "too few for any test"),
        ({"models": [HARD], "years": 2000, "sections": "E"}, "No model has a defined tuple"),
    ],
)
def test_little_to_show_is_words(
    store: Store, tmp_path: Path, question: dict[str, object], words: str
) -> None:
    store.report(tmp_path / "out", formats=(), **question)  # type: ignore[arg-type]
    text = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    page = Page(text)
    assert words in page.said("p")[0]
    visible = " ".join(words for path, words in page.words if "style" not in path)
    assert not re.search(r"\bnan\b|\bNone\b|\binf\b", visible)


def test_what_is_not_there_leaves_no_folder(store: Store, tmp_path: Path) -> None:
    with pytest.raises(NotThere, match="no tuples in this slice"):
        store.report(tmp_path / "out", years=1990)
    with pytest.raises(PatcacheError, match="no figures as gif"):
        store.report(tmp_path / "out", formats=("gif",))
    assert list(tmp_path.iterdir()) == []


def test_latex_tables_are_whole(out: Path) -> None:
    for path in sorted((out / "tables").glob("*.tex")):
        lines = [x for x in path.read_text("utf-8").splitlines() if not x.startswith("%")]
        assert lines[0] == r"\begin{table}"
        assert lines[2].startswith(r"\caption{")
        assert lines[3] == rf"\label{{tab:{path.stem}}}"
        assert lines[-1] == r"\end{table}"
        columns = re.fullmatch(r"\\begin\{tabular\}\{([lr]+)\}", lines[4])
        assert columns is not None
        rows = [line for line in lines if line.endswith(r" \\")]
        for row in rows:
            cells = re.split(r"(?<!\\)&", row)
            assert len(cells) == len(columns[1]), row
        body = "\n".join(lines)
        assert body.count("{") - body.count(r"\{") == body.count("}") - body.count(r"\}")
        assert not re.search(r"(?<!\\)[%#]|(?<!\\)_|[^\x00-\x7f]", body), path.name
