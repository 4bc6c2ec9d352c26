-- Energy of registers in each interval: the growth of the rounded index between the interval's bounds, step by step.
-- interval_part: series_id, interval_index, energy_wh, exact_wh (null), covered_ms, flags, last_ms, last_value
CREATE OR REPLACE TEMP TABLE interval_part AS
WITH within AS (
  SELECT s.*, r.method FROM step s JOIN series_rule r USING (series_id)
  WHERE NOT r.within_day
  UNION ALL
  SELECT s.*, r.method FROM step s JOIN series_rule r USING (series_id)
  JOIN interval_day d0 ON d0.interval_index = s.t0 // 900000
  JOIN interval_day d1 ON d1.interval_index = s.t1 // 900000
  WHERE r.within_day AND d0.day = d1.day
), part AS (
  SELECT series_id, t0 // 900000 AS i, round(c1)::BIGINT - round(c0)::BIGINT AS energy_wh,
    CASE WHEN covered THEN t1 - t0 ELSE 0 END AS covered_ms, flags
  FROM within
  WHERE t0 // 900000 = (t1 - 1) // 900000
  UNION ALL
  SELECT series_id, i,
    round(CASE WHEN (i + 1) * 900000 >= t1 THEN c1 ELSE c0 + (c1 - c0) * (((i + 1) * 900000 - t0) / (t1 - t0)) END)::BIGINT
      - round(CASE WHEN i * 900000 <= t0 THEN c0 ELSE c0 + (c1 - c0) * ((i * 900000 - t0) / (t1 - t0)) END)::BIGINT,
    CASE WHEN covered THEN least(t1, (i + 1) * 900000) - greatest(t0, i * 900000) ELSE 0 END,
    flags
      | CASE WHEN t1 - t0 <= 7200000 OR c0 = c1 THEN 0
        ELSE CASE WHEN i * 900000 > t0 THEN 16385 ELSE 0 END | CASE WHEN (i + 1) * 900000 < t1 THEN 32769 ELSE 0 END END
  FROM (
    SELECT *, unnest(range(t0 // 900000, (t1 - 1) // 900000 + 1)) AS i FROM within WHERE t0 // 900000 <> (t1 - 1) // 900000
  )
), energy AS (
  SELECT series_id, i, sum(energy_wh)::BIGINT AS energy_wh, sum(covered_ms)::INTEGER AS covered_ms, bit_or(flags)::USMALLINT AS flags
  FROM part GROUP BY series_id, i
), point AS (
  SELECT series_id, t1 // 900000 AS i, max(t1) AS last_ms, arg_max(c1, t1) AS last_value FROM step GROUP BY series_id, i
)
SELECT
  series_id, i AS interval_index,
  coalesce(e.energy_wh, 0) AS energy_wh, NULL::DOUBLE AS exact_wh,
  coalesce(e.covered_ms, 0) AS covered_ms, coalesce(e.flags, 0)::USMALLINT AS flags,
  p.last_ms, p.last_value
FROM energy e FULL JOIN point p USING (series_id, i);
