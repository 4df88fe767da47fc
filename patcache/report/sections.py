"""The sections of a report, a line each: title, words, query, table, figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from patcache.queries.agreement import agreement
from patcache.queries.cells import cells
from patcache.queries.distribution import distribution
from patcache.queries.efficiency import batches, efficiency
from patcache.queries.equivalence import equivalence
from patcache.queries.fields import fields
from patcache.queries.leaderboard import leaderboard
from patcache.queries.levels import level_confusion, levels
from patcache.queries.matrix import matrix
from patcache.queries.normality import normality_of_models
from patcache.queries.power import power
from patcache.queries.trend import trend
from patcache.queries.tuples import tuples
from patcache.report.figures import agreement as agreement_figures
from patcache.report.figures import compare as compare_figures
from patcache.report.figures import distribution as distribution_figures
from patcache.report.figures import efficiency as efficiency_figures
from patcache.report.figures import fields as fields_figures
from patcache.report.figures import leaderboard as leaderboard_figures
from patcache.report.figures import levels as levels_figures
from patcache.report.figures import matrix as matrix_figures
from patcache.report.figures import robustness as robustness_figures
from patcache.report.figures import trend as trend_figures
from patcache.report.figures import where as where_figures
from patcache.report.grid import Grid, grid_of
from patcache.report.grids.agreement import TITLES as AGREEMENT_TITLES
from patcache.report.grids.agreement import grid_of_agreement
from patcache.report.grids.cells import grid_of_cells
from patcache.report.grids.compare import grid_of_compare, title_of_compare
from patcache.report.grids.distribution import grid_of_distribution
from patcache.report.grids.efficiency import grid_of_efficiency
from patcache.report.grids.equivalence import grid_of_equivalence
from patcache.report.grids.leaderboard import grid_of_leaderboard
from patcache.report.grids.levels import grid_of_confusion, grid_of_levels
from patcache.report.grids.matrix import grid_of_matrix, title_of_matrix
from patcache.report.grids.parts import grid_of_parts, title_of_parts
from patcache.report.grids.robustness import grid_of_draws, grid_of_robustness
from patcache.report.grids.tuples import grid_of_tuples
from patcache.report.grids.where import grid_of_where
from patcache.report.section_queries import (
    Asked,
    compare_halves,
    draws,
    robustness_of_draws,
    where_best,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from patcache.listing import Listing
    from patcache.queries.question import Question
    from patcache.store import StoreFolder

BETWEEN = " – "  # the ends of an interval: a sign that LaTeX knows
MOST_TUPLES = 10


@dataclass(frozen=True, slots=True)
class Drawing:
    """One figure of a section: its file's name, what it shows, and how it is drawn."""

    name: str
    label: str
    draw: Callable[[Listing[Any], Question], Figure]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report. name: of its tables' files; table: None shows the records; titles: what
    the numbers of the table are, beside the caption."""

    name: str
    title: str
    words: str
    query: Callable[[StoreFolder, Asked], Listing[Any]]
    table: Callable[[Listing[Any]], Grid] | None = None
    titles: Callable[[Listing[Any], Question], tuple[str, ...]] = lambda _listing, _question: ()
    figures: tuple[Drawing, ...] = ()

    def grid(self, listing: Listing[Any]) -> Grid:
        """What people see of the listing."""
        return self.table(listing) if self.table is not None else grid_of(listing)

    def titled(self, listing: Listing[Any], question: Question) -> Listing[Any]:
        """The listing as its table is captioned."""
        return replace(listing, caption=(*listing.caption, *self.titles(listing, question)))


# fmt: off
SECTIONS = (
    Section(
        "leaderboard", "Which model ranks best",
        "The models from the highest mean to the lowest. Models that share a group could not be "
        "told apart. The dashed line is chance: what a model that knows nothing gets.",
        lambda store, asked: leaderboard(store, asked.question),
        lambda listing: grid_of_leaderboard(listing, BETWEEN),
        figures=(Drawing("leaderboard", "Mean of each model with its 95 % interval, and chance",
                 lambda listing, _: leaderboard_figures.draw(listing)),),
    ),
    Section(
        "matrix", "Which model beats which",
        "Every ordered pair is one test: does the model of the row beat that of the column? "
        "A star and a frame mark a win.",
        lambda store, asked: matrix(store, asked.question),
        lambda listing: grid_of_matrix(listing, "p"),
        lambda _listing, question: (title_of_matrix("p", question),),
        figures=(Drawing("matrix", "Corrected p of every pair of models",
                 lambda listing, question: matrix_figures.draw(listing, question, "p")),),
    ),
    Section(
        "differences", "By how much",
        "Mean differences over the tuples that both models have; a difference can be sure and "
        "too small to matter.",
        lambda store, asked: matrix(store, asked.question),
        lambda listing: grid_of_matrix(listing, "difference"),
        lambda _listing, question: (title_of_matrix("difference", question),),
        figures=(Drawing("differences", "Mean difference of every pair of models",
                 lambda listing, question: matrix_figures.draw(listing, question, "difference")),
         Drawing("effects", "Probability of superiority of every pair of models",
                 lambda listing, question: matrix_figures.draw(listing, question, "effect"))),
    ),
    Section(
        "equivalence", "Which models are as good",
        "Two one-sided paired tests: a model that is not shown to be worse need not be as good; "
        "here it is tested.",
        lambda store, asked: equivalence(store, asked.question), grid_of_equivalence,
    ),
    Section(
        "power", "How small a difference these tuples can show",
        "What is not seen may be too small for so few tuples.",
        lambda store, asked: power(store, asked.question),
    ),
    Section(
        "trend", "Year by year: models outperformed",
        "How many of the others each model beats in a year, as in Figure 4 of the study.",
        lambda store, asked: trend(store, asked.question),
        lambda listing: grid_of_parts(listing, "beats"),
        lambda listing, _question: title_of_parts(listing, "beats"),
        figures=(Drawing("trend", "Models outperformed by each model, by year",
                 lambda listing, _: trend_figures.draw(listing, "beats")),),
    ),
    Section(
        "trend-means", "Year by year: means",
        "The means behind it, with their intervals.",
        lambda store, asked: trend(store, asked.question),
        lambda listing: grid_of_parts(listing, "rci"),
        lambda listing, _question: title_of_parts(listing, "rci"),
        figures=(Drawing("trend-means", "Mean of each model by year, with 95 % intervals",
                 lambda listing, _: trend_figures.draw(listing, "rci")),),
    ),
    Section(
        "fields", "Field by field: models outperformed",
        "How many of the others each model beats in an IPC section, as in Figure 5 of the study.",
        lambda store, asked: fields(store, asked.question),
        lambda listing: grid_of_parts(listing, "beats"),
        lambda listing, _question: title_of_parts(listing, "beats"),
        figures=(Drawing("fields", "Models outperformed by each model, by IPC section",
                 lambda listing, _: fields_figures.draw(listing, "beats")),),
    ),
    Section(
        "fields-means", "Field by field: means",
        "The means behind it, with their intervals.",
        lambda store, asked: fields(store, asked.question),
        lambda listing: grid_of_parts(listing, "rci"),
        lambda listing, _question: title_of_parts(listing, "rci"),
        figures=(Drawing("fields-means", "Mean of each model by IPC section, with 95 % intervals",
                 lambda listing, _: fields_figures.draw(listing, "rci")),),
    ),
    Section(
        "compare", "Earlier years against later ones",
        "The years are cut where about half of the tuples lie on each side. The sides have other "
        "tuples, which the test takes as independent samples.",
        compare_halves, grid_of_compare,
        lambda listing, _question: (title_of_compare(listing),),
        figures=(Drawing("compare", "Mean of each model in the earlier and the later years",
                 lambda listing, _: compare_figures.draw(listing)),),
    ),
    Section(
        "cells", "Cell by cell",
        "Every year and section that has tuples; with few of them, little is to be seen.",
        lambda store, asked: cells(store, asked.question, by="cell"), grid_of_cells,
    ),
    Section(
        "where", "Where the model with the highest mean wins, and where not",
        "Years and sections by the evidence, with false discoveries limited: among the wins named "
        "here, the share of false ones is expected to be at most alpha.",
        where_best, grid_of_where,
        figures=(Drawing("where", "Differences to the rivals, slice by slice, with their intervals",
                 lambda listing, _: where_figures.draw(listing)),),
    ),
    Section(
        "distribution", "How similarities are distributed",
        "A model whose similarities are all near one another still has an order; what counts is "
        "how far apart they are within a tuple.",
        lambda store, asked: distribution(store, asked.question),
        lambda listing: grid_of_distribution(listing, with_blocks=False),
        figures=(Drawing("distribution", "Histogram of each model's similarities",
                 lambda listing, _: distribution_figures.draw(listing)),),
    ),
    Section(
        "distribution-levels", "Similarity by gold level",
        "Separation is how far the mean of a level is above that of the next shallower one, in "
        "standard deviations.",
        lambda store, asked: distribution(store, asked.question, by="level"),
        lambda listing: grid_of_distribution(listing, with_blocks=False),
        figures=(Drawing("distribution-levels", "Similarities of each gold level, model by model",
                 lambda listing, _: distribution_figures.draw(listing)),),
    ),
    Section(
        "levels", "Which levels a model confuses",
        "Of two neighbouring gold levels, is the deeper one more similar? Half is chance.",
        lambda store, asked: levels(store, asked.question), grid_of_levels,
    ),
    Section(
        "confusion", "Where each level stands",
        "The share of candidates of a gold level that a model puts in each place.",
        lambda store, asked: level_confusion(store, asked.question), grid_of_confusion,
        figures=(Drawing("confusion", "Where candidates of each gold level stand, model by model",
                 lambda listing, _: levels_figures.draw(listing)),),
    ),
    Section(
        "agreement", "Whether models agree",
        "Correlation of values over common tuples: two models can be as good and yet differ.",
        lambda store, asked: agreement(store, asked.question),
        lambda listing: grid_of_agreement(listing, "spearman"),
        lambda _listing, _question: (AGREEMENT_TITLES["spearman"],),
        figures=(Drawing("agreement", "Correlation of the values of every two models",
                 lambda listing, _: agreement_figures.draw(listing)),),
    ),
    Section(
        "hardest", "The hardest tuples",
        "Those with the lowest mean over the models.",
        lambda store, asked: tuples(store, asked.question, top=MOST_TUPLES),
        lambda listing: grid_of_tuples(listing, with_difference=False),
    ),
    Section(
        "robustness", "Would another draw say the same",
        "The models over draws with other seeds.",
        robustness_of_draws, grid_of_robustness,
    ),
    Section(
        "draws", "Draw by draw",
        "The means of every draw.",
        draws("seed"), grid_of_draws,
        figures=(Drawing("robustness", "Mean of each model in every draw, and chance",
                 lambda listing, _: robustness_figures.draw(listing)),),
    ),
    Section(
        "sizes", "Does the number of candidates matter",
        "The means for other numbers of candidates a tuple.",
        draws("candidates"), grid_of_draws,
        figures=(Drawing("sizes", "Mean of each model by the number of candidates, and chance",
                 lambda listing, _: robustness_figures.draw(listing)),),
    ),
    Section(
        "efficiency", "What the models cost",
        "Seconds a text against the mean. On the front are the models that none other outdoes in "
        "both.",
        lambda store, asked: efficiency(store, asked.question),
        lambda listing: grid_of_efficiency(listing, BETWEEN),
        figures=(Drawing("efficiency", "Mean against seconds a text",
                 lambda listing, _: efficiency_figures.draw(listing)),),
    ),
    Section(
        "batches", "Speed by batch",
        "As measured on the texts of a few tuples.",
        lambda store, asked: batches(store, asked.question), None,
        figures=(Drawing("batches", "Seconds a text by the size of a batch",
                 lambda listing, _: efficiency_figures.draw_batches(listing)),),
    ),
    Section(
        "normality", "Whether values could be normal",
        "They take few values and hardly ever are, which is why models are compared by rank.",
        lambda store, asked: normality_of_models(store, asked.question),
    ),
)
# fmt: on
