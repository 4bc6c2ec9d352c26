-- What the configuration says of devices, for the statements beside this one and sql/balance/10_device_source. $devices: JSON, an array of
-- { id, totalSource, sources, energyRole }; $total_source: the total source of devices that name none of their own, or null.
CREATE OR REPLACE TEMP TABLE declared_device AS
SELECT id AS device, totalSource AS total_source, sources, energyRole AS energy_role
FROM (SELECT unnest(from_json($devices, '[{"id": "UUID", "totalSource": "VARCHAR", "sources": ["VARCHAR"], "energyRole": "VARCHAR"}]'), recursive := true))
UNION ALL
SELECT NULL, $total_source, NULL, NULL;
