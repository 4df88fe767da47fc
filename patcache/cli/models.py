"""`patcache models`: what is stored, what could be added, and graphs made of what torch runs."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from patcache.cli.options import format_option, no_store, store_option
from patcache.cli.output import say, write_listing

if TYPE_CHECKING:
    from patcache.embedders.base import Resolved
    from patcache.embedders.quantize import Int8Export
    from patcache.store import StoreFolder


def unless_subcommand(listing: Callable[..., None]) -> Callable[..., None]:
    """The listing with its options, run only where no subcommand is named."""

    @click.pass_context
    @functools.wraps(listing)
    def maybe(ctx: click.Context, *args: Any, **kwargs: Any) -> None:
        if ctx.invoked_subcommand is None:
            listing(*args, **kwargs)

    return maybe


@click.group(invoke_without_command=True)
@unless_subcommand
@click.option("--stored", "only_stored", is_flag=True, help="Without the presets.")
@click.option(
    "--presets", "only_presets", is_flag=True, help="The presets alone: pooling, licence, source."
)
@store_option(create=False, optional=True)
@format_option
def models(store: StoreFolder | None, only_stored: bool, only_presets: bool, fmt: str) -> None:
    """List the stored models (texts done, size, speed, device, share cut) and the presets.

    Without a store, the presets: what each is, its licence, and where that was read.
    """
    from patcache.embedders.catalogue import presets
    from patcache.queries import models as queries

    if only_stored and only_presets:
        raise click.UsageError("--stored and --presets leave nothing")
    if store is None and only_stored:
        raise no_store()
    if store is None or only_presets:
        write_listing(presets(), fmt)
    else:
        write_listing(queries.models(store, only_stored=only_stored), fmt)


@models.command("export-onnx")
@click.argument("model")
@click.argument("out", type=click.Path(path_type=Path, file_okay=False))
@click.option("--int8", is_flag=True, help="8-bit weights: faster, and another model.")
@click.option(
    "--texts",
    "texts_path",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="With --int8: texts, one a line, to measure its drift by  [default: built-in ones].",
)
def export_onnx(model: str, out: Path, int8: bool, texts_path: Path | None) -> None:
    """Write MODEL (a preset, folder or hub name) as an ONNX graph into the folder OUT.

    The graph is fused as far as its family allows and compared with torch before it is kept.
    """
    if texts_path is not None and not int8:
        raise click.UsageError("--texts is for --int8")
    from patcache.embedders import export, quantize
    from patcache.embedders.graph_texts import GRAPH_TEXTS

    resolved, folder = export.torch_model(model)
    eight = None
    if int8:
        texts = GRAPH_TEXTS if texts_path is None else _lines(texts_path)
        eight = quantize.export_int8(folder, out, texts)
        done = eight.fp32
    else:
        done = export.export_onnx(folder, out)
    fused = ", ".join(f"{count} {name}" for name, count in sorted(done.fused.items())) or "nothing"
    say(f"{model}: graph written to {out}, family {done.family}")
    say(f"fused: {fused}")
    say(f"largest difference to torch in token vectors of length 1: {done.largest_difference:.1e}")
    if eight is not None:
        say(_drift_line(eight))
    say(f"next: {_add_line(resolved, out)}")


def _lines(path: Path) -> list[str]:
    """The lines of a file that hold something."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise click.BadParameter(f"{path} is not UTF-8: {error}", param_hint="--texts") from error
    return [line for line in lines if line.strip()]


def _drift_line(eight: Int8Export) -> str:
    return (
        f"8-bit weights ({eight.weight_type} by channel): cosine to fp32 over {eight.n_texts} "
        f"texts: min {eight.cosine_min:.4f}, mean {eight.cosine_mean:.4f}; a model of its own"
    )


def _add_line(resolved: Resolved, out: Path) -> str:
    """The command that uses the graph, with what the model's name asked for."""
    settings = resolved.settings
    has_pooling = (out / "1_Pooling" / "config.json").is_file()
    pooling = settings["pooling"] or (None if has_pooling else "mean")
    words = ["patcache", "add", f"{out}@{pooling}" if pooling else str(out)]
    if settings["max_tokens"]:
        words += ["--max-tokens", str(settings["max_tokens"])]
    if isinstance(settings["prompts"], str):
        words += ["--set", f"prompts={settings['prompts']}"]
    else:
        for role, prompt in settings["prompts"].items():
            words += [f"--prompt-{role}", prompt] if prompt else []
    return shlex.join(words)
