-- Changes: data.specs.vectors_id, the name of the folder that holds a spec's vectors. Old rows get
-- their own spec_id: until now every spec had a folder of its own. The view `models` counts the
-- texts of that folder, so that a spec with fewer dimensions of another shows that one's, and says
-- which models score pairs of texts: n_texts are pairs then.

ALTER TABLE data.specs ADD COLUMN vectors_id VARCHAR;
UPDATE data.specs SET vectors_id = spec_id;

CREATE OR REPLACE VIEW models AS
SELECT p.label AS model, p.spec_id, p.embedder, p.dim, p.is_sparse, p.identity, p.created_at,
       coalesce(sum(e.n_texts), 0)::BIGINT AS n_texts,
       coalesce(sum(e.n_truncated), 0)::BIGINT AS n_truncated,
       sum(e.elapsed_s) / nullif(sum(e.n_texts), 0) AS s_per_text,
       string_agg(DISTINCT e.device, ', ') AS device,
       p.vectors_id, coalesce((p.identity->>'pairs')::BOOLEAN, false) AS is_pairs
FROM data.specs p LEFT JOIN data.encodings e ON e.spec_id = p.vectors_id
GROUP BY ALL;
