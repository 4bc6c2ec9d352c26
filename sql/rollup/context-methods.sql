-- Which methods the series in context have.
SELECT DISTINCT method FROM context;
