-- The sources of devices, and which of them the energy of the whole device is the sum of by what is declared from now on; see
-- sql/balance/10_device_source for other days. Temp table device_source: see there.
SELECT device, source, counts FROM device_source WHERE valid_to IS NULL ORDER BY device, source
