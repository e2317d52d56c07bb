-- title: Calls that are alike
-- question: Which counted calls are of one tenant and model and equally long?
-- parameters: none
-- limits: Calls without a count or a time are not compared.
WITH counted AS (
    SELECT
        v.call, v.verdict, c.carrier, c.tenant, p.format, p."key", p."user", p.client_ip,
        lower(split_part(p.model_text, '/', -1)) AS model, p.started_earliest, p.started_latest,
        p.prompt_tokens_min, p.prompt_tokens_max
    FROM verdicts AS v
    JOIN calls AS c ON c.call = v.call
    JOIN parts AS p ON p.n = c.carrier
    WHERE v.verdict IN ('affected', 'possible')
      AND v.call NOT IN (SELECT call FROM excluded_calls)
      AND p.prompt_tokens_min IS NOT NULL AND p.prompt_tokens_max IS NOT NULL
      AND p.started_earliest <= p.started_latest
)
SELECT *
FROM counted
QUALIFY count(*) OVER (PARTITION BY tenant, model, prompt_tokens_min, prompt_tokens_max) > 1
