-- Every backfill, the newest first.
-- Columns: backfill_id, source, from_ms, to_ms, table_name, state, note, started_at_ms, updated_at_ms, chunks, chunks_done,
--   messages_expected (null where that was not known), messages_landed, gap_ids.
SELECT
  b.backfill_id::DOUBLE AS backfill_id,
  b.source,
  b.from_ms::DOUBLE AS from_ms,
  b.to_ms::DOUBLE AS to_ms,
  b.table_name,
  b.state,
  b.note,
  b.started_at_ms::DOUBLE AS started_at_ms,
  b.updated_at_ms::DOUBLE AS updated_at_ms,
  count(c.chunk_no)::INTEGER AS chunks,
  count(c.chunk_no) FILTER (c.state = 'done')::INTEGER AS chunks_done,
  sum(c.messages_expected)::DOUBLE AS messages_expected,
  (coalesce(sum(CASE WHEN c.state = 'done' THEN c.messages_landed ELSE l.messages END), 0)
    + coalesce(any_value(q.messages), 0))::DOUBLE AS messages_landed,
  count(DISTINCT c.gap_id)::INTEGER AS gaps
FROM backfill b
LEFT JOIN backfill_chunk c USING (backfill_id)
LEFT JOIN (
  SELECT origin, sum(message_count) AS messages FROM batch WHERE starts_with(origin, 'backfill:') GROUP BY origin
) AS l ON l.origin = 'backfill:' || b.backfill_id || ':' || c.chunk_no
LEFT JOIN (
  SELECT split_part(origin, ':', 2)::BIGINT AS backfill_id, sum(message_count) AS messages
  FROM batch
  WHERE origin LIKE 'backfill:%:quarantine:%'
  GROUP BY ALL
) AS q USING (backfill_id)
GROUP BY ALL
ORDER BY 1 DESC;
