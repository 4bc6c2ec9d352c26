-- Notes the sources that devices have: $devices and $sources, lists side by side.
INSERT INTO declared_source SELECT unnest($devices::UUID[]), unnest($sources::VARCHAR[]);
