-- One unit that readings may carry in a field of their own.
INSERT INTO unit_factor VALUES ($dimension, $unit, $factor);
