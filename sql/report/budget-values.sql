-- "meter_day" of budgets as rows, for what is computed of them. A budget is known as a whole.
SELECT key, day::VARCHAR AS day, energy_wh::DOUBLE AS energy_wh, 1::DOUBLE AS coverage, NULL::VARCHAR AS flags, scenario FROM meter_day
