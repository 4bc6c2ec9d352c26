-- The sources that devices were declared to have so far.
SELECT device::VARCHAR AS device, source FROM declared_source ORDER BY ALL;
