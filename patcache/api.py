"""patcache from Python: a store, and everything one does with it.

import patcache
store = patcache.Store("my-study")
store.import_files("patents.parquet")
store.sample("main", targets=30)
store.add("tfidf")
for row in store.leaderboard():
    print(row.model, row.mean)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patcache.records import IndexKind, ModelRequest, Progress, Runtime
from patcache.store import StoreFolder

if TYPE_CHECKING:
    from patcache.embedders.base import AnyModel
    from patcache.listing import Listing
    from patcache.queries.agreement import AgreementRow
    from patcache.queries.cells import CellRow, Parts
    from patcache.queries.compare import CompareRow
    from patcache.queries.distribution import By as DistributionBy
    from patcache.queries.distribution import DistributionRow, Of
    from patcache.queries.efficiency import BatchRow, EfficiencyRow, Times
    from patcache.queries.equivalence import EquivalenceRow
    from patcache.queries.leaderboard import LeaderboardRow
    from patcache.queries.levels import ConfusionRow, LevelRow
    from patcache.queries.matrix import PairRow
    from patcache.queries.models import ModelRow
    from patcache.queries.normality import NormalityRow
    from patcache.queries.power import PowerRow
    from patcache.queries.question import Question
    from patcache.queries.robustness import DrawRow, RobustnessRow
    from patcache.queries.samples import SampleRow
    from patcache.queries.sql import SqlRows
    from patcache.queries.testing import Family
    from patcache.queries.tuple_view import CandidateRow
    from patcache.queries.tuples import Order, TupleRow
    from patcache.queries.where import WhereRow
    from patcache.report.exports.trec import TrecRun
    from patcache.steps.embedding import EmbedReport
    from patcache.steps.importing import ImportReport
    from patcache.steps.neighbors import NeighborRow
    from patcache.steps.sampling import SampleReport
    from patcache.steps.scoring import ScoreReport
    from patcache.steps.sweeping import Report as SweepReport
    from patcache.steps.sweeps import Vary

Names = str | Sequence[str] | None


class Store(StoreFolder):
    """One study on disk, made on first use.

    What lists something returns a Listing: a sequence of records, with to_dicts(), to_arrow() and
    to_pandas(). Every comparison takes the fields of patcache.queries.question.Question by name:
    sample, years, sections, models, indicator, test, alternative, alpha, correction, is_common.
    """

    def import_files(
        self, *files: str | Path, progress: Progress | None = None, **options: Any
    ) -> ImportReport:
        """Adds the patents of files; options are those of ImportOptions (mapping, encoding ...)."""
        from patcache.steps.importing import ImportOptions, import_files

        return import_files(self, [str(file) for file in files], ImportOptions(**options), progress)

    def sample(
        self, name: str, *, progress: Progress | None = None, **parameters: Any
    ) -> SampleReport:
        """Draws a sample; parameters are those of SampleParameters (targets, levels, seed ...)."""
        from patcache.steps.sampling import SampleParameters, draw_sample

        return draw_sample(self, name, SampleParameters(**parameters), progress)

    def extend(self, name: str, *, progress: Progress | None = None) -> SampleReport:
        """Draws the cells that are new since the sample was drawn, and nothing else."""
        from patcache.steps.sampling import extend_sample

        return extend_sample(self, name, progress)

    def embed(
        self,
        model: str | AnyModel,
        *,
        label: str | None = None,
        samples: Names = None,
        all_texts: bool = False,
        refit: bool = False,
        runtime: Runtime | None = None,
        progress: Progress | None = None,
        **settings: Any,
    ) -> EmbedReport:
        """Encodes what a model has not encoded yet, for the samples (None: all).

        model: a preset, folder or hub name with settings (pooling, max_tokens ...), or an embedder,
        such as patcache.embedders.python.from_object makes of any object with encode.
        """
        from patcache.embedders.flat import nested_settings
        from patcache.steps.embedding import embed

        is_name = isinstance(model, str)
        name = model if isinstance(model, str) else model.spec.label
        return embed(
            self,
            ModelRequest(name, label, nested_settings(settings)),
            samples=_listed(samples),
            all_texts=all_texts,
            refit=refit,
            runtime=runtime,
            embedder=None if is_name else model,  # type: ignore[arg-type]
            progress=progress,
        )

    def score(
        self,
        *,
        models: Names = None,
        samples: Names = None,
        progress: Progress | None = None,
        **rule: float,
    ) -> list[ScoreReport]:
        """Scores what is not scored yet; rule: tie_tolerance."""
        from patcache.steps.scoring import score

        return score(
            self, samples=_listed(samples), models=_listed(models), progress=progress, **rule
        )

    def add(self, model: str | AnyModel, **options: Any) -> EmbedReport:
        """Embeds and scores a model for every sample; options are those of embed."""
        report = self.embed(model, **options)
        self.score(models=report.label, samples=options.get("samples"))
        return report

    def leaderboard(self, sample: str | None = None, **question: Any) -> Listing[LeaderboardRow]:
        """The models of a slice from best to worst."""
        from patcache.queries.leaderboard import leaderboard

        return leaderboard(self, _question(sample, question))

    def matrix(self, sample: str | None = None, **question: Any) -> Listing[PairRow]:
        """Every ordered pair of models of a slice: tests, effects and differences."""
        from patcache.queries.matrix import matrix

        return matrix(self, _question(sample, question))

    def cells(
        self,
        sample: str | None = None,
        *,
        by: Parts = "year",
        family: Family = "matrix",
        **question: Any,
    ) -> Listing[CellRow]:
        """Every model in every year, section or cell of a slice."""
        from patcache.queries.cells import cells

        return cells(self, _question(sample, question), by=by, family=family)

    def trend(
        self, sample: str | None = None, *, family: Family = "matrix", **question: Any
    ) -> Listing[CellRow]:
        """Every model in every year of a slice: what it beats there, and its mean RCI."""
        from patcache.queries.trend import trend

        return trend(self, _question(sample, question), family=family)

    def fields(
        self, sample: str | None = None, *, family: Family = "matrix", **question: Any
    ) -> Listing[CellRow]:
        """Every model in every IPC section of a slice: what it beats there, and its mean RCI."""
        from patcache.queries.fields import fields

        return fields(self, _question(sample, question), family=family)

    def where(
        self,
        model: str,
        sample: str | None = None,
        *,
        against: str | None = None,
        by: Parts | None = None,
        top: int | None = None,
        **question: Any,
    ) -> Listing[WhereRow]:
        """In which sections and years (or cells) a model wins and loses, and against whom."""
        from patcache.queries.where import where

        asked = _question(sample, {"correction": "bh", **question})
        return where(self, model, asked, against=against, by=by, top=top)

    def equivalence(
        self, sample: str | None = None, *, margin: float = 0.02, **question: Any
    ) -> Listing[EquivalenceRow]:
        """Every ordered pair of models: is the first at most the margin worse than the second?"""
        from patcache.queries.equivalence import equivalence

        return equivalence(self, _question(sample, question), margin=margin)

    def power(
        self,
        sample: str | None = None,
        *,
        difference: float = 0.01,
        power: float = 0.8,
        **question: Any,
    ) -> Listing[PowerRow]:
        """What the tuples of a slice can show of each pair, and what a difference would take."""
        from patcache.queries.power import power as query

        return query(self, _question(sample, question), difference=difference, power=power)

    def distribution(
        self,
        sample: str | None = None,
        *,
        of: Of = "similarity",
        by: DistributionBy = "model",
        **question: Any,
    ) -> Listing[DistributionRow]:
        """How each model's similarities (of="rci": its RCIs) are distributed, or each level's."""
        from patcache.queries.distribution import distribution

        return distribution(self, _question(sample, question), of=of, by=by)

    def levels(self, sample: str | None = None, **question: Any) -> Listing[LevelRow]:
        """How often the deeper of two neighbouring levels is more similar, for each model."""
        from patcache.queries.levels import levels

        return levels(self, _question(sample, question))

    def level_confusion(self, sample: str | None = None, **question: Any) -> Listing[ConfusionRow]:
        """Where the candidates of each gold level stand in each model's order."""
        from patcache.queries.levels import level_confusion

        return level_confusion(self, _question(sample, question))

    def agreement(self, sample: str | None = None, **question: Any) -> Listing[AgreementRow]:
        """Correlation of every two models over tuples, and where they differ most."""
        from patcache.queries.agreement import agreement

        return agreement(self, _question(sample, question))

    def normality(self, sample: str | None = None, **question: Any) -> Listing[NormalityRow]:
        """Whether each model's values could be normal (Shapiro-Wilk, Lilliefors)."""
        from patcache.queries.normality import normality_of_models

        return normality_of_models(self, _question(sample, question))

    def tuples(
        self,
        sample: str | None = None,
        *,
        order: Order | None = None,
        top: int = 20,
        between: tuple[str, str] | None = None,
        **question: Any,
    ) -> Listing[TupleRow]:
        """The hardest or easiest tuples, or those on which models differ most."""
        from patcache.queries.tuples import tuples

        return tuples(self, _question(sample, question), order=order, top=top, between=between)

    def tuple_view(
        self, tuple_id: int, sample: str | None = None, **question: Any
    ) -> Listing[CandidateRow]:
        """One tuple: target and candidates, with each model's similarity and rank."""
        from patcache.queries.tuple_view import tuple_view

        return tuple_view(self, tuple_id, _question(sample, question))

    def compare(
        self,
        sample: str | None = None,
        *,
        split: int | None = None,
        with_sample: str | None = None,
        with_store: StoreFolder | str | Path | None = None,
        **question: Any,
    ) -> Listing[CompareRow]:
        """Every model on two sides: years before and from `split`, two samples, or two stores."""
        from patcache.queries.compare import compare

        asked = _question(sample, question)
        other = with_store
        if isinstance(other, (str, Path)):
            other = StoreFolder(other, create=False)
        return compare(self, asked, split=split, with_sample=with_sample, with_store=other)

    def neighbors(
        self,
        model: str,
        patents: Names = None,
        *,
        texts: Names = None,
        k: int = 10,
        years: int | Sequence[int] | None = None,
        sections: Names = None,
        index: IndexKind = "exact",
        with_self: bool = False,
        runtime: Runtime | None = None,
    ) -> Listing[NeighborRow]:
        """The k texts nearest to each patent and each text by cosine, and the patents they are of.

        index: "exact", or an index that is made when first asked for: "hnsw", "ivf", "fp16".
        with_self: the patents asked for, and those that share their text, may be hits.
        """
        from patcache.steps.nearest import Asked
        from patcache.steps.neighbors import joined, neighbors

        chosen = (years,) if isinstance(years, int) else years
        asked = Asked(
            k,
            None if chosen is None else tuple(chosen),
            None if sections is None else tuple(_listed(sections) or ()),
            index,
            with_self,
        )
        named, free = _listed(patents) or [], _listed(texts) or []
        return joined(
            neighbors(self, model=model, patents=named, texts=free, asked=asked, runtime=runtime)
        )

    def sweep(
        self,
        sample: str | None = None,
        *,
        seeds: Sequence[int] | None = None,
        candidates: Sequence[int] | None = None,
        models: Names = None,
        runtime: Runtime | None = None,
    ) -> list[SweepReport]:
        """Draws, embeds and scores what draws of a sample by seed or candidates a tuple lack.

        models: None is those scored for the sample. What fails of one model or draw is raised
        after the others are done.
        """
        from patcache.queries.question import subject_of
        from patcache.steps.sweeping import Failure, fill_sweeps
        from patcache.steps.sweeps import find_sweep

        asked: dict[Vary, Sequence[int] | None] = {"seed": seeds, "candidates": candidates}
        sweeps = [find_sweep(self, sample, v, some) for v, some in asked.items() if some]
        base = sweeps[0].base if sweeps else sample
        names = _listed(models)
        if names is None:
            with self.read() as cursor:
                names = [m.label for m in subject_of(cursor, _question(base, {})).models]
        requests = [ModelRequest(name) for name in names]
        reports = list(fill_sweeps(self, sweeps, requests, runtime=runtime, bar=_no_bar))
        for report in reports:
            if isinstance(report, Failure):
                raise report.error
        return reports

    def robustness(
        self,
        sample: str | None = None,
        *,
        vary: Vary = "seed",
        values: Sequence[int] | None = None,
        **question: Any,
    ) -> Listing[RobustnessRow]:
        """Each model over the draws of a sample that the store has (sweep makes them)."""
        from patcache.queries.robustness import robustness

        return robustness(self, _question(sample, question), vary, values)

    def robustness_draws(
        self,
        sample: str | None = None,
        *,
        vary: Vary = "seed",
        values: Sequence[int] | None = None,
        **question: Any,
    ) -> Listing[DrawRow]:
        """Each model in each draw of a sample that the store has."""
        from patcache.queries.robustness import robustness_draws

        return robustness_draws(self, _question(sample, question), vary, values)

    def measure(
        self, sample: str | None = None, *, models: Names = None, **plan: Any
    ) -> Listing[BatchRow]:
        """Times models on a few tuples; plan: batches, n_tuples, n_repeats, runtime.

        What fails of one model is raised after the others are done.
        """
        from patcache.queries.efficiency import batches
        from patcache.queries.question import subject_of
        from patcache.steps.measuring import Plan, measure
        from patcache.steps.sweeping import Failure

        question = _question(sample, {"models": models})
        with self.read() as cursor:
            subject = subject_of(cursor, question)
        labels = [model.label for model in subject.models]
        is_named = models is not None
        done = list(
            measure(self, subject.sample, labels, Plan(**plan), is_named=is_named, bar=_no_bar)
        )
        for each in done:
            if isinstance(each, Failure):
                raise each.error
        return batches(self, question)

    def efficiency(
        self, sample: str | None = None, *, times: Times = "embedding", **question: Any
    ) -> Listing[EfficiencyRow]:
        """What each model costs (seconds a text, bytes a vector) and the RCI it gives."""
        from patcache.queries.efficiency import efficiency

        return efficiency(self, _question(sample, question), times)

    def models(self) -> Listing[ModelRow]:
        """The stored models: rows, dimension, bytes, speed, device."""
        from patcache.queries.models import models

        return models(self, only_stored=True)

    def samples(self) -> Listing[SampleRow]:
        """The samples with their parameters and sizes."""
        from patcache.queries.samples import samples

        return samples(self)

    def report(
        self,
        out: str | Path,
        sample: str | None = None,
        *,
        title: str | None = None,
        formats: Sequence[str] = ("svg", "png", "pdf"),
        progress: Progress | None = None,
        **question: Any,
    ) -> list[str]:
        """Writes a page, figures, tables, methods and raw values into a folder; their names."""
        from patcache.report.write import write_report

        asked = _question(sample, question)
        return write_report(self, asked, Path(out), title=title, formats=formats, progress=progress)

    def export_trec(
        self,
        out: str | Path,
        sample: str | None = None,
        *,
        progress: Progress | None = None,
        **question: Any,
    ) -> list[TrecRun]:
        """Writes gold levels as qrels and each model's order as a run; the runs."""
        from patcache.report.exports.trec import export_trec

        return export_trec(self, _question(sample, question), Path(out), progress)

    def export_mteb(self, out: str | Path, sample: str | None = None, **question: Any) -> list[str]:
        """Writes each model's means in the shape of MTEB's result files; their names."""
        from patcache.report.exports.mteb import export_mteb

        return export_mteb(self, _question(sample, question), Path(out))

    def sql(self, query: str) -> SqlRows:
        """Rows of one reading statement over the public views."""
        from patcache.queries.sql import run_sql

        return run_sql(self, query)


def _question(sample: str | None, asked: dict[str, Any]) -> Question:
    """A question from keywords; years, sections and models may be one or any iterable of them."""
    from patcache.queries.question import Question

    for name in ("years", "sections", "models"):
        if isinstance(asked.get(name), (str, int)):
            asked[name] = (asked[name],)
        elif asked.get(name) is not None:
            asked[name] = tuple(asked[name])
    return Question(sample, **asked)


def _listed(names: Names) -> list[str] | None:
    if names is None:
        return None
    return [names] if isinstance(names, str) else list(names)


@contextmanager
def _no_bar(_label: str) -> Iterator[Progress]:
    yield lambda _done, _total: None
