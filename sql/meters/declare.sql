-- What the configuration says of meters, for the statements that publish it. $meters: JSON, an array of { code, name, direction, device, source }.
CREATE OR REPLACE TEMP TABLE declared_meter AS
SELECT code AS meter_code, name, direction, device, source
FROM (SELECT unnest(from_json($meters, '[{"code": "VARCHAR", "name": "VARCHAR", "direction": "VARCHAR", "device": "UUID", "source": "VARCHAR"}]'), recursive := true));
