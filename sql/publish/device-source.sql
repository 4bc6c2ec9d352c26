-- Which sources count in the energy of devices, by stretches of days. Temp table device_source: see balance/10_device_source.
SELECT * FROM device_source ORDER BY device, source, valid_from NULLS FIRST
