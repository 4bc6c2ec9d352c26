-- Which sources the devices have that energy is known of.
SELECT device::VARCHAR AS device, list_sort(list(DISTINCT source)) AS sources FROM series GROUP BY device;
