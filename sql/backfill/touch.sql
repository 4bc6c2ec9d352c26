-- The backfill has moved.
UPDATE backfill SET updated_at_ms = $now_ms::BIGINT WHERE backfill_id = $backfill_id::BIGINT;
