-- The intervals to compute again and the readings that takes: those inside, and one on either side.
-- context: series_id, method, lo_ms, hi_ms (intervals, half-open), first_ms, last_ms (readings, inclusive), is_partial (there are readings
-- outside the intervals), max_power_w, resumes (goes on at first_ms, a reading inside the first interval, which adds to what is stored),
-- learns (there are new readings to learn from), needs_all (every one of its steps is looked at), is_steady (see mark-steady)
CREATE OR REPLACE TEMP TABLE context AS
SELECT *, method <> 'total_energy' OR learns OR series_id IN (SELECT series_id FROM register_change) AS needs_all,
  false AS is_steady
FROM (
  SELECT c.series_id, r.method, c.lo_ms, c.hi_ms,
    -- Where nothing before is believed, the readings with which the series begins may have been left out: they are judged with the rest.
    coalesce(n.prev_ms, least(c.lo_ms - c.pad_ms, r.first_ms)) AS first_ms,
    -- And so may those with which it ends, of power.
    coalesce(n.next_ms, greatest(c.hi_ms + c.pad_ms, r.last_ms)) AS last_ms,
    least(n.prev_ms, r.first_ms) < c.lo_ms OR greatest(n.next_ms, r.last_ms) >= c.hi_ms AS is_partial,
    least(r.max_power_w, r.recount_power_w) AS max_power_w, n.resumes,
    r.learns AND c.series_id IN (SELECT series_id FROM touched WHERE is_new) AS learns
  FROM probe_context c
  JOIN neighbour n USING (series_id)
  JOIN series_rule r USING (series_id)
);
