-- The touched time and what changed events span, of each series in context. $low_ms, $high_ms: the stretch.
-- probe: as in probe-touched
CREATE OR REPLACE TEMP TABLE probe AS
SELECT series_id, min(from_ms) AS from_ms, max(to_ms) AS to_ms, min(from_ms) AS first_ms
FROM (
  SELECT series_id, from_ms, to_ms FROM touched
  WHERE from_ms >= $low_ms::BIGINT AND to_ms <= $high_ms::BIGINT AND series_id IN (SELECT series_id FROM context)
  UNION ALL
  SELECT series_id, from_ms, to_ms FROM changed_event
)
GROUP BY series_id;
