-- title: Responses
-- question: How many answers are affected, possible, replayed, excluded, or another record of one already counted?
-- parameters: none
-- limits: `guessed` are the duplicates that no id proves; the upper bound of responses keeps them apart.
SELECT
    count(*) FILTER (disposition = 'affected') AS affected,
    count(*) FILTER (disposition = 'possible') AS possible,
    count(*) FILTER (disposition = 'replay') AS replays,
    count(*) FILTER (disposition = 'excluded') AS excluded,
    count(*) FILTER (disposition = 'duplicate') AS duplicates,
    count(*) FILTER (guessed) AS guessed,
    count(*) AS records
FROM dispositions
