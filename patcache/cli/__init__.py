"""The command line: `patcache COMMAND`. A command's module is imported when it is asked for."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import rich_click as click

from patcache.cli.output import say, use_utf8
from patcache.errors import PatcacheError
from patcache.version import __version__

COMMANDS = {
    "import": "patcache.cli.import_:import_",
    "rejects": "patcache.cli.rejects:rejects",
    "sample": "patcache.cli.sample:sample",
    "shortages": "patcache.cli.shortages:shortages",
    "embed": "patcache.cli.embed:embed",
    "score": "patcache.cli.score:score",
    "plan": "patcache.cli.plan:plan",
    "add": "patcache.cli.add:add",
    "models": "patcache.cli.models:models",
    "rm": "patcache.cli.rm:rm",
    "leaderboard": "patcache.cli.leaderboard:leaderboard",
    "matrix": "patcache.cli.matrix:matrix",
    "cells": "patcache.cli.cells:cells",
    "trend": "patcache.cli.trend:trend",
    "fields": "patcache.cli.fields:fields",
    "where": "patcache.cli.where:where",
    "compare": "patcache.cli.compare:compare",
    "distribution": "patcache.cli.distribution:distribution",
    "levels": "patcache.cli.levels:levels",
    "agreement": "patcache.cli.agreement:agreement",
    "tuples": "patcache.cli.tuples:tuples",
    "normality": "patcache.cli.normality:normality",
    "robustness": "patcache.cli.robustness:robustness",
    "efficiency": "patcache.cli.efficiency:efficiency",
    "equivalence": "patcache.cli.equivalence:equivalence",
    "power": "patcache.cli.power:power",
    "figure": "patcache.cli.figures:figure",
    "report": "patcache.cli.report:report",
    "export": "patcache.cli.export:export",
    "run": "patcache.cli.run:run",
    "neighbors": "patcache.cli.neighbors:neighbors",
    "index": "patcache.cli.index:index",
    "sql": "patcache.cli.sql:sql",
    "status": "patcache.cli.status:status",
    "verify": "patcache.cli.verify:verify",
    "gc": "patcache.cli.gc:gc",
    "demo": "patcache.cli.demo:demo",
}
GROUPS = {  # each begins with this command, and goes on to the next one's
    "import": "Patents, samples, models",
    "leaderboard": "Which model ranks best, and where",
    "distribution": "Similarities, levels, tuples",
    "robustness": "How sure, and at what cost",
    "figure": "On paper",
    "run": "Studies and stores",
}
EXIT_INTERRUPTED = 130


class Commands(click.RichGroup):
    """The commands in the order of COMMANDS; errors become three lines and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, function = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(import_module(module), function)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except PatcacheError as error:
            show_error(error)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            say("interrupted: what was finished is kept; the same command goes on from there")
            ctx.exit(EXIT_INTERRUPTED)


def show_error(error: PatcacheError) -> None:
    """What, why and what to do, a line each, on stderr."""
    say(f"error: {error.what}")
    for line in (error.why, error.todo):
        if line:
            say(f"  {line}")


def panels() -> list[dict[str, Any]]:
    """The commands of the help text by what they are for, in the order of COMMANDS."""
    found: list[dict[str, Any]] = []
    for name in COMMANDS:
        if name in GROUPS:
            found.append({"name": GROUPS[name], "commands": []})
        found[-1]["commands"].append(name)
    return found


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.rich_config({"command_groups": {"patcache": panels()}})
@click.version_option(__version__, prog_name="patcache")
def cli() -> None:
    """Which text embedding model ranks the similarity of your patents best, and how sure are we?

    Start with `patcache demo`, or `patcache import FILE --store DIR`.
    """


def main() -> None:
    """The console script."""
    use_utf8()
    try:
        cli(prog_name="patcache")
    except SystemExit as ending:
        if ending.code == EXIT_INTERRUPTED:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(EXIT_INTERRUPTED)  # the block that a thread still computes is not waited for
        raise
