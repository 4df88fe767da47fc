"""The help text names every command once, by what it is for."""

from __future__ import annotations

from click.testing import CliRunner

from patcache.cli import COMMANDS, GROUPS, cli, panels


def test_every_command_is_in_one_panel_in_order() -> None:
    found = panels()
    assert [panel["name"] for panel in found] == list(GROUPS.values())
    assert [name for panel in found for name in panel["commands"]] == list(COMMANDS)


def test_the_help_text_shows_the_panels() -> None:
    lines = CliRunner().invoke(cli, ["--help"], prog_name="patcache").output.splitlines()
    shown = [line.strip("╭─╮ ") for line in lines if line.startswith("╭")]
    assert shown == ["Options", *GROUPS.values()]
