-- What counts of "every_source": devices that have a total source are that source alone. $total_devices, $total_sources: lists side by side.
SELECT c.*
FROM every_source c
LEFT JOIN (SELECT unnest($total_devices::UUID[]) AS device, unnest($total_sources::VARCHAR[]) AS source) t ON t.device = c.device
WHERE t.source IS NULL OR t.source = c.source
