-- 36 Pending: devices that wait for a later call, because they are more work than one call does.
--
-- Reads   changed_limit (days whose limits have changed, chapter 45), scope, incoming, series, series_rule,
--         series_quarter, pending_change, left_series.
-- Writes  pending_change (the waiting work of each device), scope, changed_limit (without the waiting
--         devices); chosen_device, left_series, touched, changed_limit, incoming, series_rule (in a later
--         call, as if the waiting work had just arrived).
-- Why     A changed limit touches weeks of readings, and a reading after a silence of years touches all its
--         intervals. If these are many, one transaction would delay landing and publishing, or need more
--         memory than there is. So these devices wait with everything that is touched of them, and each later
--         call computes some of it. The rest of the scope is computed at once. A waiting device keeps its
--         days. While devices wait, every second call takes in new batches, so that the others go on.

-- name: count_readings_of_changed_limits
-- Counts the readings on the days whose limits have changed.
SELECT coalesce(sum(series_quarter.step_count), 0)::BIGINT AS readings
FROM series_quarter
JOIN changed_limit
  ON changed_limit.series_id = series_quarter.series_id
  AND changed_limit.utc_day = utc_day(series_quarter.interval_start_ms)
-- Changes nothing, but lets DuckDB skip row groups of other times.
WHERE series_quarter.interval_start_ms BETWEEN (SELECT min(from_ms) FROM changed_limit)
  AND (SELECT max(to_ms) FROM changed_limit);

-- name: defer_devices
-- Stores the waiting work of devices: of those that wait already; if $is_too_much, of those whose limits have
-- changed; if $all, of all devices in scope. $complete_id: the last batch whose energy is complete.
-- $batch_id: the last batch of this roll-up.
INSERT INTO pending_change BY NAME
WITH waiting_device AS (
  -- The devices whose work waits.
  SELECT series_rule.device FROM changed_limit JOIN series_rule USING (series_id) WHERE $is_too_much
  UNION SELECT series_rule.device FROM scope JOIN series_rule USING (series_id) WHERE $all
  UNION SELECT device FROM pending_change
), counted AS (
  -- The readings of each day whose limits have changed.
  SELECT series_id, utc_day(interval_start_ms) AS utc_day, sum(step_count)::BIGINT AS readings
  FROM series_quarter
  -- The range of times changes nothing, but lets DuckDB skip row groups.
  WHERE interval_start_ms BETWEEN (SELECT min(from_ms) FROM changed_limit) AND (SELECT max(to_ms) FROM changed_limit)
    AND series_id IN (SELECT series_id FROM changed_limit)
  GROUP BY ALL
)
SELECT series_rule.device, scope.series_id, 'touched' AS kind, scope.from_ms, scope.to_ms, scope.is_new, 0 AS readings,
  series_rule.reach_ms,
  $batch_id::BIGINT AS batch_id, $complete_id::BIGINT AS complete_batch_id
FROM scope JOIN series_rule USING (series_id)
WHERE series_rule.device IN (SELECT device FROM waiting_device)
UNION ALL BY NAME
SELECT series_rule.device, changed_limit.series_id, 'learnt' AS kind, changed_limit.from_ms, changed_limit.to_ms,
  false AS is_new,
  coalesce(counted.readings, 0) AS readings, series_rule.reach_ms,
  $batch_id::BIGINT AS batch_id, $complete_id::BIGINT AS complete_batch_id
FROM changed_limit JOIN series_rule USING (series_id) LEFT JOIN counted USING (series_id, utc_day)
WHERE series_rule.device IN (SELECT device FROM waiting_device);

-- name: drop_deferred_scope
-- Drops the waiting devices from the scope.
DELETE FROM scope
WHERE series_id IN (
  SELECT series_id FROM series_rule WHERE device IN (SELECT device FROM pending_change));

-- name: drop_deferred_limits
-- Drops the changed limits of the waiting devices, which a later call applies.
DELETE FROM changed_limit
WHERE series_id IN (
  SELECT series_id FROM series_rule WHERE device IN (SELECT device FROM pending_change));

-- name: count_scope
-- Counts the series that are left in the scope.
SELECT count(*) AS series FROM scope;

-- name: store_deferred_arrivals
-- Stores the batches and times of the new readings of the waiting series, because these are causes of later
-- versions. $complete_id: as in defer_devices. $taken_id: readings of later batches are new.
INSERT INTO pending_change BY NAME
SELECT series.device, incoming.series_id, 'arrived' AS kind, min(incoming.event_time_ms) AS from_ms,
  max(incoming.event_time_ms) AS to_ms,
  true AS is_new, 0 AS readings, 0 AS reach_ms, incoming.batch_id, $complete_id::BIGINT AS complete_batch_id
FROM incoming JOIN series USING (series_id)
WHERE incoming.series_id IN (SELECT series_id FROM pending_change) AND incoming.batch_id > $taken_id::BIGINT
GROUP BY series.device, incoming.series_id, incoming.batch_id, interval_of(incoming.event_time_ms);

-- name: choose_pending_devices
-- Chooses the devices that are computed now: as many as have $readings_max readings on the days whose limits
-- have changed, but at least one.
-- chosen_device: device
CREATE OR REPLACE TEMP TABLE chosen_device AS
SELECT device
FROM (
  SELECT device, row_number() OVER (ORDER BY device) AS place,
    sum(readings) OVER (ORDER BY device ROWS UNBOUNDED PRECEDING) AS total
  FROM (SELECT device, sum(readings) AS readings FROM pending_change GROUP BY device)
)
WHERE total <= $readings_max::BIGINT OR place = 1;

-- name: load_pending_arrivals
-- Selects the new readings that had arrived of the devices that are computed now (chosen_device).
-- incoming:
--   series_id
--   event_time_ms                      the first one in each quarter of an hour and batch
--   value, message_id, stream_offset   null, because no later chapter reads them
--   batch_id
CREATE OR REPLACE TEMP TABLE incoming AS
SELECT series_id, from_ms AS event_time_ms, NULL::DOUBLE AS value, NULL::BIGINT AS message_id,
  NULL::BIGINT AS stream_offset, batch_id
FROM pending_change WHERE kind = 'arrived' AND device IN (SELECT device FROM chosen_device);

-- name: load_pending_touched
-- Selects the touched time of the devices that are computed now, as collect_touched does.
-- touched: series_id, from_ms, to_ms, is_new
CREATE OR REPLACE TEMP TABLE touched AS
SELECT series_id, from_ms, to_ms, is_new
FROM pending_change
WHERE kind <> 'arrived' AND device IN (SELECT device FROM chosen_device);

-- name: add_pending_touched
-- Adds the touched time of all waiting devices. This runs if rules or settings have changed, because then
-- everything is computed in one call.
INSERT INTO touched BY NAME
SELECT series_id, from_ms, to_ms, is_new
FROM pending_change
WHERE kind <> 'arrived' AND series_id IN (SELECT series_id FROM series_rule);

-- name: load_pending_limits
-- Selects the days whose limits have changed, of the devices that are computed now. The new limits are stored
-- already.
INSERT INTO changed_limit BY NAME
SELECT series_id, utc_day(from_ms) AS utc_day, from_ms, to_ms
FROM pending_change
WHERE kind = 'learnt' AND device IN (SELECT device FROM chosen_device)
  AND series_id IN (SELECT series_id FROM series_rule);

-- name: apply_pending_reach
-- Uses the longer time that readings of the waiting devices covered before the limits changed, so that these
-- intervals are computed again too.
UPDATE series_rule SET reach_ms = greatest(series_rule.reach_ms, waiting.reach_ms)
FROM (SELECT series_id, max(reach_ms) AS reach_ms FROM pending_change GROUP BY series_id) AS waiting
WHERE series_rule.series_id = waiting.series_id;

-- name: leave_scope
-- Leaves the series in scope to a later call, although their devices are computed now (chosen_device).
INSERT INTO left_series BY NAME
SELECT series_id FROM scope;

-- name: delete_pending
-- Deletes the work that is done: all, or that of chosen_device without left_series. $all: all work.
DELETE FROM pending_change
WHERE $all OR (device IN (SELECT device FROM chosen_device) AND series_id NOT IN (SELECT series_id FROM left_series));

-- name: count_pending
-- Counts the waiting rows.
SELECT count(*) AS waiting FROM pending_change;
