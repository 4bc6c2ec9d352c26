-- The sources of a day, month or year; of months and years over the days that are complete.
--
-- Reads  day_part, day_level, period_digits (see 61_period_sum; 10 for days)
-- Writes "part", one row for each scope and period: scope_id, period, parts (list of device, source, role, wh, within: what contains it)
SELECT scope_id, whole_period AS period,
  list({device: device::VARCHAR, source: source, role: role, wh: wh, within: container} ORDER BY device, source, role) AS parts
FROM (
  SELECT p.scope_id, left(d.period, (SELECT period_digits FROM period_digits)) AS whole_period, p.device, p.source, p.role, p.container,
    CASE WHEN count(p.wh) = count(*) THEN sum(p.wh) END::BIGINT AS wh
  FROM day_part p
  JOIN day_level d ON d.scope_id = p.scope_id AND d.day = p.day
  WHERE NOT d.is_incomplete OR (SELECT period_digits FROM period_digits) = 10
  GROUP BY ALL
)
GROUP BY scope_id, whole_period
