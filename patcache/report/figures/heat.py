"""Tables as coloured cells with their numbers: one hue from light to dark, so that grey prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from patcache.records import DoubleArray

LIGHT, DARK = "#ffffff", "#08488e"
ON_LIGHT, ON_DARK = "#111820", "#ffffff"  # the numbers; a page leaves them as they are
NO_VALUE = "#dcdfe3"
IS_DARK = 0.7  # of the way to the dark end: from here on white is easier to read


def draw_cells(
    axes: Axes,
    values: DoubleArray,
    texts: Sequence[Sequence[str]],
    *,
    limits: tuple[float, float],
    size: float,
) -> None:
    """Cells of a table (R, C) with their texts; NaN is a grey cell. No ticks, no frame."""
    from matplotlib.colors import LinearSegmentedColormap

    hue = LinearSegmentedColormap.from_list("heat", [LIGHT, DARK])
    colours = hue.with_extremes(bad=NO_VALUE)
    low, high = limits
    place = np.ma.masked_invalid((values - low) / ((high - low) or 1.0))
    style: Any = {"cmap": colours, "vmin": 0, "vmax": 1, "aspect": "auto"}
    axes.imshow(place, interpolation="nearest", **style)
    for (row, column), at in np.ndenumerate(np.ma.filled(place, 0.0)):
        color = ON_DARK if at > IS_DARK else ON_LIGHT
        text: Any = {"ha": "center", "va": "center", "color": color, "fontsize": size}
        axes.text(column, row, texts[row][column], **text)
    axes.set_xticks(np.arange(values.shape[1] - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(values.shape[0] - 1) + 0.5, minor=True)
    axes.grid(visible=False)
    axes.grid(which="minor", color=LIGHT, linewidth=0.8, alpha=1)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
