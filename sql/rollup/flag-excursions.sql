-- Marks the steps that pass over readings which were left out: glitches (1024) and spikes (32), or both.
UPDATE step SET flags = step.flags | passed.flags
FROM (
  SELECT s.series_id, s.t0, s.t1, bit_or(CASE e.kind WHEN 'glitch' THEN 1024 ELSE 32 END)::USMALLINT AS flags
  FROM energy_event e
  JOIN step s ON s.series_id = e.series_id AND e.from_ms > s.t0 AND e.to_ms < s.t1
  WHERE e.kind IN ('glitch', 'spike')
  GROUP BY ALL
) AS passed
WHERE step.series_id = passed.series_id AND step.t0 = passed.t0 AND step.t1 = passed.t1;
