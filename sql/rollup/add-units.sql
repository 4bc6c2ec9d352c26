-- The units that readings may carry in a field of their own. $units, $factors: names and what one of them is in Wh or W.
INSERT INTO unit_factor SELECT $dimension, unnest($units::VARCHAR[]), unnest($factors::DOUBLE[]);
