-- 45 Flow: the measured energy of each interval, added over the sources of a scope.
--
-- Reads   "scope_source", "slot", "source_interval", "role".
-- Writes  "source_flow" (what each source adds), "role_flow" (the sum of each role), "flow" (the sum over all
--         roles).
-- Why     The rules for a sum hold for every role, so there is one row for each role until chapter 50.

-- name: find_source_flow
-- Lists what each source that is added up gives to its roles in each interval. A net register counts for its
-- role if it rose and for its negative role if it fell. If its shape is unknown, the two cannot be separated,
-- but their difference is known. One row for each scope, interval and source.
-- Reads scope_source, slot, source_interval.
-- source_flow:
--   scope_id, own_day, day, at_ms, role, negative_role, sign
--   energy_wh, is_known, has_shape, is_estimated, step_wh
--   is_signed   it is a net register
--   rise_wh     its energy for role
--   fall_wh     its energy for negative_role
--   is_open     these two are not known
--   is_whole    all of its roles are part of the balance, so its energy as one amount is enough for into_wh
SELECT scope_source.scope_id, scope_source.own_day, slot.day, slot.at_ms, scope_source.role, scope_source.negative_role,
  scope_source.sign, source_interval.energy_wh, source_interval.is_known,
  source_interval.has_shape, source_interval.is_estimated, source_interval.step_wh,
  scope_source.negative_role IS NOT NULL AS is_signed,
  scope_source.sign * CASE
    WHEN is_signed THEN greatest(source_interval.energy_wh, 0)
    ELSE source_interval.energy_wh
  END AS rise_wh,
  scope_source.sign * greatest(-source_interval.energy_wh, 0) AS fall_wh,
  NOT source_interval.is_known OR (is_signed AND NOT source_interval.has_shape) AS is_open,
  coalesce(scope_source.negative_role <> 'other', true) AS is_whole
FROM scope_source
JOIN source_interval
  ON source_interval.device = scope_source.device AND source_interval.source = scope_source.source
  AND source_interval.own_day = scope_source.own_day
JOIN slot ON slot.at_ms = source_interval.at_ms
WHERE scope_source.counts;

-- name: sum_role_flow
-- Sums the measured energy of each role. A sum is null if a part of it is unknown, and never a smaller sum.
-- One row for each scope, interval and role that a source has.
-- Reads source_flow.
-- role_flow:
--   scope_id, at_ms, role
--   wh       by the signs of the members; null if a source of the role is unknown
--   is_gap   a source of the role is unknown
SELECT scope_id, at_ms, role, CASE WHEN NOT bool_or(is_open) THEN sum(wh) END AS wh, bool_or(NOT is_known) AS is_gap
FROM (
  SELECT scope_id, at_ms, role, rise_wh AS wh, is_open, is_known FROM source_flow
  UNION ALL BY NAME
  SELECT scope_id, at_ms, negative_role AS role, fall_wh AS wh, is_open, is_known FROM source_flow WHERE is_signed
)
GROUP BY scope_id, at_ms, role;

-- name: sum_flow
-- Sums the measured energy over all roles, and over import and export. One row for each scope and interval
-- that has a source.
-- Reads source_flow, role.
-- flow:
--   scope_id, at_ms
--   into_wh        energy in minus energy out over all roles; null if a source is unknown
--   grid_net_wh    the same of import and export alone
--   has_gap        a source is unknown
--   has_shape      for every source the distribution over time is known
--   is_signed      a net register is among them
--   is_estimated   a bound of the interval was interpolated for one of them
--   step_wh        steps of the registers, added
WITH sided AS (
  -- The part of each source in into_wh and in grid_net_wh, positive into the scope, and whether it is
  -- unknown. is_grid: one of its roles is import or export. is_both: both are, so one amount is enough.
  SELECT source_flow.*,
    own.side * CASE
      WHEN is_whole THEN source_flow.sign * source_flow.energy_wh
      ELSE source_flow.rise_wh
    END AS into_part_wh,
    CASE WHEN is_whole THEN NOT source_flow.is_known ELSE source_flow.is_open END AS is_into_open,
    source_flow.role IN ('grid_import', 'grid_export') AS is_role_grid,
    coalesce(source_flow.negative_role IN ('grid_import', 'grid_export'), false) AS is_negative_grid,
    is_role_grid AND is_negative_grid AS is_both,
    is_role_grid OR is_negative_grid AS is_grid,
    CASE
      WHEN is_both THEN own.side * source_flow.sign * source_flow.energy_wh
      WHEN is_role_grid THEN own.side * source_flow.rise_wh
      WHEN is_negative_grid THEN negative.side * source_flow.fall_wh
    END AS grid_part_wh,
    CASE WHEN is_both THEN NOT source_flow.is_known ELSE source_flow.is_open END AS is_grid_open
  FROM source_flow
  JOIN role AS own ON own.role = source_flow.role
  LEFT JOIN role AS negative ON negative.role = source_flow.negative_role
)
SELECT scope_id, at_ms,
  CASE WHEN NOT bool_or(is_into_open) THEN sum(into_part_wh) END AS into_wh,
  CASE WHEN NOT bool_or(is_grid_open) FILTER (is_grid) THEN sum(grid_part_wh) END AS grid_net_wh,
  bool_or(NOT is_known) AS has_gap, bool_and(has_shape) AS has_shape, bool_or(is_signed) AS is_signed,
  bool_or(is_estimated) AS is_estimated, sum(step_wh) AS step_wh
FROM sided
GROUP BY scope_id, at_ms;
