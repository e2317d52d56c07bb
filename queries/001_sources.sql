-- title: Sources in order
-- question: Which sources have records, and which number does each get in the total order?
-- parameters: none
-- limits: A source without a single record is not listed.
SELECT source, row_number() OVER (ORDER BY source) AS source_no
FROM (SELECT DISTINCT source FROM records)
ORDER BY source_no
