-- What brings the new versions about of days that are over ($now_ms: instant). $restated: which settings have changed (configuration or zone),
-- null for none.
-- version_cause: day, device, source, causes. New readings of the day itself count before others of the source, those before readings of
-- other sources of the device, for which a day may wait. Where limits of the source have been learnt anew, those may be why a day has changed that
-- has no new readings.
CREATE OR REPLACE TEMP TABLE version_cause AS
WITH changed AS (
  SELECT day, device, source, version FROM day_change WHERE end_ms <= $now_ms::BIGINT
),
arrived AS (
  -- by numbers first, because grouping millions of readings by device and source costs more than all the rest
  SELECT series_id, batch_id, event_time_ms // 900000 AS interval_index
  FROM incoming
  WHERE batch_id > (SELECT max(batch_id) FROM energy_stream)
  GROUP BY ALL
),
brought AS MATERIALIZED (
  SELECT s.device, s.source, a.interval_index,
    CASE WHEN b.origin LIKE 'import:%' THEN 'import' WHEN b.origin LIKE 'backfill:%' OR b.origin LIKE 'archive:%' THEN 'backfill' ELSE 'stream' END AS cause
  FROM arrived a
  JOIN series s USING (series_id)
  JOIN batch b USING (batch_id)
  WHERE s.device IN (SELECT device FROM changed)
  GROUP BY ALL
),
near AS (
  SELECT c.day, c.device, c.source, b.cause, 1 AS distance
  FROM changed c
  JOIN brought b ON b.device = c.device AND b.source = c.source
  JOIN interval_day d ON d.interval_index = b.interval_index AND d.day = c.day
  UNION ALL
  SELECT c.day, c.device, c.source, b.cause, CASE WHEN b.source = c.source THEN 2 ELSE 3 END
  FROM changed c
  JOIN (SELECT DISTINCT device, source, cause FROM brought) AS b ON b.device = c.device
),
nearest AS (
  SELECT day, device, source, distance, list_sort(list_distinct(list(cause))) AS causes
  FROM (SELECT *, min(distance) OVER (PARTITION BY day, device, source) AS least FROM near)
  WHERE distance = least
  GROUP BY ALL
),
learnt AS (
  SELECT DISTINCT s.device, s.source FROM relearnt JOIN series s USING (series_id)
)
SELECT c.day, c.device, c.source,
  CASE
    WHEN $restated::VARCHAR IS NULL AND c.version > 1 AND n.distance > 1 AND l.device IS NOT NULL THEN list_prepend('learnt', n.causes)
    WHEN $restated::VARCHAR IS NULL THEN coalesce(n.causes, ['learnt'])
    -- What has never been there needs no other reason than its readings.
    WHEN c.version = 1 THEN coalesce(n.causes, [$restated::VARCHAR])
    ELSE list_prepend($restated::VARCHAR, coalesce(n.causes, []))
  END AS causes
FROM changed c
LEFT JOIN nearest n USING (day, device, source)
LEFT JOIN learnt l ON l.device = c.device AND l.source = c.source;
