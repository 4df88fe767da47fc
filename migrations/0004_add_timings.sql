-- Changes: adds data.timings, speeds measured on demand (`patcache efficiency --measure`), and the
-- public view `timings`. No old rows are touched: times of embedding stay in data.encodings.

CREATE TABLE data.timings (              -- one row for each spec, device and batch: the last measured
    spec_id     VARCHAR NOT NULL,        -- whose vectors are encoded: data.specs.vectors_id
    device      VARCHAR NOT NULL,        -- the one really used
    batch       INTEGER NOT NULL,        -- texts (pairs, of a scorer of pairs) in one call
    n_texts     BIGINT NOT NULL,         -- texts (pairs) of the tuples, encoded in each repeat
    n_tuples    INTEGER NOT NULL,
    n_repeats   INTEGER NOT NULL,
    median_s    DOUBLE NOT NULL,         -- of the repeats, for all the texts
    spread_s    DOUBLE NOT NULL,         -- slowest minus fastest repeat
    measured_at TIMESTAMPTZ NOT NULL,
    provenance  JSON NOT NULL            -- library versions, threads, tokens in a batch, sample
);

CREATE VIEW timings AS
SELECT p.label AS model, t.device, t.batch, t.n_texts, t.n_tuples, t.n_repeats,
       t.median_s, t.spread_s, t.median_s / t.n_texts AS s_per_text,
       t.median_s / t.n_tuples AS s_per_tuple, t.measured_at, t.provenance,
       coalesce((p.identity->>'pairs')::BOOLEAN, false) AS is_pairs
FROM data.timings t JOIN data.specs p ON p.vectors_id = t.spec_id;
