-- A piece of a backfill, in the transaction that enters the backfill.
INSERT INTO backfill_chunk (
  backfill_id, chunk_no, gap_id, from_ms, to_ms, messages_expected, messages_landed, state, is_whole, updated_at_ms
)
VALUES (
  $backfill_id::BIGINT, $chunk_no::INTEGER, $gap_id::BIGINT, $from_ms::BIGINT, $to_ms::BIGINT, $messages_expected::BIGINT, 0, 'pending', true,
  $now_ms::BIGINT
);
