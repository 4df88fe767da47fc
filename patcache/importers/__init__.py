"""Readers of patent files: base.py says what one is, then one file per export format."""
