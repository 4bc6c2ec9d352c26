-- Closes the gaps that a backfill ($backfill_id) has filled: every piece of theirs is done, and nothing was missing ($gap_ids). Columns: gap_id.
UPDATE gap SET closed_at_ms = $now_ms::BIGINT, closed_by = $backfill_id::BIGINT, note = NULL
WHERE closed_at_ms IS NULL AND list_contains($gap_ids::BIGINT[], gap_id)
RETURNING gap_id::DOUBLE AS gap_id;
