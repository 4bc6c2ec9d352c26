-- Puts every earlier owner of the file out of office.
-- Parameters: owner_epoch.
UPDATE shard SET owner_epoch = $owner_epoch::BIGINT
