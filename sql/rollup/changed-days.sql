-- What is different from the days that are stored: nothing different, no row here and no new version.
-- day_change: day_now's columns, version (the next one once the day is over, else the same), status, kept_version (the newest in the history)
CREATE OR REPLACE TEMP TABLE day_change AS
SELECT n.*,
  CASE WHEN o.day IS NULL THEN coalesce(h.version, 0) + 1 WHEN n.end_ms <= $now_ms::BIGINT THEN o.version + 1 ELSE o.version END AS version,
  CASE WHEN n.end_ms + $close_after_ms::BIGINT > $now_ms::BIGINT THEN 'provisional'
    WHEN coalesce(o.status, h.status) IN ('final', 'restated') THEN 'restated' ELSE 'final' END AS status,
  h.version AS kept_version
FROM day_now n
LEFT JOIN daily_energy o ON o.day = n.day AND o.device = n.device AND o.source = n.source
LEFT JOIN (
  SELECT day, device, source, max(version) AS version, arg_max(status, version) AS status
  FROM daily_energy_history
  WHERE day BETWEEN (SELECT min(day) FROM day_now) AND (SELECT max(day) FROM day_now)
  GROUP BY ALL
) AS h
  ON h.day = n.day AND h.device = n.device AND h.source = n.source
WHERE (n.energy_wh, n.stream_id, n.flags, n.coverage) IS DISTINCT FROM (o.energy_wh, o.stream_id, o.flags, o.coverage);
