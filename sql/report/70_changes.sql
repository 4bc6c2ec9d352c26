-- 70 Changes: which days have changed.
--
-- Reads   files of daily_energy_version of the generation.
-- Writes  one row for each changed day (JSON).
-- Why     A system that has copied days can read which of them to copy again.

-- name: answer_day_changes
-- Returns the days of a generation's daily_energy_version ($files) with versions from $since_ms up to
-- $until_ms (excluded), each as a JSON object: before the first of these versions and after the last one. A
-- version counts if the day was final when it came; with $with_provisional even if it was not. $devices: only
-- these, as text; null for all. $rows_max: the most rows.
WITH version AS (
  -- The versions of days. before: the version before it; null if that had no energy, or if there was none.
  SELECT day, device, source, version, energy_wh, method, flags, coverage, status, computed_at, causes, batch_id,
    lag(CASE
      WHEN energy_wh IS NOT NULL
        THEN {version: version, energy_wh: energy_wh, method: method, flags: flags, coverage: coverage}
    END) OVER in_order AS before
  FROM read_parquet($files, hive_partitioning = false)
  WHERE $devices::VARCHAR[] IS NULL OR device IN (SELECT unnest($devices::UUID[]))
  WINDOW in_order AS (PARTITION BY day, device, source ORDER BY version, computed_at)
), counted AS (
  -- The versions of the requested time. was_final: the day was final when the version came.
  SELECT *, status = 'restated' OR (status = 'final' AND before IS NULL) AS was_final
  FROM version
  WHERE computed_at >= make_timestamptz($since_ms::BIGINT * 1000)
    AND computed_at < make_timestamptz($until_ms::BIGINT * 1000)
), change AS (
  -- One row for each changed day: what was before the first of its versions, and what is after the last one.
  SELECT day, device, source,
    bool_or(was_final) AS was_final,
    first(before ORDER BY version, computed_at) AS before,
    last(
      {version: version, energy_wh: energy_wh, method: method, flags: flags, coverage: coverage, status: status}
      ORDER BY version, computed_at
    ) AS after,
    count(*) AS versions,
    max(computed_at) AS changed_at,
    list_sort(list_distinct(flatten(list(causes)))) AS causes,
    max(batch_id) AS batch_id
  FROM counted
  WHERE was_final OR ($with_provisional::BOOLEAN AND before IS NOT NULL)
  GROUP BY day, device, source
)
SELECT to_json({
  day: day::VARCHAR,
  device: device::VARCHAR,
  source: source,
  kind: CASE
    WHEN after.energy_wh IS NULL THEN 'withdrawn'
    WHEN NOT was_final THEN 'provisional'
    WHEN before IS NULL THEN 'added'
    ELSE 'restated'
  END,
  before: CASE
    WHEN before IS NOT NULL THEN {
      version: before.version, energyWh: before.energy_wh, method: before.method, flags: before.flags,
      coverage: before.coverage
    }
  END,
  after: {
    version: after.version, energyWh: after.energy_wh, method: after.method, flags: after.flags,
    coverage: after.coverage, status: after.status
  },
  differenceWh: coalesce(after.energy_wh, 0) - coalesce(before.energy_wh, 0),
  versions: versions,
  changedAt: utc_text(changed_at),
  causes: causes,
  batch: batch_id::VARCHAR
})::VARCHAR AS change
FROM change
WHERE before IS NOT NULL OR after.energy_wh IS NOT NULL
ORDER BY day, device, source
LIMIT $rows_max::INTEGER;
