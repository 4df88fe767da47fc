"""The pipeline in its order: importing, sampling, embedding, scoring, study."""
