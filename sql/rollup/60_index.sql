-- 60 Index: from readings of registers to a line that never falls.
--
-- Reads   reading, reading_pair, scope, series_rule, day_limit, interval_day, energy_event, interval_energy
--         (the high-water mark where the scope begins).
-- Writes  needs_full_index (the registers whose index is not simply their pairs), index_reading (the readings
--         of these registers that are not left out), skipped_reading (the readings that are), index_line (the
--         index of these registers, as straight lines with flags).
-- Why     Most registers only grow. For them each pair of readings is already a line of the index. The other
--         lifetime registers need more: lines that pass over readings that are left out, a high-water mark
--         that is held while the register falls a little, and a new segment after a reset.

-- name: collect_needs_full_index
-- Lists the registers whose index is not simply their pairs of readings. They fell; or readings are left out;
-- or their high-water mark was above the reading where the scope begins; or the day matters (registers that
-- restart every day, lifetime registers beside such a one, and registers with boundary within_day).
-- $low_ms, $high_ms: bounds of the readings in scope. $all: every register, for tests that compare.
-- $beside_daily: there are lifetime registers beside daily ones.
-- needs_full_index: series_id
CREATE OR REPLACE TEMP TABLE needs_full_index AS
-- They fell.
SELECT DISTINCT scope.series_id
FROM (SELECT series_id FROM reading_pair WHERE to_value < from_value) AS pair
JOIN scope USING (series_id)
JOIN series_rule USING (series_id)
WHERE scope.method = 'total_energy' AND NOT series_rule.net
UNION
-- The day matters.
SELECT scope.series_id FROM scope JOIN series_rule USING (series_id)
WHERE scope.method = 'daily_energy' OR (scope.method = 'total_energy' AND ($all OR series_rule.within_day))
UNION
-- The day matters, because a daily register is beside them.
SELECT scope.series_id
FROM scope
JOIN series_rule USING (series_id)
JOIN series_rule AS daily ON daily.device = series_rule.device AND daily.source = series_rule.source
WHERE $beside_daily AND scope.method = 'total_energy' AND daily.method = 'daily_energy'
UNION
-- They have events, so readings are left out or a segment begins.
SELECT DISTINCT energy_event.series_id FROM energy_event JOIN scope USING (series_id)
WHERE is_register(scope.method) AND energy_event.to_ms >= scope.first_ms AND energy_event.from_ms <= scope.last_ms
  AND energy_event.to_ms >= $low_ms::BIGINT AND energy_event.from_ms <= $high_ms::BIGINT
UNION
-- Their high-water mark was above the reading where the scope begins.
SELECT pair.series_id
FROM scope
JOIN (SELECT * FROM reading_pair WHERE is_needed) AS pair
  ON pair.series_id = scope.series_id AND pair.to_ms = scope.anchor_ms
JOIN interval_energy
  ON interval_energy.series_id = pair.series_id
  AND interval_energy.interval_start_ms = start_ms_of(interval_of(pair.to_ms))
  AND interval_energy.last_ms = pair.to_ms AND interval_energy.last_value > pair.to_value
WHERE scope.method = 'total_energy' AND interval_energy.interval_start_ms BETWEEN $low_ms::BIGINT - interval_ms()
  AND $high_ms::BIGINT;

-- name: collect_index_readings
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
  -- The events that overlap the scope.
  SELECT * FROM energy_event WHERE to_ms >= $low_ms::BIGINT AND from_ms <= $high_ms::BIGINT
)
SELECT kept.series_id, kept.method, kept.event_time_ms, kept.value, greatest(kept.value, stored.last_value) AS mark,
  here.kind, here.energy_wh,
  count(here.kind) OVER (PARTITION BY kept.series_id ORDER BY kept.event_time_ms) AS index_segment
FROM (
  -- The readings from the anchor on that are not left out.
  SELECT scope.series_id, scope.method, scope.anchor_ms, reading.event_time_ms, reading.value
  FROM reading
  JOIN scope ON scope.series_id = reading.series_id
  WHERE reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
    -- Differences instead of comparisons, as in collect_pairs.
    AND reading.event_time_ms - scope.anchor_ms >= 0 AND scope.last_ms - reading.event_time_ms >= 0
    AND scope.series_id IN (SELECT series_id FROM needs_full_index)
    AND NOT EXISTS (
      SELECT 1 FROM event
      WHERE event.series_id = reading.series_id AND is_left_out(event.kind)
        AND reading.event_time_ms BETWEEN event.from_ms AND event.to_ms
    )
) AS kept
LEFT JOIN event AS here ON here.series_id = kept.series_id AND here.to_ms = kept.event_time_ms
LEFT JOIN (
  -- The stored mark. Only the interval of the anchor of each register, because an outer join with all
  -- intervals would take minutes.
  SELECT interval_energy.series_id, interval_energy.last_ms, interval_energy.last_value
  FROM interval_energy
  JOIN scope ON scope.series_id = interval_energy.series_id AND scope.anchor_ms = interval_energy.last_ms
  WHERE interval_energy.interval_start_ms BETWEEN $low_ms::BIGINT - interval_ms() AND $high_ms::BIGINT
    AND scope.method = 'total_energy'
    AND scope.series_id IN (SELECT series_id FROM needs_full_index)
) AS stored ON stored.series_id = kept.series_id AND stored.last_ms = kept.event_time_ms;

-- name: list_drift
-- Returns the index readings of lifetime registers that drift, in order. A register drifts in an index
-- segment if one of its readings is below the high-water mark by more than the jitter, although no single
-- fall is. All readings of such a segment are returned.
SELECT marked.series_id, marked.index_segment, marked.event_time_ms, marked.value, marked.mark,
  jitter(series_rule.jitter_wh, day_limit.learnt_resolution) AS jitter_wh
FROM (
  SELECT *, max(mark) OVER (PARTITION BY series_id, index_segment ORDER BY event_time_ms) AS running_mark
  FROM index_reading WHERE method = 'total_energy'
) AS marked
JOIN series_rule ON series_rule.series_id = marked.series_id AND NOT series_rule.net
LEFT JOIN day_limit ON day_limit.series_id = marked.series_id AND day_limit.utc_day = utc_day(marked.event_time_ms)
QUALIFY bool_or(marked.value < marked.running_mark - jitter(series_rule.jitter_wh, day_limit.learnt_resolution))
    OVER (PARTITION BY marked.series_id, marked.index_segment)
ORDER BY marked.series_id, marked.event_time_ms;

-- name: apply_drift_rebases
-- Applies the rebases of drifting registers: the mark becomes the jitter above the reading, and a new index
-- segment begins. $drifted: JSON array of {series_id, event_time_ms, mark}.
CREATE OR REPLACE TEMP TABLE index_reading AS
WITH rebased AS (
  -- The index readings with the new marks, and a rebase where the mark is new.
  SELECT index_reading.* EXCLUDE (index_segment) REPLACE (
      coalesce(drifted.mark, index_reading.mark) AS mark,
      CASE WHEN drifted.event_time_ms IS NULL THEN index_reading.kind ELSE 'rebase' END AS kind
    )
  FROM index_reading
  LEFT JOIN (
    SELECT unnest(from_json($drifted::JSON, '[{
        "series_id": "INTEGER", "event_time_ms": "BIGINT", "mark": "DOUBLE"
      }]'), recursive := true)
  ) AS drifted ON drifted.series_id = index_reading.series_id AND drifted.event_time_ms = index_reading.event_time_ms
)
SELECT *, count(kind) OVER (PARTITION BY series_id ORDER BY event_time_ms) AS index_segment
FROM rebased;

-- name: collect_skipped_readings
-- Finds the pairs of index readings that pass over readings that are left out, with the flags for their
-- lines. $low_ms, $high_ms: bounds of the readings in scope.
-- skipped_reading:
--   series_id
--   to_ms    the reading after the readings that are left out
--   flags
CREATE OR REPLACE TEMP TABLE skipped_reading AS
SELECT pair.series_id, pair.to_ms, bit_or(event_flag(energy_event.kind)) AS flags
FROM (
  SELECT series_id, lag(event_time_ms) OVER (PARTITION BY series_id ORDER BY event_time_ms) AS from_ms,
    event_time_ms AS to_ms
  FROM index_reading
) AS pair
JOIN energy_event
  ON energy_event.series_id = pair.series_id AND energy_event.from_ms > pair.from_ms AND energy_event.to_ms < pair.to_ms
WHERE energy_event.to_ms >= $low_ms::BIGINT AND energy_event.from_ms <= $high_ms::BIGINT
GROUP BY pair.series_id, pair.to_ms;

-- name: collect_lines
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
  -- The index readings, with the reading before. high_mark: the highest mark of the segment so far; of net
  -- registers the reading itself.
  SELECT index_reading.*, series_rule.net, series_rule.within_day,
    CASE
      WHEN series_rule.net THEN index_reading.mark
      ELSE max(index_reading.mark) OVER (
        PARTITION BY index_reading.series_id, index_reading.index_segment ORDER BY index_reading.event_time_ms)
    END AS high_mark,
    lag(index_reading.event_time_ms) OVER (PARTITION BY index_reading.series_id ORDER BY index_reading.event_time_ms)
      AS time_before_ms
  FROM index_reading
  JOIN series_rule ON series_rule.series_id = index_reading.series_id
  WHERE index_reading.method = 'total_energy'
), paired AS (
  -- These readings, with the high_mark at the reading before.
  SELECT *, lag(high_mark) OVER (PARTITION BY series_id ORDER BY event_time_ms) AS previous_mark FROM marked
), lined AS (
  -- The readings to which a line goes. is_new_day: the boundary is within_day, and the reading before is of
  -- an earlier day.
  SELECT paired.*, paired.within_day AND paired.event_time_ms >= interval_day.end_ms AS is_new_day
  FROM paired
  -- One join condition only, because with a second one DuckDB compares each reading with each interval.
  LEFT JOIN interval_day
    ON interval_day.interval_index = CASE WHEN paired.within_day THEN interval_of(paired.time_before_ms) END
  WHERE paired.time_before_ms IS NOT NULL
)
SELECT
  lined.series_id, lined.time_before_ms AS from_ms,
  CASE
    WHEN lined.is_new_day OR lined.kind = 'rebase' THEN lined.high_mark
    WHEN lined.kind IS NOT NULL THEN lined.high_mark - lined.energy_wh
    ELSE lined.previous_mark
  END AS from_wh,
  lined.event_time_ms AS to_ms, lined.high_mark AS to_wh,
  lined.kind IS DISTINCT FROM 'rebase' AND NOT lined.is_new_day AS covered,
  (event_flag(lined.kind) | coalesce(skipped_reading.flags, 0)
    | CASE
      WHEN lined.kind IS NULL AND lined.value < lined.previous_mark AND NOT lined.net THEN flag('jitter')
      ELSE 0
    END)::USMALLINT AS flags,
  lined.previous_mark AS mark_before
FROM lined
LEFT JOIN skipped_reading
  ON skipped_reading.series_id = lined.series_id AND skipped_reading.to_ms = lined.event_time_ms;
