-- Takes rows of intervals or registers in. $rows: JSON, an array of them.
INSERT INTO incoming
SELECT line, meter, meter, start, "end", energyWh, direction, quality, 1, false
FROM (SELECT unnest(from_json($rows, '[{"line": "BIGINT", "meter": "VARCHAR", "start": "BIGINT", "end": "BIGINT", "energyWh": "DOUBLE", "direction": "VARCHAR", "quality": "VARCHAR"}]'), recursive := true));
