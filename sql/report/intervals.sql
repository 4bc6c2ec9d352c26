-- The 15-minute intervals of the days of "counted", from the stream that each day's energy comes from, so that they add up to it. Every
-- interval of a day has a row; energy_wh is null where nothing measured covers it.
-- Reads counted (see report/counted). $days, $starts_ms, $ends_ms: the local days, from the tz database; $interval_files: the files of the
-- generation that hold them. Read as "slot" by intervals-by-source and intervals-by-device.
SELECT d.day, d.device, d.source, d.at_ms,
  CASE
    WHEN i.energy_wh IS NULL OR d.part = 'whole' THEN i.energy_wh
    WHEN d.part = 'rise' THEN greatest(i.energy_wh, 0)
    ELSE greatest(-i.energy_wh, 0)
  END AS energy_wh
FROM (
  SELECT c.day, c.device, c.source, c.stream_id, c.part, unnest(range(l.start_ms, l.end_ms, 900000)) AS at_ms
  FROM counted AS c
  JOIN (SELECT unnest($days::VARCHAR[])::DATE AS day, unnest($starts_ms::BIGINT[]) AS start_ms, unnest($ends_ms::BIGINT[]) AS end_ms) AS l
    USING (day)
) AS d
LEFT JOIN (
  SELECT device, source, stream_id, epoch_ms(interval_start) AS at_ms, energy_wh
  FROM read_parquet($interval_files, hive_partitioning = false)
  WHERE interval_start >= make_timestamptz(list_min($starts_ms::BIGINT[]) * 1000)
    AND interval_start < make_timestamptz(list_max($ends_ms::BIGINT[]) * 1000)
    AND (covered_ms > 0 OR energy_wh <> 0)
) AS i
  ON i.device = d.device AND i.source = d.source AND i.stream_id = d.stream_id AND i.at_ms = d.at_ms
