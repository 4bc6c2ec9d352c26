-- How many readings are in context, as far as it matters: up to $count_max. $low_ms, $high_ms: its bounds.
SELECT count(*) AS count
FROM (
  SELECT 1 FROM reading r JOIN context c ON c.series_id = r.series_id AND r.event_time_ms BETWEEN c.first_ms AND c.last_ms
  WHERE r.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  LIMIT $count_max::BIGINT
);
