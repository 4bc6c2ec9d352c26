INSERT INTO upload (upload_id, kind, name, content_hash, actor, row_count, stored_count, revision, received_at_ms)
VALUES ($upload_id, $kind, $name, $content_hash, $actor, $row_count, $stored_count, $revision, $now_ms);
