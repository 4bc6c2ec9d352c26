-- Rounds the energy of power and of interval readings on its running sum since local midnight, so that the intervals of a day add up
-- to the day. Whole days of the series in context are rounded again.
UPDATE interval_energy SET energy_wh = rounded.energy_wh
FROM (
  WITH rounded_day AS (
    SELECT DISTINCT c.series_id, d.day, d.start_ms, d.end_ms
    FROM context c
    JOIN local_day d ON d.start_ms < c.hi_ms AND d.end_ms > c.lo_ms
    WHERE c.method IN ('power_curve', 'interval_energy')
  )
  SELECT series_id, interval_start_ms, energy_wh AS energy_before,
    sum_wh - coalesce(lag(sum_wh) OVER (PARTITION BY series_id, day ORDER BY interval_start_ms), 0) AS energy_wh
  FROM (
    SELECT i.series_id, i.interval_start_ms, i.energy_wh, d.day,
      round(sum(i.exact_nwh) OVER (PARTITION BY i.series_id, d.day ORDER BY i.interval_start_ms) / 1e9)::BIGINT AS sum_wh
    FROM interval_energy i
    JOIN interval_day d ON d.interval_index = i.interval_start_ms // 900000
    JOIN rounded_day t ON t.series_id = i.series_id AND t.day = d.day
    WHERE i.interval_start_ms BETWEEN (SELECT min(start_ms) FROM rounded_day) AND (SELECT max(end_ms) FROM rounded_day)
      AND i.exact_nwh IS NOT NULL
  )
) AS rounded
WHERE interval_energy.series_id = rounded.series_id
  AND interval_energy.interval_start_ms = rounded.interval_start_ms
  AND rounded.energy_wh <> rounded.energy_before;
