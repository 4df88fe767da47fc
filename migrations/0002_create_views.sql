-- Changes: the public views. No rows are touched.

CREATE VIEW patents AS
SELECT publication_number, year, year_source, publication_date, date_precision,
       section, ipc_class, subclass, main_group, code, codes,
       title, abstract, claims, family_id, language,
       abstract IS NULL AS is_title_only
FROM data.patents;

CREATE VIEW cells AS
SELECT year, section, count(*) AS n_patents,
       count(DISTINCT same_text_key) AS n_texts,
       count(*) FILTER (abstract IS NULL) AS n_title_only,
       count(*) FILTER (family_id IS NULL) AS n_family_unknown
FROM data.patents
GROUP BY year, section;

CREATE VIEW imports AS
SELECT path, sha256, size_bytes, options, n_rows, n_added, n_unchanged, n_excluded, n_rejected,
       imported_at, elapsed_s
FROM data.imports;

CREATE VIEW rejects AS
SELECT path, row_number, publication_number, column_name, value, reason, is_excluded
FROM data.rejects;

CREATE VIEW samples AS
SELECT s.name AS sample, s.kind, s.seed, s.parameters, s.corpus_digest, s.created_at,
       count(t.tuple_id) AS n_tuples
FROM data.samples s LEFT JOIN data.tuples t USING (sample_id)
GROUP BY ALL;

CREATE VIEW tuples AS
WITH candidate AS (
    SELECT t.sample_id, t.tuple_id, t.year, t.section, t.target,
           unnest(t.candidates) AS patent_id,
           unnest(s.levels) AS level,
           unnest(range(1, len(s.levels) + 1)) AS position
    FROM data.tuples t JOIN data.shapes s USING (shape_id)
)
SELECT s.name AS sample, c.tuple_id, c.year, c.section,
       target.publication_number AS target, target.code AS target_code,
       c.position AS gold_position, c.level,
       candidate.publication_number AS candidate, candidate.code AS candidate_code
FROM candidate c
JOIN data.samples s USING (sample_id)
JOIN data.patents target ON target.patent_id = c.target
JOIN data.patents candidate ON candidate.patent_id = c.patent_id;

CREATE VIEW sample_cells AS
SELECT s.name AS sample, c.year, c.section, c.n_patents, c.n_eligible, c.n_drawn, c.drawn_at
FROM data.sample_cells c JOIN data.samples s USING (sample_id);

CREATE VIEW shortages AS
SELECT s.name AS sample, h.year, h.section, h.level, h.n_patents
FROM data.shortages h JOIN data.samples s USING (sample_id);

CREATE VIEW label_noise AS
SELECT s.name AS sample, l.year, l.section, l.level, l.n_pairs, l.n_deeper
FROM data.label_noise l JOIN data.samples s USING (sample_id);

CREATE VIEW models AS
SELECT p.label AS model, p.spec_id, p.embedder, p.dim, p.is_sparse, p.identity, p.created_at,
       coalesce(sum(e.n_texts), 0)::BIGINT AS n_texts,
       coalesce(sum(e.n_truncated), 0)::BIGINT AS n_truncated,
       sum(e.elapsed_s) / nullif(sum(e.n_texts), 0) AS s_per_text,
       string_agg(DISTINCT e.device, ', ') AS device
FROM data.specs p LEFT JOIN data.encodings e USING (spec_id)
GROUP BY ALL;

CREATE VIEW rci AS
SELECT s.name AS sample, t.tuple_id, t.year, t.section, target.publication_number AS target,
       p.label AS model, d.scoring_id,
       1 - d.footrule / (h.units_per_rank * h.max_distance)::DOUBLE AS rci,
       d.concordance / h.n_cross_pairs::DOUBLE AS kendall,
       d.footrule, h.units_per_rank, h.max_distance, h.chance,
       d.concordance, h.n_cross_pairs,
       d.similarities, d.footrule IS NULL AS is_undefined, d.is_near_tie
FROM data.distances d
JOIN data.tuples t USING (sample_id, tuple_id)
JOIN data.samples s USING (sample_id)
JOIN data.shapes h USING (shape_id)
JOIN data.specs p USING (spec_id)
JOIN data.patents target ON target.patent_id = t.target;

CREATE VIEW rci_counts AS
SELECT s.name AS sample, p.label AS model, c.scoring_id, c.year, c.section,
       1 - c.value / (h.units_per_rank * h.max_distance)::DOUBLE AS rci,
       c.value AS footrule, h.levels, h.chance, c.n
FROM data.counts c
JOIN data.samples s USING (sample_id)
JOIN data.specs p USING (spec_id)
JOIN data.shapes h USING (shape_id)
WHERE c.indicator = 'footrule';

CREATE VIEW scores AS
SELECT s.name AS sample, p.label AS model, c.scoring_id, c.year, c.section,
       c.n_tuples, c.n_undefined, c.n_near_ties
FROM data.cell_totals c
JOIN data.samples s USING (sample_id)
JOIN data.specs p USING (spec_id);
