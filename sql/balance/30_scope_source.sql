-- The sources of each scope (a device, a site, the workgroup) on each local day, and which of them are added up. A source that another
-- source of the scope contains is part of it and not added again; with the other sign it is taken away from it.
--
-- Reads  scope (scope_id, is_site: whether `within: site` holds in it);
--        scope_member (scope_id, device, source, sign, valid_from, valid_to): a device is null for all, a source for all of the device;
--        role_span (device, source, role, negative_role, within_device, within_source, within_site, valid_from, valid_to); own_day; role
-- Writes "scope_source", one row for each scope, local day and source that has a role there:
--   scope_id, own_day, device, source, role, negative_role, sign
--   series      `<device>.<source>`
--   container   what contains it: the series of another source of the scope, or `site`; null where nothing does
--   counts      whether it is added up
WITH there AS (
  SELECT s.scope_id, s.is_site, d.day AS own_day, r.device, r.source, r.role, r.negative_role, m.sign,
    concat(r.device, '.', r.source) AS series,
    CASE WHEN r.within_device IS NOT NULL THEN concat(r.within_device, '.', r.within_source) END AS parent,
    r.within_site
  FROM scope s
  JOIN scope_member m USING (scope_id)
  JOIN role_span r ON (m.device IS NULL OR m.device = r.device) AND (m.source IS NULL OR m.source = r.source)
  JOIN own_day d ON (d.day >= r.valid_from OR r.valid_from IS NULL) AND (d.day <= r.valid_to OR r.valid_to IS NULL)
    AND (d.day >= m.valid_from OR m.valid_from IS NULL) AND (d.day <= m.valid_to OR m.valid_to IS NULL)
  WHERE r.role IN (SELECT role FROM role)
)
SELECT t.scope_id, t.own_day, t.device, t.source, t.role, t.negative_role, t.sign, t.series,
  CASE
    WHEN p.series IS NOT NULL THEN p.series
    WHEN t.within_site AND t.is_site THEN CASE t.role WHEN 'consumption' THEN 'site' ELSE concat('site.', t.role) END
  END AS container,
  container IS NULL AS counts
FROM there t
LEFT JOIN there p ON p.scope_id = t.scope_id AND p.own_day = t.own_day AND p.series = t.parent AND p.sign = t.sign
