-- From a touched stretch and its neighbours to the whole intervals that have to be computed again: everything between the reading
-- before the first change and the reading after the last one, and the whole local day where a register restarts every day.
-- probe_context: series_id, lo_ms, hi_ms (bounds of the intervals, half-open), pad_ms (how far a reading reaches by itself), first_ms (the
-- first changed reading)
CREATE OR REPLACE TEMP TABLE probe_context AS
WITH reach AS (
  SELECT
    n.series_id, r.method,
    CASE WHEN r.method = 'interval_energy' OR r.sampling = 'interval_average' THEN r.interval_ms ELSE 0 END AS pad_ms,
    coalesce(n.prev_ms, n.from_ms) AS prev_ms, coalesce(n.next_ms, n.to_ms) AS next_ms, n.from_ms, n.to_ms, p.first_ms
  FROM neighbour n JOIN probe p USING (series_id) JOIN series_rule r USING (series_id)
), bound AS (
  SELECT series_id, method, pad_ms, first_ms,
    least(prev_ms, from_ms - pad_ms) // 900000 AS lo_index,
    greatest(next_ms, to_ms + pad_ms) // 900000 AS hi_index
  FROM reach
)
SELECT
  b.series_id, b.pad_ms, b.first_ms,
  CASE WHEN b.method = 'daily_energy' THEN first_day.start_ms ELSE b.lo_index * 900000 END AS lo_ms,
  CASE WHEN b.method = 'daily_energy' THEN last_day.end_ms ELSE (b.hi_index + 1) * 900000 END AS hi_ms
FROM bound b
LEFT JOIN interval_day first_day ON first_day.interval_index = b.lo_index
LEFT JOIN interval_day last_day ON last_day.interval_index = b.hi_index;
