"""Figures, one file each: `draw` takes what a query returns and gives a matplotlib Figure."""
