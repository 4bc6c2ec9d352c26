-- 30 Scope: the sources of a device, a site or a workgroup, and the state of each role.
--
-- Reads   scope, scope_member, scope_absent (scopes, their members, and roles that are not there), role_span,
--         role, own_day, device_peak.
-- Writes  "scope_source", "scope_day", "scope_peak", and the size of a balance.
-- Why     A source that another one contains is not added a second time. One role that nobody measures can be
--         computed.

-- name: find_scope_source
-- Lists the sources of each scope (a device, a site, the workgroup) on each local day, and which of them are
-- added up. A source that another source of the scope contains is not added again. With the opposite sign it
-- is subtracted from its container. One row for each scope, local day and source that has a role there.
-- Reads scope (scope_id, is_site: whether `within: site` holds in it); scope_member (scope_id, device,
-- source, sign, valid_from, valid_to): device null means all, source null means all of the device; role_span
-- (device, source, role, negative_role, within_device, within_source, within_site, valid_from, valid_to);
-- own_day; role.
-- scope_source:
--   scope_id, own_day, device, source, role, negative_role, sign
--   series      `<device>.<source>`
--   container   the series of the source that contains it, or `site`; null: none
--   counts      true if it is added up
WITH there AS (
  -- The members that have a role on the day. parent: the source that contains it, as declared.
  SELECT sc.scope_id, sc.is_site, od.day AS own_day, rsp.device, rsp.source, rsp.role, rsp.negative_role, mem.sign,
    concat(rsp.device, '.', rsp.source) AS series,
    CASE WHEN rsp.within_device IS NOT NULL THEN concat(rsp.within_device, '.', rsp.within_source) END AS parent,
    rsp.within_site
  FROM scope sc
  JOIN scope_member mem USING (scope_id)
  JOIN role_span rsp ON (mem.device IS NULL OR mem.device = rsp.device) AND (mem.source IS NULL OR mem.source = rsp.source)
  JOIN own_day od ON (od.day >= rsp.valid_from OR rsp.valid_from IS NULL) AND (od.day <= rsp.valid_to OR rsp.valid_to IS NULL)
    AND (od.day >= mem.valid_from OR mem.valid_from IS NULL) AND (od.day <= mem.valid_to OR mem.valid_to IS NULL)
  WHERE rsp.role IN (SELECT role FROM role)
)
SELECT t.scope_id, t.own_day, t.device, t.source, t.role, t.negative_role, t.sign, t.series,
  CASE
    WHEN p.series IS NOT NULL THEN p.series
    WHEN t.within_site AND t.is_site THEN CASE t.role WHEN 'consumption' THEN 'site' ELSE concat('site.', t.role) END
  END AS container,
  container IS NULL AS counts
FROM there t
-- Only a source that is in the scope too, with the same sign, contains it.
LEFT JOIN there p ON p.scope_id = t.scope_id AND p.own_day = t.own_day AND p.series = t.parent AND p.sign = t.sign;

-- name: find_scope_day
-- Finds the state of each role of a scope on each local day: measured (a source has it), absent (there is
-- none, which is 0) or unknown. One unknown role is computed. If import and export are both unknown, they
-- count as one, because the rest of the balance is one or the other. One row for each scope and local day.
-- Reads scope (scope_id, nets: import and export can be computed from the rest); scope_absent (scope_id,
-- role); scope_source; own_day.
-- scope_day:
--   scope_id, own_day
--   <role>_state   measured, absent or unknown
--   way            measured, computed, netted, not_netted (only the difference of import and export is known)
--                  or undetermined (too many are unknown)
--   computed       roles that are computed, sorted
WITH declared AS (
  -- Which roles are measured, and which ones some source of the scope has.
  SELECT scope_id, own_day,
    bool_or('production' IN (role, negative_role)) FILTER (counts) AS production_measured,
    bool_or('consumption' IN (role, negative_role)) FILTER (counts) AS consumption_measured,
    bool_or('grid_import' IN (role, negative_role)) FILTER (counts) AS import_measured,
    bool_or('grid_export' IN (role, negative_role)) FILTER (counts) AS export_measured,
    bool_or('battery_charge' IN (role, negative_role)) FILTER (counts) AS charge_measured,
    bool_or('battery_discharge' IN (role, negative_role)) FILTER (counts) AS discharge_measured,
    -- Includes sources that are contained in a computed role.
    bool_or('production' IN (role, negative_role)) AS has_production,
    bool_or('grid_export' IN (role, negative_role)) AS has_export,
    bool_or(role IN ('battery_charge', 'battery_discharge') OR negative_role IN ('battery_charge', 'battery_discharge')) AS has_battery
  FROM scope_source
  GROUP BY scope_id, own_day
), absent AS (
  SELECT scope_id, list(role) AS roles FROM scope_absent GROUP BY scope_id
), state AS (
  -- A role without a source is absent if that is declared, or if nothing in the scope hints at it. Without
  -- production and battery there is no export, for example.
  SELECT sc.scope_id, sc.nets, od.day AS own_day,
    CASE WHEN production_measured THEN 'measured' WHEN list_contains(a.roles, 'production') THEN 'absent'
      WHEN has_production OR has_export THEN 'unknown' ELSE 'absent' END AS production_state,
    CASE WHEN consumption_measured THEN 'measured' WHEN list_contains(a.roles, 'consumption') THEN 'absent'
      ELSE 'unknown' END AS consumption_state,
    CASE WHEN import_measured THEN 'measured' WHEN list_contains(a.roles, 'grid_import') THEN 'absent'
      ELSE 'unknown' END AS grid_import_state,
    CASE WHEN export_measured THEN 'measured' WHEN list_contains(a.roles, 'grid_export') THEN 'absent'
      WHEN has_export OR has_production OR has_battery THEN 'unknown' ELSE 'absent' END AS grid_export_state,
    CASE WHEN charge_measured THEN 'measured' WHEN list_contains(a.roles, 'battery_charge') THEN 'absent'
      WHEN has_battery THEN 'unknown' ELSE 'absent' END AS battery_charge_state,
    CASE WHEN discharge_measured THEN 'measured' WHEN list_contains(a.roles, 'battery_discharge') THEN 'absent'
      WHEN has_battery THEN 'unknown' ELSE 'absent' END AS battery_discharge_state
  FROM scope sc
  CROSS JOIN own_day od
  LEFT JOIN declared d ON d.scope_id = sc.scope_id AND d.own_day = od.day
  LEFT JOIN absent a ON a.scope_id = sc.scope_id
), open AS (
  -- The unknown roles, sorted.
  SELECT *,
    list_filter([
      CASE battery_charge_state WHEN 'unknown' THEN 'battery_charge' END,
      CASE battery_discharge_state WHEN 'unknown' THEN 'battery_discharge' END,
      CASE consumption_state WHEN 'unknown' THEN 'consumption' END,
      CASE grid_export_state WHEN 'unknown' THEN 'grid_export' END,
      CASE grid_import_state WHEN 'unknown' THEN 'grid_import' END,
      CASE production_state WHEN 'unknown' THEN 'production' END
    ], lambda role: role IS NOT NULL) AS unknown
  FROM state
)
SELECT scope_id, own_day,
  production_state, consumption_state, grid_import_state, grid_export_state, battery_charge_state, battery_discharge_state,
  CASE
    WHEN len(unknown) = 0 THEN 'measured'
    WHEN len(unknown) = 1 THEN 'computed'
    WHEN unknown = ['grid_export', 'grid_import'] THEN CASE WHEN nets THEN 'netted' ELSE 'not_netted' END
    ELSE 'undetermined'
  END AS way,
  CASE WHEN way IN ('computed', 'netted') THEN unknown ELSE [] END AS computed
FROM open;

-- name: sum_scope_peak
-- Sums the peak power of the producing devices of a scope on each local day. One row for each scope and local
-- day with a producing device that has a peak power on any day.
-- Reads device_peak (device, kwp, valid_from, valid_to); scope_source; scope_day; scope_member.
-- scope_peak:
--   scope_id, own_day
--   kwp   sum of the devices; null if the peak of one of them is unknown
WITH producing AS (
  SELECT DISTINCT scope_id, own_day, device, sign
  FROM scope_source
  WHERE counts AND 'production' IN (role, negative_role)
  UNION
  -- Computed production is that of all devices with a known peak.
  SELECT scd.scope_id, scd.own_day, dp.device, mem.sign
  FROM scope_day scd
  JOIN scope_member mem USING (scope_id)
  JOIN device_peak dp ON (mem.device IS NULL OR mem.device = dp.device)
  WHERE scd.production_state = 'unknown'
    AND (scd.own_day >= mem.valid_from OR mem.valid_from IS NULL) AND (scd.own_day <= mem.valid_to OR mem.valid_to IS NULL)
)
SELECT a.scope_id, a.own_day, CASE WHEN bool_and(dp.kwp IS NOT NULL) THEN sum(a.sign * dp.kwp) END AS kwp
FROM producing a
LEFT JOIN device_peak dp ON dp.device = a.device
  AND (a.own_day >= dp.valid_from OR dp.valid_from IS NULL) AND (a.own_day <= dp.valid_to OR dp.valid_to IS NULL)
GROUP BY a.scope_id, a.own_day
HAVING bool_or(a.device IN (SELECT device FROM device_peak));

-- name: count_scope_size
-- Counts the sources of a balance.
-- Reads scope_member, role_span, role, scope_source.
-- Columns:
--   sources       sources that ever have a role in a scope
--   source_days   days of sources with a role
SELECT
  (
    SELECT count(*)
    FROM role_span rsp
    JOIN scope_member mem ON (mem.device IS NULL OR mem.device = rsp.device) AND (mem.source IS NULL OR mem.source = rsp.source)
    WHERE rsp.role IN (SELECT role FROM role)
  )::DOUBLE AS sources,
  (SELECT count(*) FROM scope_source)::DOUBLE AS source_days;
