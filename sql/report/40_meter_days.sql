-- 40 Meter days: the energy of meters by local day, uploaded or derived from devices.
--
-- Reads   files of meter_reading, daily_energy and interval_energy of the generation; source_day, device_day,
--         rule.
-- Writes  member, local_day, source_day, the days of uploaded and of derived meters (one row for each meter
--         and day). Energy in Wh.
-- Why     A meter that is derived from a device has the same days as the device, in any time zone. A day with
--         a coverage below $full_coverage_share is partial, as in the roll-up: the time between two samples
--         at midnight is not missing data.

-- name: select_members
-- Lists the requested members: uploaded meters by code, devices by id, as a whole or with a source. $members:
-- JSON array of { key, code, device, source }. Read as "member".
SELECT unnest(from_json($members, '[{
    "key": "VARCHAR", "code": "VARCHAR", "device": "UUID", "source": "VARCHAR"
  }]'), recursive := true);

-- name: select_local_days
-- Lists the local days, without days that the time zone skipped, with their instants in ms. $days,
-- $starts_ms, $ends_ms: from the time zone database. Read as "local_day".
SELECT day, start_ms, end_ms
FROM (
  SELECT unnest($days::VARCHAR[])::DATE AS day, unnest($starts_ms::BIGINT[]) AS start_ms,
    unnest($ends_ms::BIGINT[]) AS end_ms
)
WHERE start_ms < end_ms;

-- name: select_uploaded_days
-- Spreads the uploaded readings of "member" over the days of "local_day", which begins with the first of a
-- month. A reading that lies in several days is cut by time: its running sum is rounded at the end of each
-- day, so the parts add up to the reading. A day is rounded on the running sum of its month, so the days add
-- up to the month. $reading_files: of the generation.
-- Columns:
--   key, day
--   energy_wh   null: no reading covers the day
--   coverage    share of the day, 0 to 1
--   flags
--   quality     the worst of its readings
--   revision    the highest of its readings
WITH reading AS (
  -- The current readings that reach into the days.
  SELECT member.key, stored.energy_wh, stored.quality, stored.revision,
    epoch_ms(stored.interval_start) AS start_ms, epoch_ms(stored.interval_end) AS end_ms
  FROM read_parquet($reading_files, hive_partitioning = false) AS stored
  JOIN member ON member.code = stored.meter_code
  WHERE stored.is_current
    AND stored.interval_start < make_timestamptz(list_max($ends_ms::BIGINT[]) * 1000)
    AND stored.interval_end > make_timestamptz(list_min($starts_ms::BIGINT[]) * 1000)
), cut AS (
  -- The part of each reading on each day: its energy up to the end of the day minus that up to its start.
  SELECT reading.key, local_day.day, reading.quality, reading.revision,
    local_day.end_ms - local_day.start_ms AS day_ms,
    reading.start_ms < local_day.start_ms OR reading.end_ms > local_day.end_ms AS is_cut,
    CASE
      WHEN reading.energy_wh IS NULL THEN 0
      ELSE least(reading.end_ms, local_day.end_ms) - greatest(reading.start_ms, local_day.start_ms)
    END AS covered_ms,
    CASE
      WHEN reading.start_ms >= local_day.start_ms THEN 0
      ELSE round(reading.energy_wh * ((local_day.start_ms - reading.start_ms) / (reading.end_ms - reading.start_ms)))
    END AS from_wh,
    CASE
      WHEN reading.end_ms <= local_day.end_ms THEN reading.energy_wh
      ELSE round(reading.energy_wh * ((local_day.end_ms - reading.start_ms) / (reading.end_ms - reading.start_ms)))
    END AS to_wh
  FROM reading JOIN local_day ON reading.start_ms < local_day.end_ms AND reading.end_ms > local_day.start_ms
), summed AS (
  -- One row for each meter and day. The energy is in whole thousandths of a Wh, so that sums are exact in any
  -- order.
  SELECT key, day,
    sum((round(1000 * to_wh) - round(1000 * from_wh))::BIGINT) AS energy_milli_wh,
    sum(covered_ms) / any_value(day_ms) AS coverage,
    bool_or(is_cut OR quality IN ('estimated', 'substituted')) AS is_estimated,
    -- The order of the values of an ENUM is the order in which it names them.
    max(quality::ENUM ('measured', 'estimated', 'substituted', 'fault'))::VARCHAR AS quality,
    max(revision) AS revision
  FROM cut GROUP BY key, day
), running AS (
  -- These days, with the running sum of their month at the end of the day.
  SELECT *, sum(energy_milli_wh) OVER (PARTITION BY key, date_trunc('month', day) ORDER BY day) AS sum_milli_wh
  FROM summed
)
SELECT key, day,
  -- + 500 rounds to whole Wh. Sums are never negative, because uploads refuse negative energy.
  CASE
    WHEN energy_milli_wh IS NOT NULL
      THEN (sum_milli_wh + 500) // 1000 - (sum_milli_wh - energy_milli_wh + 500) // 1000
  END::BIGINT AS energy_wh,
  round(coverage, 4) AS coverage,
  list_filter([
    CASE WHEN is_estimated THEN 'estimated' END,
    CASE WHEN coverage < $full_coverage_share::DOUBLE THEN 'partial' END
  ], lambda flag: flag IS NOT NULL) AS flags,
  quality,
  revision
FROM running
WHERE day >= $start_day::DATE;

-- name: select_source_days_of_zone
-- Selects the parts of the workgroup's days that belong to days of another time zone ("local_day").
-- balance/find_role_days reads them as "chosen". They are sums of the intervals of the stream from which each
-- of the workgroup's days was read, so the days of every time zone add up to the same. The coverage is the
-- share of the day of the other zone.
-- $own_days, $own_starts_ms, $own_ends_ms: the workgroup's days that overlap the range. $files,
-- $interval_files: of the generation. Reads rule (see balance/find_rule).
WITH own_day AS (
  -- The workgroup's days.
  SELECT unnest($own_days::VARCHAR[])::DATE AS own_day, unnest($own_starts_ms::BIGINT[]) AS start_ms,
    unnest($own_ends_ms::BIGINT[]) AS end_ms
), slot AS (
  -- The intervals of the days of the other zone, with the workgroup's day of each.
  SELECT day, start_ms, end_ms, own_day, at_ms
  FROM (
    SELECT *, unnest(range(start_ms, end_ms, (SELECT interval_ms FROM rule))) AS at_ms
    FROM local_day
    WHERE day >= $start_day::DATE
  )
  JOIN (
    SELECT own_day, unnest(range(start_ms, end_ms, (SELECT interval_ms FROM rule))) AS at_ms FROM own_day
  ) USING (at_ms)
), read_from AS (
  -- The stream from which each of the workgroup's days was read.
  SELECT day AS own_day, device, source, stream_id, version, list_contains(flags, 'incomplete') AS is_incomplete
  FROM read_parquet($files, hive_partitioning = false)
  WHERE day IN (SELECT own_day FROM own_day) AND device IN (SELECT device FROM member)
), stored AS (
  -- The stored intervals of these days that measurements cover.
  SELECT device, source, stream_id, epoch_ms(interval_start) AS at_ms, energy_wh, covered_ms, flags,
    list_contains(flags, 'estimated') AS is_estimated
  FROM read_parquet($interval_files, hive_partitioning = false)
  WHERE interval_start >= make_timestamptz(list_min($own_starts_ms::BIGINT[]) * 1000)
    AND interval_start < make_timestamptz(list_max($own_ends_ms::BIGINT[]) * 1000)
    AND device IN (SELECT device FROM member)
    -- Energy of an instant has no covered time, as in select_intervals.
    AND (covered_ms > 0 OR energy_wh <> 0)
), summed AS (
  -- The sums of each source by day of the other zone and day of the workgroup.
  SELECT slot.own_day AS day, slot.day AS reported_day, stored.device, stored.source,
    sum(stored.energy_wh)::BIGINT AS energy_wh,
    sum(greatest(stored.energy_wh, 0))::BIGINT AS rise_wh,
    sum(greatest(-stored.energy_wh, 0))::BIGINT AS fall_wh,
    coalesce(sum(abs(stored.energy_wh)) FILTER (stored.is_estimated), 0) AS spread_wh,
    sum(stored.covered_ms) / any_value(slot.end_ms - slot.start_ms) AS coverage,
    list_concat(
      list_filter(list_distinct(flatten(list(stored.flags))), lambda flag: flag NOT IN ('estimated', 'partial')),
      -- The day is estimated if a bound of it is.
      CASE
        WHEN bool_or(
          stored.is_estimated
          AND (stored.at_ms = slot.start_ms OR stored.at_ms + (SELECT interval_ms FROM rule) = slot.end_ms)
        ) THEN ['estimated']
        ELSE []
      END,
      CASE WHEN bool_or(read_from.is_incomplete) THEN ['incomplete'] ELSE [] END
    ) AS flags,
    max(read_from.version) AS version
  FROM stored
  JOIN slot USING (at_ms)
  JOIN read_from ON read_from.own_day = slot.own_day AND read_from.device = stored.device
    AND read_from.source = stored.source AND read_from.stream_id = stored.stream_id
  GROUP BY slot.own_day, slot.day, stored.device, stored.source
)
-- Rise and fall are unknown if too much energy has no shape, as in balance/sum_rise_fall.
SELECT * REPLACE (
    CASE WHEN spread_wh <= (SELECT span_wh FROM rule) THEN rise_wh END AS rise_wh,
    CASE WHEN spread_wh <= (SELECT span_wh FROM rule) THEN fall_wh END AS fall_wh
  ),
  []::VARCHAR[] AS methods, 'final' AS status, NULL::TIMESTAMPTZ AS computed_at
FROM summed;

-- name: select_derived_days
-- Selects the days of the members that are devices or sources of devices, from "source_day" and "device_day"
-- (see balance/sum_device_day). A day of another time zone is the sum of its parts of the workgroup's days.
-- Columns:
--   key, day, energy_wh, coverage, flags, quality   as in select_uploaded_days
--   revision                                        the highest version of its parts
WITH part AS (
  -- The days of the members, cut at the days of the workgroup.
  SELECT member.key, source_day.reported_day AS day, source_day.energy_wh, source_day.coverage, source_day.flags,
    source_day.version
  FROM source_day JOIN member ON member.device = source_day.device AND member.source = source_day.source
  UNION ALL BY NAME
  SELECT member.key, device_day.reported_day AS day, device_day.energy_wh, device_day.coverage, device_day.flags,
    device_day.version
  FROM device_day JOIN member ON member.device = device_day.device AND member.source IS NULL
), summed AS (
  -- The parts, added up by member and day.
  SELECT key, day,
    CASE WHEN count(energy_wh) = count(*) THEN sum(energy_wh) END::BIGINT AS energy_wh,
    round(sum(coverage), 4) AS coverage,
    list_distinct(flatten(list(flags))) AS flags,
    max(version) AS revision
  FROM part GROUP BY key, day
)
SELECT key, day, energy_wh, coverage,
  list_sort(list_distinct(list_concat(
    flags,
    CASE WHEN coverage < $full_coverage_share::DOUBLE AND energy_wh IS NOT NULL THEN ['partial'] ELSE [] END
  ))) AS flags,
  CASE
    WHEN energy_wh IS NOT NULL
      THEN CASE WHEN list_contains(flags, 'estimated') THEN 'estimated' ELSE 'measured' END
  END AS quality,
  revision
FROM summed;
