"""Kinds of models that other packages bring: entry points of the group patcache.embedders.

An entry point names an object, most often a module, with

    load(resolved, context) -> an Embedder or PairScorer, as patcache.embedders.base has them
    SETTINGS                   optional: name -> patcache.embedders.settings.Setting
    is_fitted                  optional: True if made from a corpus; then it has save_fit(folder)

and its name is the kind: `patcache add KIND:whatever`, where whatever is the setting "model".
A plug-in is imported when its kind is asked for, so that a broken one harms nobody else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any, cast

from patcache.embedders.settings import COMMON, Setting
from patcache.errors import ModelRefused, PatcacheError, in_one_line

if TYPE_CHECKING:
    from patcache.embedders.base import AnyModel, Context, Resolved

GROUP = "patcache.embedders"


@dataclass(frozen=True, slots=True)
class Plugin:
    """A kind of model of another package. origin: its distribution and version."""

    kind: str
    origin: str
    loader: Any
    settings: Mapping[str, Setting]
    is_fitted: bool

    def load(self, resolved: Resolved, context: Context) -> AnyModel:
        """Its model, held to what every model must be. Errors: ModelRefused."""
        from patcache.embedders.guarded import Guarded

        try:
            return cast(
                "AnyModel", Guarded(self.loader.load(resolved, context), self.kind, self.origin)
            )
        except PatcacheError:
            raise
        except Exception as error:  # whatever the code of others raises
            raise ModelRefused(
                f"the plug-in {self.kind} of {self.origin} cannot load {resolved.label}",
                in_one_line(error),
                "ask its makers",
            ) from error


def is_plugin(kind: str) -> bool:
    """Whether an installed package brings this kind; nothing of it is imported."""
    return bool(metadata.entry_points(group=GROUP, name=kind))


def plugin_kinds() -> tuple[str, ...]:
    """The kinds that installed packages bring."""
    return tuple(sorted({point.name for point in metadata.entry_points(group=GROUP)}))


def find_plugin(kind: str) -> Plugin:
    """The plug-in of a kind, imported now.

    Errors: ModelRefused naming the distribution, where it fails, or two bring the same kind.
    """
    points = tuple(metadata.entry_points(group=GROUP, name=kind))
    origins = sorted({_origin(point) for point in points})
    if len(points) != 1:
        what = f"{len(points)} packages bring the kind {kind!r}" if points else f"no kind {kind!r}"
        raise ModelRefused(what, ", ".join(origins), "remove all but one" if points else "")
    try:
        loader = points[0].load()
        settings = dict(getattr(loader, "SETTINGS", {}))
    except Exception as error:  # whatever the code of others raises
        raise ModelRefused(
            f"the plug-in {kind} of {origins[0]} cannot be loaded",
            in_one_line(error),
            f"ask its makers, or remove it: pip uninstall {origins[0].split()[0]}",
        ) from error
    wrong = [name for name, value in settings.items() if not isinstance(value, Setting)]
    if wrong or not callable(getattr(loader, "load", None)):
        why = (
            f"its setting {wrong[0]} is no Setting"
            if wrong
            else "it has no load(resolved, context)"
        )
        raise ModelRefused(f"the plug-in {kind} of {origins[0]} cannot be used", why)
    is_fitted = bool(getattr(loader, "is_fitted", False))
    return Plugin(kind, origins[0], loader, {**COMMON, **settings}, is_fitted)


def _origin(point: metadata.EntryPoint) -> str:
    distribution = point.dist
    return f"{distribution.name} {distribution.version}" if distribution else point.value
