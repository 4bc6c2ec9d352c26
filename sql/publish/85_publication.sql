-- 85 Publication: which commit of the lake belongs to this warehouse.
--
-- Reads   publication, shard, batch, progress.
-- Writes  publication.
-- Why     An older copy of the warehouse with a newer lake would publish batch numbers that the lake already
--         has. Messages would be lost or doubled.

-- name: find_publication
-- Returns the stored commits by state, and the identity of the warehouse.
-- Columns:
--   created_at_ms                                        when the warehouse was created
--   batch_id                                             the last landed batch; -1: none
--   has_published                                        a version of Wattline without this table has
--                                                        published from it
--   published_sequence, published_nonce, planned_nonce   null: none
SELECT
  (SELECT created_at_ms FROM shard)::DOUBLE AS created_at_ms,
  coalesce((SELECT max(batch_id) FROM batch), -1)::VARCHAR AS batch_id,
  EXISTS (FROM progress WHERE stage = 'publish') AS has_published,
  (SELECT sequence FROM publication WHERE state = 'published')::DOUBLE AS published_sequence,
  (SELECT nonce FROM publication WHERE state = 'published') AS published_nonce,
  (SELECT nonce FROM publication WHERE state = 'planned') AS planned_nonce;

-- name: store_publication
-- Stores the commit ($sequence, $nonce) of a state ($state: planned or published). The two rows are written
-- by two transactions at the same time.
MERGE INTO publication USING (SELECT $state::VARCHAR AS state) AS wanted USING (state)
WHEN MATCHED THEN UPDATE SET sequence = $sequence::BIGINT, nonce = $nonce::VARCHAR
WHEN NOT MATCHED THEN INSERT (state, sequence, nonce) VALUES ($state::VARCHAR, $sequence::BIGINT, $nonce::VARCHAR);
