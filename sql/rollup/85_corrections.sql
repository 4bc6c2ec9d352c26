-- 85 Corrections: what people corrected.
--
-- Reads   correction (the corrections of people), correction_in_force, correction_value, excluded_range;
--         touched_day, day_candidate, day_change, stream_setting, series, series_rule, interval_day,
--         series_day, reading, excluded_reading, daily_energy; corrected_interval, reported_interval,
--         interval_energy (the measured energy).
-- Writes  corrected_interval (energy of intervals that was set or estimated), touched_day, day_candidate
--         (with the corrected energy), day_contradiction; reading, excluded_reading (readings move between
--         them), chosen_device, incoming, series, series_day (what follows from the moved readings).
-- Why     A correction never changes measured data. Excluded readings leave table reading, so no other
--         chapter sees them. Set or estimated energy is stored next to the measured intervals of the series
--         from which the day is read, and is computed again whenever these change. So the order of
--         corrections and data does not matter, and an undone correction leaves nothing behind.

-- name: count_corrections
-- Counts the corrections, undone ones too, that overlap a touched day ($all: all corrections). If there are
-- none, nothing of this chapter runs.
SELECT count(*) AS count FROM correction co
WHERE $all OR EXISTS (
  SELECT 1
  FROM touched_day td
  WHERE td.device = co.device AND td.source = co.source AND td.start_ms < co.to_ms AND td.end_ms > co.from_ms
);

-- name: list_corrected_ranges
-- Returns the time ranges that were set or estimated and overlap a touched day ($all: all of them). All days
-- of a range are computed together, because set energy follows the measured shape of the whole range.
SELECT DISTINCT cf.device::VARCHAR AS device, cf.source, cf.from_ms, cf.to_ms
FROM correction_in_force cf
WHERE cf.kind <> 'exclude' AND ($all OR EXISTS (
  SELECT 1
  FROM touched_day td
  WHERE td.device = cf.device AND td.source = cf.source AND td.start_ms < cf.to_ms AND td.end_ms > cf.from_ms
))
ORDER BY ALL;

-- name: touch_corrected_days
-- Adds days to touched_day. $devices, $sources, $days, $starts_ms, $ends_ms: lists of the same length.
INSERT INTO touched_day BY NAME
SELECT unnest($devices::UUID[]) AS device, unnest($sources::VARCHAR[]) AS source, unnest($days::DATE[]) AS day,
  unnest($starts_ms::BIGINT[]) AS start_ms, unnest($ends_ms::BIGINT[]) AS end_ms
EXCEPT SELECT * FROM touched_day;

-- name: find_days_to_correct
-- Selects the touched days between $low_ms and $high_ms that have set or estimated energy, with the series
-- from which each is read. If no series has measured anything, it is the first one in the workgroup's order.
-- day_to_correct: device, source, day, start_ms, end_ms, series_id
CREATE OR REPLACE TEMP TABLE day_to_correct AS
SELECT td.device, td.source, td.day, td.start_ms, td.end_ms,
  coalesce(measured.series_id, configured.series_id) AS series_id
FROM touched_day td
LEFT JOIN (SELECT * FROM day_candidate WHERE preference = 1) AS measured
  ON measured.device = td.device AND measured.source = td.source AND measured.day = td.day
LEFT JOIN (SELECT device, source, arg_min(series_id, position) AS series_id FROM series_rule GROUP BY ALL) AS configured
  ON configured.device = td.device AND configured.source = td.source
WHERE td.start_ms >= $low_ms::BIGINT AND td.end_ms <= $high_ms::BIGINT
  AND coalesce(measured.series_id, configured.series_id) IS NOT NULL
  AND EXISTS (
    SELECT 1 FROM correction_in_force cf
    WHERE cf.kind <> 'exclude' AND cf.device = td.device AND cf.source = td.source AND cf.from_ms < td.end_ms
      AND cf.to_ms > td.start_ms
  );

-- name: find_ready_corrections
-- Selects the corrections whose days are all in day_to_correct. Their intervals are computed again.
-- ready_correction: columns of correction
CREATE OR REPLACE TEMP TABLE ready_correction AS
SELECT cf.*
FROM correction_in_force cf
JOIN (
  SELECT cf.correction_id, sum(least(dtc.end_ms, cf.to_ms) - greatest(dtc.start_ms, cf.from_ms)) AS noted_ms
  FROM correction_in_force cf
  JOIN day_to_correct dtc
    ON dtc.device = cf.device AND dtc.source = cf.source AND dtc.start_ms < cf.to_ms AND dtc.end_ms > cf.from_ms
  GROUP BY cf.correction_id
) AS noted USING (correction_id)
WHERE cf.kind <> 'exclude' AND noted.noted_ms = cf.to_ms - cf.from_ms;

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
  SELECT rdy.correction_id, rdy.kind, rdy.energy_wh AS total_wh, dtc.series_id,
    start_ms_of(idy.interval_index) AS start_ms
  FROM ready_correction rdy
  JOIN day_to_correct dtc ON dtc.device = rdy.device AND dtc.source = rdy.source
  JOIN interval_day idy ON idy.day = dtc.day
  WHERE start_ms_of(idy.interval_index) >= rdy.from_ms AND start_ms_of(idy.interval_index) < rdy.to_ms
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
SELECT slot.correction_id, slot.series_id, slot.start_ms AS interval_start_ms, cv.energy_wh,
  flag('corrected') | flag('estimated') AS flags
FROM slot JOIN correction_value cv ON cv.correction_id = slot.correction_id AND cv.interval_start_ms = slot.start_ms
WHERE slot.kind = 'fill';

-- name: move_corrected_intervals
-- Moves the corrected intervals of a day to the series from which the day is read now.
UPDATE corrected_interval SET series_id = moved.series_id
FROM (
  SELECT ci.correction_id, ci.interval_start_ms, dtc.series_id
  FROM corrected_interval ci
  JOIN correction co USING (correction_id)
  JOIN day_to_correct dtc ON dtc.device = co.device AND dtc.source = co.source
    AND ci.interval_start_ms >= dtc.start_ms AND ci.interval_start_ms < dtc.end_ms
  WHERE ci.series_id <> dtc.series_id
) AS moved
WHERE corrected_interval.correction_id = moved.correction_id
  AND corrected_interval.interval_start_ms = moved.interval_start_ms;

-- name: find_corrected_days
-- Sums the reported intervals of the days that have corrected intervals. Corrected intervals count as
-- covered.
-- corrected_day:
--   device, source, day, start_ms, end_ms, series_id, energy_wh, covered_ms, flags
--   estimated
--   is_whole   every interval of the day is corrected
CREATE OR REPLACE TEMP TABLE corrected_day AS
SELECT dtc.device, dtc.source, dtc.day, dtc.start_ms, dtc.end_ms, dtc.series_id,
  sum(reported.energy_wh)::BIGINT AS energy_wh, sum(reported.covered_ms)::BIGINT AS covered_ms,
  bit_or(reported.flags & (day_flags() | flag('corrected'))) AS flags,
  bool_or(
    (reported.flags & flag('corrected') > 0 AND reported.flags & flag('estimated') > 0)
    OR (reported.interval_start_ms = dtc.start_ms AND reported.flags & flag('silence_start') > 0)
    OR (reported.interval_start_ms + interval_ms() = dtc.end_ms AND reported.flags & flag('silence_end') > 0)
  ) AS estimated,
  count(*) FILTER (reported.flags & flag('corrected') > 0) * interval_ms() = dtc.end_ms - dtc.start_ms AS is_whole
FROM day_to_correct dtc
JOIN (
  SELECT * FROM reported_interval
  WHERE interval_start_ms BETWEEN (SELECT min(start_ms) FROM day_to_correct)
    AND (SELECT max(end_ms) FROM day_to_correct)
    AND series_id IN (SELECT series_id FROM day_to_correct)
) AS reported ON reported.series_id = dtc.series_id AND reported.interval_start_ms >= dtc.start_ms
  AND reported.interval_start_ms < dtc.end_ms
GROUP BY dtc.device, dtc.source, dtc.day, dtc.start_ms, dtc.end_ms, dtc.series_id
HAVING bool_or(reported.flags & flag('corrected') > 0);

-- name: correct_candidates
-- Puts the corrected energy into the chosen candidate of each day.
UPDATE day_candidate
SET energy_wh = cd.energy_wh, covered_ms = cd.covered_ms, flags = cd.flags, estimated = cd.estimated,
  substituted = substituted AND NOT cd.is_whole, coverage = cd.covered_ms / (cd.end_ms - cd.start_ms)
FROM corrected_day cd
WHERE day_candidate.preference = 1 AND day_candidate.device = cd.device AND day_candidate.source = cd.source
  AND day_candidate.day = cd.day;

-- name: add_corrected_candidates
-- Adds candidates for days on which nothing is measured.
INSERT INTO day_candidate BY NAME
SELECT cd.device, cd.source, cd.day, cd.start_ms, cd.end_ms, cd.series_id, cd.energy_wh, cd.covered_ms, cd.flags,
  cd.estimated, sr.method, sr.stream_id, cd.covered_ms / (cd.end_ms - cd.start_ms) AS coverage, 1 AS preference
FROM corrected_day cd
JOIN series_rule sr USING (series_id)
WHERE NOT EXISTS (
  SELECT 1
  FROM day_candidate ca
  WHERE ca.preference = 1 AND ca.device = cd.device AND ca.source = cd.source AND ca.day = cd.day
);

-- name: flag_excluded_days
-- Flags all days that overlap an exclusion as corrected, even if they have no readings in that time.
UPDATE day_candidate SET flags = flags | flag('corrected')
WHERE preference = 1 AND EXISTS (
  SELECT 1 FROM correction_in_force cf
  WHERE cf.kind = 'exclude' AND cf.device = day_candidate.device AND cf.source = day_candidate.source
    AND cf.from_ms < day_candidate.end_ms AND cf.to_ms > day_candidate.start_ms
);

-- name: drop_decided_contradictions
-- Drops the contradictions of days that a person has corrected as a whole.
DELETE FROM day_contradiction USING corrected_day cd
WHERE cd.is_whole AND day_contradiction.device = cd.device AND day_contradiction.source = cd.source
  AND day_contradiction.day = cd.day;

-- name: choose_corrected_device
-- Chooses the device of a correction ($correction_id), so that find_rules finds its series.
-- chosen_device: device
CREATE OR REPLACE TEMP TABLE chosen_device AS
SELECT device FROM correction WHERE correction_id = $correction_id::BIGINT;

-- name: find_moved_readings
-- Finds the readings in the time of a correction ($correction_id) that have to move between reading and
-- excluded_reading.
-- moved_reading:
--   columns of reading
--   is_excluded   now; false: the reading is used again
CREATE OR REPLACE TEMP TABLE moved_reading AS
WITH corrected_time AS (
  -- The time of the correction, for each series of its source.
  SELECT se.series_id, co.from_ms, co.to_ms
  FROM correction co
  JOIN series se USING (device, source)
  WHERE co.correction_id = $correction_id::BIGINT
), kept AS (
  -- The readings of this time that are used now.
  SELECT rd.* FROM reading rd JOIN corrected_time ON corrected_time.series_id = rd.series_id
  WHERE rd.event_time_ms >= corrected_time.from_ms AND rd.event_time_ms < corrected_time.to_ms
), excluded_now AS (
  -- The readings of this time that are excluded now.
  SELECT xr.* FROM excluded_reading xr JOIN corrected_time ON corrected_time.series_id = xr.series_id
  WHERE xr.event_time_ms >= corrected_time.from_ms AND xr.event_time_ms < corrected_time.to_ms
)
SELECT *, true AS is_excluded FROM kept
SEMI JOIN excluded_range er
  ON er.series_id = kept.series_id AND kept.event_time_ms >= er.from_ms AND kept.event_time_ms < er.to_ms
UNION ALL BY NAME
SELECT *, false AS is_excluded FROM excluded_now
ANTI JOIN excluded_range er
  ON er.series_id = excluded_now.series_id AND excluded_now.event_time_ms >= er.from_ms
    AND excluded_now.event_time_ms < er.to_ms;

-- name: store_moved_exclusions
-- Copies newly excluded readings to excluded_reading.
INSERT INTO excluded_reading BY NAME
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id FROM moved_reading WHERE is_excluded;

-- name: delete_moved_readings
-- Deletes newly excluded readings from reading.
DELETE FROM reading USING moved_reading mr
WHERE mr.is_excluded AND reading.series_id = mr.series_id AND reading.event_time_ms = mr.event_time_ms;

-- name: restore_readings
-- Copies readings that are no longer excluded to reading.
INSERT INTO reading BY NAME
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id FROM moved_reading WHERE NOT is_excluded
ORDER BY event_time_ms, series_id;

-- name: delete_restored_exclusions
-- Deletes readings that are no longer excluded from excluded_reading.
DELETE FROM excluded_reading USING moved_reading mr
WHERE NOT mr.is_excluded AND excluded_reading.series_id = mr.series_id
  AND excluded_reading.event_time_ms = mr.event_time_ms;

-- name: update_moved_bounds
-- Updates the first and last reading of the series whose readings have moved. They stay if a series has no
-- reading left.
UPDATE series SET first_ms = bounds.first_ms, last_ms = bounds.last_ms
FROM (
  SELECT series_id, min(event_time_ms) AS first_ms, max(event_time_ms) AS last_ms FROM reading
  WHERE series_id IN (SELECT series_id FROM moved_reading) GROUP BY series_id
) AS bounds
WHERE series.series_id = bounds.series_id AND (series.first_ms <> bounds.first_ms OR series.last_ms <> bounds.last_ms);

-- name: touch_moved_readings
-- Treats the moved readings as new readings. Adds the first and last reading of each day whose limits can
-- change, so that they are learnt again. $look_ahead: see find_limits.
-- incoming:
--   series_id, event_time_ms
--   batch_id   -1, because nothing has landed
CREATE OR REPLACE TEMP TABLE incoming AS
WITH moved_range AS (
  -- The range of the moved readings of each series.
  SELECT series_id, min(event_time_ms) AS from_ms, max(event_time_ms) AS to_ms FROM moved_reading GROUP BY series_id
)
SELECT series_id, unnest([min(event_time_ms), max(event_time_ms)]) AS event_time_ms, -1::BIGINT AS batch_id
FROM (
  SELECT series_id, event_time_ms FROM moved_reading
  UNION ALL BY NAME
  SELECT rd.series_id, rd.event_time_ms
  FROM reading rd
  JOIN moved_range ON moved_range.series_id = rd.series_id
  JOIN series_rule sr ON sr.series_id = rd.series_id AND sr.learns
  WHERE rd.event_time_ms >= (utc_day(moved_range.from_ms) - $look_ahead::INTEGER) * day_ms()
    AND rd.event_time_ms < (utc_day(moved_range.to_ms) + limit_days()) * day_ms()
)
GROUP BY series_id, utc_day(event_time_ms);

-- name: delete_moved_limits
-- Deletes the limits of the days around moved readings that can change, as in touch_moved_readings.
-- $look_ahead: see find_limits.
DELETE FROM series_day USING (
  SELECT series_id, utc_day(min(event_time_ms)) AS low_day, utc_day(max(event_time_ms)) AS high_day
  FROM moved_reading
  GROUP BY series_id
) AS moved
WHERE series_day.series_id = moved.series_id
  AND series_day.utc_day BETWEEN moved.low_day - $look_ahead::INTEGER AND moved.high_day + limit_days() - 1;

-- name: create_empty_incoming
-- Creates an empty table incoming, because no reading has moved.
CREATE OR REPLACE TEMP TABLE incoming (series_id INTEGER, event_time_ms BIGINT, batch_id BIGINT);

-- name: update_steps_after_correction
-- Updates the step and the resolution of the series from the days that are left.
UPDATE series SET step_ms = usual.step_ms, resolution = usual.resolution
FROM (
  SELECT series_id, max(learnt_step_ms) AS step_ms, arg_max(learnt_resolution, utc_day) AS resolution
  FROM series_day
  GROUP BY series_id
) AS usual
WHERE series.series_id = usual.series_id AND series.series_id IN (SELECT series_id FROM moved_reading);

-- name: list_effects
-- Returns the changed days with their energy and flags before and after, before they are stored.
SELECT dc.day::VARCHAR AS day, dc.device::VARCHAR AS device, dc.source, de.energy_wh AS before_wh,
  dc.energy_wh AS after_wh, coalesce(de.flags, 0) AS before_flags, dc.flags AS after_flags
FROM day_change dc
LEFT JOIN daily_energy de ON de.day = dc.day AND de.device = dc.device AND de.source = dc.source
ORDER BY ALL;
