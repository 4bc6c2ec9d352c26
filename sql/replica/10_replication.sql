-- 10 Replication: which commit of the replica belongs to this warehouse.
--
-- Reads   publication, shard.
-- Writes  publication.
-- Why     If the newest commit of the replica is not of this warehouse, the warehouse is an older copy, or
--         another worker has continued without it. Then it must not continue.

-- name: find_replication
-- Returns the nonces of the last own commit of the replica and of the planned one, and the owner of the file.
SELECT
  (SELECT owner_epoch FROM shard)::VARCHAR AS owner_epoch,
  (SELECT nonce FROM publication WHERE state = 'replicated') AS replicated_nonce,
  (SELECT nonce FROM publication WHERE state = 'replica_planned') AS planned_nonce;

-- name: store_replication
-- Stores the commit ($sequence, $nonce) of a state ($state: replicated or replica_planned).
MERGE INTO publication USING (SELECT $state::VARCHAR AS state) AS wanted USING (state)
WHEN MATCHED THEN UPDATE SET sequence = $sequence::BIGINT, nonce = $nonce::VARCHAR
WHEN NOT MATCHED THEN INSERT (state, sequence, nonce) VALUES ($state::VARCHAR, $sequence::BIGINT, $nonce::VARCHAR);
