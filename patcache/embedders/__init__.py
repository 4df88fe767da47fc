"""Models that turn texts into vectors: base.py says what one is, then one file per kind."""
