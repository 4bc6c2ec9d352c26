-- Messages of a batch ($batch_id) that could be decoded after all ($keys as in quarantined-messages) leave the quarantine.
DELETE FROM quarantine
WHERE batch_id = $batch_id::BIGINT AND stage = 'land' AND list_contains($keys::VARCHAR[], md5(bytes));
