-- The whole of the series whose rules have been learnt anew; their readings are as they were. By the old rules they may have reached further.
-- changed: as in changed-readings
CREATE OR REPLACE TEMP TABLE changed AS
SELECT s.series_id, least(s.first_ms, i.low_ms) AS from_ms, greatest(s.last_ms, i.high_ms) AS to_ms, false AS is_new
FROM relearnt r
JOIN series s USING (series_id)
LEFT JOIN (
  SELECT series_id, min(interval_start_ms) AS low_ms, max(interval_start_ms) AS high_ms
  FROM interval_energy WHERE series_id IN (SELECT series_id FROM relearnt)
  GROUP BY series_id
) AS i USING (series_id);
