"""Statistics and draws: arrays in, arrays out, numpy only."""
