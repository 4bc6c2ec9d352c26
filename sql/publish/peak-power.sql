-- The peak power of devices by stretches of days, kWp. Temp table declared_peak: see devices/declare.
SELECT device, kwp, valid_from, valid_to FROM declared_peak ORDER BY device, valid_from NULLS FIRST
