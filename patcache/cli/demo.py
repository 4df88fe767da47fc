"""`patcache demo`: a study of a generated corpus, from start to end."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from patcache.cli.output import say, say_lines
from patcache.cli.progress import bar

NEXT = """\
next: cd {folder}
  patcache cells --by section              which model is best in which field
  patcache leaderboard --test signed-rank  the same tuples, paired
  patcache models                          what else can be added: patcache add NAME
  patcache sql "select section, model, avg(rci) from rci group by all order by 1, 3 desc"
your own patents: patcache import FILE --store DIR"""


@click.command()
@click.argument(
    "folder", metavar="[DIR]", type=click.Path(path_type=Path), default=Path("patcache-demo")
)
def demo(folder: Path) -> None:
    """Make a study of generated patents in DIR (patcache-demo), and show which model ranks best.

    The patents never existed: their words follow an IPC tree, so the figures show what the
    commands do, not which model is best. A second run does only what is missing.
    """
    from patcache.cli.leaderboard import show_leaderboard
    from patcache.cli.matrix import show_matrix
    from patcache.cli.run import report_lines
    from patcache.demo.run import SAMPLE_NAME, demo_models, prepare, run_demo
    from patcache.queries.question import Question
    from patcache.steps.study import is_news

    say(f"a demo in {folder}, of generated patents")
    store = prepare(folder)
    requests, skipped = demo_models()
    for report in run_demo(store, requests, bar):
        if is_news(report):
            say_lines(report_lines(report))
    say_lines(f"  {model.model} is left out: {model.reason}" for model in skipped)
    click.echo()
    show_leaderboard(store, Question(SAMPLE_NAME), "table")
    click.echo()
    show_matrix(store, Question(SAMPLE_NAME), "p", "table")
    click.echo()
    click.echo(NEXT.format(folder=folder))
