-- 10 Declared: what the configuration says of meters and sites.
--
-- Reads   the configuration, as JSON.
-- Writes  declared_meter (one row for each meter code), declared_member (one row for each member of a site), declared_absent (one row for
--         each role that a site does not have), all temporary.
-- Why     The publisher writes them into the lake, where sites are added up.

-- name: declare_meters
-- What the configuration says of meters, for the statements that publish it. $meters: JSON, an array of { code, name, direction, device, source }.
CREATE OR REPLACE TEMP TABLE declared_meter AS
SELECT code AS meter_code, name, direction, device, source
FROM (SELECT unnest(from_json($meters, '[{"code": "VARCHAR", "name": "VARCHAR", "direction": "VARCHAR", "device": "UUID", "source": "VARCHAR"}]'), recursive := true));

-- name: declare_members
-- What the configuration says of sites. $members: JSON, an array of { site, code, device, source, sign, from, to }.
CREATE OR REPLACE TEMP TABLE declared_member AS
SELECT site, code AS meter_code, device, source, sign, "from" AS valid_from, "to" AS valid_to
FROM (SELECT unnest(from_json($members, '[{"site": "VARCHAR", "code": "VARCHAR", "device": "UUID", "source": "VARCHAR", "sign": "INTEGER", "from": "DATE", "to": "DATE"}]'), recursive := true));

-- name: declare_absent
-- What the configuration says sites do not have. $absent: JSON, an array of { site, role };
-- without a site: what the workgroup does not have, because none of its sites does.
CREATE OR REPLACE TEMP TABLE declared_absent AS
SELECT site, role FROM (SELECT unnest(from_json($absent, '[{"site": "VARCHAR", "role": "VARCHAR"}]'), recursive := true));
