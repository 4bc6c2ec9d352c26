-- 10 Declared: the declarations of meters and sites in the configuration.
--
-- Reads   the configuration, as JSON.
-- Writes  declared_meter (one row for each meter code), declared_member (one row for each member of a site),
--         declared_absent (one row for each role that a site does not have), all temporary.
-- Why     The publisher writes them into the lake, where sites are added up.

-- name: declare_meters
-- Stores the declarations of meters. $meters: JSON array of { code, name, direction, device, source }.
-- declared_meter:
--   meter_code, name, direction
--   device, source   null: its readings are uploaded
CREATE OR REPLACE TEMP TABLE declared_meter AS
SELECT code AS meter_code, name, direction, device, source
FROM (
  SELECT unnest(from_json($meters, '[{
      "code": "VARCHAR", "name": "VARCHAR", "direction": "VARCHAR", "device": "UUID", "source": "VARCHAR"
    }]'), recursive := true)
);

-- name: declare_members
-- Stores the members of sites. $members: JSON array of { site, code, device, source, sign, from, to }.
-- declared_member:
--   site
--   meter_code             null: the member is a device or a source
--   device, source
--   sign                   1: is added, -1: is subtracted
--   valid_from, valid_to   null: open
CREATE OR REPLACE TEMP TABLE declared_member AS
SELECT site, code AS meter_code, device, source, sign, "from" AS valid_from, "to" AS valid_to
FROM (
  SELECT unnest(from_json($members, '[{
      "site": "VARCHAR", "code": "VARCHAR", "device": "UUID", "source": "VARCHAR", "sign": "INTEGER",
      "from": "DATE", "to": "DATE"
    }]'), recursive := true)
);

-- name: declare_absent
-- Stores the roles that sites do not have. $absent: JSON array of { site, role }.
-- declared_absent:
--   site   null: no site of the workgroup has the role
--   role
CREATE OR REPLACE TEMP TABLE declared_absent AS
SELECT site, role
FROM (SELECT unnest(from_json($absent, '[{"site": "VARCHAR", "role": "VARCHAR"}]'), recursive := true));
