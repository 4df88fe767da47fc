"""`patcache verify`: reads every byte of the vectors against its checksum."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import format_option, store_option
from patcache.cli.output import say, write_listing
from patcache.cli.progress import bar

if TYPE_CHECKING:
    from patcache.steps.verifying import FolderReport
    from patcache.store import StoreFolder

EXIT_DAMAGED = 1


@click.command()
@click.argument("models", nargs=-1, metavar="[MODEL]...")
@click.option("--repair", "is_repair", is_flag=True, help="Drop damaged blocks, keep the others.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_option(create=False)
@format_option
def verify(
    store: StoreFolder, models: tuple[str, ...], is_repair: bool, yes: bool, fmt: str
) -> None:
    """Read the vectors of each MODEL (none named: every folder) and name what is damaged.

    Journal, arrays, keys, spec and fit. What a killed writer left at the end is no damage. After
    --repair, the next `patcache embed` encodes the rows that were lost, and no others.
    """
    from patcache.queries.damage import damage_rows
    from patcache.steps import verifying

    with bar("verifying") as progress:
        reports = verifying.verify(store, models, progress)
    write_listing(damage_rows(reports), fmt)
    if is_repair:
        reports = [_repaired(store, report, yes) for report in reports]
    if any(report.is_damaged for report in reports):
        raise SystemExit(EXIT_DAMAGED)


def _repaired(store: StoreFolder, report: FolderReport, yes: bool) -> FolderReport:
    """The folder after its repair, where there is something to repair."""
    from patcache.steps import verifying

    if not report.is_repairable:
        return report
    n_lost = report.n_rows - report.n_intact
    say(
        f"vectors/{report.folder}: {report.n_intact:,} rows are intact and stay; "
        f"{n_lost:,} go and would be encoded again"
    )
    if not yes:
        click.confirm("repair?", abort=True, err=True)
    with bar("repairing") as progress:
        after = verifying.repair(store, report, progress)
    names = shlex.join(after.labels)
    say(f"repaired vectors/{report.folder}" + (f"; next: patcache embed {names}" if names else ""))
    for fault in after.faults:
        if fault.is_damage:
            say(f"  still damaged: {fault.file}: {fault.why}")
    return after
