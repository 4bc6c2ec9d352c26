-- The readings of "member" that were uploaded, by "local_day", which begins with the first of a month. A reading that lies in several days is
-- cut by time: the part up to the end of a day is rounded to a Wh, so that the parts add up to the reading. A day is rounded on the running
-- sum of its month, so that the days add up to the month. $reading_files: of the generation.
-- key, day, energy_wh (Wh, null where no reading knows it), coverage (0 to 1), flags, quality (the worst of its readings), revision (the highest)
WITH reading AS (
  SELECT m.key, r.energy_wh, r.quality, r.revision, epoch_ms(r.interval_start) AS start_ms, epoch_ms(r.interval_end) AS end_ms
  FROM read_parquet($reading_files, hive_partitioning = false) r
  JOIN member m ON m.code = r.meter_code
  WHERE r.is_current
    AND r.interval_start < make_timestamptz(list_max($ends_ms::BIGINT[]) * 1000)
    AND r.interval_end > make_timestamptz(list_min($starts_ms::BIGINT[]) * 1000)
),
part AS (
  SELECT r.key, l.day, r.quality, r.revision,
    l.end_ms - l.start_ms AS day_ms,
    r.start_ms < l.start_ms OR r.end_ms > l.end_ms AS is_cut,
    CASE WHEN r.energy_wh IS NULL THEN 0 ELSE least(r.end_ms, l.end_ms) - greatest(r.start_ms, l.start_ms) END AS covered_ms,
    (round(1000 * CASE WHEN r.end_ms <= l.end_ms THEN r.energy_wh ELSE round(r.energy_wh * ((l.end_ms - r.start_ms) / (r.end_ms - r.start_ms))) END)
      - round(1000 * CASE WHEN r.start_ms >= l.start_ms THEN 0 ELSE round(r.energy_wh * ((l.start_ms - r.start_ms) / (r.end_ms - r.start_ms))) END)
    )::BIGINT AS energy_mwh
  FROM reading r JOIN local_day l ON r.start_ms < l.end_ms AND r.end_ms > l.start_ms
),
summed AS (
  SELECT key, day,
    sum(energy_mwh) AS energy_mwh,
    sum(covered_ms) / any_value(day_ms) AS coverage,
    bool_or(is_cut OR quality IN ('estimated', 'substituted')) AS is_estimated,
    max(CASE quality WHEN 'measured' THEN 1 WHEN 'estimated' THEN 2 WHEN 'substituted' THEN 3 ELSE 4 END) AS worst,
    max(revision) AS revision
  FROM part GROUP BY key, day
),
running AS (
  SELECT *, sum(energy_mwh) OVER (PARTITION BY key, date_trunc('month', day) ORDER BY day) AS sum_mwh FROM summed
)
SELECT key, day,
  CASE WHEN energy_mwh IS NOT NULL THEN (sum_mwh + 500) // 1000 - (sum_mwh - energy_mwh + 500) // 1000 END::BIGINT AS energy_wh,
  round(coverage, 4) AS coverage,
  list_filter([CASE WHEN is_estimated THEN 'estimated' END, CASE WHEN coverage < 0.999 THEN 'partial' END], lambda flag: flag IS NOT NULL) AS flags,
  ['measured', 'estimated', 'substituted', 'fault'][worst] AS quality,
  revision
FROM running
WHERE day >= $start_day::DATE
