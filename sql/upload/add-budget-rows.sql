-- Takes rows of budgets in. $rows: JSON, an array of them, with the granularity within which they may not overlap.
INSERT INTO incoming
SELECT line, concat_ws(chr(10), meter, scenario, granularity), meter, start - DATE '1970-01-01', "end" - DATE '1970-01-01' + 1, energyWh, NULL, scenario, 1, false
FROM (SELECT unnest(from_json($rows, '[{"line": "BIGINT", "meter": "VARCHAR", "start": "DATE", "end": "DATE", "energyWh": "DOUBLE", "scenario": "VARCHAR", "granularity": "VARCHAR"}]'), recursive := true));
