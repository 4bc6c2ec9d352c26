-- The meters of the configuration. Temp table declared_meter: see meters/declare.
SELECT meter_code, name, direction, device, source FROM declared_meter ORDER BY meter_code
