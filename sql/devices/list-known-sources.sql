-- The sources of devices that energy is known of.
SELECT device::VARCHAR AS device, source FROM known_source;
