-- 30 Scope: the sources of a device, a site or a workgroup, and the state of each role.
--
-- Reads   scope, scope_member, scope_absent (scopes, their members, and roles that are not there), role_span,
--         role, own_day, device_peak.
-- Writes  "scope_source", "scope_role", "scope_day", "scope_peak", and the size of a balance.
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
--   container   the series of the source that contains it, `site` or `site.<role>`; null: none
--   counts      true if it is added up
WITH member_day AS (
  -- The members that have a role on the day. parent: the source that contains it, as declared.
  SELECT scope.scope_id, scope.is_site, own_day.day AS own_day, role_span.device, role_span.source, role_span.role,
    role_span.negative_role, scope_member.sign,
    concat(role_span.device, '.', role_span.source) AS series,
    CASE WHEN role_span.within_device IS NOT NULL THEN concat(role_span.within_device, '.', role_span.within_source) END
      AS parent,
    role_span.within_site
  FROM scope
  JOIN scope_member USING (scope_id)
  JOIN role_span
    ON (scope_member.device IS NULL OR scope_member.device = role_span.device)
    AND (scope_member.source IS NULL OR scope_member.source = role_span.source)
  JOIN own_day
    ON (own_day.day >= role_span.valid_from OR role_span.valid_from IS NULL)
    AND (own_day.day <= role_span.valid_to OR role_span.valid_to IS NULL)
    AND (own_day.day >= scope_member.valid_from OR scope_member.valid_from IS NULL)
    AND (own_day.day <= scope_member.valid_to OR scope_member.valid_to IS NULL)
  WHERE role_span.role IN (SELECT role FROM role)
)
SELECT member_day.scope_id, member_day.own_day, member_day.device, member_day.source, member_day.role,
  member_day.negative_role, member_day.sign, member_day.series,
  CASE
    WHEN container_day.series IS NOT NULL THEN container_day.series
    WHEN member_day.within_site AND member_day.is_site
      THEN CASE member_day.role WHEN 'consumption' THEN 'site' ELSE concat('site.', member_day.role) END
  END AS container,
  container IS NULL AS counts
FROM member_day
-- Only a source that is in the scope too, with the same sign, contains it.
LEFT JOIN member_day AS container_day
  ON container_day.scope_id = member_day.scope_id AND container_day.own_day = member_day.own_day
    AND container_day.series = member_day.parent AND container_day.sign = member_day.sign;

-- name: find_scope_role
-- Finds the state of each role of a scope on each local day. A role without a source is absent if that is
-- declared, or if nothing in the scope hints at it. Without production and battery there is no export, for
-- example. One row for each scope, local day and role.
-- Reads scope, scope_absent (scope_id, role), scope_source, own_day, role.
-- scope_role:
--   scope_id, own_day, role, side
--   state   measured (a source has it), absent (there is none, so it is 0) or unknown
WITH declared AS (
  -- The roles of the sources that are added up, and of all sources. The others are contained in one of these
  -- or in a computed role.
  SELECT scope_id, own_day, list(role) FILTER (counts) AS measured_roles, list(role) AS roles
  FROM (SELECT scope_id, own_day, counts, unnest([role, negative_role]) AS role FROM scope_source)
  GROUP BY scope_id, own_day
)
SELECT scope.scope_id, own_day.day AS own_day, role.role, role.side,
  CASE
    WHEN list_contains(declared.measured_roles, role.role) THEN 'measured'
    WHEN (scope.scope_id, role.role) IN (SELECT (scope_id, role) FROM scope_absent) THEN 'absent'
    WHEN role.hinted_by IS NULL OR list_has_any(declared.roles, role.hinted_by) THEN 'unknown'
    ELSE 'absent'
  END AS state
FROM scope
CROSS JOIN own_day
CROSS JOIN role
LEFT JOIN declared ON declared.scope_id = scope.scope_id AND declared.own_day = own_day.day;

-- name: find_scope_day
-- Finds what can be computed of a scope on each local day. One unknown role is computed. If import and export
-- are both unknown, they count as one, because the rest of the balance is one or the other. One row for each
-- scope and local day.
-- Reads scope and scope_role. Import and export of a scope that allows netting are computed from the rest.
-- scope_day:
--   scope_id, own_day
--   way             measured, computed, netted, not_netted (only the difference of import and export is
--                   known) or undetermined (too many are unknown)
--   computed        roles that are computed, sorted
--   is_grid_known   neither import nor export is unknown
WITH open AS (
  -- The unknown roles, sorted.
  SELECT scope_id, own_day, coalesce(list(role ORDER BY role) FILTER (state = 'unknown'), []) AS unknown
  FROM scope_role
  GROUP BY scope_id, own_day
)
SELECT open.scope_id, open.own_day,
  CASE
    WHEN len(open.unknown) = 0 THEN 'measured'
    WHEN len(open.unknown) = 1 THEN 'computed'
    WHEN open.unknown = ['grid_export', 'grid_import']
      THEN CASE WHEN scope.allows_netting THEN 'netted' ELSE 'not_netted' END
    ELSE 'undetermined'
  END AS way,
  CASE WHEN way IN ('computed', 'netted') THEN open.unknown ELSE [] END AS computed,
  NOT list_has_any(open.unknown, ['grid_import', 'grid_export']) AS is_grid_known
FROM open
JOIN scope USING (scope_id);

-- name: sum_scope_peak
-- Sums the peak power of the producing devices of a scope on each local day. One row for each scope and local
-- day with a producing device that has a peak power on any day.
-- Reads device_peak (device, kwp, valid_from, valid_to); scope_source; scope_role; scope_member.
-- scope_peak:
--   scope_id, own_day
--   kwp   sum of the devices; null if the peak of one of them is unknown
WITH producing AS (
  -- The producing devices of each scope and day.
  SELECT DISTINCT scope_id, own_day, device, sign
  FROM scope_source
  WHERE counts AND 'production' IN (role, negative_role)
  UNION
  -- Computed production is that of all devices with a known peak.
  SELECT scope_role.scope_id, scope_role.own_day, device_peak.device, scope_member.sign
  FROM scope_role
  JOIN scope_member USING (scope_id)
  JOIN device_peak ON (scope_member.device IS NULL OR scope_member.device = device_peak.device)
  WHERE scope_role.role = 'production' AND scope_role.state = 'unknown'
    AND (scope_role.own_day >= scope_member.valid_from OR scope_member.valid_from IS NULL)
    AND (scope_role.own_day <= scope_member.valid_to OR scope_member.valid_to IS NULL)
)
SELECT producing.scope_id, producing.own_day,
  CASE WHEN bool_and(device_peak.kwp IS NOT NULL) THEN sum(producing.sign * device_peak.kwp) END AS kwp
FROM producing
LEFT JOIN device_peak ON device_peak.device = producing.device
  AND (producing.own_day >= device_peak.valid_from OR device_peak.valid_from IS NULL)
  AND (producing.own_day <= device_peak.valid_to OR device_peak.valid_to IS NULL)
GROUP BY producing.scope_id, producing.own_day
HAVING bool_or(producing.device IN (SELECT device FROM device_peak));

-- name: count_scope_size
-- Counts the sources of a balance.
-- Reads scope_member, role_span, role, scope_source.
-- Columns:
--   sources       sources that ever have a role in a scope
--   source_days   days of sources with a role
SELECT
  (
    SELECT count(*)
    FROM role_span
    JOIN scope_member
      ON (scope_member.device IS NULL OR scope_member.device = role_span.device)
      AND (scope_member.source IS NULL OR scope_member.source = role_span.source)
    WHERE role_span.role IN (SELECT role FROM role)
  )::DOUBLE AS sources,
  (SELECT count(*) FROM scope_source)::DOUBLE AS source_days;
