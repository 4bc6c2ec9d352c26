-- 85 Corrections: energy that people set or had estimated.
--
-- Reads   correction (the corrections of people), correction_in_force, correction_value, touched_day,
--         day_candidate, day_change, stream_setting, series, series_rule, interval_day, daily_energy;
--         corrected_interval, reported_interval, interval_energy (the measured energy).
-- Writes  corrected_interval (energy of intervals that was set or estimated), touched_day, day_candidate
--         (with the corrected energy), day_contradiction.
-- Why     A correction never changes measured data. Set or estimated energy is stored next to the measured
--         intervals of the series from which the day is read, and is computed again whenever these change. So
--         the order of corrections and data does not matter, and an undone correction leaves nothing behind.

-- name: count_corrections
-- Counts the corrections, undone ones too, that overlap a touched day ($all: all corrections). If there are
-- none, nothing of this chapter runs.
SELECT count(*) AS count FROM correction
WHERE $all OR EXISTS (
  SELECT 1
  FROM touched_day
  WHERE touched_day.device = correction.device AND touched_day.source = correction.source
    AND touched_day.start_ms < correction.to_ms AND touched_day.end_ms > correction.from_ms
);

-- name: list_corrected_ranges
-- Returns the time ranges that were set or estimated and overlap a touched day ($all: all of them). All days
-- of a range are computed together, because set energy follows the measured shape of the whole range.
SELECT DISTINCT correction_in_force.device::VARCHAR AS device, correction_in_force.source, correction_in_force.from_ms,
  correction_in_force.to_ms
FROM correction_in_force
WHERE correction_in_force.kind <> 'exclude' AND ($all OR EXISTS (
  SELECT 1
  FROM touched_day
  WHERE touched_day.device = correction_in_force.device AND touched_day.source = correction_in_force.source
    AND touched_day.start_ms < correction_in_force.to_ms AND touched_day.end_ms > correction_in_force.from_ms
))
ORDER BY ALL;

-- name: touch_corrected_days
-- Adds days to touched_day. $devices, $sources, $days, $starts_ms, $ends_ms: lists of the same length.
INSERT INTO touched_day BY NAME
SELECT unnest($devices::UUID[]) AS device, unnest($sources::VARCHAR[]) AS source, unnest($days::DATE[]) AS day,
  unnest($starts_ms::BIGINT[]) AS start_ms, unnest($ends_ms::BIGINT[]) AS end_ms
EXCEPT SELECT device, source, day, start_ms, end_ms FROM touched_day;

-- name: collect_days_to_correct
-- Selects the touched days between $low_ms and $high_ms that have set or estimated energy, with the series
-- from which each is read. If no series has measured anything, it is the first one in the workgroup's order.
-- day_to_correct: device, source, day, start_ms, end_ms, series_id
CREATE OR REPLACE TEMP TABLE day_to_correct AS
SELECT touched_day.device, touched_day.source, touched_day.day, touched_day.start_ms, touched_day.end_ms,
  coalesce(measured.series_id, configured.series_id) AS series_id
FROM touched_day
LEFT JOIN (SELECT * FROM day_candidate WHERE preference = 1) AS measured
  ON measured.device = touched_day.device AND measured.source = touched_day.source AND measured.day = touched_day.day
LEFT JOIN (SELECT device, source, arg_min(series_id, position) AS series_id FROM series_rule GROUP BY ALL) AS configured
  ON configured.device = touched_day.device AND configured.source = touched_day.source
WHERE touched_day.start_ms >= $low_ms::BIGINT AND touched_day.end_ms <= $high_ms::BIGINT
  AND coalesce(measured.series_id, configured.series_id) IS NOT NULL
  AND EXISTS (
    SELECT 1 FROM correction_in_force
    WHERE correction_in_force.kind <> 'exclude' AND correction_in_force.device = touched_day.device
      AND correction_in_force.source = touched_day.source AND correction_in_force.from_ms < touched_day.end_ms
      AND correction_in_force.to_ms > touched_day.start_ms
  );

-- name: collect_ready_corrections
-- Selects the corrections whose days are all in day_to_correct. Their intervals are computed again.
-- ready_correction: columns of correction
CREATE OR REPLACE TEMP TABLE ready_correction AS
WITH selected_time AS (
  -- How much of the time of each correction lies in day_to_correct.
  SELECT correction_in_force.correction_id,
    sum(least(day_to_correct.end_ms, correction_in_force.to_ms)
      - greatest(day_to_correct.start_ms, correction_in_force.from_ms)) AS selected_ms
  FROM correction_in_force
  JOIN day_to_correct
    ON day_to_correct.device = correction_in_force.device AND day_to_correct.source = correction_in_force.source
    AND day_to_correct.start_ms < correction_in_force.to_ms AND day_to_correct.end_ms > correction_in_force.from_ms
  GROUP BY correction_in_force.correction_id
)
SELECT correction_in_force.*
FROM correction_in_force
JOIN selected_time USING (correction_id)
WHERE correction_in_force.kind <> 'exclude'
  AND selected_time.selected_ms = correction_in_force.to_ms - correction_in_force.from_ms;

-- name: delete_corrected_intervals
-- Deletes the intervals that are computed again, those of undone corrections, and those of streams that are
-- no longer configured. The days of such a stream are deleted too, and come back with the stream.
DELETE FROM corrected_interval
WHERE correction_id IN (SELECT correction_id FROM ready_correction)
  OR correction_id NOT IN (SELECT correction_id FROM correction_in_force)
  OR series_id IN (SELECT series_id FROM series WHERE stream_id NOT IN (SELECT stream_id FROM stream_setting));

-- name: store_corrected_intervals
-- Spreads the set energy over its intervals in the shape of the measured energy, scaled. Time without
-- measurements gets its even share of the measured energy as weight. If the weights have both signs (net
-- registers) or their sum is zero, each interval gets an even share of the difference instead. The running
-- sum is rounded, so the parts add up to the set energy. Estimates are copied as they were computed.
INSERT INTO corrected_interval BY NAME
WITH slot AS (
  -- The intervals of the corrections.
  SELECT ready_correction.correction_id, ready_correction.kind, ready_correction.energy_wh AS total_wh,
    day_to_correct.series_id,
    start_ms_of(interval_day.interval_index) AS start_ms
  FROM ready_correction
  JOIN day_to_correct
    ON day_to_correct.device = ready_correction.device AND day_to_correct.source = ready_correction.source
  JOIN interval_day ON interval_day.day = day_to_correct.day
  WHERE start_ms_of(interval_day.interval_index) >= ready_correction.from_ms
    AND start_ms_of(interval_day.interval_index) < ready_correction.to_ms
), measured AS (
  -- The intervals of set energy, with what was measured.
  SELECT slot.*, coalesce(stored.energy_wh, 0) AS wh, coalesce(stored.covered_ms, 0) AS covered_ms
  FROM slot
  LEFT JOIN (
    SELECT series_id, interval_start_ms, energy_wh, covered_ms FROM interval_energy
    WHERE interval_start_ms BETWEEN (SELECT min(from_ms) FROM ready_correction)
      AND (SELECT max(to_ms) FROM ready_correction)
      AND series_id IN (SELECT series_id FROM day_to_correct)
  ) AS stored ON stored.series_id = slot.series_id AND stored.interval_start_ms = slot.start_ms
  WHERE slot.kind <> 'fill'
), weighed AS (
  -- These intervals. weight_wh: the measured energy, and an even share for time without measurements.
  SELECT *,
    wh
      + coalesce(sum(wh) OVER whole / nullif(sum(covered_ms) OVER whole, 0), 0) * (interval_ms() - covered_ms)
      AS weight_wh
  FROM measured
  WINDOW whole AS (PARTITION BY correction_id)
), running_sum AS (
  -- These intervals, with the sums of the weights up to each, and what decides how the energy is spread.
  SELECT *,
    sum(weight_wh) OVER so_far AS sum_wh, row_number() OVER so_far AS slot_number,
    sum(weight_wh) OVER whole AS whole_wh, min(weight_wh) OVER whole AS least_wh, max(weight_wh) OVER whole AS most_wh,
    count(*) OVER whole AS slots
  FROM weighed
  WINDOW whole AS (PARTITION BY correction_id), so_far AS (PARTITION BY correction_id ORDER BY start_ms)
), indexed AS (
  -- These intervals. index_wh: the set energy up to the end of the interval. In the last interval it is all
  -- of it.
  SELECT *,
    round(CASE
      WHEN slot_number = slots THEN total_wh
      WHEN whole_wh <> 0 AND (least_wh >= 0 OR most_wh <= 0) THEN total_wh * (sum_wh / whole_wh)
      ELSE sum_wh + (total_wh - whole_wh) * (slot_number / slots)
    END)::BIGINT AS index_wh
  FROM running_sum
)
SELECT correction_id, series_id, start_ms AS interval_start_ms,
  index_wh - coalesce(lag(index_wh) OVER (PARTITION BY correction_id ORDER BY start_ms), 0) AS energy_wh,
  flag('corrected') AS flags
FROM indexed
UNION ALL BY NAME
SELECT slot.correction_id, slot.series_id, slot.start_ms AS interval_start_ms, correction_value.energy_wh,
  flag('corrected') | flag('estimated') AS flags
FROM slot JOIN correction_value
  ON correction_value.correction_id = slot.correction_id AND correction_value.interval_start_ms = slot.start_ms
WHERE slot.kind = 'fill';

-- name: move_corrected_intervals
-- Moves the corrected intervals of a day to the series from which the day is read now.
UPDATE corrected_interval SET series_id = moved.series_id
FROM (
  SELECT corrected_interval.correction_id, corrected_interval.interval_start_ms, day_to_correct.series_id
  FROM corrected_interval
  JOIN correction USING (correction_id)
  JOIN day_to_correct ON day_to_correct.device = correction.device AND day_to_correct.source = correction.source
    AND corrected_interval.interval_start_ms >= day_to_correct.start_ms
    AND corrected_interval.interval_start_ms < day_to_correct.end_ms
  WHERE corrected_interval.series_id <> day_to_correct.series_id
) AS moved
WHERE corrected_interval.correction_id = moved.correction_id
  AND corrected_interval.interval_start_ms = moved.interval_start_ms;

-- name: collect_corrected_days
-- Sums the reported intervals of the days that have corrected intervals. Corrected intervals count as
-- covered.
-- corrected_day:
--   device, source, day, start_ms, end_ms, series_id, energy_wh, covered_ms, flags
--   estimated
--   is_whole   every interval of the day is corrected
CREATE OR REPLACE TEMP TABLE corrected_day AS
SELECT day_to_correct.device, day_to_correct.source, day_to_correct.day, day_to_correct.start_ms, day_to_correct.end_ms,
  day_to_correct.series_id,
  sum(reported.energy_wh)::BIGINT AS energy_wh, sum(reported.covered_ms)::BIGINT AS covered_ms,
  bit_or(reported.flags & (day_flags() | flag('corrected'))) AS flags,
  bool_or(
    (reported.flags & flag('corrected') > 0 AND reported.flags & flag('estimated') > 0)
    OR (reported.interval_start_ms = day_to_correct.start_ms AND reported.flags & flag('silence_start') > 0)
    OR (reported.interval_start_ms + interval_ms() = day_to_correct.end_ms AND reported.flags & flag('silence_end') > 0)
  ) AS estimated,
  count(*) FILTER (reported.flags & flag('corrected') > 0) * interval_ms() = day_to_correct.end_ms
    - day_to_correct.start_ms AS is_whole
FROM day_to_correct
JOIN (
  SELECT * FROM reported_interval
  WHERE interval_start_ms BETWEEN (SELECT min(start_ms) FROM day_to_correct)
    AND (SELECT max(end_ms) FROM day_to_correct)
    AND series_id IN (SELECT series_id FROM day_to_correct)
) AS reported ON reported.series_id = day_to_correct.series_id AND reported.interval_start_ms >= day_to_correct.start_ms
  AND reported.interval_start_ms < day_to_correct.end_ms
GROUP BY day_to_correct.device, day_to_correct.source, day_to_correct.day, day_to_correct.start_ms,
  day_to_correct.end_ms, day_to_correct.series_id
HAVING bool_or(reported.flags & flag('corrected') > 0);

-- name: correct_candidates
-- Puts the corrected energy into the chosen candidate of each day.
UPDATE day_candidate
SET energy_wh = corrected_day.energy_wh, covered_ms = corrected_day.covered_ms, flags = corrected_day.flags,
  estimated = corrected_day.estimated,
  substituted = substituted AND NOT corrected_day.is_whole,
  coverage = corrected_day.covered_ms / (corrected_day.end_ms - corrected_day.start_ms)
FROM corrected_day
WHERE day_candidate.preference = 1 AND day_candidate.device = corrected_day.device
  AND day_candidate.source = corrected_day.source
  AND day_candidate.day = corrected_day.day;

-- name: add_corrected_candidates
-- Adds candidates for days on which nothing is measured.
INSERT INTO day_candidate BY NAME
SELECT corrected_day.device, corrected_day.source, corrected_day.day, corrected_day.start_ms, corrected_day.end_ms,
  corrected_day.series_id, corrected_day.energy_wh, corrected_day.covered_ms, corrected_day.flags,
  corrected_day.estimated, series_rule.method, series_rule.stream_id,
  corrected_day.covered_ms / (corrected_day.end_ms - corrected_day.start_ms) AS coverage, 1 AS preference
FROM corrected_day
JOIN series_rule USING (series_id)
WHERE NOT EXISTS (
  SELECT 1
  FROM day_candidate
  WHERE day_candidate.preference = 1 AND day_candidate.device = corrected_day.device
    AND day_candidate.source = corrected_day.source AND day_candidate.day = corrected_day.day
);

-- name: flag_excluded_days
-- Flags all days that overlap an exclusion as corrected, even if they have no readings in that time.
UPDATE day_candidate SET flags = flags | flag('corrected')
WHERE preference = 1 AND EXISTS (
  SELECT 1 FROM correction_in_force
  WHERE correction_in_force.kind = 'exclude' AND correction_in_force.device = day_candidate.device
    AND correction_in_force.source = day_candidate.source
    AND correction_in_force.from_ms < day_candidate.end_ms AND correction_in_force.to_ms > day_candidate.start_ms
);

-- name: drop_decided_contradictions
-- Drops the contradictions of days that a person has corrected as a whole.
DELETE FROM day_contradiction USING corrected_day
WHERE corrected_day.is_whole AND day_contradiction.device = corrected_day.device
  AND day_contradiction.source = corrected_day.source
  AND day_contradiction.day = corrected_day.day;

-- name: list_effects
-- Returns the changed days with their energy and flags before and after, before they are stored.
SELECT day_change.day::VARCHAR AS day, day_change.device::VARCHAR AS device, day_change.source,
  daily_energy.energy_wh AS before_wh,
  day_change.energy_wh AS after_wh, coalesce(daily_energy.flags, 0) AS before_flags, day_change.flags AS after_flags
FROM day_change
LEFT JOIN daily_energy
  ON daily_energy.day = day_change.day AND daily_energy.device = day_change.device
  AND daily_energy.source = day_change.source
ORDER BY ALL;
