-- The touched time of each series within a stretch. $low_ms, $high_ms: the stretch.
-- probe: series_id, from_ms, to_ms, first_ms (the first changed reading)
CREATE OR REPLACE TEMP TABLE probe AS
SELECT series_id, min(from_ms) AS from_ms, max(to_ms) AS to_ms, min(from_ms) AS first_ms
FROM touched
WHERE from_ms >= $low_ms::BIGINT AND to_ms <= $high_ms::BIGINT
GROUP BY series_id;
