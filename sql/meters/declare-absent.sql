-- What the configuration says sites do not have. $absent: JSON, an array of { site, role };
-- without a site: what the workgroup does not have, because none of its sites does.
CREATE OR REPLACE TEMP TABLE declared_absent AS
SELECT site, role FROM (SELECT unnest(from_json($absent, '[{"site": "VARCHAR", "role": "VARCHAR"}]'), recursive := true));
