-- What the sites of the configuration consist of: meters on the one side, devices on the other. Temp table declared_member: see
-- meters/declare-members.
SELECT site, meter_code, device, source, sign, valid_from, valid_to FROM declared_member
ORDER BY site, meter_code, device, source, valid_from
