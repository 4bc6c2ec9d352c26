-- What the configuration says of sites. $members: JSON, an array of { site, code, device, source, sign, from, to }.
CREATE OR REPLACE TEMP TABLE declared_member AS
SELECT site, code AS meter_code, device, source, sign, "from" AS valid_from, "to" AS valid_to
FROM (SELECT unnest(from_json($members, '[{"site": "VARCHAR", "code": "VARCHAR", "device": "UUID", "source": "VARCHAR", "sign": "INTEGER", "from": "DATE", "to": "DATE"}]'), recursive := true));
