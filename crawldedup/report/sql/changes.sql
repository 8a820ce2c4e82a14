-- name: make_contents
-- For each URL, its first verdict in the crawl, and its last text. If a better copy has replaced the page that came
-- first, that page is the copy.
CREATE TABLE contents AS WITH replaced AS (
    SELECT DISTINCT page_at(original) AS page FROM pages WHERE replaces AND page_at(original) <> page_at(url)
)
SELECT page_at(url) AS page, any_value(url) AS url, any_value(site) AS site, arg_min(outcome, moment) AS outcome,
    is_copy(arg_min(outcome, moment)) AND NOT coalesce(bool_or(replaces), false)
        OR page_at(url) IN (SELECT page FROM replaced) AS is_copy,
    arg_min(original, moment) AS original, arg_max(digest, moment) AS digest, coalesce(bool_or(changed), false) AS changed,
    arg_max(changed_by, moment) FILTER (changed) AS changed_by, arg_max(difference, moment) FILTER (changed) AS difference
FROM places WHERE is_judged(outcome) OR outcome = 'revisit' GROUP BY page;

-- name: make_answers
-- The other responses at each URL, or the reason why its page did not come. What a form or an API answers says nothing
-- about the page. It is open whether there was a page if it failed, or was not fetched.
CREATE TABLE answers AS SELECT page, arg_max(status, moment) AS status, arg_max(reason, moment) AS reason,
    arg_max(is_open, moment) AS is_open FROM (
    SELECT page_at(url) AS page, coalesce(status, 0) AS status, coalesce(reason, '') AS reason,
        outcome = 'error' OR status >= 400 AND status NOT IN (404, 410) AS is_open, moment
    FROM pages WHERE outcome IN ('skipped', 'error') AND coalesce(method, '') = ''
    UNION ALL SELECT page_at(skipped), 0, if(is_over_budget(rule), 'out of budget', 'skipped by a rule'), true, moment
        FROM lines WHERE skipped IS NOT NULL
    UNION ALL SELECT page_at(asked), 0, 'redirected', false, moment FROM pages WHERE asked IS NOT NULL
) GROUP BY page;

-- name: make_moves
-- The addresses that the earlier crawl did not see, and what they have in common with a page that is no longer there:
-- its text, or that they are copies of it. If the later crawl was cut short, it may not have requested the page, which
-- may still be there: then a page has only moved if its old address was requested.
CREATE TABLE moves AS WITH arrived AS (
    SELECT * FROM contents WHERE page NOT IN (SELECT page FROM former.contents)
), left_behind AS (
    SELECT * FROM former.contents WHERE NOT is_copy AND page NOT IN (SELECT page FROM contents)
        AND ($is_whole_later OR page IN (SELECT page FROM answers))
), by_text AS (
    SELECT digest, min(url) AS url FROM arrived WHERE outcome <> 'thin' GROUP BY digest
), by_original AS (
    SELECT page_at(original) AS page, min(url) AS url FROM arrived WHERE is_copy GROUP BY ALL
)
SELECT page, min(new_url) AS url FROM (
    SELECT page, by_text.url AS new_url FROM left_behind JOIN by_text USING (digest)
        WHERE $by_text AND left_behind.outcome <> 'thin'
    UNION ALL SELECT page, by_original.url FROM left_behind JOIN by_original USING (page)
) GROUP BY page;

-- name: make_changes_since
-- Copies are left out, because their originals count.
CREATE TABLE changes_since AS WITH states AS (
    SELECT coalesce(now.url, earlier.url) AS url, coalesce(now.site, earlier.site) AS site, moves.url AS moved_to,
        answers.status, answers.reason, now.changed_by, now.difference, CASE
        WHEN earlier.page IS NULL THEN CASE
            WHEN now.is_copy OR now.url IN (SELECT url FROM moves) THEN NULL
            -- The index knew the page, maybe from a visit whose line is lost.
            WHEN now.outcome = 'revisit' AND NOT $is_whole THEN 'unknown'
            WHEN answered.is_open THEN 'unknown'
            ELSE 'new' END
        WHEN now.changed AND (
            -- A crawl in between may have seen another text, and this one the text of the earlier crawl.
            $is_next OR NOT $by_text OR now.digest <> earlier.digest OR coalesce(now.changed_by, 'text') <> 'text'
        ) THEN if(now.is_copy AND earlier.is_copy, NULL, 'changed')
        WHEN now.is_copy THEN NULL
        -- The verdict on a revisit takes lines that change with every load into account, unlike digests.
        WHEN now.outcome = 'revisit' AND $is_next THEN 'unchanged'
        WHEN now.page IS NOT NULL AND NOT $by_text THEN 'unknown'
        WHEN now.page IS NOT NULL THEN if(now.digest = earlier.digest, 'unchanged', 'changed')
        WHEN earlier.is_copy THEN NULL
        WHEN moves.url IS NOT NULL THEN 'moved'
        WHEN answers.status IN (404, 410) THEN 'gone'
        ELSE 'unknown' END AS change,
        now.page IS NOT NULL AS is_met, earlier.page IS NULL AS is_unmet_before,
        answers.page IS NOT NULL AS is_answered, if(answered.is_open, answered.reason, NULL) AS reason_then
    FROM contents AS now FULL JOIN former.contents AS earlier USING (page)
    LEFT JOIN moves USING (page) LEFT JOIN answers USING (page) LEFT JOIN former.answers AS answered USING (page)
)
SELECT change, url, site, coalesce(moved_to, '') AS moved_to, if(change = 'changed', coalesce(nullif(changed_by, ''), 'text'), '') AS what,
    if(change = 'changed', coalesce(difference, ''), '') AS difference,
    CASE WHEN change = 'gone' THEN 'status ' || status
    WHEN change <> 'unknown' THEN ''
    WHEN is_unmet_before AND reason_then IS NOT NULL THEN 'not checked by the earlier crawl: ' || reason_then
    WHEN is_unmet_before THEN 'the earlier journal is incomplete'
    WHEN is_met THEN 'the crawls have no common index'
    WHEN NOT is_answered AND NOT $is_whole_later THEN 'the later journal is incomplete'
    ELSE coalesce(nullif(reason, ''), 'not asked for, or no answer') END AS reason
FROM states WHERE change IS NOT NULL;

-- name: unfinished
-- Journals of processes that were killed, or that are still running.
SELECT process FROM lines GROUP BY process HAVING count("end") = 0;

-- name: joined
-- Files with the journals of several crawls. The times of all crawls except the first are unknown.
SELECT process, count(*) AS crawls FROM lines WHERE crawldedup_journal IS NOT NULL
GROUP BY process HAVING count(*) > 1 ORDER BY process;

-- name: count_changes
SELECT change, count(*) AS pages FROM changes_since GROUP BY change;

-- name: changes_since
SELECT * FROM changes_since ORDER BY change, url;

-- name: first_changes
SELECT * FROM changes_since WHERE change <> 'unchanged'
QUALIFY row_number() OVER (PARTITION BY change ORDER BY url) <= $most ORDER BY change, url;
