-- 32 Wider scope: how far a change reaches beyond the scope.
--
-- Reads   scope, series_rule, local_day; changed_limit, changed_event, moved_mark (what later chapters have
--         found).
-- Writes  wider_time (the time that a change reaches), requested_time (the scope and that time), for which
--         chapter 30 finds the scope again.
-- Why     Limits, events, high-water marks and the power beside a silence decide energy far from the reading
--         that has changed them. Each of the four has a statement that fills wider_time. The last statement
--         requests it.

-- name: collect_reshaped_silences
-- Finds lifetime registers beside power in scope, because that power decides how the energy of a silence of
-- the register is spread over its intervals. The power changes between the reading before a new one and the
-- reading after it. Only registers whose scope is smaller than that are found.
-- wider_time: series_id, from_ms, to_ms
CREATE OR REPLACE TEMP TABLE wider_time AS
SELECT *
FROM (
  SELECT own.series_id, greatest(scope.compute_from_ms, own.first_ms) AS from_ms,
    least(scope.compute_to_ms - 1, own.last_ms) AS to_ms
  FROM scope
  JOIN series_rule AS beside USING (series_id)
  JOIN series_rule AS own ON own.device = beside.device AND own.source = beside.source AND own.method = 'total_energy'
  WHERE scope.method = 'power_curve' AND scope.compute_from_ms <= own.last_ms AND scope.compute_to_ms > own.first_ms
) AS shaped
ANTI JOIN scope
  ON scope.series_id = shaped.series_id AND scope.compute_from_ms <= shaped.from_ms
  AND scope.compute_to_ms > shaped.to_ms;

-- name: collect_time_of_limits
-- Finds the days whose limits have changed, of the series in scope.
-- wider_time: series_id, from_ms, to_ms
CREATE OR REPLACE TEMP TABLE wider_time AS
SELECT series_id, changed_limit.from_ms, changed_limit.to_ms FROM changed_limit JOIN scope USING (series_id);

-- name: collect_time_of_events
-- Finds the time of the changed events, and the time whose energy depends on them.
-- wider_time: series_id, from_ms, to_ms
CREATE OR REPLACE TEMP TABLE wider_time AS
SELECT changed_event.series_id, changed_event.from_ms, least(changed_event.to_ms, series_rule.last_ms) AS to_ms
FROM changed_event
JOIN series_rule USING (series_id)
UNION ALL BY NAME
-- A restart later in the day decides whether the first reading of the day continues the day before.
SELECT changed_event.series_id, local_day.start_ms AS from_ms, changed_event.to_ms
FROM changed_event
JOIN series_rule ON series_rule.series_id = changed_event.series_id AND series_rule.method = 'daily_energy'
JOIN local_day ON changed_event.to_ms >= local_day.start_ms AND changed_event.to_ms < local_day.end_ms
WHERE changed_event.kind = 'reset'
UNION ALL BY NAME
-- A daily register says what the lifetime register beside it showed at midnight.
SELECT own.series_id, greatest(changed_event.from_ms, own.first_ms) AS from_ms,
  least(changed_event.to_ms, own.last_ms) AS to_ms
FROM changed_event
JOIN series_rule AS beside ON beside.series_id = changed_event.series_id AND beside.method = 'daily_energy'
JOIN series_rule AS own ON own.device = beside.device AND own.source = beside.source AND own.method = 'total_energy'
WHERE changed_event.from_ms <= own.last_ms AND changed_event.to_ms >= own.first_ms;

-- name: collect_time_after_moved_marks
-- Finds the time after the scope of each register whose high-water mark at the end of the scope has changed:
-- moved_mark_days(), or the length of the scope if that is longer.
-- wider_time: series_id, from_ms, to_ms
CREATE OR REPLACE TEMP TABLE wider_time AS
SELECT series_id, compute_to_ms AS from_ms,
  compute_to_ms + greatest(moved_mark_days() * day_ms(), compute_to_ms - compute_from_ms) AS to_ms
FROM scope
WHERE series_id IN (SELECT series_id FROM moved_mark);

-- name: request_wider_time
-- Requests the scope and wider_time.
CREATE OR REPLACE TEMP TABLE requested_time AS
SELECT series_id, min(from_ms) AS from_ms, max(to_ms) AS to_ms, bool_or(is_new) AS is_new
FROM (
  SELECT series_id, from_ms, to_ms, is_new FROM scope
  UNION ALL BY NAME
  SELECT series_id, from_ms, to_ms, false AS is_new FROM wider_time
)
GROUP BY series_id;
