"""One HTML page that needs nothing else: no script, no font, no link to the outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from patcache.report.grid import Grid

STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --paper: #ffffff; --quiet: #566270;
  --line: #d5dae0; --mark: #f2f5f8; --accent: #0060a0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --paper: #14181d; --quiet: #a3adb8;
  --line: #39424c; --mark: #1d232a; --accent: #6cb8ee; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; color: var(--ink); background: var(--paper);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main, header, footer { max-width: 62rem; margin: 0 auto; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 1.5rem 0 .25rem; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 0 0 .5rem; }
section { border-top: 1px solid var(--line); padding: 1.5rem 0 .5rem; }
p { max-width: 44rem; margin: .5rem 0; }
a { color: var(--accent); }
nav ol {
  columns: 16rem; column-gap: 2rem; padding-left: 1.5rem; margin: .5rem 0 1rem; font-size: .9rem;
}
.about, .notes, figcaption, caption, footer { color: var(--quiet); font-size: .85rem; }
.answer { background: var(--mark); border-left: 4px solid var(--accent); padding: .5rem 1rem;
  margin: 1rem 0; }
.answer p:first-child { font-size: 1.1rem; font-weight: 600; }
.scroll { overflow-x: auto; max-width: 100%; margin: .75rem 0; }
.scroll:focus-visible { outline: 2px solid var(--accent); }
figure { margin: 1rem 0; }
svg { display: block; max-width: none; height: auto; color: var(--ink);
  font-family: "DejaVu Sans", Verdana, sans-serif; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: .25rem; }
th, td { padding: .2rem .6rem; text-align: left; border-bottom: 1px solid var(--line);
  white-space: nowrap; vertical-align: top; font-weight: normal; }
thead th { font-weight: 600; border-bottom: 2px solid var(--ink); }
.n { text-align: right; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .8rem; background: var(--mark);
  padding: .75rem; margin: .5rem 0; }
ul.notes { padding-left: 1.2rem; max-width: 44rem; }
@media print { :root { color-scheme: light; --ink: #000; --paper: #fff; --quiet: #444; --line: #bbb;
  --mark: #fff; --accent: #000; } nav { display: none; } .scroll { overflow: visible; }
  figure, tr { break-inside: avoid; } h2 { break-after: avoid; } table { font-size: 7.5pt; }
  svg { max-width: 100%; } }
""".strip()


@dataclass(frozen=True, slots=True)
class Shown:
    """A section as the page shows it; grid: None where there is nothing but words.

    figures: (what it shows, its <svg>); caption, notes: the lines above and below the table.
    """

    name: str
    title: str
    words: str
    caption: tuple[str, ...] = ()
    figures: tuple[tuple[str, str], ...] = ()
    grid: Grid | None = None
    notes: tuple[str, ...] = ()


def page(title: str, answer: Sequence[str], sections: Sequence[Shown], methods: str) -> str:
    """The whole page: the answer first, then the sections, then how it was made."""
    links = "".join(f'<li><a href="#{one.name}">{escape(one.title)}</a></li>' for one in sections)
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            "<body>",
            f"<header><h1>{escape(title)}</h1>",
            '<div class="answer">',
            f"<p>{escape(answer[0])}</p>",
            f"<p>{escape(' '.join(answer[1:]))}</p>" if answer[1:] else "",
            "</div>",
            f'<nav aria-label="Sections"><ol>{links}<li><a href="#methods">Methods</a></li></ol>'
            "</nav></header>",
            "<main>",
            *map(_section, sections),
            '<section id="methods"><h2>Methods</h2>',
            "<p>Everything the numbers depend on, as in methods.md.</p>",
            f'<pre tabindex="0">{escape(methods)}</pre></section>',
            "</main>",
            "<footer><p>Written by patcache. Beside this page: figures/ (SVG, PNG, PDF), tables/ "
            "(CSV, Markdown, LaTeX), methods.md, and rci.csv, one row a tuple and model.</p>"
            "</footer>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _section(one: Shown) -> str:
    title = escape(one.title)
    parts = [f'<section id="{one.name}"><h2>{title}</h2>', f"<p>{escape(one.words)}</p>"]
    for label, svg in one.figures:
        parts.append(
            f'<figure><div class="scroll" tabindex="0" role="group" aria-label="{escape(label)}">'
            f"{svg}</div><figcaption>{escape(label)}</figcaption></figure>"
        )
    if one.grid is not None:
        caption = "<br>".join(map(escape, (*one.caption,))) or title
        parts.append(_table(one.grid, caption, title))
    if one.notes:
        notes = "".join(f"<li>{escape(note)}</li>" for note in one.notes)
        parts.append(f'<ul class="notes">{notes}</ul>')
    return "\n".join([*parts, "</section>"])


def _table(grid: Grid, caption: str, title: str) -> str:
    """A table in a box of its own, which scrolls where it is wider than the screen."""
    kinds = [' class="n"' if is_number else "" for is_number in grid.is_number]
    head = "".join(
        f'<th scope="col"{kind}>{escape(text)}</th>' if text else f"<td{kind}></td>"
        for text, kind in zip(grid.headings, kinds, strict=True)
    )
    first = next((i for i, is_number in enumerate(grid.is_number) if not is_number), 0)
    rows = []
    for cells in grid.cells:
        row = "".join(
            f'<th scope="row"{kind}>{escape(text)}</th>'
            if i == first
            else f"<td{kind}>{escape(text)}</td>"
            for i, (text, kind) in enumerate(zip(cells, kinds, strict=True))
        )
        rows.append(f"<tr>{row}</tr>")
    body = "\n".join(rows)
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="Table: {title}"><table>'
        f"<caption>{caption}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody></table></div>"
    )
