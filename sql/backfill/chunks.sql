-- The pieces of a backfill, in their order.
-- Columns: chunk_no, gap_id, from_ms, to_ms, messages_expected, messages_landed, state, is_whole.
SELECT
  chunk_no,
  gap_id::DOUBLE AS gap_id,
  from_ms::DOUBLE AS from_ms,
  to_ms::DOUBLE AS to_ms,
  messages_expected::DOUBLE AS messages_expected,
  messages_landed::DOUBLE AS messages_landed,
  state,
  is_whole
FROM backfill_chunk
WHERE backfill_id = $backfill_id::BIGINT
ORDER BY chunk_no;
