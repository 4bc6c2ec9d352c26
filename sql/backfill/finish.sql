-- A backfill has ended ($state: done or cancelled), unless it has before. Columns: backfill_id.
UPDATE backfill SET state = $state, updated_at_ms = $now_ms::BIGINT
WHERE backfill_id = $backfill_id::BIGINT AND state = 'running'
RETURNING backfill_id;
