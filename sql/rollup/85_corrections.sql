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

-- name: list_effects
-- Returns the changed days with their energy and flags before and after, before they are stored.
SELECT dc.day::VARCHAR AS day, dc.device::VARCHAR AS device, dc.source, de.energy_wh AS before_wh,
  dc.energy_wh AS after_wh, coalesce(de.flags, 0) AS before_flags, dc.flags AS after_flags
FROM day_change dc
LEFT JOIN daily_energy de ON de.day = dc.day AND de.device = dc.device AND de.source = dc.source
ORDER BY ALL;
