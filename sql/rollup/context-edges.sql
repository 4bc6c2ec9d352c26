-- The intervals to compute again and the readings that takes: those inside, and one on either side; with the rules that every step of a
-- register is held against.
-- context: series_id, method, lo_ms, hi_ms (intervals, half-open), first_ms, last_ms (readings, inclusive), is_register, is_lifetime,
-- net, max_power_w, jitter_wh, learns (there are new readings to learn from)
CREATE OR REPLACE TEMP TABLE context AS
SELECT c.series_id, r.method, c.lo_ms, c.hi_ms,
  coalesce(n.prev_ms, c.lo_ms - c.pad_ms) AS first_ms,
  coalesce(n.next_ms, c.hi_ms + c.pad_ms) AS last_ms,
  r.method IN ('total_energy', 'daily_energy') AS is_register, r.method = 'total_energy' AS is_lifetime,
  r.net, r.max_power_w, r.jitter_wh,
  r.learns AND c.series_id IN (SELECT series_id FROM touched WHERE is_new) AS learns
FROM probe_context c
JOIN neighbour n USING (series_id)
JOIN series_rule r USING (series_id);
