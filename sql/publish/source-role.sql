-- The roles of sources by stretches of days, as they follow from the configuration. Temp table role_span: see balance/10_device_source.
-- within: series of the source that contains it, or site.
SELECT *, CASE WHEN within_site THEN 'site' WHEN within_device IS NOT NULL THEN concat(within_device, '.', within_source) END AS within
FROM role_span
ORDER BY device, source, valid_from NULLS FIRST
