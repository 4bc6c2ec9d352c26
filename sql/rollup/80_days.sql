-- 80 Days: sums of intervals, and the method from which each day is read.
--
-- Reads   scope, series_rule, series_day, local_day, interval_day, interval_energy, declared_source,
--         daily_energy, daily_energy_history.
-- Writes  touched_day (the days to compute), day_candidate (the energy of each day by each series),
--         day_contradiction, day_change (the days that are different now).
-- Why     A source can have several methods, and each day is read from one of them: the first in the
--         workgroup's order that covers the day. If the other methods prove it wrong, the day is read from
--         the next one (substituted). Contradictions are kept.

-- name: touch_days
-- Adds the local days of the scope to touched_day.
-- touched_day: device, source, day, start_ms, end_ms
CREATE OR REPLACE TEMP TABLE touched_day AS
FROM touched_day
UNION
SELECT series_rule.device, series_rule.source, local_day.day, local_day.start_ms, local_day.end_ms
FROM scope
JOIN series_rule USING (series_id)
JOIN local_day ON local_day.start_ms < scope.compute_to_ms AND local_day.end_ms > scope.compute_from_ms;

-- name: touch_all_days
-- Adds every day of each device and source that has energy or can have it: the days of its readings and one
-- more on either side, because an interval can lie before or after its reading.
INSERT INTO touched_day BY NAME
SELECT energy_day.device, energy_day.source, energy_day.day, coalesce(local_day.start_ms, 0) AS start_ms,
  coalesce(local_day.end_ms, 0) AS end_ms
FROM (
  SELECT device, source, day FROM daily_energy
  UNION
  SELECT series_rule.device, series_rule.source, local_day.day
  FROM series_rule
  JOIN local_day
    ON local_day.end_ms > series_rule.first_ms - day_ms() AND local_day.start_ms <= series_rule.last_ms + day_ms()
) AS energy_day
LEFT JOIN local_day USING (day)
EXCEPT SELECT device, source, day, start_ms, end_ms FROM touched_day;

-- name: touch_other_sources
-- Adds the same days of the other declared sources of the devices, because a missing source makes all of them
-- incomplete.
INSERT INTO touched_day BY NAME
SELECT touched_day.device, declared_source.source, touched_day.day, touched_day.start_ms, touched_day.end_ms
FROM touched_day JOIN declared_source USING (device)
WHERE EXISTS (
  SELECT 1 FROM declared_source AS present
  WHERE present.device = touched_day.device AND present.source = touched_day.source)
EXCEPT SELECT device, source, day, start_ms, end_ms FROM touched_day;

-- name: list_touched_days
-- Returns the bounds of the touched days, in order.
SELECT DISTINCT start_ms AS low_ms, end_ms AS high_ms FROM touched_day ORDER BY low_ms;

-- name: read_all_days_range
-- Returns the first and the last day that can have energy, in any time zone.
SELECT
  least(min(day), (SELECT make_timestamp_ms(min(interval_start_ms))::DATE FROM interval_energy))::VARCHAR AS first_day,
  greatest(max(day), (SELECT make_timestamp_ms(max(interval_start_ms))::DATE FROM interval_energy))::VARCHAR AS last_day
FROM daily_energy;

-- name: collect_candidates
-- Sums the intervals of each touched day between $low_ms and $high_ms, one row for each series, and ranks the
-- series. The first in the workgroup's order is chosen among those that cover the day. A register that stands
-- still all day comes last if another method has measured more than standing_power_w() on average, and more
-- than standing_steps_min() times tolerance_wh.
-- day_candidate:
--   device, source, day, start_ms, end_ms, series_id, energy_wh, covered_ms, flags
--   estimated      a bound of the day lies in a silence
--   peak_wh        the highest energy of one interval
--   method, stream_id, net
--   stands_still   the register shows the same value all day
--   tolerance_wh   the energy that the register may not show yet, because it counts in steps (its jitter)
--   limit_wh       the most energy of a day by the limit
--   coverage       share of the day, 0 to 1
--   preference     1: chosen
--   substituted    false; see substitute_methods
CREATE OR REPLACE TEMP TABLE day_candidate AS
WITH wanted_day AS (
  -- The touched days between the two bounds.
  SELECT * FROM touched_day WHERE start_ms >= $low_ms::BIGINT AND end_ms <= $high_ms::BIGINT
), summed_day AS (
  -- The sums of each series and day. Grouped by series_id, because grouping millions of intervals by device
  -- and source is slow.
  SELECT interval_energy.series_id, interval_day.day,
    sum(interval_energy.energy_wh)::BIGINT AS energy_wh,
    sum(interval_energy.covered_ms)::BIGINT AS covered_ms,
    bit_or(interval_energy.flags & day_flags()) AS flags,
    bool_or(
      (interval_energy.interval_start_ms = interval_day.start_ms AND interval_energy.flags & flag('silence_start') > 0)
      OR (interval_energy.interval_start_ms + interval_ms() = interval_day.end_ms
        AND interval_energy.flags & flag('silence_end') > 0)
    ) AS estimated,
    max(interval_energy.last_value) AS last_value,
    max(interval_energy.energy_wh) AS peak_wh
  FROM interval_energy
  JOIN interval_day ON interval_day.interval_index = interval_of(interval_energy.interval_start_ms)
  WHERE interval_energy.interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
    AND interval_energy.series_id IN (
      SELECT series_rule.series_id
      FROM series_rule
      JOIN wanted_day ON wanted_day.device = series_rule.device AND wanted_day.source = series_rule.source
    )
  GROUP BY interval_energy.series_id, interval_day.day
  HAVING sum(interval_energy.covered_ms) > 0 OR sum(interval_energy.energy_wh) <> 0
), by_series AS (
  -- These days, with the rules of the series, and the limits at the end of the day.
  SELECT wanted_day.device, wanted_day.source, wanted_day.day, wanted_day.start_ms, wanted_day.end_ms,
    summed_day.series_id, energy_wh, covered_ms, flags, estimated, peak_wh,
    series_rule.method, series_rule.stream_id, series_rule.position, series_rule.net,
    NOT series_rule.net AND energy_wh = 0 AND is_register(series_rule.method) AS stands_still,
    -- If no resolution is known, the step is the power of ten that divides the value. Power has no value.
    CASE
      WHEN series_rule.jitter_wh IS NULL AND learnt_resolution IS NULL AND last_value > 0
        THEN decimal_resolution(last_value)
      ELSE jitter(series_rule.jitter_wh, learnt_resolution)
    END AS tolerance_wh,
    wh_of(power_limit(series_rule.max_power_w, learnt_power_w), wanted_day.end_ms - wanted_day.start_ms) AS limit_wh
  FROM summed_day
  JOIN series_rule USING (series_id)
  JOIN wanted_day
    ON wanted_day.device = series_rule.device AND wanted_day.source = series_rule.source
    AND wanted_day.day = summed_day.day
  -- Only these days, because an outer join reads its whole right side.
  LEFT JOIN (
    SELECT * FROM series_day WHERE utc_day BETWEEN utc_day($low_ms::BIGINT) AND utc_day($high_ms::BIGINT)
  ) AS learnt ON learnt.series_id = summed_day.series_id AND learnt.utc_day = utc_day(wanted_day.end_ms - 1)
), best_of_day AS (
  -- These days, with the longest covered time and the highest energy of all methods of the day, and the most
  -- energy that a register may have missed although it works.
  SELECT *, max(covered_ms) OVER of_day AS best_ms, max(energy_wh) OVER of_day AS best_wh,
    greatest(wh_of(standing_power_w(), end_ms - start_ms), standing_steps_min() * tolerance_wh) AS missed_max_wh
  FROM by_series
  WINDOW of_day AS (PARTITION BY device, source, day)
), judged AS (
  -- These days, with what speaks against a method. covers_too_little: another method covers much more of the
  -- day. is_broken: it stands still, although another method has measured energy.
  SELECT *,
    covered_ms < best_ms - covering_share() * (end_ms - start_ms) AS covers_too_little,
    stands_still AND best_wh > missed_max_wh AS is_broken
  FROM best_of_day
)
SELECT * EXCLUDE (best_ms, best_wh, missed_max_wh, covers_too_little, is_broken, position),
  covered_ms / (end_ms - start_ms) AS coverage,
  -- False is sorted before true, so methods without these faults come first.
  row_number() OVER (PARTITION BY device, source, day ORDER BY is_broken, covers_too_little, position) AS preference,
  false AS substituted
FROM judged;

-- name: substitute_methods
-- Chooses another method for days whose first method must be wrong. The registers of a source are one
-- witness, because they can be one counter. Power is another witness. There are three rules, for days on
-- which power covers about as much time as the register:
-- 1. The register and power are apart, and the other register agrees with power. Then the other register is
-- right.
-- 2. The register had to be repaired (reset, rebase, glitch, spike), is far apart from power, and no other
-- register agrees with it. Then power is right.
-- 3. The register counts more than possible_times() the energy that its time at the highest measured power
-- brings, plus least_difference_wh(), for example after a change of its unit. Then power is right. But if the
-- register counts other_unit_times() the energy of power, power itself is in another unit.
-- Power beyond the limit of the register is never right. If no source has two series, this does not run. In
-- day_candidate only preference and substituted change. substituted is true if the day is read from another
-- method.
CREATE OR REPLACE TEMP TABLE day_candidate AS
WITH chosen_register AS (
  -- The chosen register of each day.
  FROM day_candidate WHERE preference = 1 AND is_register(method) AND NOT net
), other AS (
  -- The other methods of these days, with the chosen register. least_wh: energies that differ by less are not
  -- apart. possible_wh: what the time of the register at the highest measured power brings, times
  -- possible_times().
  SELECT device, source, day, day_candidate.series_id, day_candidate.preference, day_candidate.method,
    day_candidate.energy_wh, day_candidate.covered_ms, day_candidate.tolerance_wh,
    chosen_register.energy_wh AS register_wh,
    chosen_register.covered_ms AS register_ms,
    chosen_register.limit_wh,
    chosen_register.flags & (flag('reset') | flag('rebase') | flag('glitch') | flag('spike')) > 0 AS had_repair,
    least_difference_wh(chosen_register.tolerance_wh, day_candidate.tolerance_wh) AS least_wh,
    possible_times() * day_candidate.peak_wh * chosen_register.covered_ms / interval_ms() AS possible_wh
  FROM chosen_register
  JOIN day_candidate USING (device, source, day)
  WHERE day_candidate.preference > 1 AND day_candidate.covered_ms >= witness_share() * chosen_register.covered_ms
), witness AS (
  -- These methods, compared with the chosen register. is_apart: their energies are apart. is_repaired: they
  -- are far apart, and the register had to be repaired. is_too_much: the register counts more than is
  -- possible. is_possible: the energy of the other method is possible.
  SELECT device, source, day, series_id, preference, method, energy_wh, covered_ms, tolerance_wh,
    are_apart(register_wh, register_ms, energy_wh, covered_ms, contradiction_share(), least_wh) AS is_apart,
    had_repair
      AND are_apart(register_wh, register_ms, energy_wh, covered_ms, substitution_share(), least_wh) AS is_repaired,
    register_wh > possible_wh + least_wh AND register_wh < other_unit_times() * energy_wh AS is_too_much,
    energy_wh <= limit_wh AS is_possible
  FROM other
), power AS (
  -- One power for each day: the first in the workgroup's order.
  FROM witness WHERE NOT is_register(method)
  QUALIFY row_number() OVER (PARTITION BY device, source, day ORDER BY preference) = 1
), apart_power AS (
  -- Power that is apart from the chosen register, with the other registers of the day. agreeing_id: the first
  -- of them that is apart from the chosen one and agrees with power. is_alone: none agrees with the chosen
  -- one.
  SELECT device, source, day, power.series_id AS power_id, power.is_repaired, power.is_too_much, power.is_possible,
    arg_min(register.series_id, register.preference) FILTER (
      register.is_apart
      AND NOT are_apart(register.energy_wh, register.covered_ms, power.energy_wh, power.covered_ms,
        contradiction_share(), least_difference_wh(register.tolerance_wh, power.tolerance_wh))
    ) AS agreeing_id,
    coalesce(bool_and(register.is_apart), true) AS is_alone
  FROM power
  LEFT JOIN (FROM witness WHERE is_register(method)) AS register USING (device, source, day)
  WHERE power.is_apart
  GROUP BY device, source, day, power.series_id, power.is_repaired, power.is_too_much, power.is_possible
), substitute AS (
  -- The series from which each of these days is read. substitute_id: null if the chosen register stays.
  SELECT device, source, day,
    CASE
      -- 1. The other register agrees with power.
      WHEN agreeing_id IS NOT NULL THEN agreeing_id
      -- 2. The register was repaired.
      WHEN is_possible AND is_repaired AND is_alone THEN power_id
      -- 3. The register counts more than possible.
      WHEN is_possible AND is_too_much THEN power_id
    END AS substitute_id
  FROM apart_power
)
SELECT day_candidate.* EXCLUDE (preference, substituted),
  row_number() OVER (
    PARTITION BY day_candidate.device, day_candidate.source, day_candidate.day
    -- The substitute comes first, because false is sorted before true.
    ORDER BY day_candidate.series_id IS DISTINCT FROM substitute.substitute_id, day_candidate.preference
  ) AS preference,
  coalesce(day_candidate.series_id = substitute.substitute_id, false) AS substituted
FROM day_candidate
LEFT JOIN substitute USING (device, source, day);

-- name: collect_contradictions
-- Finds methods whose energy is too far from the chosen one. Nobody knows which of them is right, unless
-- another witness agrees with the chosen one: power for registers, a register for power. If a day begins or
-- ends at an estimate, a larger difference is needed. Net registers are left out, because they measure
-- something else.
-- day_contradiction:
--   device, source, day, stream_id
--   energy_wh   of the other method
CREATE OR REPLACE TEMP TABLE day_contradiction AS
WITH compared AS (
  -- Each other method, compared with the chosen one. covers_enough: it covers about the same time.
  SELECT device, source, day, other.stream_id, other.energy_wh,
    is_register(other.method) AS is_register, is_register(chosen.method) AS is_chosen_register,
    other.covered_ms >= witness_share() * chosen.covered_ms AS covers_enough,
    are_apart(chosen.energy_wh, chosen.covered_ms, other.energy_wh, other.covered_ms,
      CASE WHEN chosen.estimated OR other.estimated THEN contradiction_share_estimated() ELSE contradiction_share() END,
      least_difference_wh(chosen.tolerance_wh, other.tolerance_wh)) AS contradicts
  FROM (SELECT * FROM day_candidate WHERE preference > 1 AND NOT net) AS other
  JOIN (SELECT * FROM day_candidate WHERE preference = 1 AND NOT net) AS chosen USING (device, source, day)
), witnessed AS (
  -- These methods. agreed: another witness agrees with the chosen method.
  SELECT *,
    bool_or(NOT contradicts AND covers_enough AND is_register <> is_chosen_register)
      OVER (PARTITION BY device, source, day) AS agreed
  FROM compared
)
SELECT device, source, day, stream_id, energy_wh FROM witnessed WHERE contradicts AND NOT agreed;

-- name: collect_day_changes
-- Compares the touched days with the stored ones. A day that is the same has no row, so it gets no new
-- version.
-- $low_ms, $high_ms: as in collect_candidates. $now_ms, $close_after_ms: decide whether a day is final.
-- $declares: devices have declared sources; else no day is incomplete. $several: a source has more than one
-- series; else no day is contradicted. Both save reading tables without any result.
-- day_change:
--   day, device, source
--   energy_wh         null: the day has no energy any more
--   method, stream_id, flags, coverage, end_ms
--   version           a new one if the day is over
--   status
--   history_version   the newest version in the history
CREATE OR REPLACE TEMP TABLE day_change AS
WITH incomplete AS (
  -- Days of devices on which a declared source has no energy.
  SELECT DISTINCT touched_day.device, touched_day.day
  FROM touched_day JOIN declared_source USING (device, source)
  WHERE $declares AND NOT EXISTS (
    SELECT 1 FROM day_candidate
    WHERE day_candidate.device = touched_day.device AND day_candidate.source = touched_day.source
      AND day_candidate.day = touched_day.day
  )
), day_now AS (
  -- The chosen method of each touched day, with all flags of the day.
  SELECT touched_day.day, touched_day.device, touched_day.source, day_candidate.energy_wh, day_candidate.method,
    day_candidate.stream_id,
    (
      day_candidate.flags
      | CASE WHEN day_candidate.estimated THEN flag('estimated') ELSE 0 END
      | CASE WHEN day_candidate.coverage < full_coverage_share() THEN flag('partial') ELSE 0 END
      | CASE WHEN incomplete.device IS NOT NULL AND declared.device IS NOT NULL THEN flag('incomplete') ELSE 0 END
      | CASE WHEN contradicted.device IS NOT NULL THEN flag('contradicted') ELSE 0 END
      | CASE WHEN day_candidate.substituted THEN flag('substituted') ELSE 0 END
    )::UINTEGER AS flags,
    round(day_candidate.coverage, 4) AS coverage, touched_day.end_ms
  FROM touched_day
  LEFT JOIN day_candidate
    ON day_candidate.device = touched_day.device AND day_candidate.source = touched_day.source
    AND day_candidate.day = touched_day.day AND day_candidate.preference = 1
  LEFT JOIN incomplete ON incomplete.device = touched_day.device AND incomplete.day = touched_day.day
  LEFT JOIN (SELECT DISTINCT device, source, day FROM day_contradiction WHERE $several) AS contradicted
    ON contradicted.device = touched_day.device AND contradicted.source = touched_day.source
    AND contradicted.day = touched_day.day
  LEFT JOIN (FROM declared_source WHERE $declares) AS declared
    ON declared.device = touched_day.device AND declared.source = touched_day.source
  WHERE touched_day.start_ms >= $low_ms::BIGINT AND touched_day.end_ms <= $high_ms::BIGINT
), history AS (
  -- The newest stored version, which a day can have although it has no energy now.
  SELECT day, device, source, max(version) AS version, arg_max(status, version) AS status
  FROM daily_energy_history
  WHERE day IN (SELECT day FROM day_now) AND device IN (SELECT device FROM day_now)
  GROUP BY ALL
)
SELECT day_now.*,
  day_version(daily_energy.version, history.version, day_now.end_ms, $now_ms::BIGINT) AS version,
  day_status(coalesce(daily_energy.status, history.status), day_now.end_ms, $now_ms::BIGINT, $close_after_ms::BIGINT)
    AS status,
  history.version AS history_version
FROM day_now
LEFT JOIN daily_energy
  ON daily_energy.day = day_now.day AND daily_energy.device = day_now.device AND daily_energy.source = day_now.source
LEFT JOIN history ON history.day = day_now.day AND history.device = day_now.device AND history.source = day_now.source
WHERE (day_now.energy_wh, day_now.stream_id, day_now.flags, day_now.coverage)
  IS DISTINCT FROM (daily_energy.energy_wh, daily_energy.stream_id, daily_energy.flags, daily_energy.coverage);
