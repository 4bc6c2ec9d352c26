-- Marks the steps that pass over readings which were left out: glitches (1024) and spikes (32).
UPDATE step SET flags = step.flags | CASE e.kind WHEN 'glitch' THEN 1024 ELSE 32 END
FROM energy_event e
WHERE e.series_id = step.series_id AND e.kind IN ('glitch', 'spike') AND e.from_ms > step.t0 AND e.to_ms < step.t1;
