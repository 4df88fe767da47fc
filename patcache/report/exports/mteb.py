"""Results in the shape of MTEB's result files, one a model. MTEB did not make them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patcache.queries.cells import cells
from patcache.queries.leaderboard import leaderboard
from patcache.queries.provenance import languages, provenance
from patcache.report.exports.names import file_names
from patcache.report.folder import results_folder

if TYPE_CHECKING:
    from patcache.listing import Listing
    from patcache.queries.cells import CellRow
    from patcache.queries.leaderboard import LeaderboardRow
    from patcache.queries.provenance import ModelFacts, Provenance
    from patcache.queries.question import Question
    from patcache.store import StoreFolder

KIND = "mteb"
SPLIT = "test"
MADE_BY = "patcache, in the shape of an MTEB result file; MTEB did not make it"
UNKNOWN = "und-Zyyy"  # ISO 639-3 and ISO 15924: undetermined
# Languages as exports of patents name them (ISO 639-1), as MTEB does (ISO 639-3 and ISO 15924).
LANGUAGES = {
    "de": "deu-Latn",
    "en": "eng-Latn",
    "es": "spa-Latn",
    "fr": "fra-Latn",
    "it": "ita-Latn",
    "ja": "jpn-Jpan",
    "ko": "kor-Kore",
    "pt": "por-Latn",
    "ru": "rus-Cyrl",
    "zh": "zho-Hans",
}


def export_mteb(store: StoreFolder, question: Question, out: Path) -> list[str]:
    """Writes MODEL/SPEC_ID/TASK.json for each model into `out`, whole or not at all; their names.

    main_score is the mean of the indicator; None where no tuple is defined.
    Errors: as for the leaderboard; WriteFailed.
    """
    models, source = leaderboard(store, question), provenance(store, question)
    parts = cells(store, question, by="section"), cells(store, question, by="year")
    spoken = [LANGUAGES.get(code or "", UNKNOWN) for code in languages(store, question)]
    facts = {model.label: model for model in source.models}
    task = f"PatcacheIPC-{source.sample}"
    written = []
    with results_folder(out, KIND) as folder:
        for row, name in zip(models, file_names([row.model for row in models]), strict=True):
            scores = _scores(row, parts, list(dict.fromkeys(spoken)) or [UNKNOWN])
            path = folder / name / row.spec_id / f"{file_names([task])[0]}.json"
            path.parent.mkdir(parents=True)
            result = _result(task, source, facts[row.model], scores)
            text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
            path.write_text(text, encoding="utf-8", newline="\n")
            written.append(path.relative_to(folder).as_posix())
    return written


def _result(
    task: str, source: Provenance, model: ModelFacts, scores: dict[str, Any]
) -> dict[str, Any]:
    """One file. evaluation_time: None: vectors are made once, for whatever needs them."""
    return {
        "dataset_revision": source.corpus_digest,
        "task_name": task,
        "mteb_version": None,
        "scores": {SPLIT: [scores]},
        "evaluation_time": None,
        "kg_co2_emissions": None,
        "made_by": MADE_BY,
        "patcache_version": source.versions["patcache"],
        "scoring_id": source.scoring_id,
        "model": {
            "label": model.label,
            "spec_id": model.spec_id,
            "identity": dict(model.identity),
            "device": ", ".join(model.devices) or None,
        },
    }


def _scores(
    row: LeaderboardRow, parts: Sequence[Listing[CellRow]], spoken: list[str]
) -> dict[str, Any]:
    """The numbers of one model: of the slice, then of each section and year."""
    name = "rci" if row.indicator == "footrule" else "kendall"
    scores: dict[str, Any] = {
        "hf_subset": "default",
        "languages": spoken,
        "main_score": row.mean,
        name: row.mean,
        f"{name}_low": row.low,
        f"{name}_high": row.high,
        f"{name}_chance": row.chance,
        "n_tuples": row.n,
        "n_undefined": row.n_undefined,
        "models_beaten": row.beats,
        "beaten_by": row.beaten_by,
    }
    for listing in parts:
        for part in listing:
            if part.model == row.model:
                where = f"year_{part.year}" if part.section is None else f"section_{part.section}"
                scores[f"{name}_{where}"] = part.mean
                scores[f"n_tuples_{where}"] = part.n
    return scores
