"""A generated corpus of readable patents, and the study that runs on it."""
