-- 65 Power: from samples of power and interval readings to energy.
--
-- Reads   reading_pair, series_rule, day_limit, energy_event.
-- Writes  power_line (a view: power in W along straight lines, cut at the bounds of intervals, with the energy of each piece).
-- Why     The sampling of a stream says what lies between two samples. instantaneous: a straight line, if the samples are no further apart than the
--         longest gap; between two zeros even if they are. on_change: the last value until the next one. interval_average and interval_energy: the
--         value over its own interval, by its label, at most up to the neighbouring reading. Spikes are left out.

-- name: create_power_line
-- power_line: series_id, interval_index, a, pa, b, pb (a straight line of power in W from instant a to instant b), covered (the energy
-- is known), exact_nwh (energy in whole billionths of a Wh, so that sums are exact in any order)
CREATE OR REPLACE TEMP VIEW power_line AS
WITH sample AS (
  SELECT p.series_id, lag(p.t1) OVER w AS t0, lag(p.v1) OVER w AS v0, p.t1, p.v1, lead(p.t1) OVER w AS t2,
    max_gap(r.max_gap_ms, d.learnt_step_ms) AS max_gap_ms, reading_interval(r.interval_ms, d.learnt_step_ms) AS interval_ms,
    r.label_end, r.direction, r.method,
    CASE WHEN r.method = 'interval_energy' THEN 'interval_energy' ELSE r.sampling END AS sampling
  FROM reading_pair p
  JOIN series_rule r USING (series_id)
  LEFT JOIN day_limit d ON d.series_id = p.series_id AND d.utc_day = utc_day(p.t1)
  WHERE NOT is_register(r.method)
    AND NOT EXISTS (SELECT 1 FROM energy_event e WHERE e.series_id = p.series_id AND p.t1 BETWEEN e.from_ms AND e.to_ms)
  WINDOW w AS (PARTITION BY p.series_id ORDER BY p.t1)
), sampled_line AS (
  SELECT series_id, direction, t0 AS a, v0 AS pa, t1 AS b, v1 AS pb, t1 - t0 <= max_gap_ms OR (v0 = 0 AND v1 = 0) AS covered
  FROM sample WHERE sampling = 'instantaneous' AND t0 IS NOT NULL
  UNION ALL
  SELECT series_id, direction, t0, v0, t1, v0, true
  FROM sample WHERE sampling = 'on_change' AND t0 IS NOT NULL
  UNION ALL
  SELECT series_id, direction,
    CASE WHEN label_end THEN greatest(t1 - interval_ms, coalesce(t0, t1 - interval_ms)) ELSE t1 END, v1,
    CASE WHEN label_end THEN t1 ELSE least(t1 + interval_ms, coalesce(t2, t1 + interval_ms)) END, v1, true
  FROM sample WHERE sampling = 'interval_average'
  UNION ALL
  SELECT series_id, direction, a, power_of(v1, b - a), b, power_of(v1, b - a), true
  FROM (
    SELECT series_id, direction, v1,
      CASE WHEN label_end THEN greatest(t1 - interval_ms, coalesce(t0, t1 - interval_ms)) ELSE t1 END AS a,
      CASE WHEN label_end THEN t1 ELSE least(t1 + interval_ms, coalesce(t2, t1 + interval_ms)) END AS b
    FROM sample WHERE sampling = 'interval_energy'
  )
  UNION ALL
  -- The time between two averages that they do not cover has no energy. Between two zeros it is covered.
  SELECT series_id, direction, t0 + CASE WHEN label_end THEN 0 ELSE interval_ms END, 0, t1 - CASE WHEN label_end THEN interval_ms ELSE 0 END, 0,
    v0 = 0 AND v1 = 0
  FROM sample WHERE sampling IN ('interval_average', 'interval_energy') AND t1 - t0 > interval_ms
), directed AS (
  SELECT series_id, a, pa, b, pb, covered FROM sampled_line WHERE direction IS NULL
  UNION ALL
  -- Only power in the declared direction counts, as a positive amount. A line that crosses zero is cut there, and its other part is zero.
  SELECT series_id, part.a, greatest(part.pa, 0), part.b, greatest(part.pb, 0), covered
  FROM (
    SELECT series_id, covered, unnest(CASE
      WHEN pa * pb < 0 THEN [{a: a, pa: pa, b: a + (b - a) * (pa / (pa - pb)), pb: 0}, {a: a + (b - a) * (pa / (pa - pb)), pa: 0, b: b, pb: pb}]
      ELSE [{a: a, pa: pa, b: b, pb: pb}] END) AS part
    FROM (SELECT series_id, a, b, covered, CASE direction WHEN 'negative' THEN -pa ELSE pa END AS pa,
      CASE direction WHEN 'negative' THEN -pb ELSE pb END AS pb FROM sampled_line WHERE direction IS NOT NULL)
  )
), cut AS (
  SELECT series_id, a, pa, b, pb, covered, floor(a / interval_ms())::BIGINT AS interval_index
  FROM directed WHERE b > a AND floor(a / interval_ms()) >= ceil(b / interval_ms()) - 1
  UNION ALL
  SELECT series_id,
    greatest(a, interval_index * interval_ms()), pa + (pb - pa) * ((greatest(a, interval_index * interval_ms()) - a) / (b - a)),
    least(b, (interval_index + 1) * interval_ms()), pa + (pb - pa) * ((least(b, (interval_index + 1) * interval_ms()) - a) / (b - a)), covered, interval_index
  FROM (
    SELECT *, unnest(range(floor(a / interval_ms())::BIGINT, ceil(b / interval_ms())::BIGINT)) AS interval_index
    FROM directed WHERE b > a AND floor(a / interval_ms()) < ceil(b / interval_ms()) - 1
  )
)
SELECT series_id, interval_index, a, pa, b, pb, covered, CASE WHEN covered THEN round((pa + pb) / 2 * (b - a) / watt_ms_per_nwh())::BIGINT ELSE 0 END AS exact_nwh
FROM cut;
