-- The sources of the devices that energy is known of, and which of them the energy of the whole device is the sum of: its total source
-- alone where it has one; else the sources that it is declared to have; else all of them. It does not change from day to day: a total that
-- is missing on a day is not made up from the others, which may count things twice.
-- Temp table declared_device: see declare.
SELECT DISTINCT
  s.device,
  s.source,
  CASE
    WHEN bool_or(s.source = coalesce(own.total_source, every.total_source)) OVER (PARTITION BY s.device)
      THEN s.source = coalesce(own.total_source, every.total_source)
    WHEN own.sources IS NOT NULL THEN list_contains(own.sources, s.source)
    ELSE true
  END AS counts
FROM series s
LEFT JOIN declared_device own ON own.device = s.device
CROSS JOIN (SELECT total_source FROM declared_device WHERE device IS NULL) AS every
ORDER BY s.device, s.source
