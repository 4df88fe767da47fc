"""The demo: a generated corpus of patents, and the first study made with it."""
