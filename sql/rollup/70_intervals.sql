-- 70 Intervals: the energy of each quarter of an hour.
--
-- Reads   scope, reading_pair, needs_full_index, index_line, silence_shape, power_line, energy_event,
--         local_day, interval_day, interval_energy (marks of an earlier roll-up, and intervals of the same
--         days).
-- Writes  interval_energy (one row for each series and interval; intervals in scope are replaced as a whole),
--         moved_mark (registers whose high-water mark at the end of the scope has changed).
-- Why     Intervals of absolute time are stored, because the days of every time zone begin at their bounds.
--         The index is rounded at the bounds, and the energy is the difference of the rounded values. So
--         intervals add up exactly to days, months and the total.

-- name: collect_stored_marks
-- Selects the stored high-water marks at the end of the scope, of lifetime registers that have later
-- readings. $low_ms, $high_ms: bounds of the scope.
-- stored_mark: series_id, last_ms, last_value
CREATE OR REPLACE TEMP TABLE stored_mark AS
SELECT interval_energy.series_id, max(interval_energy.last_ms) AS last_ms,
  arg_max(interval_energy.last_value, interval_energy.last_ms) AS last_value
FROM interval_energy
JOIN scope ON scope.series_id = interval_energy.series_id AND interval_energy.interval_start_ms >= scope.compute_from_ms
  AND interval_energy.interval_start_ms < scope.compute_to_ms
WHERE scope.has_later AND scope.method = 'total_energy'
  AND interval_energy.interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  AND interval_energy.last_ms IS NOT NULL
GROUP BY interval_energy.series_id;

-- name: delete_intervals
-- Deletes the intervals that are computed again. $low_ms, $high_ms: bounds of all of them.
DELETE FROM interval_energy USING scope
WHERE interval_energy.interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  AND interval_energy.series_id = scope.series_id
  AND interval_energy.interval_start_ms >= scope.compute_from_ms
  AND interval_energy.interval_start_ms < scope.compute_to_ms;

-- name: store_power_intervals
-- Sums the energy of power and of interval readings in each interval, in billionths of a Wh. round_intervals
-- makes whole Wh of it.
INSERT INTO interval_energy BY NAME
WITH power_part AS (
  -- The pieces of lines of power, and the intervals of readings that are left out.
  SELECT series_id, interval_index, exact_nwh, CASE WHEN covered THEN to_ms - from_ms ELSE 0 END AS covered_ms,
    CASE WHEN covered THEN 0 ELSE flag('gap') END AS flags
  FROM power_line
  UNION ALL BY NAME
  -- Intervals with readings that are left out get the flag spike.
  SELECT energy_event.series_id,
    unnest(range(
      interval_of(greatest(energy_event.from_ms, scope.compute_from_ms)),
      interval_of(least(energy_event.to_ms, scope.last_ms)) + 1
    )) AS interval_index,
    0 AS exact_nwh, 0 AS covered_ms, flag('spike') AS flags
  FROM energy_event JOIN scope USING (series_id)
  WHERE NOT is_register(scope.method) AND energy_event.from_ms <= scope.last_ms
    AND energy_event.to_ms >= scope.compute_from_ms
)
SELECT power_part.series_id, start_ms_of(power_part.interval_index) AS interval_start_ms, 0 AS energy_wh,
  sum(power_part.exact_nwh)::BIGINT AS exact_nwh,
  round(sum(power_part.covered_ms))::INTEGER AS covered_ms, bit_or(power_part.flags)::USMALLINT AS flags
FROM power_part
JOIN scope ON scope.series_id = power_part.series_id
  AND start_ms_of(power_part.interval_index) >= scope.compute_from_ms
  AND start_ms_of(power_part.interval_index) < scope.compute_to_ms
GROUP BY power_part.series_id, power_part.interval_index
ORDER BY power_part.interval_index, power_part.series_id;

-- name: round_intervals
-- Rounds the energy of power and of interval readings to whole Wh. The running sum since local midnight is
-- rounded, so the intervals of a day add up to the day. All intervals of the local days in scope are rounded
-- again.
UPDATE interval_energy SET energy_wh = rounded.energy_wh
FROM (
  WITH rounded_day AS (
    -- The local days in scope.
    SELECT DISTINCT scope.series_id, local_day.day, local_day.start_ms, local_day.end_ms
    FROM scope
    JOIN local_day ON local_day.start_ms < scope.compute_to_ms AND local_day.end_ms > scope.compute_from_ms
    WHERE NOT is_register(scope.method)
  )
  SELECT series_id, interval_start_ms, energy_wh AS energy_before,
    sum_wh - coalesce(lag(sum_wh) OVER (PARTITION BY series_id, day ORDER BY interval_start_ms), 0) AS energy_wh
  FROM (
    SELECT interval_energy.series_id, interval_energy.interval_start_ms, interval_energy.energy_wh, interval_day.day,
      round(
        sum(interval_energy.exact_nwh) OVER (
          PARTITION BY interval_energy.series_id, interval_day.day ORDER BY interval_energy.interval_start_ms
        ) / nwh_per_wh()
      )::BIGINT AS sum_wh
    FROM interval_energy
    JOIN interval_day ON interval_day.interval_index = interval_of(interval_energy.interval_start_ms)
    JOIN rounded_day ON rounded_day.series_id = interval_energy.series_id AND rounded_day.day = interval_day.day
    -- Changes nothing, but lets DuckDB skip row groups of other times.
    WHERE interval_energy.interval_start_ms BETWEEN (SELECT min(start_ms) FROM rounded_day)
      AND (SELECT max(end_ms) FROM rounded_day)
      AND interval_energy.exact_nwh IS NOT NULL
  )
) AS rounded
WHERE interval_energy.series_id = rounded.series_id
  AND interval_energy.interval_start_ms = rounded.interval_start_ms
  AND rounded.energy_wh <> rounded.energy_before;

-- name: collect_not_plain_series
-- Lists the series in scope whose index is not simply their pairs of readings. A list of these few series is
-- faster than a list of all others.
-- not_plain_series: series_id
CREATE OR REPLACE TEMP TABLE not_plain_series AS
SELECT series_id FROM scope WHERE method <> 'total_energy' OR series_id IN (SELECT series_id FROM needs_full_index);

-- name: collect_booked_lines
-- Books the growth of each line of the index in whole Wh, in the order of time. The time between two lines,
-- for which nothing is known, becomes a line without growth.
-- booked_line:
--   columns of index_line
--   booked              the index at from_ms, whole Wh
--   grown               the growth, whole Wh
--   is_first, is_last   no line of the series in scope is before or after it
CREATE OR REPLACE TEMP TABLE booked_line AS
WITH line AS (
  -- The lines in order. previous_ms: where the line before ends.
  SELECT *, (sum(grown) OVER in_order - grown)::BIGINT AS booked, lag(to_ms) OVER in_order AS previous_ms,
    lead(to_ms) OVER in_order IS NULL AS is_last
  FROM (SELECT *, round(to_wh)::BIGINT - round(from_wh)::BIGINT AS grown FROM index_line)
  -- Ordered by from_ms too: two lines end at midnight if a daily register is read exactly then and still
  -- shows the value of the day before.
  WINDOW in_order AS (PARTITION BY series_id ORDER BY to_ms, from_ms ROWS UNBOUNDED PRECEDING)
)
SELECT * EXCLUDE (previous_ms), previous_ms IS NULL AS is_first
FROM line
UNION ALL BY NAME
-- The time between two lines.
SELECT series_id, previous_ms AS from_ms, from_wh, from_ms AS to_ms, from_wh AS to_wh, false AS covered, 0 AS flags,
  mark_before, booked, 0 AS grown, false AS is_first, false AS is_last
FROM line
WHERE previous_ms < from_ms;

-- name: collect_line_flags
-- Finds the flags of these lines for each interval, and the time that no line covers. Lines that are covered
-- and have no flag are left out, because they add nothing.
-- line_flag: series_id, interval_index, flags, uncovered_ms
CREATE OR REPLACE TEMP TABLE line_flag AS
SELECT series_id, interval_index, bit_or(flags)::USMALLINT AS flags,
  sum(CASE
    WHEN covered THEN 0
    ELSE least(to_ms, start_ms_of(interval_index + 1)) - greatest(from_ms, start_ms_of(interval_index))
  END)::BIGINT AS uncovered_ms
FROM (
  SELECT *, unnest(range(interval_of(from_ms), interval_of(to_ms - 1) + 1)) AS interval_index
  FROM booked_line
  WHERE flags <> 0 OR NOT covered
)
GROUP BY series_id, interval_index;

-- name: create_interval_bound
-- Creates the view of the index of registers at the bounds of intervals. It is a view, because a table of all
-- bounds would take time. The steps: register_line has all lines of registers; long_line has those over more
-- than one bound; first_point and last_point have the ends of each series.
-- interval_bound:
--   series_id, interval_index   the interval that begins at the bound
--   at_ms                       the bound, or the first or the last reading of the series
--   index_wh                    the index there, whole Wh
--   in_silence                  the index there is interpolated over a silence
--   last_ms, last_value         the last reading before, and the high-water mark there
CREATE OR REPLACE TEMP VIEW interval_bound AS
WITH register_line AS NOT MATERIALIZED (
  -- All lines of registers: plain pairs, and lines of the index. segment_offset_wh: the booked index minus
  -- the rounded index of this segment. interval_index: the interval of to_ms.
  SELECT *, interval_of(to_ms) AS interval_index
  FROM (
    SELECT series_id, from_ms, from_value AS from_wh, to_ms, to_value AS to_wh, 0 AS segment_offset_wh,
      from_value AS mark_before
    FROM reading_pair
    ANTI JOIN not_plain_series USING (series_id)
    UNION ALL BY NAME
    SELECT series_id, from_ms, from_wh, to_ms, to_wh, booked - round(from_wh)::BIGINT AS segment_offset_wh, mark_before
    FROM booked_line
  )
), long_line AS (
  -- Lines over more than one bound: one row for each bound. The condition on from_ms changes nothing, but
  -- without it DuckDB would copy all lines.
  SELECT * REPLACE (unnest(range(interval_of(from_ms) + 1, interval_index + 1)) AS interval_index)
  FROM register_line
  WHERE from_ms IS NOT NULL AND to_ms - from_ms > interval_ms() AND from_ms < start_ms_of(interval_index - 1)
), first_point AS (
  -- The first reading of each series in scope. Energy begins there.
  SELECT series_id, to_ms AS at_ms, round(to_value)::BIGINT AS wh
  FROM reading_pair
  ANTI JOIN not_plain_series USING (series_id)
  WHERE from_ms IS NULL
  UNION ALL BY NAME
  SELECT series_id, from_ms AS at_ms, booked AS wh FROM booked_line WHERE is_first
), last_point AS (
  -- The last reading of each series in scope.
  SELECT series_id, to_ms AS at_ms, round(to_value)::BIGINT AS wh, to_value AS value
  FROM reading_pair
  ANTI JOIN not_plain_series USING (series_id)
  WHERE is_last
  UNION ALL BY NAME
  SELECT series_id, to_ms AS at_ms, booked + grown AS wh, to_wh AS value FROM booked_line WHERE is_last
)
-- Lines over one bound.
SELECT series_id, interval_index, start_ms_of(interval_index) AS at_ms,
  segment_offset_wh + index_wh(start_ms_of(interval_index), from_ms, from_wh, to_ms, to_wh, NULL) AS index_wh,
  false AS in_silence, from_ms AS last_ms, mark_before AS last_value
FROM register_line
WHERE from_ms < start_ms_of(interval_index) AND from_ms >= start_ms_of(interval_index - 1)
UNION ALL BY NAME
-- Only long lines can be silences (more than two hours) and have a shape.
SELECT series_id, interval_index, start_ms_of(interval_index) AS at_ms,
  segment_offset_wh + index_wh(start_ms_of(interval_index), from_ms, from_wh, to_ms, to_wh, share) AS index_wh,
  is_in_silence(start_ms_of(interval_index), from_ms, from_wh, to_ms, to_wh) AS in_silence,
  from_ms AS last_ms, mark_before AS last_value
FROM long_line
LEFT JOIN silence_shape USING (series_id, interval_index)
UNION ALL BY NAME
SELECT series_id, interval_of(at_ms) AS interval_index, at_ms, wh AS index_wh, false AS in_silence, NULL AS last_ms,
  NULL AS last_value
FROM first_point
UNION ALL BY NAME
SELECT series_id, interval_of(at_ms) + 1 AS interval_index, at_ms, wh AS index_wh, false AS in_silence,
  at_ms AS last_ms, value AS last_value
FROM last_point;

-- name: store_register_intervals
-- Stores the energy of registers in each interval: the difference of the index at its two bounds.
INSERT INTO interval_energy BY NAME
WITH energy AS (
  -- The difference of two neighbouring bounds, as the energy of the interval that ends at the second one.
  SELECT series_id, interval_index - 1 AS interval_index, index_wh - lag(index_wh) OVER in_order AS energy_wh,
    at_ms - lag(at_ms) OVER in_order AS known_ms,
    lag(in_silence) OVER in_order AS starts_in_silence, in_silence AS ends_in_silence, last_ms, last_value
  FROM interval_bound
  WINDOW in_order AS (PARTITION BY series_id ORDER BY interval_index)
), interval_part AS (
  -- The intervals with their energy and flags. last_ms, last_value: the last reading, if it is in the
  -- interval.
  SELECT energy.series_id, energy.interval_index, energy.energy_wh,
    (energy.known_ms - coalesce(line_flag.uncovered_ms, 0))::INTEGER AS covered_ms,
    (coalesce(line_flag.flags, 0)
      | CASE WHEN energy.starts_in_silence THEN flag('estimated') | flag('silence_start') ELSE 0 END
      | CASE WHEN energy.ends_in_silence THEN flag('estimated') | flag('silence_end') ELSE 0 END
    )::USMALLINT AS flags,
    CASE WHEN energy.last_ms >= start_ms_of(energy.interval_index) THEN energy.last_ms END AS last_ms,
    CASE WHEN energy.last_ms >= start_ms_of(energy.interval_index) THEN energy.last_value END AS last_value
  FROM energy
  LEFT JOIN line_flag ON line_flag.series_id = energy.series_id AND line_flag.interval_index = energy.interval_index
  WHERE energy.energy_wh IS NOT NULL
)
SELECT interval_part.series_id, start_ms_of(interval_part.interval_index) AS interval_start_ms, interval_part.energy_wh,
  interval_part.covered_ms, interval_part.flags, interval_part.last_ms, interval_part.last_value
FROM interval_part
JOIN scope ON scope.series_id = interval_part.series_id
-- Differences instead of comparisons, as in collect_pairs.
WHERE start_ms_of(interval_part.interval_index) - scope.compute_from_ms >= 0
  AND scope.compute_to_ms - start_ms_of(interval_part.interval_index) > 0
  AND (interval_part.covered_ms > 0 OR interval_part.energy_wh <> 0 OR interval_part.flags <> 0
    OR interval_part.last_ms IS NOT NULL)
-- As INTEGER, because it is sorted faster.
ORDER BY interval_part.interval_index::INTEGER;

-- name: collect_moved_marks
-- Finds the registers whose high-water mark at the end of the scope differs from the stored one. $low_ms,
-- $high_ms: bounds of the scope.
-- moved_mark: series_id
CREATE OR REPLACE TEMP TABLE moved_mark AS
SELECT stored_mark.series_id
FROM stored_mark
LEFT JOIN (
  SELECT interval_energy.series_id, max(interval_energy.last_ms) AS last_ms,
    arg_max(interval_energy.last_value, interval_energy.last_ms) AS last_value
  FROM interval_energy
  JOIN scope ON scope.series_id = interval_energy.series_id
    AND interval_energy.interval_start_ms >= scope.compute_from_ms
    AND interval_energy.interval_start_ms < scope.compute_to_ms
  WHERE interval_energy.interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
    AND interval_energy.last_ms IS NOT NULL
    AND interval_energy.series_id IN (SELECT series_id FROM stored_mark)
  GROUP BY interval_energy.series_id
) AS mark_now USING (series_id)
WHERE (stored_mark.last_ms, stored_mark.last_value) IS DISTINCT FROM (mark_now.last_ms, mark_now.last_value);
