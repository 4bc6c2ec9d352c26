-- Every step of every series in context is looked at.
UPDATE context SET needs_all = true;
