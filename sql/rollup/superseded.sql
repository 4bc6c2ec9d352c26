-- New readings of a series and event time that is known already, with the stored ones: which of the two counts. That with the higher message
-- id; where they are equal, the same value again changes nothing, and of different ones that with the higher offset counts.
-- $low_ms, $high_ms: bounds of incoming, so that only the stored readings around them are read.
-- superseded: series_id, event_time_ms, value, message_id, stream_offset, batch_id (of the one that does not count), is_new (it is the new one)
CREATE OR REPLACE TEMP TABLE superseded AS
SELECT series_id, event_time_ms, unnest(CASE WHEN is_new THEN incoming ELSE stored END), is_new
FROM (
  SELECT i.series_id, i.event_time_ms,
    CASE WHEN r.message_id IS DISTINCT FROM i.message_id THEN coalesce(r.message_id, -1) > coalesce(i.message_id, -1)
      ELSE r.value = i.value OR coalesce(r.stream_offset, 0) > coalesce(i.stream_offset, 0) END AS is_new,
    {value: i.value, message_id: i.message_id, stream_offset: i.stream_offset, batch_id: i.batch_id} AS incoming,
    {value: r.value, message_id: r.message_id, stream_offset: r.stream_offset, batch_id: r.batch_id} AS stored
  FROM incoming i
  JOIN reading r ON r.series_id = i.series_id AND r.event_time_ms = i.event_time_ms
  WHERE r.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
);
