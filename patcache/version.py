"""The version of patcache, stated once more in pyproject.toml; a test compares the two."""

__version__ = "0.1.0"
