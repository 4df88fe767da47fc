"""`patcache embed`: vectors for the texts that samples need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from patcache.cli.model_options import model_options, runtime_options
from patcache.cli.options import store_option
from patcache.cli.output import say
from patcache.cli.progress import bar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from patcache.records import ModelRequest, Runtime
    from patcache.steps.embedding import EmbedReport
    from patcache.store import StoreFolder


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option("--sample", "samples", multiple=True, metavar="NAME", help="[default: all samples]")
@click.option("--all", "all_texts", is_flag=True, help="Every text of the corpus as well.")
@click.option("--refit", is_flag=True, help="Fit a word model anew, as a model of its own.")
@model_options
@runtime_options
@store_option(create=False)
def embed(
    store: StoreFolder,
    models: tuple[str, ...],
    samples: tuple[str, ...],
    all_texts: bool,
    refit: bool,
    label: str | None,
    settings: dict[str, Any],
    runtime: Runtime,
) -> None:
    """Encode the texts of the samples by each MODEL, once, into vector files.

    MODEL is a preset (tfidf, word2vec, minilm, minilm@cls, ...: see `patcache models`), a folder,
    an ONNX file, a hub name, python:module:object, or the label of a stored model. Texts that have
    a vector are not encoded again; Ctrl-C stops after the running block. Settings with commas
    (--pooling mean,cls --dims 768,256) make a model of each combination.
    """
    embed_all(
        store,
        models,
        samples=samples or None,
        all_texts=all_texts,
        refit=refit,
        label=label,
        settings=settings,
        runtime=runtime,
    )


def asked_models(
    models: Sequence[str], label: str | None, settings: Mapping[str, Any]
) -> list[ModelRequest]:
    """What was asked for: each model with every combination of the settings that are lists."""
    from patcache.embedders.flat import variants

    if label is not None and len(models) > 1:
        raise click.UsageError("--label names one model; several were given")
    return [request for name in models for request in variants(name, label, settings)]


def embed_all(
    store: StoreFolder,
    models: Sequence[str],
    *,
    label: str | None,
    settings: dict[str, Any],
    **options: Any,
) -> list[EmbedReport]:
    """Embeds the models, with a bar and a line for each; a bar for those that share passes."""
    from patcache.steps import embedding

    requests = asked_models(models, label, settings)
    width = max(len(request.label or request.name) for request in requests)
    reports = []
    for report in embedding.embed_each(
        store, requests, lambda name: bar(f"  {name:{width}}"), **options
    ):
        say("\n".join(embed_lines(report, width)))
        reports.append(report)
    return reports


def embed_lines(report: EmbedReport, width: int = 0) -> Iterable[str]:
    """What one model's embedding came to, for people."""
    label = f"  {report.label:{width}}  "
    kept, done = ("scores", "pairs scored") if report.is_pairs else ("vectors", "texts encoded")
    if report.n_encoded == 0:
        yield f"{label}up to date · {report.n_stored:,} {kept}"
    else:
        parts = [f"{report.n_encoded:,} {done}"]
        if report.n_stored > report.n_encoded:
            parts.append(f"{report.n_stored - report.n_encoded:,} there before")
        if report.elapsed_s > 0:
            parts.append(f"{report.n_encoded / report.elapsed_s:,.0f}/s on {report.device}")
        if report.n_truncated:
            limit = f" at {report.max_tokens} tokens" if report.max_tokens else ""
            parts.append(f"{report.n_truncated:,} truncated{limit}")
        yield label + " · ".join(parts)
    if report.n_without_text:
        yield f"    {report.n_without_text:,} patents have no such text: their tuples are undefined"
    if report.label != report.asked_label:
        yield f"    {report.asked_label} is stored as {report.label}: the same weights and settings"
