-- Changes: the first schema. Tables live in the schema `data` and may change; the views of the
-- main schema are the public SQL. patent_id, sample_id, tuple_id and shape_id are row numbers
-- inside one store and mean nothing outside it.

CREATE SCHEMA data;

-- The corpus ------------------------------------------------------------------------------------

CREATE TABLE data.imports (
    import_id     INTEGER NOT NULL,
    path          VARCHAR NOT NULL,      -- as given on the command line; '-' for standard input
    sha256        VARCHAR NOT NULL,      -- of the bytes read
    size_bytes    BIGINT NOT NULL,
    modified_ns   BIGINT NOT NULL,       -- when the file was last changed; 0 for standard input
    options       JSON NOT NULL,         -- reader, dialect, encoding, column mapping
    options_id    VARCHAR NOT NULL,      -- digest of what was asked for: the same again is a repeat
    n_rows        BIGINT NOT NULL,       -- = n_added + n_unchanged + n_excluded + n_rejected
    n_added       BIGINT NOT NULL,
    n_unchanged   BIGINT NOT NULL,       -- already there, by publication number
    n_excluded    BIGINT NOT NULL,       -- understood, but no IPC-classified invention with a text
    n_rejected    BIGINT NOT NULL,       -- not understood
    imported_at   TIMESTAMPTZ NOT NULL,
    elapsed_s     DOUBLE NOT NULL
);

CREATE TABLE data.patents (
    patent_id          INTEGER NOT NULL,
    publication_number VARCHAR NOT NULL, -- unique; text, exactly as in the file
    year               SMALLINT NOT NULL,
    year_source        VARCHAR NOT NULL, -- 'year' (a year column was mapped) or 'publication_date'
    publication_date   DATE,             -- only where the day is known
    date_precision     VARCHAR NOT NULL, -- 'day', 'month' or 'year'
    section            VARCHAR NOT NULL, -- the levels of the main code
    ipc_class          VARCHAR NOT NULL,
    subclass           VARCHAR NOT NULL,
    main_group         VARCHAR NOT NULL,
    code               VARCHAR NOT NULL,
    codes              VARCHAR[] NOT NULL, -- all canonical codes, the main code first, no repeats
    title              VARCHAR,
    abstract           VARCHAR,          -- NULL where the file has none, blanks or '-'
    claims             VARCHAR,
    family_id          VARCHAR,
    language           VARCHAR,
    same_text_key      BLOB NOT NULL,    -- equal for patents that share a text: the abstract word
                                         -- for word (case and white space aside), else the title
    import_id          INTEGER NOT NULL
);

CREATE TABLE data.rejects (
    import_id          INTEGER NOT NULL,
    path               VARCHAR NOT NULL,
    row_number         BIGINT NOT NULL,  -- 1 for the first record of the file
    publication_number VARCHAR,
    column_name        VARCHAR NOT NULL,
    value              VARCHAR,
    reason             VARCHAR NOT NULL,
    is_excluded        BOOLEAN NOT NULL  -- true: out of scope, not at fault
);

-- Samples ---------------------------------------------------------------------------------------

CREATE TABLE data.samples (
    sample_id     INTEGER NOT NULL,
    name          VARCHAR NOT NULL,      -- unique
    kind          VARCHAR NOT NULL,      -- 'drawn' or 'imported'
    seed          BIGINT,                -- NULL where imported
    parameters    JSON NOT NULL,
    corpus_digest VARCHAR NOT NULL,      -- of (publication number, year, codes, text, family)
    created_at    TIMESTAMPTZ NOT NULL
);

CREATE TABLE data.shapes (
    shape_id       INTEGER NOT NULL,
    levels         UTINYINT[] NOT NULL,  -- gold level of each candidate, ascending; unique
    units_per_rank BIGINT NOT NULL,      -- lcm(1..m): a footrule distance of 1 rank
    max_distance   BIGINT NOT NULL,      -- in ranks
    n_cross_pairs  INTEGER NOT NULL,     -- pairs of candidates of different level
    chance         DOUBLE NOT NULL       -- RCI of a model that knows nothing
);

CREATE TABLE data.tuples (
    sample_id  INTEGER NOT NULL,
    tuple_id   INTEGER NOT NULL,         -- 0, 1, ... inside the sample
    shape_id   INTEGER NOT NULL,
    target     INTEGER NOT NULL,         -- patent_id
    candidates INTEGER[] NOT NULL,       -- patent_ids in gold order, least similar first
    year       SMALLINT NOT NULL,        -- the cell, that of the target
    section    VARCHAR NOT NULL
);

CREATE TABLE data.sample_cells (         -- every cell of the corpus the sample has seen
    sample_id  INTEGER NOT NULL,
    year       SMALLINT NOT NULL,
    section    VARCHAR NOT NULL,
    n_patents  INTEGER NOT NULL,
    n_eligible INTEGER NOT NULL,         -- with a candidate at every wanted level
    n_drawn    INTEGER NOT NULL,
    drawn_at   TIMESTAMPTZ NOT NULL
);

CREATE TABLE data.shortages (            -- cells and levels that leave patents without a candidate
    sample_id INTEGER NOT NULL,
    year      SMALLINT NOT NULL,
    section   VARCHAR NOT NULL,
    level     UTINYINT NOT NULL,
    n_patents INTEGER NOT NULL           -- that have no candidate at this level
);

CREATE TABLE data.label_noise (
    sample_id INTEGER NOT NULL,
    year      SMALLINT NOT NULL,
    section   VARCHAR NOT NULL,
    level     UTINYINT NOT NULL,
    n_pairs   INTEGER NOT NULL,          -- target-candidate pairs drawn at this level
    n_deeper  INTEGER NOT NULL           -- of them, sharing a deeper level by any of their codes
);

-- Models ----------------------------------------------------------------------------------------

CREATE TABLE data.specs (
    spec_id    VARCHAR NOT NULL,         -- unique
    label      VARCHAR NOT NULL,         -- unique
    embedder   VARCHAR NOT NULL,
    dim        INTEGER NOT NULL,
    is_sparse  BOOLEAN NOT NULL,
    identity   JSON NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE data.requests (             -- what was asked -> the spec it was, without loading it
    request_key VARCHAR NOT NULL,        -- unique
    spec_id     VARCHAR NOT NULL
);

CREATE TABLE data.sources (              -- how a spec's model is loaded again, by label
    spec_id     VARCHAR NOT NULL,        -- unique
    kind        VARCHAR NOT NULL,
    label       VARCHAR NOT NULL,
    settings    JSON NOT NULL,           -- every default filled in; may hold paths
    is_fitted   BOOLEAN NOT NULL
);

CREATE TABLE data.embedded (             -- whose texts all have vectors: nothing to look up again
    spec_id     VARCHAR NOT NULL,
    sample_id   INTEGER,                 -- NULL: the whole corpus
    n_tuples    BIGINT NOT NULL,         -- tuples (patents, for the corpus) at that moment
    n_rows      BIGINT NOT NULL          -- vectors of the spec at that moment
);

CREATE TABLE data.encodings (            -- one row for each run of an embedder; a run that was
    spec_id     VARCHAR NOT NULL,        -- killed is counted with the next one
    started_at  TIMESTAMPTZ NOT NULL,
    n_texts     BIGINT NOT NULL,
    n_truncated BIGINT NOT NULL,
    elapsed_s   DOUBLE NOT NULL,         -- encoding only, without loading
    device      VARCHAR NOT NULL,        -- the one really used
    provenance  JSON NOT NULL            -- library versions, threads, batch
);

-- Scores ----------------------------------------------------------------------------------------

CREATE TABLE data.scorings (
    scoring_id    VARCHAR NOT NULL,      -- unique
    rule_version  INTEGER NOT NULL,
    tie_tolerance DOUBLE NOT NULL
);

CREATE TABLE data.distances (            -- one row for each tuple, spec and scoring
    sample_id    INTEGER NOT NULL,
    tuple_id     INTEGER NOT NULL,
    spec_id      VARCHAR NOT NULL,
    scoring_id   VARCHAR NOT NULL,
    similarities FLOAT[] NOT NULL,       -- cosine with the target, in gold order
    footrule     BIGINT,                 -- expected distance in units; NULL where undefined
    concordance  INTEGER,                -- concordant minus discordant pairs; NULL where undefined
    is_near_tie  BOOLEAN NOT NULL        -- a gap within 1e-6 of the tie tolerance
);

CREATE TABLE data.scores (               -- one row for each (sample, spec, scoring) scored whole
    sample_id  INTEGER NOT NULL,
    spec_id    VARCHAR NOT NULL,
    scoring_id VARCHAR NOT NULL,
    n_tuples   BIGINT NOT NULL,          -- those the counts below stand for
    scored_at  TIMESTAMPTZ NOT NULL
);

CREATE TABLE data.cell_totals (
    sample_id    INTEGER NOT NULL,
    spec_id      VARCHAR NOT NULL,
    scoring_id   VARCHAR NOT NULL,
    year         SMALLINT NOT NULL,
    section      VARCHAR NOT NULL,
    n_tuples     BIGINT NOT NULL,
    n_undefined  BIGINT NOT NULL,
    n_near_ties  BIGINT NOT NULL
);

CREATE TABLE data.counts (               -- how often each value occurs: all that a U-test needs
    sample_id  INTEGER NOT NULL,
    spec_id    VARCHAR NOT NULL,
    scoring_id VARCHAR NOT NULL,
    indicator  VARCHAR NOT NULL,         -- 'footrule' (a distance) or 'concordance' (an agreement)
    year       SMALLINT NOT NULL,
    section    VARCHAR NOT NULL,
    shape_id   INTEGER NOT NULL,
    value      BIGINT NOT NULL,
    n          BIGINT NOT NULL
);

CREATE TABLE data.difference_counts (    -- the same for pairs of specs: all a signed-rank test needs
    sample_id  INTEGER NOT NULL,
    spec_a     VARCHAR NOT NULL,         -- spec_a < spec_b
    spec_b     VARCHAR NOT NULL,
    scoring_id VARCHAR NOT NULL,
    indicator  VARCHAR NOT NULL,
    year       SMALLINT NOT NULL,
    section    VARCHAR NOT NULL,
    shape_id   INTEGER NOT NULL,
    difference BIGINT NOT NULL,          -- value of spec_a minus value of spec_b, same tuple
    n          BIGINT NOT NULL           -- tuples defined for both
);
