"""A slice as TREC files: gold levels as qrels, each model's order as a run."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from patcache.queries.leaderboard import leaderboard
from patcache.queries.tuple_exports import qrels_lines, run_lines, subject
from patcache.queries.wording import slice_words
from patcache.report.exports.names import file_names
from patcache.report.folder import results_folder

if TYPE_CHECKING:
    from patcache.queries.question import Question
    from patcache.records import Progress
    from patcache.store import StoreFolder

KIND = "trec"
ABOUT = """Tuples of patents and the order each model gives their candidates, as TREC files.

qrels.txt    qid 0 docno level      the gold level: 1 is the least similar
run.*.txt    qid Q0 docno rank similarity tag

qid: the sample's name and the tuple's number. docno: the publication number, where it holds other
signs than letters, digits and - . _ ~ percent-encoded as in a URL. tag: the model's label as a
file name. rank: by similarity, highest first; of equal similarities (as numbers; patcache also
takes those that differ by at most its tie tolerance as ties, and counts the mean over their orders)
the larger docno comes first, which is how trec_eval orders them, whatever the rank says.

Every candidate has a level of 1 or more, so measures of two grades need to be told where relevance
begins (trec_eval -l 6); nDCG takes the levels as they are. A tuple that is undefined for a model is
not in its run: trec_eval leaves it out of the means, unless -c is given and it counts as 0.
"""


@dataclass(frozen=True, slots=True)
class TrecRun:
    """One run that was written; undefined tuples are not in it."""

    label: str
    file: str
    n_tuples: int
    n_undefined: int


def export_trec(
    store: StoreFolder, question: Question, out: Path, progress: Progress | None = None
) -> list[TrecRun]:
    """Writes qrels.txt, a run for each model and about.txt into `out`, whole or not at all.

    Errors: as for the leaderboard; WriteFailed.
    """
    found = {row.model: row for row in leaderboard(store, question)}
    asked = subject(store, question)
    labels = [model.label for model in asked.models]
    tags = file_names(labels)
    with results_folder(out, KIND) as folder:
        with (folder / "qrels.txt").open("w", encoding="utf-8", newline="\n") as stream:
            for lines in qrels_lines(store, question):
                stream.writelines(f"{line}\n" for line in lines)
        with ExitStack() as stack:
            streams = [
                stack.enter_context(
                    (folder / f"run.{tag}.txt").open("w", encoding="utf-8", newline="\n")
                )
                for tag in tags
            ]
            for model, lines in run_lines(store, question, progress):
                streams[model].writelines(f"{line} {tags[model]}\n" for line in lines)
        runs = [
            TrecRun(label, f"run.{tag}.txt", found[label].n, found[label].n_undefined)
            for label, tag in zip(labels, tags, strict=True)
        ]
        about = [
            ABOUT,
            f"sample {asked.sample}, {slice_words(question)}",
            *(
                f"{one.file}: {one.label}, {one.n_tuples:,} tuples, {one.n_undefined:,} undefined"
                for one in runs
            ),
            "",
        ]
        (folder / "about.txt").write_text("\n".join(about), encoding="utf-8", newline="\n")
    return runs
