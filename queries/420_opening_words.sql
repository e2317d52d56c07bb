-- title: Answers that open alike (S11)
-- question: Do affected answers open with the same word, and without the thinking mark that other answers have?
-- parameters: none
-- limits: Confirmatory, and needs the answers. The first token of an affected answer comes from the stub, so it is one and
--   the same where the temperature is 0. Words are keyed digests; shares are of answers, not NULL where there is none.
WITH told AS (
    SELECT affected, opening, thinks, count(*) OVER (PARTITION BY affected, opening) AS alike FROM openings
),
common AS (
    SELECT opening FROM told WHERE affected ORDER BY alike DESC, opening LIMIT 1
)
SELECT
    affected,
    count(*) AS answers,
    count(*) FILTER (WHERE opening = (SELECT opening FROM common)) AS open_with_the_commonest,
    count(*) FILTER (WHERE thinks) AS open_with_thinking,
    (SELECT opening FROM common) AS commonest
FROM told
GROUP BY affected
ORDER BY affected
