-- What people have corrected. energy_wh: Wh.
SELECT
  c.correction_id,
  c.kind,
  c.device,
  c.source,
  c.table_name AS "table",
  c.field,
  c.day,
  make_timestamptz(c.from_ms * 1000) AS from_time,
  make_timestamptz(c.to_ms * 1000) AS to_time,
  c.energy_wh,
  c.basis,
  c.reason,
  c.author,
  make_timestamptz(c.created_at_ms * 1000) AS created_at,
  c.undoes,
  u.correction_id AS undone_by,
  e.days,
  e.before_wh,
  e.after_wh
FROM correction c
LEFT JOIN correction u ON u.undoes = c.correction_id
LEFT JOIN (
  SELECT correction_id, count(*) AS days, sum(before_wh)::BIGINT AS before_wh, sum(after_wh)::BIGINT AS after_wh
  FROM correction_effect GROUP BY correction_id
) AS e ON e.correction_id = c.correction_id
ORDER BY c.correction_id
