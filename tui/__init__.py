"""The terminal screens of patcache, imported as patcache.tui."""
