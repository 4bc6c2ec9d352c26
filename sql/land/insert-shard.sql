-- Makes a new file a workgroup's.
-- Parameters: workgroup_id, owner_epoch, created_at_ms.
INSERT INTO shard (workgroup_id, owner_epoch, created_at_ms)
VALUES ($workgroup_id, $owner_epoch::BIGINT, $created_at_ms::BIGINT)
