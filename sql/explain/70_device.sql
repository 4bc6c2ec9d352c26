-- 70 Device: how the energy of a device follows from its sources.
--
-- Reads   device_source, declared_device, role_span (temporary: from the configuration, see devices/ and
--         balance/); chosen, rise_fall (temporary: days of the device, and the rise and fall of net
--         registers, from src/explain/explain-device.ts); device_day (see balance/sum_device_day).
-- Writes  nothing. Returns one row for each source, or for the device. Energy in Wh.
-- Why     The energy of a device follows from roles, which depend on the day. The statements of the report
--         itself are used, so both have the same rule.

-- name: find_device_sources
-- Returns the declared sources of a device ($device) on a day ($day), with their energy.
-- Columns:
--   source, role, negative_role       as in balance/find_device_source
--   counts, part, lacks_with_energy   as in balance/find_device_source
--   total_source, energy_role         as declared
--   is_listed                         `sources` of the device names it, or names none
--   container                         the source of the device that contains it; null: none
--   energy_wh                         null without energy
SELECT device_source.source, device_source.role, device_source.negative_role, device_source.counts, device_source.part,
  device_source.lacks_with_energy,
  coalesce(declared_device.total_source, all_devices.total_source) AS total_source,
  declared_device.energy_role,
  declared_device.sources IS NULL OR list_contains(declared_device.sources, device_source.source) AS is_listed,
  CASE WHEN role_span.within_device = device_source.device THEN role_span.within_source END AS container,
  chosen.energy_wh::DOUBLE AS energy_wh
FROM device_source
LEFT JOIN declared_device ON declared_device.device = device_source.device
CROSS JOIN (SELECT total_source FROM declared_device WHERE device IS NULL) AS all_devices
LEFT JOIN role_span ON role_span.device = device_source.device AND role_span.source = device_source.source
  AND (role_span.valid_from IS NULL OR role_span.valid_from <= $day::DATE)
  AND (role_span.valid_to IS NULL OR role_span.valid_to >= $day::DATE)
LEFT JOIN chosen ON chosen.source = device_source.source
WHERE device_source.device = $device::UUID
  AND (device_source.valid_from IS NULL OR device_source.valid_from <= $day::DATE)
  AND (device_source.valid_to IS NULL OR device_source.valid_to >= $day::DATE)
ORDER BY device_source.counts DESC, device_source.source;

-- name: find_splits
-- Returns the rise and fall of sources if only one of the two counts for the device. They are null if
-- readings are too far apart to separate them.
SELECT source, rise_wh::DOUBLE AS rise_wh, fall_wh::DOUBLE AS fall_wh FROM rise_fall;

-- name: find_device_day
-- Returns the reported energy of the device; no row if none of its sources has energy. Reads device_day.
SELECT energy_wh::DOUBLE AS energy_wh, list_sort(flags) AS flags FROM device_day;
