"""`patcache rm`: takes a sample or a model out of a store, after showing what goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from patcache.cli.options import store_option
from patcache.cli.output import say

if TYPE_CHECKING:
    from patcache.store import StoreFolder

yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


@click.group()
def rm() -> None:
    """Remove a sample (its vectors stay) or a model (its vectors go)."""


@rm.command("sample")
@click.argument("name")
@yes_option
@store_option(create=False)
def rm_sample(store: StoreFolder, name: str, yes: bool) -> None:
    """Remove the sample NAME with its tuples and scores; vectors stay for other samples."""
    from patcache.steps import removing
    from patcache.store.samples import remove_sample

    goes = removing.sample_contents(store, name)
    say(
        f"sample {name}: {goes.n_tuples:,} tuples and {goes.n_distances:,} distances of "
        f"{_counted(goes.n_models, 'model')} go; vectors stay"
    )
    _ask(yes)
    remove_sample(store, name)
    say(f"removed sample {name}")


@rm.command("spec")
@click.argument("label")
@yes_option
@store_option(create=False)
def rm_spec(store: StoreFolder, label: str, yes: bool) -> None:
    """Remove the stored model LABEL with its vectors, fit and scores."""
    from patcache.steps import removing

    goes = removing.spec_contents(store, label)
    vectors = f"{goes.size_bytes:,} bytes in vectors/{goes.folder} and "
    stays = f"; its vectors stay for {', '.join(goes.kept_for)}" if goes.kept_for else ""
    say(
        f"model {label}: {'' if goes.kept_for else vectors}"
        f"{goes.n_distances:,} distances in {_counted(goes.n_samples, 'sample')} go{stays}"
    )
    _ask(yes)
    removing.drop_spec(store, label)
    say(f"removed model {label}")


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


def _ask(yes: bool) -> None:
    if not yes:
        click.confirm("remove?", abort=True, err=True)
