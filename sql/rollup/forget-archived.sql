-- Messages of the lake that every stream has read again are there for nothing.
DELETE FROM archived_message WHERE batch_id <= (SELECT min(batch_id) FROM energy_stream WHERE settings IS NOT NULL);
