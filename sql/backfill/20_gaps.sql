-- 20 Gaps: ranges of the stream that could not be read.
--
-- Reads   gap.
-- Writes  gap (closed_at_ms and closed_by if a backfill has filled it, note if it could not).
-- Why     A gap stays open, with its reason, until all its messages are there.

-- name: find_gaps
-- Returns the open gaps, the oldest first.
-- Columns: gap_id, reason, from_time_ms, to_time_ms, detected_at_ms, note
SELECT
  gap_id::DOUBLE AS gap_id,
  reason,
  from_time_ms::DOUBLE AS from_time_ms,
  to_time_ms::DOUBLE AS to_time_ms,
  detected_at_ms::DOUBLE AS detected_at_ms,
  note
FROM gap
WHERE closed_at_ms IS NULL AND origin = 'stream'
ORDER BY gap_id;

-- name: note_gap
-- Stores why a gap could not be filled.
UPDATE gap SET note = $note WHERE gap_id = $gap_id::BIGINT;

-- name: close_gaps
-- Closes the gaps ($gap_ids) that a backfill ($backfill_id) has filled: all their pieces are done, and
-- nothing was missing.
-- Columns: gap_id
UPDATE gap SET closed_at_ms = $now_ms::BIGINT, closed_by = $backfill_id::BIGINT, note = NULL
WHERE closed_at_ms IS NULL AND list_contains($gap_ids::BIGINT[], gap_id)
RETURNING gap_id::DOUBLE AS gap_id;
