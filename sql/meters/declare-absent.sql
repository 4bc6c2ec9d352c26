-- What the configuration says sites do not have. $absent: JSON, an array of { site, role }.
CREATE OR REPLACE TEMP TABLE declared_absent AS
SELECT site, role FROM (SELECT unnest(from_json($absent, '[{"site": "VARCHAR", "role": "VARCHAR"}]'), recursive := true));
