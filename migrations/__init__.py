"""The numbered SQL files that make and change a store's schema; read by patcache.store.migrate."""
