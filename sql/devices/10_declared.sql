-- 10 Declared: what the configuration says of devices.
--
-- Reads   the configuration, as JSON; series.
-- Writes  declared_device (temporary, one row for each device, and one without a device that is that of all); known_source (temporary, one
--         row for each device and source of which there is energy).
-- Why     balance/find_device_source makes device_source of them: which sources the energy of a device is the sum of.

-- name: declare_devices
-- What the configuration says of devices, for the statements beside this one and balance/find_device_source. $devices: JSON, an array of
-- { id, totalSource, sources, energyRole }; $total_source: the total source of devices that name none of their own, or null.
CREATE OR REPLACE TEMP TABLE declared_device AS
SELECT id AS device, totalSource AS total_source, sources, energyRole AS energy_role
FROM (SELECT unnest(from_json($devices, '[{"id": "UUID", "totalSource": "VARCHAR", "sources": ["VARCHAR"], "energyRole": "VARCHAR"}]'), recursive := true))
UNION ALL
SELECT NULL, $total_source, NULL, NULL;

-- name: find_known_sources
-- The sources of devices that energy is known of, for balance/find_device_source.
CREATE OR REPLACE TEMP TABLE known_source AS SELECT DISTINCT device, source FROM series;

-- name: list_known_sources
-- The sources of devices that energy is known of.
SELECT device::VARCHAR AS device, source FROM known_source;
