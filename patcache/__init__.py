"""patcache: which text embedding model ranks patent similarity best, where, and how sure are we?

The public names are handed out when asked for, so that `patcache --help` loads no numpy.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patcache.version import __version__

if TYPE_CHECKING:
    from patcache.api import Store
    from patcache.errors import PatcacheError

__all__ = ["PatcacheError", "Store", "__version__"]

_HOMES = {"Store": "patcache.api", "PatcacheError": "patcache.errors"}

_CHECKOUT = Path(__file__).parent.parent
if not (Path(__file__).parent / "migrations").is_dir() and (_CHECKOUT / "pyproject.toml").is_file():
    __path__.append(str(_CHECKOUT))  # a checkout keeps tui/ and migrations/ beside patcache/


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'patcache' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
