-- Whose file this is. No row in a file that nobody has owned yet.
-- Columns: workgroup_id, owner_epoch.
SELECT workgroup_id, owner_epoch FROM shard
