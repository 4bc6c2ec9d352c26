-- One declared change of a register, values in Wh; source is null where it holds for every source of the device.
INSERT INTO stream_change VALUES ($stream_id, $device::UUID, $source, $at_ms::BIGINT, $final_value, $initial_value);
