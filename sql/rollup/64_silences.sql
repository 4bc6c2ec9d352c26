-- 64 Silences: how a lifetime register grew while it was not read.
--
-- Reads   index_line, needs_full_index, reading_pair, reading, series_rule, day_limit, interval_day,
--         energy_event, interval_energy (the energy of power beside a silence).
-- Writes  midnight_anchor (the midnights inside a silence at which the index is known), index_line (cut at
--         these midnights), silence_shape (which share of the growth of a silence each interval gets).
-- Why     A register that was silent for hours shows how much it has grown, but not when. The other series of
--         the same source often do: a daily register shows how much came after midnight, and power shows the
--         shape. Without them the growth is spread evenly.

-- name: collect_midnight_anchors
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
  -- The lines over silences, with the daily register beside. jitter_wh: of both registers together.
  SELECT index_line.*, daily.series_id AS daily_id,
    jitter(own.jitter_wh, own_limit.learnt_resolution) + jitter(daily.jitter_wh, daily_limit.learnt_resolution)
      AS jitter_wh
  FROM index_line
  JOIN series_rule AS own ON own.series_id = index_line.series_id AND own.method = 'total_energy'
  JOIN series_rule AS daily ON daily.device = own.device AND daily.source = own.source AND daily.method = 'daily_energy'
  LEFT JOIN day_limit AS own_limit
    ON own_limit.series_id = own.series_id AND own_limit.utc_day = utc_day(index_line.to_ms)
  LEFT JOIN day_limit AS daily_limit
    ON daily_limit.series_id = daily.series_id AND daily_limit.utc_day = utc_day(index_line.to_ms)
  WHERE index_line.to_wh > index_line.from_wh AND is_silence(index_line.from_ms, index_line.to_ms)
), shown AS MATERIALIZED (
  -- The readings of these daily registers that are not left out.
  SELECT series_id, event_time_ms, value FROM reading
  WHERE event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT AND series_id IN (SELECT daily_id FROM silent)
    AND NOT EXISTS (
      SELECT 1 FROM energy_event
      WHERE energy_event.series_id = reading.series_id AND is_left_out(energy_event.kind)
        AND reading.event_time_ms BETWEEN energy_event.from_ms AND energy_event.to_ms
        AND energy_event.to_ms >= $low_ms::BIGINT AND energy_event.from_ms <= $high_ms::BIGINT
    )
)
-- Outer joins, because DuckDB's planner would join the readings with each other first if these were inner
-- joins.
SELECT silent.series_id, silent.from_ms, silent.from_wh, silent.to_ms, silent.to_wh, silent.covered, silent.flags,
  silent.mark_before, interval_day.start_ms AS midnight_ms,
  greatest(silent.from_wh, silent.to_wh - after.value) AS midnight_value,
  abs(silent.to_wh - after.value - silent.from_wh) > silent.jitter_wh + float_tolerance_wh() AS estimated
FROM silent
JOIN interval_day ON interval_day.interval_index = interval_of(silent.to_ms)
LEFT JOIN shown AS after ON after.series_id = silent.daily_id AND after.event_time_ms = silent.to_ms
LEFT JOIN shown AS before ON before.series_id = silent.daily_id AND before.event_time_ms = silent.from_ms
WHERE silent.from_ms < interval_day.start_ms AND silent.to_ms > interval_day.start_ms AND after.value <> before.value;

-- name: drop_lines_over_midnight
-- Drops the lines that such a midnight cuts.
DELETE FROM index_line
USING midnight_anchor
WHERE index_line.series_id = midnight_anchor.series_id AND index_line.to_ms = midnight_anchor.to_ms;

-- name: add_lines_at_midnight
-- Adds both parts of these lines. If the value at midnight is an estimate, both parts are flagged there, like
-- any other bound inside a silence.
INSERT INTO index_line BY NAME
SELECT series_id, from_ms, from_wh, midnight_ms AS to_ms, midnight_value AS to_wh, covered,
  flags | CASE WHEN estimated THEN flag('estimated') | flag('silence_end') ELSE 0 END AS flags, mark_before
FROM midnight_anchor
UNION ALL BY NAME
SELECT series_id, midnight_ms AS from_ms, midnight_value AS from_wh, to_ms, to_wh, covered,
  flags | CASE WHEN estimated THEN flag('estimated') | flag('silence_start') ELSE 0 END AS flags,
  midnight_value AS mark_before
FROM midnight_anchor;

-- name: collect_silence_shape
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
  -- The silences of registers: pairs of readings if the register only grows, else lines of the index.
  SELECT series_id, from_ms, to_ms, to_value - from_value AS grown_wh FROM reading_pair
  WHERE is_silence(from_ms, to_ms) AND to_value > from_value
    AND series_id NOT IN (SELECT series_id FROM needs_full_index)
  UNION ALL BY NAME
  SELECT series_id, from_ms, to_ms, to_wh - from_wh AS grown_wh
  FROM index_line
  WHERE is_silence(from_ms, to_ms) AND to_wh > from_wh
), silence_beside_power AS MATERIALIZED (
  -- These silences, with the first power of the same source, in the order of the configuration.
  SELECT silence.series_id, silence.from_ms, silence.to_ms, silence.grown_wh,
    arg_min(power.series_id, power.position) AS power_id
  FROM silence
  JOIN series_rule AS own
    ON own.series_id = silence.series_id AND own.method = 'total_energy' AND NOT own.net AND NOT own.within_day
  JOIN series_rule AS power ON power.device = own.device AND power.source = own.source AND power.method = 'power_curve'
  GROUP BY ALL
), known AS (
  -- The energy of power in the intervals that lie wholly in the silence.
  SELECT silence_beside_power.series_id, silence_beside_power.from_ms, silence_beside_power.to_ms,
    interval_of(measured.interval_start_ms) AS interval_index, greatest(measured.exact_nwh, 0) AS nwh,
    measured.covered_ms
  FROM (
    SELECT * FROM interval_energy
    WHERE series_id IN (SELECT power_id FROM silence_beside_power)
      AND interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  ) AS measured
  JOIN silence_beside_power
    ON silence_beside_power.power_id = measured.series_id AND measured.interval_start_ms >= silence_beside_power.from_ms
      AND measured.interval_start_ms + interval_ms() <= silence_beside_power.to_ms
), summed_power AS (
  -- Each interval of the silences, with the running sums of energy and of known time, and the sums over the
  -- whole silence.
  SELECT silent_interval.series_id, silent_interval.from_ms, silent_interval.to_ms, silent_interval.grown_wh,
    silent_interval.interval_index, sum(coalesce(known.nwh, 0)) OVER so_far AS nwh,
    sum(coalesce(known.covered_ms, 0)) OVER so_far AS known_ms,
    sum(coalesce(known.nwh, 0)) OVER whole AS nwh_all, sum(coalesce(known.covered_ms, 0)) OVER whole AS known_ms_all
  FROM (
    SELECT *, unnest(range(interval_of(from_ms), interval_of(to_ms))) AS interval_index FROM silence_beside_power
  ) AS silent_interval
  LEFT JOIN known ON known.series_id = silent_interval.series_id AND known.to_ms = silent_interval.to_ms
    AND known.interval_index = silent_interval.interval_index
  WINDOW whole AS (PARTITION BY silent_interval.series_id, silent_interval.to_ms),
    so_far AS (PARTITION BY silent_interval.series_id, silent_interval.to_ms ORDER BY silent_interval.interval_index)
), divided AS (
  -- The intervals of silences with power. unknown_ms: the time without power up to the end of the interval.
  -- unknown_share: the share of the growth that all time without power gets, which is its even share, but at
  -- most what power leaves of the growth.
  SELECT *,
    (start_ms_of(interval_index + 1) - from_ms - known_ms)::DOUBLE AS unknown_ms,
    to_ms - from_ms - known_ms_all AS unknown_ms_all,
    least(unknown_ms_all / (to_ms - from_ms), greatest(0, 1 - nwh_all / nwh_per_wh() / grown_wh)) AS unknown_share
  FROM summed_power
  WHERE nwh_all > 0
)
SELECT series_id, interval_index + 1 AS interval_index,
  coalesce(unknown_ms / nullif(unknown_ms_all, 0), 0) * unknown_share + nwh / nwh_all * (1 - unknown_share) AS share,
  nwh, known_ms, nwh_all, known_ms_all
FROM divided;
