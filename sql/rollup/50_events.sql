-- 50 Events: pairs that are not plain growth, and what happened there.
--
-- Reads   reading_pair, scope, series_rule, day_limit, changed_limit, register_change, local_day,
--         interval_day, reading, series_day, series_break, energy_event.
-- Writes  series_break (the pairs that are not plain growth), energy_event (what happened there: reset,
--         rollover, rebase, register_change, glitch, spike, standstill), changed_event (events that are new
--         or no longer exist).
-- Why     SQL finds the breaks. A small pure function (src/rollup/classify-breaks.ts) judges them, because
--         that needs a look ahead from break to break. It begins at the last break that was decided without
--         the changed readings. It ends at a break after which nothing is different.

-- name: find_breaks
-- Finds the breaks of registers in scope, and up to the reading after the scope, because that pair can have
-- another first reading now.
-- A break of a register is one of these: a fall by more than the jitter; a rise beyond the limit; a rise from
-- zero, and the pair after it, because the first value after zero can be an average; a pair that returns at
-- once to the value before a fall; a declared change (add_declared_breaks). A register that restarts every
-- day has breaks only inside a day.
-- $least_power_w: see read_least_limit.
-- break_now: series_id, from_ms, from_value, to_ms, to_value
CREATE OR REPLACE TEMP TABLE break_now AS
WITH suspect AS MATERIALIZED (
  -- The pairs of registers that can be breaks.
  SELECT pair.*
  FROM (
    SELECT *
    FROM reading_pair
    WHERE is_suspect(value_before, from_ms, from_value, to_ms, to_value, $least_power_w::DOUBLE)
  ) AS pair
  JOIN scope sc USING (series_id)
  WHERE pair.to_ms BETWEEN sc.compute_from_ms AND sc.last_ms AND is_register(sc.method)
), limited AS (
  -- The suspect pairs, with the jitter of their day, and how much the register can count in their time.
  SELECT suspect.*, jitter(sr.jitter_wh, dl.learnt_resolution) AS jitter_wh,
    wh_of(
      least(power_limit(sr.max_power_w, dl.learnt_power_w),
        power_limit_after_reset(sr.max_power_w, dl.learnt_power_w, dl.usual_power_w)),
      suspect.to_ms - suspect.from_ms) AS possible_wh
  FROM suspect
  JOIN series_rule sr ON sr.series_id = suspect.series_id
  LEFT JOIN day_limit dl ON dl.series_id = suspect.series_id AND dl.utc_day = utc_day(suspect.to_ms)
  LEFT JOIN interval_day idy ON idy.interval_index = interval_of(suspect.from_ms)
  WHERE NOT sr.net AND (sr.method = 'total_energy' OR suspect.to_ms < idy.end_ms)
), compared AS (
  -- These pairs, compared. is_fall: by more than the jitter. is_beyond: a rise beyond the limit. is_start:
  -- away from zero. is_return: back to the value before a fall.
  SELECT *,
    to_value < from_value - jitter_wh AS is_fall,
    to_value - from_value > jitter_wh + possible_wh AS is_beyond,
    (from_value = 0 OR value_before = 0) AND to_value > from_value AS is_start,
    from_value < value_before - jitter_wh AND to_value >= value_before - jitter_wh AS is_return
  FROM limited
)
SELECT series_id, from_ms, from_value, to_ms, to_value
FROM compared
WHERE is_fall OR is_beyond OR is_start OR is_return;

-- name: add_declared_breaks
-- Adds the pairs of registers with a declared change to break_now. Pairs that are there already are left out:
-- EXCEPT compares all columns by position.
INSERT INTO break_now BY NAME
SELECT pair.series_id, pair.from_ms, pair.from_value, pair.to_ms, pair.to_value
FROM (SELECT * FROM reading_pair WHERE series_id IN (SELECT series_id FROM register_change)) AS pair
JOIN scope sc ON sc.series_id = pair.series_id AND pair.to_ms BETWEEN sc.compute_from_ms AND sc.last_ms
JOIN register_change rc ON rc.series_id = pair.series_id AND rc.at_ms > pair.from_ms AND rc.at_ms <= pair.to_ms
LEFT JOIN interval_day idy ON idy.interval_index = interval_of(pair.from_ms)
WHERE sc.method = 'total_energy' OR (sc.method = 'daily_energy' AND pair.to_ms < idy.end_ms)
EXCEPT
FROM break_now;

-- name: add_power_breaks
-- Adds the breaks of power and of interval readings to break_now: the pairs that go beyond the limit, or come
-- back. The first reading of a series is compared with itself.
INSERT INTO break_now BY NAME
WITH compared_power AS (
  -- The pairs of power and interval readings. is_beyond, was_beyond: the second and the first reading are
  -- beyond the limit. was_beyond is null if the first reading is not in scope.
  SELECT pair.*,
    is_beyond(pair.to_value, sr.method, reading_interval(sr.interval_ms, to_day.learnt_step_ms),
      coalesce(sr.max_power_w, to_day.learnt_power_w)) AS is_beyond,
    CASE WHEN pair.from_ms IS NULL AND pair.to_ms > sr.first_ms THEN NULL
      ELSE is_beyond(pair.from_value, sr.method, reading_interval(sr.interval_ms, from_day.learnt_step_ms),
        coalesce(sr.max_power_w, from_day.learnt_power_w)) END AS was_beyond
  -- A subquery without registers, because DuckDB's planner would underestimate the number of pairs.
  FROM (
    SELECT * FROM reading_pair WHERE series_id IN (SELECT series_id FROM scope WHERE NOT is_register(method))
  ) AS pair
  JOIN scope sc ON sc.series_id = pair.series_id AND pair.to_ms BETWEEN sc.compute_from_ms AND sc.last_ms
  JOIN series_rule sr ON sr.series_id = pair.series_id
  LEFT JOIN day_limit to_day ON to_day.series_id = pair.series_id AND to_day.utc_day = utc_day(pair.to_ms)
  LEFT JOIN day_limit from_day ON from_day.series_id = pair.series_id AND from_day.utc_day = utc_day(pair.from_ms)
)
SELECT series_id, coalesce(from_ms, to_ms) AS from_ms, coalesce(from_value, to_value) AS from_value, to_ms, to_value
FROM compared_power
WHERE is_beyond <> was_beyond;

-- name: find_changed_breaks
-- Compares the breaks in scope with the stored ones. $low_ms, $high_ms: bounds of the scope.
-- changed_break:
--   series_id, from_ms, from_value, to_ms, to_value
--   is_new   false: the break no longer exists
CREATE OR REPLACE TEMP TABLE changed_break AS
WITH stored_break AS (
  -- The stored breaks in scope, with the same columns in the same order as break_now, because EXCEPT compares
  -- them by position.
  SELECT sb.series_id, sb.from_ms, sb.from_value, sb.to_ms, sb.to_value
  FROM series_break sb
  JOIN scope sc ON sc.series_id = sb.series_id AND sb.to_ms BETWEEN sc.compute_from_ms AND sc.last_ms
  WHERE sb.to_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
)
SELECT *, true AS is_new FROM (FROM break_now EXCEPT FROM stored_break)
UNION ALL BY NAME
SELECT *, false AS is_new FROM (FROM stored_break EXCEPT FROM break_now);

-- name: delete_breaks
-- Deletes the breaks that no longer exist.
DELETE FROM series_break USING changed_break cb
WHERE NOT cb.is_new AND series_break.series_id = cb.series_id AND series_break.to_ms = cb.to_ms
  AND series_break.from_ms = cb.from_ms;

-- name: store_breaks
-- Stores the new breaks.
INSERT INTO series_break BY NAME
SELECT series_id, from_ms, from_value, to_ms, to_value FROM changed_break WHERE is_new;

-- name: find_changed_ranges
-- Finds the time of each series in which breaks have to be judged again: the first and the last change of
-- what decides them.
-- $is_restated: rules have changed, so everything in scope is judged again. $low_ms, $high_ms: bounds of the
-- scope.
-- changed_range: series_id, from_ms, to_ms
CREATE OR REPLACE TEMP TABLE changed_range AS
WITH of_breaks AS (
  -- Changed breaks. The range begins at the first reading of the break, because earlier breaks were decided
  -- with the readings up to there.
  SELECT series_id, from_ms, to_ms FROM changed_break
), of_limits AS (
  -- Days with other limits.
  SELECT series_id, from_ms, to_ms FROM changed_limit WHERE series_id IN (SELECT series_id FROM scope)
), of_rules AS (
  -- The whole scope, if rules have changed.
  SELECT series_id, compute_from_ms AS from_ms, compute_to_ms AS to_ms FROM scope WHERE $is_restated
), of_days AS (
  -- Days of registers that restart every day. Their first break also depends on the first reading of the day
  -- and on the last reading before the day.
  SELECT series_id, compute_from_ms AS from_ms, compute_to_ms - 1 AS to_ms FROM scope
  WHERE method = 'daily_energy' AND series_id IN (
    SELECT series_id FROM series_break WHERE to_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  )
), of_standstills AS (
  -- Rises after a standstill. They depend on how long the register stood still, so on readings up to
  -- standstill_max_ms() before. A rise does not depend on the scope if the register moved at another break in
  -- between. A register that restarts every day stands still within a day.
  SELECT series_id, to_ms AS from_ms, to_ms
  FROM (
    SELECT sb.*,
      min(CASE WHEN sb.from_ms >= sc.compute_to_ms AND sb.from_value <> sb.to_value
        THEN sb.to_ms END) OVER (PARTITION BY sb.series_id) AS moved_ms
    FROM series_break sb
    JOIN scope sc ON sc.series_id = sb.series_id AND sb.to_ms > sc.compute_from_ms
      AND sb.to_ms <= sc.compute_to_ms + standstill_max_ms()
    WHERE sc.is_new AND sc.method = 'total_energy'
      AND sb.to_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT + standstill_max_ms()
  )
  WHERE to_value > from_value AND from_value > 0 AND from_ms < coalesce(moved_ms, forever_ms())
), of_beginnings AS (
  -- First readings of series. Readings that are left out at the beginning of a series are left out from its
  -- first reading on.
  SELECT sc.series_id, sr.first_ms AS from_ms, sr.first_ms AS to_ms
  FROM scope sc JOIN series_rule sr USING (series_id)
  WHERE sc.is_new AND sc.compute_from_ms <= sr.first_ms
    AND sc.series_id IN (SELECT series_id FROM energy_event WHERE from_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT)
)
SELECT series_id, min(from_ms) AS from_ms, max(to_ms) AS to_ms
FROM (
  FROM of_breaks UNION ALL BY NAME FROM of_limits UNION ALL BY NAME FROM of_rules
  UNION ALL BY NAME FROM of_days UNION ALL BY NAME FROM of_standstills UNION ALL BY NAME FROM of_beginnings
)
GROUP BY series_id;

-- name: find_judging_ranges
-- Finds the range of breaks that are judged again, for each series of changed_range.
-- Lifetime registers: from the last break before the first change that was decided without the changed
-- readings (its decided_ms is before them), up to the $ahead-th decided break after the last change.
-- Registers that restart every day: all breaks of the changed days. Power and interval readings, whose breaks
-- depend only on the next one: from the break before the first change to the break after the last one.
-- $near_ms: how far from a change breaks are searched. If no start or end is found, the range is open, and
-- the caller runs the statement again with a longer time.
-- judging_range:
--   series_id, method
--   after_ms         the break to begin with; null: judging begins with the series
--   from_ms, to_ms   breaks after from_ms up to to_ms are judged; -1 and forever_ms(): the range is open
--   seen_ms          breaks up to here are read
--   changed_ms       the last change
CREATE OR REPLACE TEMP TABLE judging_range AS
WITH nearby_break AS (
  -- The breaks around the changes. The beginning and the end of each range are searched among them.
  SELECT series_id, to_ms AS break_ms, decided_ms FROM series_break
  WHERE series_id IN (SELECT series_id FROM changed_range)
    AND to_ms BETWEEN (SELECT min(from_ms) FROM changed_range) - $near_ms::BIGINT
      AND (SELECT max(to_ms) FROM changed_range) + $near_ms::BIGINT
), nearest_break AS (
  -- One row for each series. before_ms, next_ms: the breaks next to the change. after_ms, decided: the last
  -- decided break before it, and the first $ahead ones after it.
  SELECT series_id, method, from_ms, to_ms,
    max(break_ms) FILTER (break_ms < from_ms) AS before_ms,
    min(break_ms) FILTER (break_ms > to_ms) AS next_ms,
    max(break_ms) FILTER (break_ms < from_ms AND decided_ms < from_ms) AS after_ms,
    min(break_ms, $ahead) FILTER (break_ms > to_ms AND decided_ms IS NOT NULL) AS decided
  FROM changed_range
  JOIN (SELECT series_id, method FROM series_rule) USING (series_id)
  LEFT JOIN nearby_break USING (series_id)
  GROUP BY ALL
), bounded AS (
  -- These rows, with the beginning and the end of the range, which depend on the method.
  SELECT nearest_break.*,
    CASE method
      WHEN 'total_energy' THEN coalesce(after_ms, -1)
      WHEN 'daily_energy' THEN first_day.start_ms - 1
      ELSE coalesce(before_ms - 1, -1)
    END AS first_ms,
    CASE method
      WHEN 'total_energy' THEN coalesce(decided[$ahead], forever_ms())
      WHEN 'daily_energy' THEN last_day.end_ms - 1
      ELSE coalesce(next_ms - 1, forever_ms())
    END AS last_ms
  FROM nearest_break
  LEFT JOIN local_day first_day
    ON method = 'daily_energy' AND from_ms >= first_day.start_ms AND from_ms < first_day.end_ms
  LEFT JOIN local_day last_day ON method = 'daily_energy' AND to_ms >= last_day.start_ms AND to_ms < last_day.end_ms
)
SELECT series_id, method,
  CASE WHEN method = 'total_energy' THEN after_ms END AS after_ms, first_ms AS from_ms, last_ms AS to_ms,
  CASE WHEN is_register(method) OR next_ms IS NULL THEN last_ms ELSE next_ms END AS seen_ms, to_ms AS changed_ms
FROM bounded;

-- name: check_judging_ends
-- Returns open = true if some range begins with its series or has no end. Then there is no earlier or later
-- break, or find_judging_ranges has not searched far enough.
SELECT coalesce(bool_or(method <> 'daily_energy' AND (from_ms = -1 OR to_ms = forever_ms())), false) AS open
FROM judging_range;

-- name: judge_everything
-- Extends every range to all breaks of its series, for tests that compare. A register that restarts every day
-- is judged day by day.
UPDATE judging_range
SET after_ms = NULL, from_ms = -1, to_ms = forever_ms(), seen_ms = forever_ms()
WHERE method <> 'daily_energy';

-- name: extend_judging
-- Extends ranges to the given ends, because no break was found after which nothing is different. $ends: JSON
-- array of {series_id, to_ms}.
UPDATE judging_range SET to_ms = ended.to_ms, seen_ms = ended.to_ms
FROM (SELECT unnest(from_json($ends::JSON, '[{"series_id":"INTEGER","to_ms":"BIGINT"}]'), recursive := true)) AS ended
WHERE judging_range.series_id = ended.series_id;

-- name: count_breaks_to_judge
-- Counts the breaks to judge.
SELECT count(*) AS breaks
FROM series_break sb
JOIN judging_range jr ON jr.series_id = sb.series_id AND sb.to_ms > jr.from_ms AND sb.to_ms <= jr.seen_ms
WHERE sb.to_ms BETWEEN (SELECT min(from_ms) FROM judging_range) AND (SELECT max(seen_ms) FROM judging_range);

-- name: list_judged_series
-- Returns the series whose breaks are judged, with the rules that hold for all of their breaks.
-- Columns:
--   series_id, method
--   judging_to_ms, changed_ms   to_ms and changed_ms of judging_range
--   is_learnt                   the limit is learnt
--   modulus_wh
--   first_ms, first_value       first reading; its value is null if judging does not begin with it
--   last_ms                     last reading
WITH first_reading AS (
  -- The first reading of each register that is judged from its beginning.
  SELECT rd.series_id, rd.value
  FROM (
    SELECT sr.series_id, sr.first_ms
    FROM judging_range jr
    JOIN series_rule sr USING (series_id)
    WHERE jr.after_ms IS NULL AND is_register(jr.method)
  ) AS beginning
  JOIN reading rd ON rd.series_id = beginning.series_id AND rd.event_time_ms = beginning.first_ms
)
SELECT jr.series_id, jr.method, jr.to_ms AS judging_to_ms, jr.changed_ms, sr.max_power_w IS NULL AS is_learnt,
  sr.modulus_wh,
  sr.first_ms, first_reading.value AS first_value, sr.last_ms
FROM judging_range jr
JOIN series_rule sr ON sr.series_id = jr.series_id
LEFT JOIN first_reading ON first_reading.series_id = jr.series_id;

-- name: list_breaks_to_judge
-- Returns the breaks to judge, in order, with the limits on their day. The series are divided into $parts
-- parts; this is part $part (from 0). Each subquery is bounded in time, because much more is stored than is
-- judged.
-- The steps: judged_break selects the breaks; standstill says how long a register stood still before it rose;
-- morning has the two readings around the start of a day.
-- Columns:
--   series_id
--   from_ms, from_value, to_ms, to_value
--   decided_ms                             as stored
--   is_start                               judging begins at this break; it is the first row
--   max_power_w, max_power_after_reset_w   limits on the day of the break; null: none
--   jitter_wh
--   is_beyond                              of power and interval readings: the break ends beyond the limit of
--                                          its day, else it is the way back
--   standstill_since_ms                    see standstill
--   day_ms                                 of a register that restarts every day: start of the day
--   before_ms, before_value                the last reading before that day
--   first_ms, first_value                  the first reading of that day
WITH judged_break AS MATERIALIZED (
  -- The breaks of this part. The one at after_ms is not judged again, but judging begins with its value.
  SELECT sb.*, jr.method, sb.to_ms > jr.from_ms AS is_judged, coalesce(sb.to_ms = jr.after_ms, false) AS is_start
  FROM series_break sb
  JOIN judging_range jr
    ON jr.series_id = sb.series_id AND sb.to_ms <= jr.seen_ms AND (sb.to_ms > jr.from_ms OR sb.to_ms = jr.after_ms)
  WHERE jr.series_id % $parts::BIGINT = $part::BIGINT
    AND sb.to_ms BETWEEN (SELECT min(from_ms) FROM judging_range) AND (SELECT max(seen_ms) FROM judging_range)
), rise AS MATERIALIZED (
  -- The breaks that can be the end of a standstill.
  SELECT series_id, from_ms, from_value, to_ms FROM judged_break
  WHERE is_register(method) AND is_judged AND to_value > from_value AND from_value > 0
), standstill AS (
  -- One row for each rise: since when the register has shown the value before the rise; null if longer than a
  -- standstill can last. moved_ms: the last reading with another value. is_since_first: all readings of the
  -- series up to the rise are read.
  SELECT series_id, to_ms,
    min(event_time_ms) FILTER (event_time_ms > moved_ms OR (moved_ms IS NULL AND is_since_first)) AS standstill_since_ms
  FROM (
    SELECT rise.series_id, rise.to_ms, rd.event_time_ms,
      rise.from_ms - standstill_max_ms() <= sr.first_ms AS is_since_first,
      max(CASE WHEN rd.value <> rise.from_value
        THEN rd.event_time_ms END) OVER (PARTITION BY rise.series_id, rise.to_ms) AS moved_ms
    FROM rise
    JOIN series_rule sr USING (series_id)
    JOIN reading rd
      ON rd.series_id = rise.series_id AND rd.event_time_ms BETWEEN rise.from_ms - standstill_max_ms() AND rise.from_ms
    WHERE rd.event_time_ms BETWEEN (SELECT min(from_ms) FROM rise) - standstill_max_ms()
      AND (SELECT max(from_ms) FROM rise)
  )
  GROUP BY series_id, to_ms
), morning AS (
  -- One row for each day of a register that restarts every day: its first reading, and the last reading of
  -- the day before.
  SELECT pair.series_id, idy.start_ms, pair.from_ms AS before_ms, pair.from_value AS before_value,
    pair.to_ms AS first_ms,
    pair.to_value AS first_value
  FROM (
    SELECT *
    FROM reading_pair
    WHERE from_ms IS NOT NULL AND series_id IN (SELECT series_id FROM judging_range WHERE method = 'daily_energy')
  ) AS pair
  JOIN interval_day idy ON idy.interval_index = interval_of(pair.to_ms)
  WHERE pair.from_ms < idy.start_ms
), learnt_limit AS (
  -- The limits of the days with breaks. This is not day_limit, which has the days in scope only, because
  -- breaks before the scope are judged too.
  SELECT * FROM series_day
  WHERE utc_day BETWEEN (SELECT utc_day(min(to_ms)) FROM judged_break)
    AND (SELECT utc_day(max(to_ms)) FROM judged_break)
)
SELECT judged_break.series_id, judged_break.from_ms, judged_break.from_value, judged_break.to_ms, judged_break.to_value,
  judged_break.decided_ms, judged_break.is_start,
  CASE WHEN sr.net THEN NULL WHEN is_register(sr.method) THEN power_limit(sr.max_power_w, learnt_limit.learnt_power_w)
    ELSE coalesce(sr.max_power_w, learnt_limit.learnt_power_w) END AS max_power_w,
  power_limit_after_reset(sr.max_power_w, learnt_limit.learnt_power_w,
    learnt_limit.usual_power_w) AS max_power_after_reset_w,
  jitter(sr.jitter_wh, learnt_limit.learnt_resolution) AS jitter_wh,
  is_beyond(judged_break.to_value, sr.method, reading_interval(sr.interval_ms, learnt_limit.learnt_step_ms),
    coalesce(sr.max_power_w, learnt_limit.learnt_power_w)) AS is_beyond,
  standstill.standstill_since_ms,
  CASE WHEN judged_break.method = 'daily_energy' THEN idy.start_ms END AS day_ms,
  morning.before_ms, morning.before_value, morning.first_ms, morning.first_value
FROM judged_break
JOIN series_rule sr ON sr.series_id = judged_break.series_id
LEFT JOIN learnt_limit
  ON learnt_limit.series_id = judged_break.series_id AND learnt_limit.utc_day = utc_day(judged_break.to_ms)
LEFT JOIN standstill ON standstill.series_id = judged_break.series_id AND standstill.to_ms = judged_break.to_ms
LEFT JOIN interval_day idy
  ON idy.interval_index = CASE WHEN judged_break.method = 'daily_energy' THEN interval_of(judged_break.to_ms) END
LEFT JOIN morning ON morning.series_id = judged_break.series_id AND morning.start_ms = idy.start_ms
ORDER BY judged_break.series_id, judged_break.to_ms;

-- name: list_register_changes
-- Returns the declared changes of the registers that are judged.
SELECT rc.series_id, rc.at_ms, rc.final_value, rc.initial_value
FROM register_change rc WHERE rc.series_id IN (SELECT series_id FROM judging_range)
ORDER BY rc.series_id, rc.at_ms;

-- name: find_changed_events
-- Compares the judged events with the stored ones.
-- $events: the judged events, JSON array of {series_id, kind, from_ms, to_ms, value_before, value_after,
-- energy_wh}. $ends: JSON array of {series_id, to_ms}: the break of a series after which nothing is
-- different.
-- changed_event:
--   series_id, kind, from_ms, to_ms, value_before, value_after, energy_wh
--   is_new   false: the event no longer exists
CREATE OR REPLACE TEMP TABLE changed_event AS
WITH event_now AS MATERIALIZED (
  -- The judged events, with the same columns in the same order as stored_event, because EXCEPT compares them
  -- by position.
  SELECT unnest(from_json($events::JSON,
    '[{"series_id":"INTEGER","kind":"VARCHAR","from_ms":"BIGINT","to_ms":"BIGINT",
    "value_before":"DOUBLE","value_after":"DOUBLE","energy_wh":"DOUBLE"}]'),
    recursive := true)
), ended AS (
  -- The series whose judging ended at a break after which nothing is different.
  SELECT unnest(from_json($ends::JSON, '[{"series_id":"INTEGER","to_ms":"BIGINT"}]'), recursive := true)
), stored_event AS MATERIALIZED (
  -- The stored events of the time that was judged.
  SELECT ev.series_id, ev.kind, ev.from_ms, ev.to_ms, ev.value_before, ev.value_after, ev.energy_wh
  FROM energy_event ev JOIN judging_range jr USING (series_id) LEFT JOIN ended USING (series_id)
  WHERE ev.to_ms > jr.from_ms AND ev.to_ms <= coalesce(ended.to_ms, jr.to_ms)
    AND ev.to_ms > (SELECT min(from_ms) FROM judging_range) AND ev.to_ms <= (SELECT max(to_ms) FROM judging_range)
)
SELECT *, true AS is_new FROM (FROM event_now EXCEPT FROM stored_event)
UNION ALL BY NAME
SELECT *, false AS is_new FROM (FROM stored_event EXCEPT FROM event_now);

-- name: delete_events
-- Deletes the events that no longer exist.
DELETE FROM energy_event USING changed_event ce
WHERE NOT ce.is_new AND energy_event.series_id = ce.series_id AND energy_event.kind = ce.kind
  AND energy_event.from_ms = ce.from_ms
  AND energy_event.to_ms = ce.to_ms;

-- name: store_events
-- Stores the new events.
INSERT INTO energy_event BY NAME
SELECT series_id, kind, from_ms, to_ms, value_before, value_after, energy_wh FROM changed_event WHERE is_new;

-- name: store_decided_times
-- Stores the changed decided_ms of breaks. $decided: JSON array of {series_id, to_ms, decided_ms}; decided_ms
-- is null if the register is not believed at the break.
UPDATE series_break SET decided_ms = decided.decided_ms
FROM (
  SELECT unnest(from_json($decided::JSON, '[{"series_id":"INTEGER","to_ms":"BIGINT","decided_ms":"BIGINT"}]'),
    recursive := true)
) AS decided
WHERE series_break.series_id = decided.series_id AND series_break.to_ms = decided.to_ms;
