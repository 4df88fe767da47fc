"""Options of the commands that embed: which model, with which settings, on which device."""

from __future__ import annotations

import functools
from typing import Any

import rich_click as click

from patcache.cli.options import Command
from patcache.records import Runtime

MODEL_SETTINGS = (
    "engine",
    "pooling",
    "max_tokens",
    "dims",
    "arithmetic",
    "tokenizer",
    "base_url",
    "text",
    "separator",
    "prompt",
    "prompt_query",
    "prompt_document",
    "storage",
    "fit_on",
)


class Several(click.ParamType[Any]):
    """One value, or several with commas between: a list then."""

    def __init__(self, one: click.ParamType[Any]) -> None:
        self.one = one
        self.name = f"{one.name},..."

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return f"{self.one.get_metavar(param, ctx) or self.one.name.upper()},..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        parts = [part.strip() for part in str(value).split(",")]
        values = [self.one.convert(part, param, ctx) for part in parts]
        if len(set(values)) < len(values):
            self.fail(f"{value!r} names one value twice", param, ctx)
        return values[0] if len(values) == 1 else values


def _assignments(
    _ctx: click.Context, _param: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    wrong = [text for text in texts if "=" not in text]
    if wrong:
        raise click.BadParameter(f"{wrong[0]!r} is not NAME=VALUE")
    return dict(text.split("=", 1) for text in texts)


MODEL_OPTIONS = (
    click.option("--label", metavar="NAME", help="What to call it  [default: its name]."),
    click.option(
        "--engine", type=Several(click.Choice(["torch", "onnx"])), help="What runs a network."
    ),
    click.option(
        "--pooling", type=Several(click.Choice(["mean", "cls", "last"])), help="From tokens."
    ),
    click.option("--max-tokens", type=Several(click.IntRange(min=1)), help="Where texts are cut."),
    click.option(
        "--dims",
        type=Several(click.IntRange(min=1)),
        help="Keep the first so many dimensions: cut from stored vectors, without encoding.",
    ),
    click.option(
        "--arithmetic",
        type=Several(click.Choice(["fp32", "bf16", "fp16"])),
        help="Of a network.",
    ),
    click.option(
        "--tokenizer",
        metavar="NAME|FOLDER",
        help="Of word models: jieba, rjieba, regex; of a graph: the folder of its tokenizer.",
    ),
    click.option(
        "--base-url",
        metavar="URL",
        help="Of an api model: where its /embeddings is  [default: OpenAI's].",
    ),
    click.option(
        "--text",
        type=Several(click.STRING),
        metavar="FIELDS,...",
        help="title, abstract, claims, joined by +  [default: title+abstract].",
    ),
    click.option("--separator", metavar="TEXT", help="Between the fields  [default: '. ']."),
    click.option(
        "--prompt",
        type=Several(click.Choice(["none", "model", "query"])),
        help="None, each role the model's own, or its own for queries before every text.",
    ),
    click.option("--prompt-query", metavar="TEXT", help="Put before a target's text."),
    click.option("--prompt-document", metavar="TEXT", help="Put before a candidate's text."),
    click.option(
        "--storage",
        type=Several(click.Choice(["float32", "float16"])),
        help="Of the numbers on disk.",
    ),
    click.option(
        "--fit-on",
        type=click.Choice(["corpus", "sample"]),
        help="What a fitted model is made from  [default: corpus].",
    ),
    click.option(
        "--set",
        "others",
        multiple=True,
        metavar="NAME=VALUE",
        callback=_assignments,
        help="Any other setting of the model's kind; may be repeated.",
    ),
)


def model_options(command: Command) -> Command:
    """Adds what changes a model's vectors; the command gets `label` and `settings`, as written.

    Those that may be several hold a list then: patcache.embedders.flat.variants makes the models.
    """

    @functools.wraps(command)
    def with_settings(*args: Any, **kwargs: Any) -> Any:
        asked = {name: kwargs.pop(name) for name in MODEL_SETTINGS}
        given = {name: value for name, value in asked.items() if value is not None}
        return command(*args, settings={**kwargs.pop("others"), **given}, **kwargs)

    for option in reversed(MODEL_OPTIONS):
        with_settings = option(with_settings)
    return with_settings  # type: ignore[return-value]


def runtime_options(command: Command) -> Command:
    """Adds where and how a model runs; the command gets `runtime`."""

    @click.option(
        "--device",
        default="auto",
        show_default=True,
        metavar="NAME",
        help="auto, cpu, cuda, cuda:1, mps; a process each: cuda:0,cuda:1 or cuda:all.",
    )
    @click.option("--allow-cpu", is_flag=True, help="Go on, on the CPU, where there is no GPU.")
    @click.option("--threads", type=click.IntRange(min=1), help="[default: one a core]")
    @click.option(
        "--batch-tokens",
        type=click.IntRange(min=1),
        help="Of a network, in one batch  [default: by device; halved when out of memory].",
    )
    @functools.wraps(command)
    def with_runtime(
        *args: Any,
        device: str,
        allow_cpu: bool,
        threads: int | None,
        batch_tokens: int | None,
        **kwargs: Any,
    ) -> Any:
        runtime = Runtime(device, allow_cpu, threads, batch_tokens)
        return command(*args, runtime=runtime, **kwargs)

    return with_runtime  # type: ignore[return-value]
