"""Results on paper: tables, figures, a page, and files for other programs."""
