"""A study in one file: corpus, samples, models and how they are compared, read and checked."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from patcache.embedders.flat import variants
from patcache.embedders.presets import PYTHON_PREFIX, VECTORS_PREFIX
from patcache.embedders.settings import POOLINGS
from patcache.errors import PatcacheError, StudyInvalid
from patcache.importers.base import ImportOptions
from patcache.queries.question import Question
from patcache.records import ModelRequest
from patcache.steps.sample_parameters import SampleParameters, asked_samples, check

SPAN = re.compile(r"(\d+)(?:\.\.|-)(\d+)")
TABLES = ("corpus", "store", "sample", "model", "compare")
CORPUS_KEYS = {  # key of the file -> field of ImportOptions
    "map": "mapping",
    "format": "file_format",
    "encoding": "encoding",
    "delimiter": "delimiter",
    "quote": "quote",
    "dayfirst": "dayfirst",
    "language": "language",
}
SAMPLE_KEYS = ("preset", *(field.name for field in fields(SampleParameters)))
COMPARE_KEYS = {
    "years": "years",
    "sections": "sections",
    "indicator": "indicator",
    "test": "test",
    "alternative": "alternative",
    "alpha": "alpha",
    "resamples": "n_resamples",
    "seed": "seed",
    "correction": "correction",
    "common": "is_common",
}
PATH_SETTINGS = frozenset({"model", "tokenizer"})
NO_SETTINGS = ("name", "label")  # of a [[model]], all else is a setting


@dataclass(frozen=True, slots=True)
class Study:
    """What a study file asks for.

    store_path: None where the file names no store. question: how samples are compared, without
    the sample's name.
    """

    path: Path
    files: tuple[str, ...]
    import_options: ImportOptions
    samples: Mapping[str, SampleParameters]
    models: tuple[ModelRequest, ...]
    question: Question
    store_path: Path | None = None


def read_study(path: Path) -> Study:
    """The study of a TOML file; paths in it are relative to its folder.

    Errors: StudyInvalid, naming the key and what would be right.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise StudyInvalid(f"cannot read the study {path}", str(error)) from error
    _refuse_unknown(document, TABLES, "the study")
    folder = path.absolute().parent
    files, options = _corpus(document, folder)
    return Study(
        path=path,
        files=files,
        import_options=options,
        samples=_samples(document),
        models=tuple(_models(document, folder)),
        question=_question(document),
        store_path=folder / _text(document, "store") if "store" in document else None,
    )


def _corpus(document: Mapping[str, Any], folder: Path) -> tuple[tuple[str, ...], ImportOptions]:
    corpus = document.get("corpus", [])
    table = corpus if isinstance(corpus, dict) else {"files": corpus}
    _refuse_unknown(table, ("files", *CORPUS_KEYS), "[corpus]")
    files = _listed(table.get("files", []))
    if not files or not all(isinstance(name, str) for name in files):
        raise StudyInvalid(
            "the study names no corpus",
            "it needs a file of patents, or a list of them",
            'corpus = "patents.parquet"',
        )
    options = {CORPUS_KEYS[key]: value for key, value in table.items() if key in CORPUS_KEYS}
    return tuple(str(folder / name) for name in files), ImportOptions(**options)


def _samples(document: Mapping[str, Any]) -> dict[str, SampleParameters]:
    tables = document.get("sample", {})
    if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()):
        raise StudyInvalid("sample is no table of samples", "", "write [sample.main]")
    found: dict[str, SampleParameters] = {}
    for name, table in tables.items():
        where = f"[sample.{name}]"
        _refuse_unknown(table, SAMPLE_KEYS, where)
        asked = dict(table)
        if asked.get("targets") == "all":
            asked["targets"] = None
        for key in ("levels", "candidates"):
            if key in asked:
                asked[key] = _numbers(asked[key], f"{key} of {where}")
        with _said_of(where):
            found.update(asked_samples(name, **asked))
            for each, parameters in found.items():
                check(each, parameters)
    return found


def _models(document: Mapping[str, Any], folder: Path) -> list[ModelRequest]:
    tables = document.get("model", [])
    if not isinstance(tables, list) or not all("name" in table for table in tables):
        raise StudyInvalid(
            "a model without a name", "", 'write [[model]] and below it name = "tfidf"'
        )
    requests = [request for table in tables for request in _variants(table, folder)]
    labels = [request.label or request.name for request in requests]
    for label in labels:
        if labels.count(label) > 1:
            raise StudyInvalid(
                f"two models are called {label!r}", "", 'give one of them a label = "..."'
            )
    return requests


def _variants(table: Mapping[str, Any], folder: Path) -> Iterator[ModelRequest]:
    """One request for each combination of the settings that are lists."""
    flat = {key: value for key, value in table.items() if key not in NO_SETTINGS}
    for request in variants(_model_name(str(table["name"]), folder), table.get("label"), flat):
        places = {
            key: _placed(str(request.settings[key]), folder)
            for key in PATH_SETTINGS & request.settings.keys()
        }
        yield replace(request, settings={**request.settings, **places})


def _model_name(name: str, folder: Path) -> str:
    """A model's name; one that is a path, perhaps with a pooling or an object, in the folder."""
    if name.startswith(PYTHON_PREFIX):
        path, colon, rest = name.removeprefix(PYTHON_PREFIX).rpartition(":")
        return f"{PYTHON_PREFIX}{_placed(path, folder)}{colon}{rest}"
    if name.startswith(VECTORS_PREFIX):
        return f"{VECTORS_PREFIX}{_placed(name.removeprefix(VECTORS_PREFIX), folder)}"
    path, at, pooling = name.rpartition("@")
    if at and "/" in path and pooling in POOLINGS:
        return f"{_placed(path, folder)}@{pooling}"
    return _placed(name, folder) if "/" in name else name


def _placed(path: str, folder: Path) -> str:
    """A path relative to the folder where something is there, else what was given."""
    return str(folder / path) if (folder / path).exists() else path


def _question(document: Mapping[str, Any]) -> Question:
    table = document.get("compare", {})
    _refuse_unknown(table, tuple(COMPARE_KEYS), "[compare]")
    asked = {COMPARE_KEYS[key]: value for key, value in table.items()}
    if "years" in asked:
        asked["years"] = _numbers(asked["years"], "years of [compare]")
    if "sections" in asked:
        asked["sections"] = tuple(asked["sections"])
    with _said_of("[compare]"):
        return Question(**asked)


def _numbers(value: Any, where: str) -> tuple[int, ...]:
    """Whole numbers: 6, [1, 3, 6], "1-5" or "3..20"."""
    if isinstance(value, str) and (span := SPAN.fullmatch(value)):
        return tuple(range(int(span[1]), int(span[2]) + 1))
    numbers = _listed(value)
    if not numbers or not all(type(number) is int for number in numbers):
        raise StudyInvalid(
            f"{value!r} for {where}", 'whole numbers were expected: 6, [1, 3, 6] or "1-5"'
        )
    return tuple(numbers)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _text(document: Mapping[str, Any], key: str) -> str:
    if not isinstance(document[key], str):
        raise StudyInvalid(f"{key} is {document[key]!r}", "a text was expected")
    return str(document[key])


def _refuse_unknown(table: Any, known: tuple[str, ...], where: str) -> None:
    if not isinstance(table, dict):
        raise StudyInvalid(f"{where} is {table!r}", "a table was expected")
    unknown = [key for key in table if key not in known]
    if unknown:
        raise StudyInvalid(
            f"{where} says {unknown[0]!r}, which is nothing patcache knows",
            f"it may say {', '.join(known)}",
        )


@contextmanager
def _said_of(where: str) -> Iterator[None]:
    """Errors inside the block become StudyInvalid, with the part of the file they are about."""
    try:
        yield
    except PatcacheError as error:
        raise StudyInvalid(f"{where}: {error.what}", error.why, error.todo) from error
    except (ValueError, TypeError) as error:
        raise StudyInvalid(f"{where}: {error}") from error
