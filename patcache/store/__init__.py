"""The DuckDB file of a store: attach, transaction, migrations, and the writes, by subject."""

from patcache.store.folder import StoreFolder

__all__ = ["StoreFolder"]
