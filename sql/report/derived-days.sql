-- The days of "member" that are devices or sources of devices, from "source_day" and "device_day" (see balance/11_device_day). A day of another
-- zone is the sum of the parts of the workgroup's days in it. Columns as of uploaded-days; revision: the highest version.
WITH part AS (
  SELECT m.key, d.told_day AS day, d.energy_wh, d.coverage, d.flags, d.version
  FROM source_day d JOIN member m ON m.device = d.device AND m.source = d.source
  UNION ALL
  SELECT m.key, d.told_day, d.energy_wh, d.coverage, d.flags, d.version
  FROM device_day d JOIN member m ON m.device = d.device AND m.source IS NULL
),
summed AS (
  SELECT key, day,
    CASE WHEN count(energy_wh) = count(*) THEN sum(energy_wh) END::BIGINT AS energy_wh,
    round(sum(coverage), 4) AS coverage,
    list_distinct(flatten(list(flags))) AS flags,
    max(version) AS revision
  FROM part GROUP BY key, day
)
SELECT key, day, energy_wh, coverage,
  list_sort(list_distinct(list_concat(flags, CASE WHEN coverage < 0.999 AND energy_wh IS NOT NULL THEN ['partial'] ELSE [] END))) AS flags,
  CASE WHEN energy_wh IS NOT NULL THEN CASE WHEN list_contains(flags, 'estimated') THEN 'estimated' ELSE 'measured' END END AS quality,
  revision
FROM summed
