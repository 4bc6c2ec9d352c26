-- 55 Balance views: the scopes of the views of the energy balance.
--
-- Reads   local_day, site_member, absent_role (of the lake); role_span, scope, balance (see balance/).
-- Writes  "own_day" (local days), "site_device" (devices of sites), "whole_site" (sites that are the whole
--         workgroup), "scope", "scope_member", "scope_absent" (what sql/balance reads of scopes). Each
--         statement is one table of a larger statement that src/publish/balance-views.ts composes.
-- Why     A view has no parameters, so it reads the scopes from the lake. The reports bind theirs (see
--         src/balance/balance-scope.ts).

-- name: find_own_day
-- Lists the local days of the workgroup that are published.
-- own_day:
--   day
--   start_ms, end_ms   bounds, ms since 1970
SELECT day, epoch_ms(day_start) AS start_ms, epoch_ms(day_end) AS end_ms FROM local_day;

-- name: find_site_device
-- Lists the devices of sites. The meters of a site measure the same energy again, so they are left out.
-- site_device: site, device, source, sign, valid_from, valid_to
SELECT site, device, source, sign, valid_from, valid_to FROM site_member WHERE device IS NOT NULL;

-- name: find_whole_site
-- Lists the sites without any member: such a site is the whole workgroup. It is in the lake only if it has
-- declared an absent role.
-- whole_site: site
SELECT DISTINCT site FROM absent_role ANTI JOIN site_member USING (site) WHERE site IS NOT NULL;

-- name: find_view_scope
-- Lists the scopes: the workgroup, each site, and each device with a role in the balance.
-- scope:
--   scope_id         `workgroup`, `site/<name>` or `device/<device>`
--   kind             workgroup, site or device
--   site             null: the scope is not a site
--   device           null: the scope is not a device
--   is_site          `within: site` holds in it
--   allows_netting   import and export can be computed from the rest. They cannot in a workgroup of several
--                    sites, because the rest of one site is not balanced against the rest of another
SELECT 'workgroup' AS scope_id, 'workgroup' AS kind, NULL::VARCHAR AS site, NULL::UUID AS device, true AS is_site,
  (SELECT count(DISTINCT site) < 2 FROM site_device) AS allows_netting
UNION ALL BY NAME
SELECT concat('site/', site) AS scope_id, 'site' AS kind, site, NULL AS device, true AS is_site,
  true AS allows_netting
FROM (SELECT site FROM site_device UNION SELECT site FROM whole_site)
UNION ALL BY NAME
SELECT DISTINCT concat('device/', device) AS scope_id, 'device' AS kind, NULL AS site, device, false AS is_site,
  true AS allows_netting
FROM role_span WHERE role <> 'other';

-- name: find_view_member
-- Lists the members of these scopes. The workgroup, and a site that is the whole workgroup, have one member
-- that stands for all devices.
-- scope_member:
--   scope_id
--   device                 null: all devices
--   source                 null: all sources of the device
--   sign                   1 if its energy is added, -1 if it is subtracted
--   valid_from, valid_to   null: open
SELECT 'workgroup' AS scope_id, NULL::UUID AS device, NULL::VARCHAR AS source, 1 AS sign, NULL::DATE AS valid_from,
  NULL::DATE AS valid_to
UNION ALL BY NAME
SELECT concat('site/', site) AS scope_id, device, source, sign, valid_from, valid_to FROM site_device
UNION ALL BY NAME
SELECT concat('site/', site) AS scope_id, NULL AS device, NULL AS source, 1 AS sign, NULL AS valid_from,
  NULL AS valid_to
FROM whole_site
UNION ALL BY NAME
SELECT scope_id, device, NULL AS source, 1 AS sign, NULL AS valid_from, NULL AS valid_to
FROM scope
WHERE kind = 'device';

-- name: find_view_absent
-- Lists the roles that the workgroup and the sites are declared not to have.
-- scope_absent: scope_id, role
SELECT CASE WHEN site IS NULL THEN 'workgroup' ELSE concat('site/', site) END AS scope_id, role FROM absent_role;

-- name: select_scope_balance
-- Selects the balance of all scopes, with the kind and the name of each scope.
SELECT * EXCLUDE (scope_id, kind), kind AS scope FROM balance JOIN scope USING (scope_id);
