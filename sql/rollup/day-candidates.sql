-- Energy of the noted days between the bounds, by device, source and series, and which series each day is read from: that of the method
-- which is first in the workgroup's order among those that cover the day. A register that stands still all day covers nothing where another
-- method has measured more than 100 W on average, and more than the register may hold back. $low_ms, $high_ms: bounds of the days.
-- day_candidate: device, source, day, start_ms, end_ms, series_id, energy_wh, covered_ms, flags, estimated, method, stream_id, coverage,
-- place (1: chosen)
CREATE OR REPLACE TEMP TABLE day_candidate AS
WITH wanted AS (
  SELECT * FROM touched_day WHERE start_ms >= $low_ms::BIGINT AND end_ms <= $high_ms::BIGINT
), summed AS (
  -- by numbers, because grouping three million intervals by device and source costs more than all the rest
  SELECT i.series_id, d.day,
    sum(i.energy_wh)::BIGINT AS energy_wh,
    sum(i.covered_ms)::BIGINT AS covered_ms,
    bit_or(i.flags & 2046) AS flags,
    bool_or(i.interval_start_ms = d.start_ms AND i.flags & 16384 > 0 OR i.interval_start_ms + 900000 = d.end_ms AND i.flags & 32768 > 0)
      AS estimated,
    max(i.last_value) AS last_value
  FROM interval_energy i
  JOIN interval_day d ON d.interval_index = i.interval_start_ms // 900000
  WHERE i.interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
    AND i.series_id IN (SELECT r.series_id FROM series_rule r JOIN wanted t ON t.device = r.device AND t.source = r.source)
  GROUP BY i.series_id, d.day
  HAVING sum(i.covered_ms) > 0 OR sum(i.energy_wh) <> 0
), by_series AS (
  SELECT t.device, t.source, t.day, t.start_ms, t.end_ms, s.series_id, s.energy_wh, s.covered_ms, s.flags, s.estimated,
    NOT r.net AND s.energy_wh = 0 AND r.method IN ('total_energy', 'daily_energy') AS stands,
    -- What it counts by, as far as its value tells.
    CASE WHEN s.last_value = 0 THEN 0 WHEN s.last_value % 1000000 = 0 THEN 1000000 WHEN s.last_value % 100000 = 0 THEN 100000
      WHEN s.last_value % 10000 = 0 THEN 10000 ELSE r.jitter_wh END AS held_wh
  FROM summed s
  JOIN series_rule r USING (series_id)
  JOIN wanted t ON t.device = r.device AND t.source = r.source AND t.day = s.day
)
SELECT b.*, t.method, t.stream_id,
  b.covered_ms / (b.end_ms - b.start_ms) AS coverage,
  row_number() OVER (
    PARTITION BY b.device, b.source, b.day
    ORDER BY b.covered_ms < best.covered_ms - 0.5 * (b.end_ms - b.start_ms),
      b.stands AND best.energy_wh > greatest(100 * (b.end_ms - b.start_ms) / 3600000, 2 * b.held_wh), t.position
  ) AS place
FROM by_series b
JOIN series_rule r USING (series_id)
JOIN stream_setting t USING (stream_id)
JOIN (SELECT device, source, day, max(covered_ms) AS covered_ms, max(energy_wh) AS energy_wh FROM by_series GROUP BY ALL) AS best
  ON best.device = b.device AND best.source = b.source AND best.day = b.day;
