-- 10 Ledger: backfills and their pieces.
--
-- Reads   backfill, backfill_chunk, batch.
-- Writes  backfill (one row for each requested backfill), backfill_chunk (one row for each piece: a time
--         range in ms since 1970).
-- Why     An interrupted backfill continues with the piece at which it stopped.

-- name: find_unfinished
-- Returns the unfinished backfill with the same request ($request), if there is one.
-- Columns: backfill_id, note
SELECT backfill_id, note FROM backfill WHERE request = $request AND state = 'running' ORDER BY backfill_id DESC LIMIT 1;

-- name: find_next_backfill_id
-- Returns the number of the next backfill.
-- Columns: backfill_id
SELECT coalesce(max(backfill_id), 0) + 1 AS backfill_id FROM backfill;

-- name: begin_backfill
-- Stores a new backfill.
INSERT INTO backfill (
  backfill_id, source, request, from_ms, to_ms, table_name, state, note, started_at_ms, updated_at_ms
)
VALUES (
  $backfill_id::BIGINT, $source, $request, $from_ms::BIGINT, $to_ms::BIGINT, $table_name, 'running', $note,
  $now_ms::BIGINT, $now_ms::BIGINT
);

-- name: add_piece
-- Stores a piece of a backfill, in the transaction that stores the backfill.
INSERT INTO backfill_chunk (
  backfill_id, chunk_no, gap_id, from_ms, to_ms, messages_expected, messages_landed, state, is_whole, updated_at_ms
)
VALUES (
  $backfill_id::BIGINT, $chunk_no::INTEGER, $gap_id::BIGINT, $from_ms::BIGINT, $to_ms::BIGINT,
  $messages_expected::BIGINT, 0, 'pending', true, $now_ms::BIGINT
);

-- name: find_state
-- Returns the state of a backfill.
-- Columns: state, note
SELECT state, note FROM backfill WHERE backfill_id = $backfill_id::BIGINT;

-- name: find_pieces
-- Returns the pieces of a backfill, in order.
-- Columns: chunk_no, gap_id, from_ms, to_ms, messages_expected, messages_landed, state, is_whole
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

-- name: touch_backfill
-- Updates the time at which the backfill last made progress.
UPDATE backfill SET updated_at_ms = $now_ms::BIGINT WHERE backfill_id = $backfill_id::BIGINT;

-- name: finish_backfill
-- Ends a backfill ($state: done or cancelled), unless it has ended before.
-- Columns: backfill_id
UPDATE backfill SET state = $state, updated_at_ms = $now_ms::BIGINT
WHERE backfill_id = $backfill_id::BIGINT AND state = 'running'
RETURNING backfill_id;

-- name: list_backfills
-- Returns every backfill, the newest first. The origin of a batch names its backfill:
-- backfill:<backfill_id>:<chunk_no>, or backfill:<backfill_id>:quarantine:<batch_id>.
-- Columns:
--   backfill_id, source, from_ms, to_ms, table_name, state, note, started_at_ms
--   updated_at_ms, pieces, pieces_done
--   messages_expected   null if unknown
--   messages_landed
--   gaps                how many
SELECT
  backfill.backfill_id::DOUBLE AS backfill_id,
  backfill.source,
  backfill.from_ms::DOUBLE AS from_ms,
  backfill.to_ms::DOUBLE AS to_ms,
  backfill.table_name,
  backfill.state,
  backfill.note,
  backfill.started_at_ms::DOUBLE AS started_at_ms,
  backfill.updated_at_ms::DOUBLE AS updated_at_ms,
  count(backfill_chunk.chunk_no)::INTEGER AS pieces,
  count(backfill_chunk.chunk_no) FILTER (backfill_chunk.state = 'done')::INTEGER AS pieces_done,
  sum(backfill_chunk.messages_expected)::DOUBLE AS messages_expected,
  (
    coalesce(sum(
      CASE WHEN backfill_chunk.state = 'done' THEN backfill_chunk.messages_landed ELSE landed.messages END
    ), 0)
    + coalesce(any_value(quarantined.messages), 0)
  )::DOUBLE AS messages_landed,
  count(DISTINCT backfill_chunk.gap_id)::INTEGER AS gaps
FROM backfill
LEFT JOIN backfill_chunk USING (backfill_id)
LEFT JOIN (
  SELECT origin, sum(message_count) AS messages FROM batch WHERE starts_with(origin, 'backfill:') GROUP BY origin
) AS landed ON landed.origin = 'backfill:' || backfill.backfill_id || ':' || backfill_chunk.chunk_no
LEFT JOIN (
  SELECT split_part(origin, ':', 2)::BIGINT AS backfill_id, sum(message_count) AS messages
  FROM batch
  WHERE origin LIKE 'backfill:%:quarantine:%'
  GROUP BY ALL
) AS quarantined USING (backfill_id)
GROUP BY ALL
ORDER BY 1 DESC;
