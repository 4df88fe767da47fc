"""The arrays of one spec on disk: rows, keys and the journal that says what exists."""
