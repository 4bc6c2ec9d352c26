-- 10 Declared: the declarations of devices in the configuration.
--
-- Reads   the configuration, as JSON; series.
-- Writes  declared_device (temporary: one row for each device, and one row without a device that holds for
--         all), known_source (temporary: one row for each device and source with energy).
-- Why     balance/find_device_source makes device_source from them: the sources that make up the energy of a
--         device.

-- name: declare_devices
-- Stores the declarations of devices. $devices: JSON array of { id, name, totalSource, sources, energyRole }.
-- $total_source: the total source of devices that name none of their own, or null.
-- declared_device:
--   device                                     null: the row holds for all devices
--   name, total_source, sources, energy_role   null: not declared
CREATE OR REPLACE TEMP TABLE declared_device AS
SELECT id AS device, name, totalSource AS total_source, sources, energyRole AS energy_role
FROM (
  SELECT unnest(from_json($devices, '[{
      "id": "UUID", "name": "VARCHAR", "totalSource": "VARCHAR", "sources": ["VARCHAR"], "energyRole": "VARCHAR"
    }]'), recursive := true)
)
UNION ALL BY NAME
SELECT $total_source AS total_source;

-- name: collect_known_sources
-- Stores the sources of devices that have energy, for balance/find_device_source.
-- known_source: device, source
CREATE OR REPLACE TEMP TABLE known_source AS SELECT DISTINCT device, source FROM series;

-- name: list_known_sources
-- Returns the sources of devices that have energy.
SELECT device::VARCHAR AS device, source FROM known_source;
