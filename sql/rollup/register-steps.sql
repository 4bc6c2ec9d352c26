-- Growth of the troubled lifetime registers between neighbouring valid readings, as a straight line of the index from c0 to c1 (Wh):
-- without what was left out, the high-water mark held, a new frame of the index after each reset, rollover or rebase (which books its
-- own amount for the step). Where a register has sunk below its mark, the mark gives way: a rebase to the jitter above the reading.
-- step: series_id, t0, c0, t1, c1, covered, flags, held (the high-water mark at t0, in the frame before)
CREATE OR REPLACE TEMP TABLE step AS
WITH kept AS (
  SELECT k.series_id, k.event_time_ms AS t,
    CASE WHEN s.t IS NULL THEN greatest(k.value, coalesce(i.last_value, k.value)) ELSE k.value + r.jitter_wh END AS v, k.value AS raw,
    CASE WHEN s.t IS NULL THEN j.kind ELSE 'rebase' END AS kind, j.energy_wh, r.net
  FROM kept_reading k
  JOIN series_rule r USING (series_id)
  LEFT JOIN carry_in i ON i.series_id = k.series_id AND i.last_ms = k.event_time_ms
  LEFT JOIN energy_event j ON j.series_id = k.series_id AND j.to_ms = k.event_time_ms
    AND j.kind IN ('reset', 'rollover', 'rebase', 'register_change')
  LEFT JOIN sunk s ON s.series_id = k.series_id AND s.t = k.event_time_ms
  WHERE r.method = 'total_energy'
), framed AS (
  SELECT *, count(kind) OVER (PARTITION BY series_id ORDER BY t) AS frame FROM kept
), held AS (
  SELECT *, CASE WHEN net THEN v ELSE max(v) OVER (PARTITION BY series_id, frame ORDER BY t) END AS c,
    lag(t) OVER (PARTITION BY series_id ORDER BY t) AS t0
  FROM framed
), lined AS (
  SELECT *, lag(c) OVER (PARTITION BY series_id ORDER BY t) AS previous FROM held
)
SELECT
  series_id, t0,
  CASE WHEN kind = 'rebase' THEN c WHEN kind IS NOT NULL THEN c - energy_wh ELSE previous END AS c0,
  t AS t1, c AS c1,
  kind IS DISTINCT FROM 'rebase' AS covered,
  (CASE kind WHEN 'reset' THEN 2 WHEN 'rollover' THEN 4 WHEN 'rebase' THEN 8 WHEN 'register_change' THEN 2 ELSE 0 END
    | CASE WHEN kind IS NULL AND raw < previous THEN 16 ELSE 0 END)::USMALLINT AS flags,
  previous AS held
FROM lined
WHERE t0 IS NOT NULL;
