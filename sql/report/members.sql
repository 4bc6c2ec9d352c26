-- What energy is asked of: uploaded meters by code, devices by id, with a source or as a whole. $members: JSON, an array of
-- { key, code, device, source }. Read as "member".
SELECT unnest(from_json($members, '[{"key": "VARCHAR", "code": "VARCHAR", "device": "UUID", "source": "VARCHAR"}]'), recursive := true)
