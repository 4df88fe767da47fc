"""Schema changes: numbered SQL files, one transaction each, recorded with their sha256."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from patcache.errors import StoreRefused

if TYPE_CHECKING:
    import duckdb

    from patcache.store.folder import StoreFolder

HISTORY_TABLE = "schema_migrations"
CREATE_HISTORY = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    version INTEGER, name VARCHAR, sha256 VARCHAR, applied_at TIMESTAMPTZ
)"""
RECORD = "INSERT INTO schema_migrations VALUES (?, ?, ?, now())"
HISTORY = "SELECT version, name, sha256 FROM schema_migrations ORDER BY version"
TABLES = "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database()"


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file of SQL."""

    version: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.sql.encode("utf-8")).hexdigest()


def migrations() -> list[Migration]:
    """All migrations of this program, in order."""
    found = [
        Migration(int(file.name[:4]), file.name, file.read_text(encoding="utf-8"))
        for file in resources.files("patcache.migrations").iterdir()
        if file.name.endswith(".sql")
    ]
    return sorted(found, key=lambda migration: migration.version)


def check_version(cursor: duckdb.DuckDBPyConnection, path: Path) -> bool:
    """Whether migrations are missing. Errors: StoreRefused for a foreign or newer database."""
    applied = _applied(cursor, path)
    known = {migration.version: migration for migration in migrations()}
    newest = max(known)
    if max(applied, default=0) > newest:
        raise StoreRefused(
            f"{path} was written by a newer patcache",
            f"its schema is {max(applied)}, this program knows up to {newest}",
            "update patcache: pip install -U patcache",
        )
    for version, (name, sha256) in applied.items():
        if known[version].sha256 != sha256:
            raise StoreRefused(
                f"{path} was made with another migration {name}",
                f"its checksum is {sha256[:12]}, this program's is {known[version].sha256[:12]}",
                "use the patcache that made it, or import the patents into a new store",
            )
    return len(applied) < len(known)


def migrate(store: StoreFolder) -> None:
    """Brings a store to this program's schema; an older one is copied beside itself first."""
    if store.database_path.exists():
        with store.write():
            pass  # leaving puts into the file what a killed process left in its log
        shutil.copy2(store.database_path, store.database_path.with_suffix(".duckdb.before"))
    for migration in migrations():
        with store.write() as cursor:
            if migration.version in _applied(cursor, store.database_path):
                continue
            cursor.execute(CREATE_HISTORY)
            cursor.execute(migration.sql)
            cursor.execute(RECORD, [migration.version, migration.name, migration.sha256])


def _applied(cursor: duckdb.DuckDBPyConnection, path: Path) -> dict[int, tuple[str, str]]:
    """Version -> (name, sha256) of what was applied; an empty database has none."""
    tables = {name for (name,) in cursor.execute(TABLES).fetchall()}
    if HISTORY_TABLE in tables:
        rows = cursor.execute(HISTORY).fetchall()
        return {version: (name, sha256) for version, name, sha256 in rows}
    if tables:
        raise StoreRefused(
            f"{path} is a DuckDB database, but not a patcache store",
            f"it has {len(tables)} tables and no {HISTORY_TABLE}",
            "nothing was changed; choose another --store",
        )
    return {}
