-- 60 Index: from readings of registers to a line that never falls.
--
-- Reads   reading, reading_pair, scope, series_rule, day_limit, interval_day, energy_event, interval_energy
--         (the high-water mark where the scope begins, and the energy of power beside a silence).
-- Writes  needs_full_index (the registers whose index is not simply their pairs), index_line (the index of
--         these registers, as straight lines with flags), midnight_anchor (the midnights inside a silence at
--         which the index is known), silence_shape (which share of the growth of a silence each interval
--         gets).
-- Why     Most registers only grow. For them each pair of readings is already a line of the index. The other
--         registers need more: lines that pass over readings that are left out, a high-water mark that is
--         held while the register falls a little, a new segment after a reset, and days of registers that
--         restart every day.

-- name: find_needs_full_index
-- Lists the registers whose index is not simply their pairs of readings. They fell; or readings are left out;
-- or their high-water mark was above the reading where the scope begins; or the day matters (registers that
-- restart every day, lifetime registers beside such a one, and registers with boundary within_day).
-- $low_ms, $high_ms: bounds of the readings in scope. $all: every register, for tests that compare.
-- $beside_daily: there are lifetime registers beside daily ones.
-- needs_full_index: series_id
CREATE OR REPLACE TEMP TABLE needs_full_index AS
SELECT DISTINCT s.series_id
FROM (SELECT series_id FROM reading_pair WHERE to_value < from_value) AS p
JOIN scope s USING (series_id)
JOIN series_rule r USING (series_id)
WHERE s.method = 'total_energy' AND NOT r.net
UNION
SELECT s.series_id FROM scope s JOIN series_rule r USING (series_id)
WHERE s.method = 'daily_energy' OR (s.method = 'total_energy' AND ($all OR r.within_day))
UNION
SELECT s.series_id
FROM scope s JOIN series_rule r USING (series_id) JOIN series_rule daily ON daily.device = r.device AND daily.source = r.source
WHERE $beside_daily AND s.method = 'total_energy' AND daily.method = 'daily_energy'
UNION
SELECT DISTINCT e.series_id FROM energy_event e JOIN scope s USING (series_id)
WHERE is_register(s.method) AND e.to_ms >= s.first_ms AND e.from_ms <= s.last_ms AND e.to_ms >= $low_ms::BIGINT AND e.from_ms <= $high_ms::BIGINT
UNION
SELECT p.series_id
FROM scope s
JOIN (SELECT * FROM reading_pair WHERE is_needed) AS p ON p.series_id = s.series_id AND p.to_ms = s.anchor_ms
JOIN interval_energy i ON i.series_id = p.series_id AND i.interval_start_ms = interval_of(p.to_ms) * interval_ms()
  AND i.last_ms = p.to_ms AND i.last_value > p.to_value
WHERE s.method = 'total_energy' AND i.interval_start_ms BETWEEN $low_ms::BIGINT - interval_ms() AND $high_ms::BIGINT;

-- name: find_index_readings
-- Selects the readings of the registers in needs_full_index, without the readings that are left out. $low_ms,
-- $high_ms: bounds of the readings in scope.
-- index_reading:
--   series_id, method, event_time_ms, value
--   mark            the value for the index: the reading, or the stored high-water mark if that is higher
--                   where the scope begins
--   kind            the event at this reading; null: none
--   energy_wh       the energy that the event books
--   index_segment   number of resets, rollovers, rebases and declared changes up to this reading
CREATE OR REPLACE TEMP TABLE index_reading AS
WITH event AS (
  SELECT * FROM energy_event WHERE to_ms >= $low_ms::BIGINT AND from_ms <= $high_ms::BIGINT
)
SELECT k.series_id, k.method, k.event_time_ms, k.value, greatest(k.value, i.last_value) AS mark, j.kind, j.energy_wh,
  count(j.kind) OVER (PARTITION BY k.series_id ORDER BY k.event_time_ms) AS index_segment
FROM (
  SELECT s.series_id, s.method, s.anchor_ms, r.event_time_ms, r.value
  FROM reading r
  JOIN scope s ON s.series_id = r.series_id
  WHERE r.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
    AND r.event_time_ms - s.anchor_ms >= 0 AND s.last_ms - r.event_time_ms >= 0
    AND s.series_id IN (SELECT series_id FROM needs_full_index)
    AND NOT EXISTS (
      SELECT 1 FROM event e
      WHERE e.series_id = r.series_id AND is_left_out(e.kind) AND r.event_time_ms BETWEEN e.from_ms AND e.to_ms)
) AS k
LEFT JOIN event j ON j.series_id = k.series_id AND j.to_ms = k.event_time_ms AND NOT is_left_out(j.kind)
LEFT JOIN (
  -- Only the interval of the anchor of each register, because an outer join with all intervals would take
  -- minutes.
  SELECT i.series_id, i.last_ms, i.last_value
  FROM interval_energy i
  JOIN scope s ON s.series_id = i.series_id AND s.anchor_ms = i.last_ms
  WHERE i.interval_start_ms BETWEEN $low_ms::BIGINT - interval_ms() AND $high_ms::BIGINT AND s.method = 'total_energy'
    AND s.series_id IN (SELECT series_id FROM needs_full_index)
) AS i ON i.series_id = k.series_id AND i.last_ms = k.event_time_ms;

-- name: list_drift
-- Returns the readings of lifetime registers that drift: many small falls together are more than the jitter.
-- Returns all readings of such an index segment, in order.
SELECT k.series_id, k.index_segment, k.event_time_ms, k.value, k.mark, jitter(r.jitter_wh, d.learnt_resolution) AS jitter_wh
FROM (
  SELECT *, max(mark) OVER (PARTITION BY series_id, index_segment ORDER BY event_time_ms) AS running_mark
  FROM index_reading WHERE method = 'total_energy'
) AS k
JOIN series_rule r ON r.series_id = k.series_id AND NOT r.net
LEFT JOIN day_limit d ON d.series_id = k.series_id AND d.utc_day = utc_day(k.event_time_ms)
QUALIFY bool_or(k.value < k.running_mark - jitter(r.jitter_wh, d.learnt_resolution)) OVER (PARTITION BY k.series_id, k.index_segment)
ORDER BY k.series_id, k.event_time_ms;

-- name: apply_drift_rebases
-- Applies the rebases of drifting registers: the mark becomes the jitter above the reading, and a new index
-- segment begins. $drifted: JSON array of {series_id, event_time_ms, mark}.
CREATE OR REPLACE TEMP TABLE index_reading AS
SELECT k.* EXCLUDE (mark, kind, index_segment), coalesce(d.mark, k.mark) AS mark, CASE WHEN d.event_time_ms IS NULL THEN k.kind ELSE 'rebase' END AS kind,
  count(CASE WHEN d.event_time_ms IS NULL THEN k.kind ELSE 'rebase' END) OVER (PARTITION BY k.series_id ORDER BY k.event_time_ms) AS index_segment
FROM index_reading k
LEFT JOIN (
  SELECT unnest(from_json($drifted::JSON, '[{"series_id":"INTEGER","event_time_ms":"BIGINT","mark":"DOUBLE"}]'), recursive := true)
) AS d ON d.series_id = k.series_id AND d.event_time_ms = k.event_time_ms;

-- name: find_skipped_readings
-- Finds the pairs of index readings that pass over readings that are left out, with the flags for their
-- lines. $low_ms, $high_ms: bounds of the readings in scope.
-- skipped_reading:
--   series_id
--   first_skipped_ms   the first reading that is left out
--   to_ms              the reading after them
--   flags
CREATE OR REPLACE TEMP TABLE skipped_reading AS
SELECT k.series_id, min(e.from_ms) AS first_skipped_ms, k.to_ms, bit_or(event_flag(e.kind)) AS flags
FROM (
  SELECT series_id, lag(event_time_ms) OVER (PARTITION BY series_id ORDER BY event_time_ms) AS from_ms, event_time_ms AS to_ms FROM index_reading
) AS k
JOIN energy_event e ON e.series_id = k.series_id AND is_left_out(e.kind) AND e.from_ms > k.from_ms AND e.to_ms < k.to_ms
WHERE e.to_ms >= $low_ms::BIGINT AND e.from_ms <= $high_ms::BIGINT
GROUP BY k.series_id, k.to_ms;

-- name: find_lines
-- Makes the lines of lifetime registers between neighbouring index readings. Inside an index segment the mark
-- only grows. The line to the first reading of a new segment books the energy of its event. If the boundary
-- is within_day, the line from one day to the next has no energy and no coverage.
-- index_line:
--   series_id
--   from_ms, from_wh   the first point of the line, and the index there
--   to_ms, to_wh       the last point of the line, and the index there
--   covered            the energy between the two is known
--   flags
--   mark_before        the high-water mark at from_ms, in the segment before
CREATE OR REPLACE TEMP TABLE index_line AS
WITH marked AS (
  SELECT k.*, r.net, r.within_day,
    CASE WHEN r.net THEN k.mark ELSE max(k.mark) OVER (PARTITION BY k.series_id, k.index_segment ORDER BY k.event_time_ms) END AS high_mark,
    lag(k.event_time_ms) OVER (PARTITION BY k.series_id ORDER BY k.event_time_ms) AS time_before_ms
  FROM index_reading k
  JOIN series_rule r ON r.series_id = k.series_id
  WHERE k.method = 'total_energy'
), lined AS (
  SELECT *, lag(high_mark) OVER (PARTITION BY series_id ORDER BY event_time_ms) AS previous_mark FROM marked
)
SELECT
  l.series_id, l.time_before_ms AS from_ms,
  CASE WHEN l.within_day AND l.event_time_ms >= d.end_ms THEN l.high_mark
    WHEN l.kind = 'rebase' THEN l.high_mark WHEN l.kind IS NOT NULL THEN l.high_mark - l.energy_wh ELSE l.previous_mark END AS from_wh,
  l.event_time_ms AS to_ms, l.high_mark AS to_wh,
  l.kind IS DISTINCT FROM 'rebase' AND NOT (l.within_day AND l.event_time_ms >= d.end_ms) AS covered,
  (event_flag(l.kind) | coalesce(e.flags, 0)
    | CASE WHEN l.kind IS NULL AND l.value < l.previous_mark AND NOT l.net THEN flag('jitter') ELSE 0 END)::USMALLINT AS flags,
  l.previous_mark AS mark_before
FROM lined l
-- One join condition only, because with a second one DuckDB compares each reading with each interval.
LEFT JOIN interval_day d ON d.interval_index = CASE WHEN l.within_day THEN interval_of(l.time_before_ms) END
LEFT JOIN skipped_reading e ON e.series_id = l.series_id AND e.to_ms = l.event_time_ms
WHERE l.time_before_ms IS NOT NULL;

-- name: classify_daily_steps
-- Decides what happened between a reading and the reading before it. $low_ms, $high_ms: bounds of the
-- readings in scope.
-- These are the kinds:
--   first      the reading is the first one in scope
--   grow       the register has grown since the reading before
--   new_day    the register restarted at midnight; its value is the energy since then
--   carry      the register still shows the value of the day before, which is no energy
--   event      an event inside the day books its energy
--   rebase     an impossible change; no energy
-- From one day to the next: the same value is carry. A fall is new_day if the value is possible since
-- midnight. So is a rise after a silence of more than restart_max_ms(). Another rise is grow if it is
-- possible.
-- The condition restarts_late: the register restarts later on this day, at most a day after the reading
-- before. So it has not restarted yet, and continues the day before (grow). There are two exceptions: the
-- value has fallen by more than the jitter or to almost zero; or the value of the evening is less than
-- reset_share_max() of it, because then most of it came after midnight.
-- daily_step:
--   series_id, event_time_ms, value
--   kind                              the event at this reading; null: none
--   energy_wh                         the energy that the event books
--   first_ms                          of the series
--   day, start_ms                     the local day and its start
--   jitter_wh, max_power_after_reset_w
--   index_segment                     number of events up to this reading
--   time_before_ms, value_before      of the reading before; null: this is the first one in scope
--   day_of_before, end_of_before_ms   the day of the reading before, and the end of that day
--   mark                              the highest value of the segment so far
--   mark_before                       the mark at the reading before
--   shows_day_before                  all readings of the day so far show the value of the evening before
--   showed_day_before                 the same at the reading before
--   day_moves                         a reading of the day shows another value
--   day_segment                       the last segment of the day
--   step_kind                         what happened
CREATE OR REPLACE TEMP TABLE daily_step AS
WITH restart AS (
  -- From the stored events, because the first restart of a day can be after the last reading in scope.
  SELECT e.series_id, d.day, min(e.to_ms) AS restart_ms
  FROM energy_event e
  JOIN interval_day d ON d.interval_index = interval_of(e.to_ms)
  WHERE e.kind = 'reset' AND e.to_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT + day_ms()
    AND e.series_id IN (SELECT series_id FROM scope WHERE method = 'daily_energy')
  GROUP BY e.series_id, d.day
), limited AS (
  -- The readings with their day and limits.
  SELECT k.series_id, k.event_time_ms, k.value, k.kind, k.energy_wh, r.first_ms, d.day, d.start_ms, d.end_ms,
    jitter(r.jitter_wh, l.learnt_resolution) AS jitter_wh, power_limit(r.max_power_w, l.learnt_power_w) AS max_power_w,
    power_limit_after_reset(r.max_power_w, l.learnt_power_w, l.usual_power_w) AS max_power_after_reset_w
  FROM index_reading k
  JOIN series_rule r USING (series_id)
  JOIN interval_day d ON d.interval_index = interval_of(k.event_time_ms)
  LEFT JOIN day_limit l ON l.series_id = k.series_id AND l.utc_day = utc_day(k.event_time_ms)
  WHERE k.method = 'daily_energy'
), paired AS (
  -- With the reading before.
  SELECT *,
    lag(event_time_ms) OVER in_order AS time_before_ms, lag(value) OVER in_order AS value_before,
    lag(day) OVER in_order AS day_of_before, lag(end_ms) OVER in_order AS end_of_before_ms,
    count(kind) OVER in_order AS index_segment
  FROM limited
  LEFT JOIN restart USING (series_id, day)
  WINDOW in_order AS (PARTITION BY series_id ORDER BY event_time_ms)
), by_day AS (
  -- With the values that the register has shown on the day.
  SELECT *,
    first_value(value_before) OVER in_day AS evening_value, max(value) OVER in_day AS highest, min(value) OVER in_day AS lowest,
    max(value) OVER (PARTITION BY series_id, day, index_segment ORDER BY event_time_ms) AS mark
  FROM paired
  WINDOW in_day AS (PARTITION BY series_id, day ORDER BY event_time_ms)
), carried AS (
  SELECT * EXCLUDE (evening_value, highest, lowest),
    coalesce(evening_value > 0 AND highest = evening_value AND lowest = evening_value, false) AS shows_day_before
  FROM by_day
), compared AS (
  -- With all that decides about a step.
  SELECT *,
    lag(mark) OVER in_order AS mark_before, lag(shows_day_before) OVER in_order AS showed_day_before,
    bool_or(NOT shows_day_before) OVER (PARTITION BY series_id, day) AS day_moves,
    max(index_segment) OVER (PARTITION BY series_id, day) AS day_segment,
    value <= wh_of(max_power_after_reset_w, event_time_ms - greatest(time_before_ms, start_ms)) + jitter_wh AS is_possible_since_midnight,
    value - value_before <= wh_of(max_power_w, event_time_ms - time_before_ms) + jitter_wh AS continues,
    coalesce(continues AND restart_ms > event_time_ms AND restart_ms - time_before_ms <= day_ms()
      AND value_before >= reset_share_max() * value
      AND value >= least(value_before, greatest(value_before - jitter_wh, jitter_wh)), false) AS restarts_late,
    event_time_ms - time_before_ms > restart_max_ms() AS is_after_silence
  FROM carried
  WINDOW in_order AS (PARTITION BY series_id ORDER BY event_time_ms)
)
SELECT * EXCLUDE (continues, restarts_late, is_after_silence, is_possible_since_midnight, restart_ms, max_power_w, end_ms),
  CASE
    WHEN time_before_ms IS NULL THEN 'first'
    WHEN day <> day_of_before AND value = value_before THEN 'carry'
    WHEN day <> day_of_before AND restarts_late THEN 'grow'
    WHEN day <> day_of_before AND (value < value_before OR is_after_silence) AND is_possible_since_midnight THEN 'new_day'
    WHEN day <> day_of_before AND (value < value_before OR NOT continues) THEN 'rebase'
    WHEN day <> day_of_before THEN 'grow'
    WHEN kind = 'rebase' THEN 'rebase'
    WHEN kind IS NOT NULL THEN 'event'
    WHEN showed_day_before AND value > value_before AND is_after_silence AND is_possible_since_midnight AND NOT restarts_late THEN 'new_day'
    WHEN shows_day_before THEN 'carry'
    ELSE 'grow'
  END AS step_kind
FROM compared;

-- name: find_daily_lines
-- Makes the lines of registers that restart every day, from their steps.
INSERT INTO index_line
WITH daily_line AS (
  SELECT series_id,
    CASE
      WHEN step_kind = 'new_day' OR (step_kind = 'carry' AND day <> day_of_before) THEN greatest(time_before_ms, start_ms)
      ELSE time_before_ms
    END AS from_ms,
    CASE step_kind
      WHEN 'grow' THEN least(CASE WHEN day = day_of_before THEN mark_before ELSE value_before END, mark)
      WHEN 'new_day' THEN 0
      WHEN 'event' THEN mark - energy_wh
      ELSE mark
    END AS from_wh,
    event_time_ms AS to_ms, mark AS to_wh,
    step_kind <> 'rebase' AND (step_kind <> 'carry' OR day_moves) AS covered,
    -- The restart that ends a carry-over is normal, so it has no flag.
    (CASE WHEN step_kind = 'rebase' THEN flag('rebase') WHEN step_kind <> 'event' OR (kind = 'reset' AND showed_day_before) THEN 0 ELSE event_flag(kind) END
      | CASE WHEN shows_day_before THEN flag('carry_over') ELSE 0 END
      | CASE WHEN step_kind = 'grow' AND value < CASE WHEN day = day_of_before THEN mark_before ELSE value_before END THEN flag('jitter') ELSE 0 END) AS flags,
    value_before AS mark_before
  FROM daily_step
  WHERE step_kind <> 'first'
  UNION ALL
  -- If the register still shows the same value after midnight, its value at midnight is known.
  SELECT series_id, time_before_ms, value_before, end_of_before_ms, value_before, true, 0, value_before
  FROM daily_step
  WHERE step_kind = 'carry' AND day <> day_of_before
  UNION ALL
  -- The first reading of a series is the energy since midnight, unless a restart later in the day shows that
  -- it was the value of the day before.
  SELECT series_id, start_ms, 0, event_time_ms, value, true, 0, 0
  FROM daily_step
  WHERE step_kind = 'first' AND event_time_ms = first_ms AND day_segment = 0 AND value > 0 AND event_time_ms > start_ms
    AND value <= wh_of(max_power_after_reset_w, event_time_ms - start_ms) + jitter_wh
)
SELECT l.* REPLACE ((l.flags | coalesce(e.flags, 0))::USMALLINT AS flags)
FROM daily_line l LEFT JOIN skipped_reading e ON e.series_id = l.series_id AND e.to_ms = l.to_ms AND e.first_skipped_ms > l.from_ms;

-- name: find_midnight_anchors
-- Finds local midnights inside silences of more than two hours for which the value of a lifetime register is
-- known. A daily register that was read together with the first reading after the silence shows how much of
-- the growth came after midnight. If that is all of the growth, both registers agree. Otherwise it is an
-- estimate, because a daily register that lost energy in the night looks the same.
-- $low_ms, $high_ms: bounds of the readings in scope.
-- midnight_anchor:
--   columns of index_line
--   midnight_ms
--   midnight_value   index at midnight, Wh
--   estimated        the registers do not agree
CREATE OR REPLACE TEMP TABLE midnight_anchor AS
WITH silent AS MATERIALIZED (
  SELECT l.*, daily.series_id AS daily_id,
    jitter(own.jitter_wh, od.learnt_resolution) + jitter(daily.jitter_wh, dd.learnt_resolution) AS jitter_wh
  FROM index_line l
  JOIN series_rule own ON own.series_id = l.series_id AND own.method = 'total_energy' AND NOT own.within_day
  JOIN series_rule daily ON daily.device = own.device AND daily.source = own.source AND daily.method = 'daily_energy'
  LEFT JOIN day_limit od ON od.series_id = own.series_id AND od.utc_day = utc_day(l.to_ms)
  LEFT JOIN day_limit dd ON dd.series_id = daily.series_id AND dd.utc_day = utc_day(l.to_ms)
  WHERE l.covered AND l.to_wh > l.from_wh AND l.to_ms - l.from_ms > silence_ms()
), shown AS MATERIALIZED (
  SELECT series_id, event_time_ms, value FROM reading
  WHERE event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT AND series_id IN (SELECT daily_id FROM silent)
    AND NOT EXISTS (
      SELECT 1 FROM energy_event e
      WHERE e.series_id = reading.series_id AND is_left_out(e.kind) AND reading.event_time_ms BETWEEN e.from_ms AND e.to_ms
        AND e.to_ms >= $low_ms::BIGINT AND e.from_ms <= $high_ms::BIGINT)
)
-- Outer joins, because DuckDB's planner would join the readings with each other first if these were inner
-- joins.
SELECT s.series_id, s.from_ms, s.from_wh, s.to_ms, s.to_wh, s.covered, s.flags, s.mark_before,
  day.start_ms AS midnight_ms, greatest(s.from_wh, s.to_wh - after.value) AS midnight_value,
  abs(s.to_wh - after.value - s.from_wh) > s.jitter_wh + float_tolerance_wh() AS estimated
FROM silent s
JOIN interval_day day ON day.interval_index = interval_of(s.to_ms)
LEFT JOIN shown AS after ON after.series_id = s.daily_id AND after.event_time_ms = s.to_ms
LEFT JOIN shown AS before ON before.series_id = s.daily_id AND before.event_time_ms = s.from_ms
WHERE s.from_ms < day.start_ms AND s.to_ms > day.start_ms AND after.value <> before.value;

-- name: drop_lines_over_midnight
-- Drops the lines that such a midnight cuts.
DELETE FROM index_line USING midnight_anchor p WHERE index_line.series_id = p.series_id AND index_line.to_ms = p.to_ms;

-- name: add_lines_at_midnight
-- Adds both parts of these lines. If the value at midnight is an estimate, both parts are flagged there, like
-- any other bound inside a silence.
INSERT INTO index_line
SELECT series_id, from_ms, from_wh, midnight_ms, midnight_value, covered,
  flags | CASE WHEN estimated THEN flag('estimated') | flag('silence_end') ELSE 0 END, mark_before
FROM midnight_anchor
UNION ALL
SELECT series_id, midnight_ms, midnight_value, to_ms, to_wh, covered,
  flags | CASE WHEN estimated THEN flag('estimated') | flag('silence_start') ELSE 0 END, midnight_value
FROM midnight_anchor;

-- name: find_silence_shape
-- Spreads the growth of a lifetime register over a silence of more than two hours, if power of the same
-- source is known there. The growth follows the power, scaled so that its sum stays the growth of the
-- register. Time without power gets its even share of the growth. So do the intervals at both ends, because
-- the silence fills only a part of them. Their share is at most what power leaves of the growth, because a
-- sleeping device produces nothing.
-- $low_ms, $high_ms: bounds of the scope.
-- silence_shape:
--   series_id, interval_index
--   share                   0 to 1: part of the growth before the interval
--   nwh                     energy of power before the interval, in billionths of a Wh
--   known_ms                the time for which it is known
--   nwh_all, known_ms_all   the same of the whole silence
CREATE OR REPLACE TEMP TABLE silence_shape AS
WITH silence AS (
  SELECT p.series_id, p.from_ms, p.to_ms, p.to_value - p.from_value AS grown_wh FROM reading_pair p JOIN scope s USING (series_id)
  WHERE s.method = 'total_energy' AND p.to_ms - p.from_ms > silence_ms() AND p.to_value > p.from_value
    AND p.series_id NOT IN (SELECT series_id FROM needs_full_index)
  UNION ALL
  SELECT series_id, from_ms, to_ms, to_wh - from_wh FROM index_line WHERE to_ms - from_ms > silence_ms() AND to_wh > from_wh AND covered
), silence_beside_power AS MATERIALIZED (
  SELECT s.series_id, s.from_ms, s.to_ms, s.grown_wh, arg_min(power.series_id, power.position) AS power_id
  FROM silence s
  JOIN series_rule own ON own.series_id = s.series_id AND own.method = 'total_energy' AND NOT own.net AND NOT own.within_day
  JOIN series_rule power ON power.device = own.device AND power.source = own.source AND power.method = 'power_curve'
  GROUP BY ALL
), known AS (
  SELECT b.series_id, b.from_ms, b.to_ms, interval_of(p.interval_start_ms) AS interval_index, greatest(p.exact_nwh, 0) AS nwh, p.covered_ms
  FROM (
    SELECT * FROM interval_energy
    WHERE series_id IN (SELECT power_id FROM silence_beside_power) AND interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  ) AS p
  JOIN silence_beside_power b ON b.power_id = p.series_id AND p.interval_start_ms >= b.from_ms AND p.interval_start_ms + interval_ms() <= b.to_ms
), summed_power AS (
  SELECT b.series_id, b.from_ms, b.to_ms, b.grown_wh, b.interval_index,
    sum(coalesce(k.nwh, 0)) OVER so_far AS nwh, sum(coalesce(k.covered_ms, 0)) OVER so_far AS known_ms,
    sum(coalesce(k.nwh, 0)) OVER whole AS nwh_all, sum(coalesce(k.covered_ms, 0)) OVER whole AS known_ms_all
  FROM (SELECT *, unnest(range(interval_of(from_ms), interval_of(to_ms))) AS interval_index FROM silence_beside_power) AS b
  LEFT JOIN known k ON k.series_id = b.series_id AND k.to_ms = b.to_ms AND k.interval_index = b.interval_index
  WINDOW whole AS (PARTITION BY b.series_id, b.to_ms), so_far AS (PARTITION BY b.series_id, b.to_ms ORDER BY b.interval_index)
)
SELECT series_id, interval_index + 1 AS interval_index,
  coalesce(unknown_ms / nullif(to_ms - from_ms - known_ms_all, 0), 0) * rest_share + nwh / nwh_all * (1 - rest_share) AS share,
  nwh, known_ms, nwh_all, known_ms_all
FROM (
  SELECT *, ((interval_index + 1) * interval_ms() - from_ms - known_ms)::DOUBLE AS unknown_ms,
    -- The share of time without power: its even share, but at most what power leaves of the growth.
    least((to_ms - from_ms - known_ms_all) / (to_ms - from_ms), greatest(0, 1 - nwh_all / nwh_per_wh() / grown_wh)) AS rest_share
  FROM summed_power
  WHERE nwh_all > 0
);
