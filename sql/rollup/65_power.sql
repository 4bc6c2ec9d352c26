-- 65 Power: from samples of power and interval readings to energy.
--
-- Reads   reading_pair, series_rule, day_limit, energy_event.
-- Writes  sampled_line, power_line (views: power in W along straight lines, first as sampled, then cut at the
--         bounds of intervals, with the energy of each piece).
-- Why     The sampling of a stream says what lies between two samples. instantaneous: a straight line, if the
--         samples are no further apart than the longest gap; between two zeros even if they are. on_change:
--         the last value until the next one. interval_average and interval_energy: the value over its own
--         interval, by its label, at most up to the neighbouring reading. Spikes are left out.

-- name: create_sampled_line
-- Creates the view of the lines that follow from the samples, by the sampling of the stream.
-- sampled_line:
--   series_id
--   direction                      the only direction that counts; null: both count
--   from_ms, from_w, to_ms, to_w   a straight line of power in W
--   covered                        the energy is known
CREATE OR REPLACE TEMP VIEW sampled_line AS
WITH sample AS (
  -- The samples that are not left out, with their neighbours and the rules of their day.
  SELECT reading_pair.series_id, lag(reading_pair.to_ms) OVER in_order AS before_ms,
    lag(reading_pair.to_value) OVER in_order AS value_before,
    reading_pair.to_ms AS at_ms, reading_pair.to_value AS value, lead(reading_pair.to_ms) OVER in_order AS next_ms,
    max_gap(series_rule.max_gap_ms, day_limit.learnt_step_ms) AS max_gap_ms,
    reading_interval(series_rule.reading_interval_ms, day_limit.learnt_step_ms) AS reading_interval_ms,
    -- Each day can have another learnt step.
    lag(reading_interval(series_rule.reading_interval_ms, day_limit.learnt_step_ms)) OVER in_order
      AS interval_before_ms,
    series_rule.label_end, series_rule.direction,
    CASE WHEN series_rule.method = 'interval_energy' THEN 'interval_energy' ELSE series_rule.sampling END AS sampling
  FROM reading_pair
  JOIN series_rule USING (series_id)
  LEFT JOIN day_limit
    ON day_limit.series_id = reading_pair.series_id AND day_limit.utc_day = utc_day(reading_pair.to_ms)
  WHERE NOT is_register(series_rule.method)
    AND NOT EXISTS (
      SELECT 1 FROM energy_event
      WHERE energy_event.series_id = reading_pair.series_id
        AND reading_pair.to_ms BETWEEN energy_event.from_ms AND energy_event.to_ms
    )
  WINDOW in_order AS (PARTITION BY reading_pair.series_id ORDER BY reading_pair.to_ms)
), average AS (
  -- The averages, with the time of each: its own interval, at most up to the neighbouring reading. greatest
  -- and least ignore null, which the first and the last reading have as their neighbour.
  SELECT series_id, direction,
    CASE WHEN label_end THEN greatest(at_ms - reading_interval_ms, before_ms) ELSE at_ms END AS from_ms,
    CASE WHEN label_end THEN at_ms ELSE least(at_ms + reading_interval_ms, next_ms) END AS to_ms,
    CASE sampling WHEN 'interval_energy' THEN power_of(value, to_ms - from_ms) ELSE value END AS average_w
  FROM sample WHERE sampling IN ('interval_average', 'interval_energy')
)
-- Instantaneous power: from sample to sample.
SELECT series_id, direction, before_ms AS from_ms, value_before AS from_w, at_ms AS to_ms, value AS to_w,
  at_ms - before_ms <= max_gap_ms OR (value_before = 0 AND value = 0) AS covered
FROM sample WHERE sampling = 'instantaneous'
UNION ALL BY NAME
-- Power that is sent on change: the value of a sample, until the next one.
SELECT series_id, direction, before_ms AS from_ms, value_before AS from_w, at_ms AS to_ms, value_before AS to_w,
  true AS covered
FROM sample WHERE sampling = 'on_change'
UNION ALL BY NAME
-- An average, over its own interval.
SELECT series_id, direction, from_ms, average_w AS from_w, to_ms, average_w AS to_w, true AS covered FROM average
UNION ALL BY NAME
-- The time between two averages that they do not cover has no energy. Between two zeros it is covered.
SELECT series_id, direction,
  before_ms + CASE WHEN label_end THEN 0 ELSE interval_before_ms END AS from_ms, 0 AS from_w,
  at_ms - CASE WHEN label_end THEN reading_interval_ms ELSE 0 END AS to_ms, 0 AS to_w,
  value_before = 0 AND value = 0 AS covered
FROM sample WHERE sampling IN ('interval_average', 'interval_energy');

-- name: create_power_line
-- Creates the view of the lines of power in the declared direction, cut at the bounds of intervals.
-- power_line:
--   series_id, interval_index
--   from_ms, from_w, to_ms, to_w   a straight line of power in W
--   covered                        the energy is known
--   exact_nwh                      energy in whole billionths of a Wh, so that sums are exact in any order
CREATE OR REPLACE TEMP VIEW power_line AS
WITH line AS (
  -- The lines as they are sampled. A step of its own, so that DuckDB computes them once for both uses.
  FROM sampled_line
), turned AS (
  -- The lines of streams with a declared direction. That direction is positive here.
  SELECT series_id, from_ms, to_ms, covered,
    CASE direction WHEN 'negative' THEN -from_w ELSE from_w END AS from_w,
    CASE direction WHEN 'negative' THEN -to_w ELSE to_w END AS to_w
  FROM line
  WHERE direction IS NOT NULL
), crossing AS (
  -- These lines. zero_ms: where the line crosses zero; null if it does not.
  SELECT *, crosses_zero_at(from_ms, from_w, to_ms, to_w) AS zero_ms FROM turned
), directed AS (
  -- The lines in the declared direction. Without a declared direction both count.
  SELECT series_id, from_ms, from_w, to_ms, to_w, covered FROM line WHERE direction IS NULL
  UNION ALL BY NAME
  -- Only power in the declared direction counts, as a positive amount. A line that crosses zero is cut there,
  -- and its other part is zero.
  SELECT series_id, part.from_ms, greatest(part.from_w, 0) AS from_w, part.to_ms, greatest(part.to_w, 0) AS to_w,
    covered
  FROM (
    SELECT series_id, covered, unnest(CASE
      WHEN zero_ms IS NULL THEN [{from_ms: from_ms, from_w: from_w, to_ms: to_ms, to_w: to_w}]
      ELSE [
        {from_ms: from_ms, from_w: from_w, to_ms: zero_ms, to_w: 0},
        {from_ms: zero_ms, from_w: 0, to_ms: to_ms, to_w: to_w}]
    END) AS part
    FROM crossing
  )
), cut AS (
  -- The lines that have a beginning and a length, cut at the bounds of intervals. Most lines lie in one
  -- interval.
  SELECT series_id, from_ms, from_w, to_ms, to_w, covered, floor(from_ms / interval_ms())::BIGINT AS interval_index
  FROM directed WHERE to_ms > from_ms AND floor(from_ms / interval_ms()) >= ceil(to_ms / interval_ms()) - 1
  UNION ALL BY NAME
  -- The others are cut at each bound that they cross. The power at a bound lies on the line.
  SELECT series_id,
    cut_from_ms AS from_ms,
    power_at(cut_from_ms, line_from_ms, line_from_w, line_to_ms, line_to_w) AS from_w,
    cut_to_ms AS to_ms,
    power_at(cut_to_ms, line_from_ms, line_from_w, line_to_ms, line_to_w) AS to_w,
    covered, interval_index
  FROM (
    SELECT *, greatest(line_from_ms, start_ms_of(interval_index)) AS cut_from_ms,
      least(line_to_ms, start_ms_of(interval_index + 1)) AS cut_to_ms
    FROM (
      SELECT series_id, from_ms AS line_from_ms, from_w AS line_from_w, to_ms AS line_to_ms, to_w AS line_to_w, covered,
        unnest(range(floor(from_ms / interval_ms())::BIGINT, ceil(to_ms / interval_ms())::BIGINT)) AS interval_index
      FROM directed WHERE floor(from_ms / interval_ms()) < ceil(to_ms / interval_ms()) - 1
    )
  )
)
SELECT series_id, interval_index, from_ms, from_w, to_ms, to_w, covered,
  CASE
    WHEN covered THEN round((from_w + to_w) / 2 * (to_ms - from_ms) / watt_ms_per_nwh())::BIGINT
    ELSE 0
  END AS exact_nwh
FROM cut;
