-- The sources of devices that energy is known of, for sql/balance/10_device_source.
CREATE OR REPLACE TEMP TABLE known_source AS SELECT DISTINCT device, source FROM series;
