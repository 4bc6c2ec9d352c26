-- Enters a backfill in the ledger.
INSERT INTO backfill (backfill_id, source, request, from_ms, to_ms, table_name, state, note, started_at_ms, updated_at_ms)
VALUES (
  $backfill_id::BIGINT, $source, $request, $from_ms::BIGINT, $to_ms::BIGINT, $table_name, 'running', $note, $now_ms::BIGINT, $now_ms::BIGINT
);
