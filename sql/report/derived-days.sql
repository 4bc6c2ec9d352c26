-- The days of "member" that are devices or sources of devices, from "source_day", which says what counts. A device as a whole is what its
-- sources that count come to, as in publish/device-days: null and incomplete on a day on which only others have energy. Columns as of
-- uploaded-days; revision: the highest version.
WITH chosen AS (
  SELECT m.key, d.* REPLACE (m.source IS NOT NULL OR d.counts AS counts)
  FROM source_day d JOIN member m ON m.device = d.device AND (m.source IS NULL OR m.source = d.source)
)
SELECT key, day,
  (sum(energy_wh) FILTER (counts))::BIGINT AS energy_wh,
  coalesce(min(coverage) FILTER (counts), 0) AS coverage,
  CASE WHEN bool_or(counts) THEN list_sort(list_distinct(flatten(list(flags) FILTER (counts)))) ELSE ['incomplete'] END AS flags,
  CASE WHEN bool_or(counts) THEN CASE WHEN bool_or(counts AND list_contains(flags, 'estimated')) THEN 'estimated' ELSE 'measured' END END AS quality,
  max(version) AS revision
FROM chosen GROUP BY key, day
