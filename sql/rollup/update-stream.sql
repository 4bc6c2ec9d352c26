-- Notes the settings of an energy stream; null where it is no longer configured.
UPDATE energy_stream SET settings = $settings WHERE stream_id = $stream_id;
