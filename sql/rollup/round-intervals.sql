-- Rounds the energy of power and of interval readings on its running sum since local midnight, so that the intervals of a day add up
-- to the day. Whole days of the series in context are rounded again. $low_ms, $high_ms: bounds of those days.
UPDATE interval_energy SET energy_wh = rounded.energy_wh
FROM (
  SELECT series_id, interval_start_ms, energy_wh AS energy_before,
    sum_wh - coalesce(lag(sum_wh) OVER (PARTITION BY series_id, day ORDER BY interval_start_ms), 0) AS energy_wh
  FROM (
    SELECT i.series_id, i.interval_start_ms, i.energy_wh, d.day,
      round(sum(i.exact_wh) OVER (PARTITION BY i.series_id, d.day ORDER BY i.interval_start_ms))::BIGINT AS sum_wh
    FROM interval_energy i
    JOIN interval_day d ON d.interval_index = i.interval_start_ms // 900000
    JOIN (
      SELECT DISTINCT c.series_id, d.day
      FROM context c JOIN series_rule r USING (series_id)
      JOIN local_day d ON d.start_ms < c.hi_ms AND d.end_ms > c.lo_ms
      WHERE r.method IN ('power_curve', 'interval_energy')
    ) AS t ON t.series_id = i.series_id AND t.day = d.day
    WHERE i.interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT AND i.exact_wh IS NOT NULL
  )
) AS rounded
WHERE interval_energy.series_id = rounded.series_id
  AND interval_energy.interval_start_ms = rounded.interval_start_ms
  AND interval_energy.interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  AND rounded.energy_wh <> rounded.energy_before;
