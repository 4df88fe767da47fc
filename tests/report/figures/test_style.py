"""Files of figures: the same bytes for the same results, and elements that fit into a page."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from patcache.errors import PatcacheError
from patcache.report.figures.style import (
    INK,
    SUFFIXES,
    chance_line,
    new_figure,
    series,
    short,
    styled,
    svg_for_page,
    title,
    write_figure,
)

PROGRAM = """
import sys
from pathlib import Path
from tests.report.figures.test_style import write_all
write_all(Path(sys.argv[1]))
"""


def example() -> object:
    with styled():
        figure, axes = new_figure()
        axes.plot([1, 2, 3], [0.5, 0.7, 0.6], label="a_$x$_<b>", **series(7))
        chance_line(axes, 0.352)
        axes.fill_between([1, 3], 0.4, 0.5, hatch="//")
        axes.legend()
        title(figure, "Ünlike & <title>", ["of a sample"])
    return figure


def write_all(folder: Path) -> list[str]:
    digests = []
    for suffix in SUFFIXES:
        write_figure(example(), folder / f"f{suffix}")  # type: ignore[arg-type]
        digests.append(hashlib.sha256((folder / f"f{suffix}").read_bytes()).hexdigest())
    return digests


def test_files_are_the_same_bytes_in_another_process_with_another_hash_seed(tmp_path: Path) -> None:
    here = write_all(tmp_path)
    assert write_all(tmp_path) == here
    other = tmp_path / "other"
    other.mkdir()
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", PROGRAM, str(other)]
    subprocess.run(command, check=True, env=environment, cwd=tmp_path)
    digests = [hashlib.sha256((other / f"f{s}").read_bytes()).hexdigest() for s in SUFFIXES]
    assert digests == here


def test_an_element_for_a_page_has_its_own_ids_and_the_pages_ink() -> None:
    one = svg_for_page(example(), "one", "A < B")  # type: ignore[arg-type]
    two = svg_for_page(example(), "two", "A < B")  # type: ignore[arg-type]
    ids = re.findall(r'\bid="([^"]*)"', one)
    assert len(ids) == len(set(ids))
    assert not set(ids) & set(re.findall(r'\bid="([^"]*)"', two))
    references = set(re.findall(r'(?:href="|url\()#([^")]*)', one))
    assert references
    assert references <= set(ids)
    assert '<title id="one-title">A &lt; B</title>' in one
    assert "a_$x$_&lt;b&gt;" in one  # text as text
    assert INK not in one
    assert "currentColor" in one
    assert "http" not in one
    assert "<style" not in one


def test_long_labels_keep_both_ends() -> None:
    assert short("minilm@cls") == "minilm@cls"
    found = short("organisation/a-model-with-a-long-name:pooling-cls", 21)
    assert found == "organisati…ooling-cls"
    assert len(found) == 21


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PatcacheError, match="end it in .svg, .png, .pdf"):
        write_figure(example(), tmp_path / "f.gif")  # type: ignore[arg-type]
