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
SELECT r.device, r.source, d.day, d.start_ms, d.end_ms
FROM scope s
JOIN series_rule r USING (series_id)
JOIN local_day d ON d.start_ms < s.compute_to_ms AND d.end_ms > s.compute_from_ms;

-- name: touch_all_days
-- Adds every day of each device and source that has energy or can have it: the days of its readings and one
-- more on either side, because an interval can lie before or after its reading.
INSERT INTO touched_day
SELECT n.device, n.source, n.day, coalesce(d.start_ms, 0) AS start_ms, coalesce(d.end_ms, 0) AS end_ms
FROM (
  SELECT device, source, day FROM daily_energy
  UNION
  SELECT s.device, s.source, d.day
  FROM series_rule s JOIN local_day d ON d.end_ms > s.first_ms - day_ms() AND d.start_ms <= s.last_ms + day_ms()
) AS n
LEFT JOIN local_day d USING (day)
EXCEPT SELECT * FROM touched_day;

-- name: touch_other_sources
-- Adds the same days of the other declared sources of the devices, because a missing source makes all of them
-- incomplete.
INSERT INTO touched_day
SELECT t.device, s.source, t.day, t.start_ms, t.end_ms
FROM touched_day t JOIN declared_source s USING (device)
WHERE t.source IN (SELECT d.source FROM declared_source d WHERE d.device = t.device)
EXCEPT SELECT * FROM touched_day;

-- name: list_touched_days
-- Returns the bounds of the touched days, in order.
SELECT DISTINCT start_ms AS low_ms, end_ms AS high_ms FROM touched_day ORDER BY low_ms;

-- name: read_all_days_range
-- Returns the first and the last day that can have energy, in any time zone.
SELECT
  least(min(day), (SELECT make_timestamp(min(interval_start_ms) * 1000)::DATE FROM interval_energy))::VARCHAR AS first_day,
  greatest(max(day), (SELECT make_timestamp(max(interval_start_ms) * 1000)::DATE FROM interval_energy))::VARCHAR AS last_day
FROM daily_energy;

-- name: find_candidates
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
  SELECT * FROM touched_day WHERE start_ms >= $low_ms::BIGINT AND end_ms <= $high_ms::BIGINT
), summed_day AS (
  -- Grouped by series_id, because grouping millions of intervals by device and source is slow.
  SELECT i.series_id, d.day,
    sum(i.energy_wh)::BIGINT AS energy_wh,
    sum(i.covered_ms)::BIGINT AS covered_ms,
    bit_or(i.flags & day_flags()) AS flags,
    bool_or(i.interval_start_ms = d.start_ms AND i.flags & flag('silence_start') > 0
      OR i.interval_start_ms + interval_ms() = d.end_ms AND i.flags & flag('silence_end') > 0) AS estimated,
    max(i.last_value) AS last_value,
    max(i.energy_wh) AS peak_wh
  FROM interval_energy i
  JOIN interval_day d ON d.interval_index = interval_of(i.interval_start_ms)
  WHERE i.interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
    AND i.series_id IN (SELECT r.series_id FROM series_rule r JOIN wanted_day t ON t.device = r.device AND t.source = r.source)
  GROUP BY i.series_id, d.day
  HAVING sum(i.covered_ms) > 0 OR sum(i.energy_wh) <> 0
), by_series AS (
  -- With the rules of the series, and the limits at the end of the day.
  SELECT t.device, t.source, t.day, t.start_ms, t.end_ms, s.series_id, s.energy_wh, s.covered_ms, s.flags, s.estimated, s.peak_wh,
    r.method, r.stream_id, r.position,
    r.net, NOT r.net AND s.energy_wh = 0 AND is_register(r.method) AS stands_still,
    -- If no resolution is known, the step is the power of ten that divides the value. Power has no value.
    CASE WHEN r.jitter_wh IS NULL AND l.learnt_resolution IS NULL AND s.last_value > 0 THEN decimal_resolution(s.last_value)
      ELSE jitter(r.jitter_wh, l.learnt_resolution) END AS tolerance_wh,
    wh_of(power_limit(r.max_power_w, l.learnt_power_w), t.end_ms - t.start_ms) AS limit_wh
  FROM summed_day s
  JOIN series_rule r USING (series_id)
  JOIN wanted_day t ON t.device = r.device AND t.source = r.source AND t.day = s.day
  -- Only these days, because an outer join reads its whole right side.
  LEFT JOIN (
    SELECT * FROM series_day WHERE utc_day BETWEEN utc_day($low_ms::BIGINT) AND utc_day($high_ms::BIGINT)
  ) AS l ON l.series_id = s.series_id AND l.utc_day = utc_day(t.end_ms - 1)
), best AS (
  -- With the longest covered time and the highest energy of all methods of the day.
  SELECT *, max(covered_ms) OVER w AS best_ms, max(energy_wh) OVER w AS best_wh FROM by_series
  WINDOW w AS (PARTITION BY device, source, day)
)
SELECT * EXCLUDE (best_ms, best_wh, position),
  covered_ms / (end_ms - start_ms) AS coverage,
  row_number() OVER (
    PARTITION BY device, source, day
    ORDER BY covered_ms < best_ms - covering_share() * (end_ms - start_ms),
      stands_still AND best_wh > greatest(wh_of(standing_power_w(), end_ms - start_ms), standing_steps_min() * tolerance_wh), position
  ) AS preference,
  false AS substituted
FROM best;

-- name: substitute_methods
-- Chooses another method for days whose first method must be wrong. The registers of a source are one
-- witness, because they can be one counter. Power is another witness. There are three rules, for days on
-- which power covers as much time:
-- 1. The register and power are apart, and the other register agrees with power. Then the other register is
-- right.
-- 2. The register had to be repaired (reset, rebase, glitch, spike), is far apart from power, and no other
-- register agrees with it. Then power is right.
-- 3. The register counts more than possible_times() the energy that its time at the highest measured power
-- brings, for example after a change of its unit. Then power is right. But if the register counts
-- other_unit_times() the energy of power, power itself is in another unit.
-- Power beyond the limit of the register is never right. If no source has two series, this does not run. In
-- day_candidate only preference and substituted change. substituted is true if the day is read from another
-- method.
CREATE OR REPLACE TEMP TABLE day_candidate AS
WITH first AS (
  -- The chosen registers.
  FROM day_candidate WHERE preference = 1 AND is_register(method) AND NOT net
), witness AS (
  -- The other methods of these days, compared with the chosen register: the two are apart; they are far apart
  -- and the register was repaired; the register counts more than is possible; the other method is possible.
  SELECT c.device, c.source, c.day, o.series_id, o.preference, o.method, o.energy_wh, o.covered_ms, o.tolerance_wh,
    are_apart(c.energy_wh, c.covered_ms, o.energy_wh, o.covered_ms, contradiction_share(),
      contradiction_min_wh() + c.tolerance_wh + o.tolerance_wh) AS is_apart,
    c.flags & (flag('reset') | flag('rebase') | flag('glitch') | flag('spike')) > 0
      AND are_apart(c.energy_wh, c.covered_ms, o.energy_wh, o.covered_ms, substitution_share(),
        contradiction_min_wh() + c.tolerance_wh + o.tolerance_wh) AS is_repaired,
    c.energy_wh > possible_times() * o.peak_wh * c.covered_ms / interval_ms() + contradiction_min_wh() + c.tolerance_wh + o.tolerance_wh
      AND c.energy_wh < other_unit_times() * o.energy_wh AS is_too_much,
    o.energy_wh <= c.limit_wh AS is_possible
  FROM first c
  JOIN day_candidate o USING (device, source, day)
  WHERE o.preference > 1 AND o.covered_ms >= witness_share() * c.covered_ms
), power AS (
  -- One power for each day: the first in the workgroup's order.
  FROM witness WHERE NOT is_register(method)
  QUALIFY row_number() OVER (PARTITION BY device, source, day ORDER BY preference) = 1
), substitute AS (
  -- The register that agrees with power (rule 1), else power (rules 2 and 3).
  SELECT p.device, p.source, p.day,
    coalesce(
      arg_min(r.series_id, r.preference) FILTER (r.is_apart
        AND NOT are_apart(r.energy_wh, r.covered_ms, p.energy_wh, p.covered_ms, contradiction_share(),
          contradiction_min_wh() + r.tolerance_wh + p.tolerance_wh)),
      CASE WHEN p.is_possible AND (p.is_too_much OR (p.is_repaired AND coalesce(bool_and(r.is_apart), true))) THEN p.series_id END
    ) AS substitute_id
  FROM power p
  LEFT JOIN (FROM witness WHERE is_register(method)) AS r USING (device, source, day)
  WHERE p.is_apart
  GROUP BY p.device, p.source, p.day, p.series_id, p.is_repaired, p.is_too_much, p.is_possible
)
SELECT d.* EXCLUDE (preference, substituted),
  row_number() OVER (PARTITION BY d.device, d.source, d.day ORDER BY d.series_id IS DISTINCT FROM s.substitute_id, d.preference) AS preference,
  coalesce(d.series_id = s.substitute_id, false) AS substituted
FROM day_candidate d
LEFT JOIN substitute s USING (device, source, day);

-- name: find_contradictions
-- Finds methods whose energy is too far from the chosen one. Nobody knows which of them is right, unless
-- another witness agrees with the chosen one: power for registers, a register for power. If a day begins or
-- ends at an estimate, a larger difference is needed. Net registers are left out, because they measure
-- something else.
-- day_contradiction:
--   device, source, day, stream_id
--   energy_wh   of the other method
CREATE OR REPLACE TEMP TABLE day_contradiction AS
WITH compared AS (
  -- Each other method against the chosen one. speaks: it covers about the same time.
  SELECT device, source, day, other.stream_id, other.energy_wh,
    is_register(other.method) AS is_register, is_register(chosen.method) AS is_chosen_register,
    other.covered_ms >= witness_share() * chosen.covered_ms AS speaks,
    are_apart(chosen.energy_wh, chosen.covered_ms, other.energy_wh, other.covered_ms,
      CASE WHEN chosen.estimated OR other.estimated THEN contradiction_share_estimated() ELSE contradiction_share() END,
      contradiction_min_wh() + chosen.tolerance_wh + other.tolerance_wh) AS contradicts
  FROM (SELECT * FROM day_candidate WHERE preference > 1 AND NOT net) AS other
  JOIN (SELECT * FROM day_candidate WHERE preference = 1 AND NOT net) AS chosen USING (device, source, day)
), witnessed AS (
  -- agreed: another witness agrees with the chosen method.
  SELECT *, bool_or(NOT contradicts AND speaks AND is_register <> is_chosen_register) OVER (PARTITION BY device, source, day) AS agreed
  FROM compared
)
SELECT device, source, day, stream_id, energy_wh FROM witnessed WHERE contradicts AND NOT agreed;

-- name: find_day_changes
-- Compares the touched days with the stored ones. A day that is the same has no row, so it gets no new
-- version.
-- $low_ms, $high_ms: as in find_candidates. $now_ms, $close_after_ms: decide whether a day is final.
-- $declares: devices have declared sources. $several: a source has more than one series.
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
  SELECT DISTINCT t.device, t.day
  FROM touched_day t JOIN declared_source s USING (device, source)
  WHERE $declares AND NOT EXISTS (SELECT 1 FROM day_candidate c WHERE c.device = t.device AND c.source = t.source AND c.day = t.day)
), day_now AS (
  -- The chosen method of each touched day, with all flags of the day.
  SELECT t.day, t.device, t.source, c.energy_wh, c.method, c.stream_id,
    (c.flags | CASE WHEN c.estimated THEN flag('estimated') ELSE 0 END | CASE WHEN c.coverage < full_coverage_share() THEN flag('partial') ELSE 0 END
      | CASE WHEN incomplete.device IS NOT NULL AND declared.device IS NOT NULL THEN flag('incomplete') ELSE 0 END
      | CASE WHEN contradicted.device IS NOT NULL THEN flag('contradicted') ELSE 0 END
      | CASE WHEN c.substituted THEN flag('substituted') ELSE 0 END)::UINTEGER AS flags,
    round(c.coverage, 4) AS coverage,
    t.end_ms
  FROM touched_day t
  LEFT JOIN day_candidate c ON c.device = t.device AND c.source = t.source AND c.day = t.day AND c.preference = 1
  LEFT JOIN incomplete ON incomplete.device = t.device AND incomplete.day = t.day
  LEFT JOIN (SELECT DISTINCT device, source, day FROM day_contradiction WHERE $several) AS contradicted
    ON contradicted.device = t.device AND contradicted.source = t.source AND contradicted.day = t.day
  LEFT JOIN (FROM declared_source WHERE $declares) AS declared ON declared.device = t.device AND declared.source = t.source
  WHERE t.start_ms >= $low_ms::BIGINT AND t.end_ms <= $high_ms::BIGINT
), history AS (
  -- The newest stored version, which a day can have although it has no energy now.
  SELECT day, device, source, max(version) AS version, arg_max(status, version) AS status
  FROM daily_energy_history
  WHERE day IN (SELECT day FROM day_now) AND device IN (SELECT device FROM day_now)
  GROUP BY ALL
)
SELECT new.*,
  CASE WHEN stored.day IS NULL THEN coalesce(h.version, 0) + 1
    WHEN new.end_ms <= $now_ms::BIGINT THEN stored.version + 1
    ELSE stored.version END AS version,
  day_status(coalesce(stored.status, h.status), new.end_ms, $now_ms::BIGINT, $close_after_ms::BIGINT) AS status,
  h.version AS history_version
FROM day_now new
LEFT JOIN daily_energy stored ON stored.day = new.day AND stored.device = new.device AND stored.source = new.source
LEFT JOIN history h ON h.day = new.day AND h.device = new.device AND h.source = new.source
WHERE (new.energy_wh, new.stream_id, new.flags, new.coverage) IS DISTINCT FROM (stored.energy_wh, stored.stream_id, stored.flags, stored.coverage);
