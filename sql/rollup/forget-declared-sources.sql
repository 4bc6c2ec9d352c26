-- Forgets which sources devices have.
DELETE FROM declared_source;
