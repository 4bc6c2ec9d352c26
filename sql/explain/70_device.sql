-- 70 Device: how the device as a whole is told by its sources.
--
-- Reads   device_source, declared_device, role_span (temporary: from the configuration, see devices/ and balance/); chosen, rise_fall (temporary:
--         days of the device, and what registers that may fall rose and fell); device_day (see balance/sum_device_day).
-- Writes  chosen, reported_interval, reported_series (temporary, with the columns of the lake); one row for each source, or for the device. Energy in Wh.
-- Why     The energy of a device follows from roles, which depend on the day. The rule is that of the report: its own statements are run.

-- name: find_device_sources
-- The sources of a device ($device) as they are declared on a day ($day), and what each has on it. is_listed: `sources` of the device names it, or
-- names none; container: the source of the device that contains it.
SELECT s.source, s.role, s.negative_role, s.counts, s.part, s.lacks_with_energy,
  coalesce(own.total_source, every.total_source) AS total_source,
  own.energy_role,
  own.sources IS NULL OR list_contains(own.sources, s.source) AS is_listed,
  CASE WHEN r.within_device = s.device THEN r.within_source END AS container,
  c.energy_wh::DOUBLE AS energy_wh
FROM device_source s
LEFT JOIN declared_device own ON own.device = s.device
CROSS JOIN (SELECT total_source FROM declared_device WHERE device IS NULL) AS every
LEFT JOIN role_span r ON r.device = s.device AND r.source = s.source
  AND (r.valid_from IS NULL OR r.valid_from <= $day::DATE) AND (r.valid_to IS NULL OR r.valid_to >= $day::DATE)
LEFT JOIN chosen c ON c.source = s.source
WHERE s.device = $device::UUID
  AND (s.valid_from IS NULL OR s.valid_from <= $day::DATE) AND (s.valid_to IS NULL OR s.valid_to >= $day::DATE)
ORDER BY s.counts DESC, s.source;

-- name: find_splits
-- What sources rose and fell, of which the device counts one; null where readings are too far apart to tell the two from each other.
SELECT source, rise_wh::DOUBLE AS rise_wh, fall_wh::DOUBLE AS fall_wh FROM rise_fall;

-- name: find_device_day
-- What the report tells of the device; no row where none of its sources has energy. Reads device_day.
SELECT energy_wh::DOUBLE AS energy_wh, list_sort(flags) AS flags FROM device_day;
