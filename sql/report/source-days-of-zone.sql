-- The parts of the workgroup's days that belong to the days of another zone ("local_day"), as balance/11_device_day reads them: sums of the
-- 15-minute intervals of the stream that each of the workgroup's own days was read from, so that the days of any zone add up to the same.
-- coverage: share of the day of the zone. $own_days, $own_starts_ms, $own_ends_ms: the workgroup's days that lie in the range in part;
-- $day_files, $interval_files: of the generation. Reads rule (see balance/00_rule).
WITH own_day AS (
  SELECT unnest($own_days::VARCHAR[])::DATE AS own_day, unnest($own_starts_ms::BIGINT[]) AS start_ms, unnest($own_ends_ms::BIGINT[]) AS end_ms
),
slot AS (
  SELECT day, start_ms, end_ms, own_day, at_ms
  FROM (SELECT *, unnest(range(start_ms, end_ms, 900000)) AS at_ms FROM local_day WHERE day >= $start_day::DATE)
  JOIN (SELECT own_day, unnest(range(start_ms, end_ms, 900000)) AS at_ms FROM own_day) USING (at_ms)
),
read_from AS (
  SELECT day AS own_day, device, source, stream_id, version, list_contains(flags, 'incomplete') AS is_incomplete
  FROM read_parquet($day_files, hive_partitioning = false)
  WHERE day IN (SELECT own_day FROM own_day) AND device IN (SELECT device FROM member)
)
SELECT * REPLACE (
    CASE WHEN spread_wh <= (SELECT span_wh FROM rule) THEN rise_wh END AS rise_wh,
    CASE WHEN spread_wh <= (SELECT span_wh FROM rule) THEN fall_wh END AS fall_wh
  )
FROM (
  SELECT s.own_day AS day, s.day AS told_day, i.device, i.source,
    sum(i.energy_wh)::BIGINT AS energy_wh,
    sum(greatest(i.energy_wh, 0))::BIGINT AS rise_wh,
    sum(greatest(-i.energy_wh, 0))::BIGINT AS fall_wh,
    coalesce(sum(abs(i.energy_wh)) FILTER (list_contains(i.flags, 'estimated')), 0) AS spread_wh,
    sum(i.covered_ms) / any_value(s.end_ms - s.start_ms) AS coverage,
    list_concat(
      list_filter(list_distinct(flatten(list(i.flags))), lambda flag: flag NOT IN ('estimated', 'partial')),
      CASE WHEN bool_or(list_contains(i.flags, 'estimated') AND (i.at_ms = s.start_ms OR i.at_ms + 900000 = s.end_ms)) THEN ['estimated'] ELSE [] END,
      CASE WHEN bool_or(r.is_incomplete) THEN ['incomplete'] ELSE [] END
    ) AS flags,
    max(r.version) AS version,
    []::VARCHAR[] AS methods, 'final' AS status, NULL::TIMESTAMPTZ AS computed_at
  FROM (
    SELECT device, source, stream_id, epoch_ms(interval_start) AS at_ms, energy_wh, covered_ms, flags
    FROM read_parquet($interval_files, hive_partitioning = false)
    WHERE interval_start >= make_timestamptz(list_min($own_starts_ms::BIGINT[]) * 1000)
      AND interval_start < make_timestamptz(list_max($own_ends_ms::BIGINT[]) * 1000)
      AND device IN (SELECT device FROM member)
      AND (covered_ms > 0 OR energy_wh <> 0)
  ) i
  JOIN slot s USING (at_ms)
  JOIN read_from r ON r.own_day = s.own_day AND r.device = i.device AND r.source = i.source AND r.stream_id = i.stream_id
  GROUP BY s.own_day, s.day, i.device, i.source
)
