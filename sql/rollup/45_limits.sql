-- 45 Limits: what is possible, learnt from the readings.
--
-- Reads   reading_pair, scope, series_rule, restated_stream, reading, series, series_quarter, series_day.
-- Writes  series_quarter (statistics of each quarter of an hour), series_day (statistics of each UTC day, and
--         the limits of that day), changed_limit, noted_limit_change (days whose limits have changed),
--         series, series_rule (the usual step and the resolution), day_limit (the limits of the days in
--         scope).
-- Why     The limit decides whether a step is possible. If no limit is configured, it is learnt. The limits
--         of a day follow from that day, the days before it (limit_days() in all), and the days that end
--         before it is closed. Later days change nothing, so a closed day keeps its limits.

-- name: delete_quarters
-- Deletes the statistics of the quarters in scope. $low_ms, $high_ms: bounds of the scope.
DELETE FROM series_quarter USING scope
WHERE series_quarter.interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT AND scope.is_new
  AND series_quarter.series_id = scope.series_id
  AND series_quarter.interval_start_ms >= scope.compute_from_ms
  AND series_quarter.interval_start_ms < scope.compute_to_ms;

-- name: store_quarters
-- Makes one row for each quarter of an hour in scope from the pairs that end in it, of series with new
-- readings that learn a limit.
-- Columns:
--   series_id, interval_start_ms
--   power_w        the power that is certain. Registers: the lowest power of a growing pair, because a fault
--                  can only show more. Power and interval readings: the highest power that two neighbouring
--                  readings agree on. If a register returns from a fall, its growth counts from before the
--                  fall, because the way back is not growth
--   resolution     the largest power of ten (Wh) of which all values are multiples (see decimal_resolution),
--                  or the smallest growth if that is less
--   steps_ms       total time of the pairs
--   step_count     number of pairs
--   change_count   number of pairs whose values differ
INSERT INTO series_quarter BY NAME
WITH learning_series AS (
  -- The series in scope with new readings that learn a limit.
  SELECT series_id, scope.method, is_register(scope.method) AS is_register, compute_from_ms, compute_to_ms
  FROM scope JOIN series_rule USING (series_id)
  WHERE scope.is_new AND series_rule.learns
), pair AS (
  -- The pairs of readings. grown_from: the value from which the growth of a register counts.
  SELECT *,
    CASE WHEN from_value < value_before AND to_value >= value_before THEN value_before ELSE from_value END AS grown_from
  FROM reading_pair
  WHERE from_ms IS NOT NULL
), measured_pair AS (
  -- The pairs that end in scope, with what each of them shows. power_w of power and interval readings: what
  -- both readings agree on.
  SELECT series_id, is_register, interval_of(to_ms) AS interval_index, to_ms - from_ms AS step_ms, from_value, to_value,
    CASE
      WHEN is_register
        THEN CASE WHEN to_value > grown_from THEN power_of(to_value - grown_from, to_ms - from_ms) END
      WHEN method = 'power_curve' THEN least(abs(from_value), abs(to_value))
      ELSE power_of(least(abs(from_value), abs(to_value)), to_ms - from_ms)
    END AS power_w,
    least(
      CASE WHEN is_register THEN decimal_resolution(to_value) END,
      CASE WHEN to_value - from_value > float_tolerance_wh() THEN to_value - from_value END
    ) AS resolution
  FROM pair JOIN learning_series USING (series_id)
  -- Differences instead of comparisons, as in collect_pairs.
  WHERE to_ms - compute_from_ms >= 0 AND compute_to_ms - to_ms > 0
)
SELECT series_id, start_ms_of(interval_index) AS interval_start_ms,
  CASE WHEN any_value(is_register) THEN min(power_w) ELSE max(power_w) END AS power_w,
  min(resolution) AS resolution, sum(step_ms)::BIGINT AS steps_ms, count(*)::INTEGER AS step_count,
  count(*) FILTER (to_value <> from_value)::INTEGER AS change_count
FROM measured_pair
GROUP BY series_id, interval_index
ORDER BY interval_index::INTEGER;

-- name: summarize_days
-- Summarizes the quarters of each UTC day, and keeps the days whose summary has changed. $low_ms, $high_ms:
-- bounds of the UTC days.
-- A lifetime register that hardly grows rises only when it is faulty. The median of such quarters would give
-- too high a limit. So the step day_growth caps the limit: it is at most day_growth_times() times the power
-- that produces the growth of the whole day in one interval. A day without growth teaches nothing. The cap is
-- only needed if the median would raise the limit above the lowest one.
-- learnt_day:
--   series_id, utc_day
--   power_w                    the usual power. Registers: the median of the quarters. Power and interval
--                              readings: a part (1 / busy_part()) of the second busiest quarter, because a
--                              single busy quarter can be a fault. It is rounded up to a power of
--                              usual_power_base(), so that the limit does not change with every reading
--   resolution                 of the finest quarters (resolution_share() of them), because a single value
--                              with more digits proves nothing
--   step_ms                    the median time between readings, rounded, because time stamps jitter
--   step_count, change_count   at most informative_steps() and informative_changes()
CREATE OR REPLACE TEMP TABLE learnt_day AS
WITH summary AS (
  -- One row for each series and day: what its quarters say.
  SELECT
    series_id, utc_day(interval_start_ms) AS utc_day,
    -- max(power_w, 2) is a list of the two highest values, so [2] is the second highest.
    CASE
      WHEN is_register(any_value(method)) THEN quantile_disc(power_w, 0.5)
      ELSE nullif(max(power_w, 2)[2] / busy_part(), 0)
    END AS power_w,
    sum(step_count) AS step_count,
    quantile_disc(resolution, resolution_share()) AS resolution,
    quantile_disc(steps_ms // step_count, 0.5) AS median_ms,
    least(sum(change_count), informative_changes())::INTEGER AS change_count
  FROM series_quarter
  JOIN (
    SELECT series_id, scope.method FROM scope JOIN series_rule USING (series_id)
    WHERE scope.is_new AND series_rule.learns
  ) USING (series_id)
  WHERE interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  GROUP BY series_id, utc_day(interval_start_ms)
), day_growth AS (
  -- The usual power that the growth of the whole day allows, if it is needed.
  SELECT series_id, utc_day,
    power_of(last_value - first_value, interval_ms()) * day_growth_times() / limit_times() AS power_w
  FROM (
    SELECT reading.series_id, summary.utc_day,
      -- Medians, because the first or the last reading can be a fault.
      list_aggregate(arg_min(reading.value, reading.event_time_ms, day_end_readings()), 'quantile_disc', 0.5)
        AS first_value,
      list_aggregate(arg_max(reading.value, reading.event_time_ms, day_end_readings()), 'quantile_disc', 0.5)
        AS last_value
    FROM summary
    JOIN series_rule
      ON series_rule.series_id = summary.series_id AND series_rule.method = 'total_energy' AND NOT series_rule.net
      AND series_rule.modulus_wh IS NULL
    JOIN reading ON reading.series_id = summary.series_id AND utc_day(reading.event_time_ms) = summary.utc_day
    WHERE reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
      AND summary.step_count >= informative_changes()
      AND limit_times() * summary.power_w > learnt_power_min_w()
    GROUP BY reading.series_id, summary.utc_day
  )
  WHERE last_value >= first_value
)
SELECT
  series_id, utc_day,
  pow(usual_power_base(),
    ceil(log2(nullif(least(summary.power_w, day_growth.power_w), 0)) / log2(usual_power_base()))) AS power_w,
  round(resolution, (resolution_digits() - 1 - floor(log10(resolution)))::INTEGER) AS resolution,
  CASE
    WHEN median_ms >= long_step_ms()
      THEN (median_ms + long_step_unit_ms() // 2) // long_step_unit_ms() * long_step_unit_ms()
    ELSE greatest(step_unit_ms(), (median_ms + step_unit_ms() // 2) // step_unit_ms() * step_unit_ms())
  END AS step_ms,
  least(summary.step_count, informative_steps())::INTEGER AS step_count,
  change_count
FROM summary
LEFT JOIN day_growth USING (series_id, utc_day)
EXCEPT
SELECT series_id, utc_day, power_w, resolution, step_ms, step_count, change_count FROM series_day
WHERE utc_day BETWEEN utc_day($low_ms::BIGINT) AND utc_day($high_ms::BIGINT);

-- name: update_known_days
-- Updates the days that are stored already. Their limits stay for now, because collect_limits compares them.
UPDATE series_day
SET power_w = learnt_day.power_w, resolution = learnt_day.resolution, step_ms = learnt_day.step_ms,
  step_count = learnt_day.step_count,
  change_count = learnt_day.change_count
FROM learnt_day WHERE series_day.series_id = learnt_day.series_id AND series_day.utc_day = learnt_day.utc_day;

-- name: store_new_days
-- Stores the days of learnt_day that are not stored yet. collect_limits adds their limits.
INSERT INTO series_day BY NAME
SELECT series_id, utc_day, learnt_day.power_w, learnt_day.resolution, learnt_day.step_ms, learnt_day.step_count,
  learnt_day.change_count
FROM learnt_day ANTI JOIN series_day USING (series_id, utc_day);

-- name: collect_limits
-- Computes the limits of the changed days and of the days around them, and keeps the days whose limits have
-- changed. $look_ahead: number of later days that also count, because they end before the day is closed.
-- changed_limit:
--   series_id, utc_day
--   learnt_power_w      limit_times() times the usual power of a busy day, at least learnt_power_min_w(),
--                       because real energy must not be refused, and at most learnt_power_max_w(); null:
--                       configured
--   usual_power_w       only of registers that restart every day; null: the limit is configured
--   learnt_resolution   of registers: the resolution of the finer days; null: the jitter is configured
--   learnt_step_ms      of power and interval readings: the time between readings of the day, if it has
--                       enough of them, else the median of the days
--   from_ms, to_ms      of the day
CREATE OR REPLACE TEMP TABLE changed_limit AS
WITH around AS (
  -- One row for each series: the range of days whose limits can change, because a day near them has changed.
  SELECT series_id, min(utc_day) - $look_ahead::INTEGER AS low_day, max(utc_day) + limit_days() - 1 AS high_day
  FROM learnt_day
  GROUP BY series_id
), near_day AS (
  -- The days of this range (is_asked), and the days from which their limits follow.
  SELECT series_day.*, series_day.utc_day BETWEEN around.low_day AND around.high_day AS is_asked
  FROM series_day JOIN around USING (series_id)
  WHERE series_day.utc_day BETWEEN around.low_day - limit_days() + 1 AND around.high_day + $look_ahead::INTEGER
    AND series_day.utc_day BETWEEN (SELECT min(low_day) FROM around) - limit_days() + 1
      AND (SELECT max(high_day) FROM around) + $look_ahead::INTEGER
), usual_of_day AS (
  -- These days, with what is usual on the days near each of them.
  SELECT *,
    coalesce(
      quantile_disc(power_w, busy_days_share()) FILTER (change_count >= informative_changes()) OVER near,
      quantile_disc(power_w, 0.5) OVER near
    ) AS usual_w,
    -- Too few values do not show the resolution of a register.
    CASE
      WHEN sum(change_count) OVER near >= informative_changes()
        THEN quantile_disc(resolution, resolution_days_share()) OVER near
    END AS usual_resolution,
    CASE
      WHEN step_count >= informative_steps() THEN step_ms
      ELSE quantile_disc(step_ms, 0.5) OVER near
    END AS usual_step_ms
  FROM near_day
  WINDOW near AS (
    PARTITION BY series_id ORDER BY utc_day
    RANGE BETWEEN limit_days() - 1 PRECEDING AND $look_ahead::INTEGER FOLLOWING
  )
), wanted_limit AS (
  -- The days whose limits can change, with the limits that the series learns, and the stored ones.
  SELECT usual_of_day.series_id, usual_of_day.utc_day,
    CASE
      WHEN series_rule.max_power_w IS NULL
        THEN least(learnt_power_max_w(), greatest(learnt_power_min_w(), limit_times() * usual_of_day.usual_w))
    END AS new_power_w,
    CASE
      WHEN series_rule.max_power_w IS NULL AND series_rule.method = 'daily_energy' THEN usual_of_day.usual_w
    END AS new_usual_w,
    CASE
      WHEN is_register(series_rule.method) AND series_rule.jitter_wh IS NULL THEN usual_of_day.usual_resolution
    END AS new_resolution,
    CASE WHEN NOT is_register(series_rule.method) THEN usual_of_day.usual_step_ms END AS new_step_ms,
    usual_of_day.learnt_power_w, usual_of_day.usual_power_w, usual_of_day.learnt_resolution, usual_of_day.learnt_step_ms
  FROM usual_of_day JOIN series_rule USING (series_id)
  WHERE usual_of_day.is_asked
)
SELECT series_id, utc_day, new_power_w AS learnt_power_w, new_usual_w AS usual_power_w,
  new_resolution AS learnt_resolution, new_step_ms AS learnt_step_ms,
  utc_day * day_ms() AS from_ms, (utc_day + 1) * day_ms() - 1 AS to_ms
FROM wanted_limit
WHERE (new_power_w, new_usual_w, new_resolution, new_step_ms)
  IS DISTINCT FROM (learnt_power_w, usual_power_w, learnt_resolution, learnt_step_ms);

-- name: store_limits
-- Stores the changed limits.
UPDATE series_day
SET learnt_power_w = changed_limit.learnt_power_w, usual_power_w = changed_limit.usual_power_w,
  learnt_resolution = changed_limit.learnt_resolution,
  learnt_step_ms = changed_limit.learnt_step_ms
FROM changed_limit WHERE changed_limit.series_id = series_day.series_id AND changed_limit.utc_day = series_day.utc_day;

-- name: store_series_steps
-- Stores the longest usual time between readings of each series with changed limits, because an interval
-- reading covers up to that time. Stores the newest resolution too.
UPDATE series SET step_ms = usual.step_ms, resolution = usual.resolution
FROM (
  SELECT series_id, max(learnt_step_ms) AS step_ms, arg_max(learnt_resolution, utc_day) AS resolution
  FROM series_day WHERE series_id IN (SELECT series_id FROM changed_limit) GROUP BY series_id
) AS usual
WHERE usual.series_id = series.series_id;

-- name: apply_series_steps
-- Uses the step and the resolution that store_series_steps has stored in the rules of this roll-up. If
-- readings cover less time than before, the longer time stays, so that the intervals that they covered are
-- computed again.
UPDATE series_rule SET step_ms = series.step_ms, resolution = series.resolution,
  reach_ms = greatest(reach_ms,
    reach(series_rule.method, series_rule.sampling, series_rule.reading_interval_ms, series.step_ms))
FROM series
WHERE series.series_id = series_rule.series_id
  AND series.series_id IN (SELECT series_id FROM changed_limit);

-- name: note_changed_limits
-- Adds the UTC days whose limits have changed, because that can be the cause why a local day has another
-- energy.
INSERT INTO noted_limit_change BY NAME
SELECT series_id, from_ms, to_ms FROM changed_limit;

-- name: count_limits_beyond_scope
-- Counts the days with changed limits that are not fully in scope: some readings of the day, or the time that
-- they cover, are outside.
SELECT count(*) AS count
FROM changed_limit JOIN scope USING (series_id) JOIN series_rule USING (series_id)
WHERE (changed_limit.from_ms - series_rule.reach_ms < scope.compute_from_ms
    AND series_rule.first_ms - series_rule.reach_ms < scope.compute_from_ms)
  OR (changed_limit.to_ms + series_rule.reach_ms >= scope.compute_to_ms
    AND series_rule.last_ms + series_rule.reach_ms >= scope.compute_to_ms);

-- name: delete_outdated_quarters
-- Deletes the statistics of restated series that no longer learn, so that nothing old is left if they learn
-- again; and of series that now learn other limits, because these follow from all their readings.
DELETE FROM series_quarter WHERE series_id IN (
  SELECT series_rule.series_id
  FROM series_rule JOIN restated_stream USING (stream_id)
  LEFT JOIN (
    SELECT series_id, count(learnt_power_w) > 0 AS knows_power, count(learnt_resolution) > 0 AS knows_resolution
    FROM series_day
    GROUP BY series_id
  ) AS learnt USING (series_id)
  WHERE NOT series_rule.learns OR (series_rule.max_power_w IS NULL) <> learnt.knows_power
    OR (is_register(series_rule.method) AND series_rule.jitter_wh IS NULL) <> learnt.knows_resolution);

-- name: delete_stream_quarters
-- Deletes the statistics of a stream ($stream_id) that other rules of the program computed. They are computed
-- again.
DELETE FROM series_quarter WHERE series_id IN (SELECT series_id FROM series WHERE stream_id = $stream_id);

-- name: delete_outdated_days
-- Deletes the days of restated series that have no quarters left.
DELETE FROM series_day
WHERE series_id IN (SELECT series_id FROM series_rule WHERE stream_id IN (SELECT stream_id FROM restated_stream))
  AND series_id NOT IN (SELECT series_id FROM series_quarter);

-- name: load_day_limits
-- Selects the limits of the days in scope. $low_ms, $high_ms: bounds of the readings in scope.
-- day_limit: columns of series_day
CREATE OR REPLACE TEMP TABLE day_limit AS
FROM series_day
WHERE utc_day BETWEEN utc_day($low_ms::BIGINT) AND utc_day($high_ms::BIGINT)
  AND series_id IN (SELECT series_id FROM scope);

-- name: read_least_limit
-- Returns the lowest limit (W) of the registers in scope; null if there is none. Net registers have no limit.
SELECT min(power_limit_after_reset(series_rule.max_power_w, learnt.learnt_power_w, learnt.usual_power_w))
  AS least_power_w
FROM scope
JOIN series_rule USING (series_id)
LEFT JOIN (
  SELECT series_id, min(learnt_power_w) AS learnt_power_w, min(usual_power_w) AS usual_power_w
  FROM day_limit
  GROUP BY series_id
) AS learnt USING (series_id)
WHERE is_register(series_rule.method) AND NOT series_rule.net;
