-- name: macros
-- `tell` shows the progress.
SET enable_progress_bar = false;
CREATE MACRO is_judged(outcome) AS outcome IN ('new', 'near', 'exact', 'thin');
CREATE MACRO is_copy(outcome) AS outcome IN ('near', 'exact');
-- Whether it was a mark that kept a new page apart from one that reads alike.
CREATE MACRO is_apart(outcome, cause) AS outcome IN ('new', 'thin')
    AND cause IN ('name', 'picture', 'player', 'data', 'listing', 'text', 'links', 'rest', 'numbers');
-- Contents may differ only in their texts or links, but so do the pages of walls and traps. To detect these, such a
-- page counts as a copy.
CREATE MACRO is_hardly_apart(outcome, cause) AS outcome = 'new' AND coalesce(cause IN ('text', 'links', 'rest'), false);
-- A skipped request names the rule that predicts a copy, or the pattern that has ended (CRAWLDEDUP_BUDGET).
CREATE MACRO is_over_budget(rule) AS starts_with(coalesce(rule, ''), 'budget of ');
-- Scheme and host, as written in a URL.
CREATE MACRO origin_of(url) AS regexp_extract(coalesce(url, ''), '(?s)^.{1,19}?://[^/?#]*');
-- Crawls know a page by the normal form of its URL. URLs are long, so they are compared by 64 bits. Most have this form
-- already, and Python is slow.
CREATE MACRO page_at(url) AS hash(CASE WHEN
    regexp_full_match(url, 'https?://[a-z0-9][a-z0-9.-]*/[A-Za-z0-9/._~-]*(\?[A-Za-z0-9._~-]+=[A-Za-z0-9._~-]*)?')
    AND NOT contains(url, '/.') THEN url ELSE canonical_of(url) END);
-- The number of parameters that count in one URL. Otherwise, the few URLs with more would fill the table.
CREATE MACRO parameters_of(url) AS
    list_filter(string_split(regexp_extract(url, '\?([^#]*)', 1), '&')[:30], lambda parameter: parameter <> '');
-- NaN sorts above all numbers.
CREATE MACRO sound(figure, most) AS if(figure BETWEEN 0 AND most, figure, NULL);
-- Names of the same kind become one: dates, ids, numbers, and titles with hyphens. URLs that only differ in these have
-- the same pattern. Ids and parameters in paths are rare, so searching first is cheaper than replacing.
CREATE MACRO pattern_of(path) AS
    regexp_replace(regexp_replace(regexp_replace(regexp_replace(
        if(regexp_matches(path, '[0-9a-fA-F]{16}|;'),
            regexp_replace(regexp_replace(path, ';[^/]*', ';*', 'g'), '\b[0-9a-fA-F]{16,}\b', '{id}', 'g'), path),
        '\b\d{4}[-/.](0?[1-9]|1[0-2])\b([-/.][0-3]?\d\b)?', '{date}', 'g'),
        '\d+', '{n}', 'g'),
        '/[^/]*[-_%][^/]*[-_%][^/]*', '/*', 'g'),
        '^((/[^/]*){4})/.+$', '\1/…');
-- Responses by outcome, siblings, and the shares of duplicates among checked pages and of new pages among judged ones.
CREATE MACRO counted(outcome, cause) AS {
    'counts': {
        'new': count(*) FILTER (outcome = 'new'), 'near': count(*) FILTER (outcome = 'near'),
        'exact': count(*) FILTER (outcome = 'exact'), 'thin': count(*) FILTER (outcome = 'thin'),
        'revisit': count(*) FILTER (outcome = 'revisit'), 'skipped': count(*) FILTER (outcome = 'skipped'),
        'error': count(*) FILTER (outcome = 'error')
    },
    'responses': count(outcome),
    'judged': count(*) FILTER (is_judged(outcome)),
    'checked': count(*) FILTER (is_judged(outcome) OR outcome = 'revisit'),
    'duplicates': count(*) FILTER (is_copy(outcome)),
    'apart': count(*) FILTER (is_apart(outcome, cause)),
    'hardly_apart': count(*) FILTER (is_hardly_apart(outcome, cause)),
    'share': count(*) FILTER (is_copy(outcome))
        / nullif(count(*) FILTER (is_judged(outcome) OR outcome = 'revisit'), 0),
    'novelty': count(*) FILTER (outcome = 'new') / nullif(count(*) FILTER (is_judged(outcome)), 0)
};
-- Most pages of a place are copies, and nothing new came at the end. Mirrors and print views aren't traps: they have an
-- end, because each repeats one page. A revisit isn't a copy: the place has its own text there, as it had when the page
-- was new.
CREATE MACRO trap(kind, checked, copies, since_new, is_mirror) AS CASE
    WHEN since_new < 50 OR copies < 0.5 * checked THEN ''
    WHEN regexp_matches(kind, '(?i);\*|\{id\}|^(.*sess.*|.*token.*|sid|s|cfid|zenid|oscsid)$') THEN 'session ids'
    WHEN is_mirror THEN ''
    WHEN regexp_matches(kind, '(?i)calend|\bevents?\b|agenda|\{date\}') THEN 'calendar'
    ELSE 'many URLs, few texts' END;
-- A duplicate, its place in the crawl, and how it differs from its original.
CREATE MACRO member(url, original, outcome, similarity, action, referer, difference, by_view) AS {
    'url': url, 'original': coalesce(original, ''), 'outcome': outcome, 'similarity': similarity,
    'action': coalesce(action, ''), 'referer': coalesce(referer, ''), 'difference': coalesce(difference, ''),
    'by_view': coalesce(by_view, false)
};
-- The distribution of figures over the pages. Quantiles are estimates.
CREATE MACRO spread(name, figure) AS {
    'name': name, 'total': sum(figure)::DOUBLE, 'median': approx_quantile(figure, 0.5)::DOUBLE,
    'p95': approx_quantile(figure, 0.95)::DOUBLE, 'most': max(figure)::DOUBLE
};

-- name: make_lines
-- Values of other types are left out, and so are outcomes that this version doesn't know.
CREATE TABLE lines AS
WITH parts AS (
    SELECT *, origin_of(url) AS origin, list_position($names, filename) AS process
    FROM read_json($files, format = 'newline_delimited', ignore_errors = true, filename = true, columns = {
        url: 'VARCHAR', outcome: 'VARCHAR', original: 'VARCHAR', similarity: 'DOUBLE', hamming: 'INTEGER',
        copies: 'BIGINT', words: 'BIGINT', action: 'VARCHAR', changed: 'BOOLEAN', unchanged: 'BOOLEAN',
        replaces: 'BOOLEAN', by_view: 'BOOLEAN', abandoned: 'BOOLEAN', digest: 'VARCHAR', reason: 'VARCHAR', bytes: 'BIGINT',
        status: 'INTEGER', referer: 'VARCHAR', depth: 'INTEGER', latency: 'DOUBLE', waited: 'DOUBLE', read: 'DOUBLE',
        store: 'DOUBLE', probes: 'INTEGER', candidates: 'INTEGER', difference: 'VARCHAR', rejected_url: 'VARCHAR',
        rejected_similarity: 'DOUBLE', rejected_by: 'VARCHAR', apart: 'VARCHAR', changed_by: 'VARCHAR',
        t: 'DOUBLE', known: 'BIGINT', index_bytes: 'BIGINT', skipped: 'VARCHAR', rule: 'VARCHAR', wall: 'VARCHAR',
        share: 'DOUBLE', "window": 'BIGINT', "end": 'VARCHAR', stats: 'JSON', crawldedup_journal: 'INTEGER',
        withdrawn: 'JSON', volatile: 'VARCHAR', ended: 'VARCHAR', pages: 'BIGINT',
        asked: 'VARCHAR', method: 'VARCHAR'
    })
), paths AS (
    SELECT *, left(regexp_extract(substr(url, length(origin) + 1), '^[^?#]*'), 300) AS path FROM parts
), patterns AS (
    SELECT * EXCLUDE (path), if(origin <> '', pattern_of(path), '') AS pattern FROM paths
)
-- A pattern is a folder and a name in it, so folders with many names can be combined.
SELECT patterns.* EXCLUDE (t, filename, pattern) REPLACE (
        if(outcome IN ('new', 'near', 'exact', 'thin', 'revisit', 'skipped', 'error'), outcome, NULL) AS outcome,
        sound(similarity, 1) AS similarity, sound(rejected_similarity, 1) AS rejected_similarity,
        sound(hamming, 1e15) AS hamming, sound(copies, 1e15) AS copies, sound(words, 1e15) AS words,
        sound(bytes, 1e15) AS bytes, sound(status, 1e15) AS status, sound(depth, 1e15) AS depth,
        sound(latency, 1e15) AS latency, sound(waited, 1e15) AS waited, sound(read, 1e15) AS read,
        sound(store, 1e15) AS store, sound(probes, 1e15) AS probes, sound(candidates, 1e15) AS candidates,
        sound(known, 1e15) AS known, sound(index_bytes, 1e15) AS index_bytes, sound(share, 1) AS share,
        sound("window", 1e15) AS "window", process - 1 AS process
    ),
    $offsets[process] + if(t BETWEEN 0 AND 1e9, t, 0) AS moment,
    regexp_replace(pattern, '[^/]*/?$', '') AS folder, regexp_extract(pattern, '[^/]*/?$') AS leaf
FROM patterns;

-- name: make_views
CREATE TABLE sites AS SELECT origin, site_at(origin) AS site FROM (SELECT DISTINCT origin FROM lines WHERE origin <> '');
CREATE VIEW pages AS SELECT rowid AS number, * FROM lines WHERE url IS NOT NULL AND outcome IS NOT NULL;
-- Folders with more names than that are shown as one pattern.
CREATE TABLE wide_folders AS SELECT site, folder FROM lines JOIN sites USING (origin) WHERE url IS NOT NULL
GROUP BY ALL HAVING approx_count_distinct(leaf) > 20;
CREATE VIEW places AS SELECT pages.*, coalesce(sites.site, '') AS site,
    pages.folder || CASE WHEN wide.site IS NULL THEN leaf ELSE '*' END AS pattern
FROM pages LEFT JOIN sites USING (origin)
LEFT JOIN wide_folders AS wide ON wide.site = sites.site AND wide.folder = pages.folder;
-- The rows if every verdict is written.
CREATE VIEW verdicts AS SELECT number, moment, site, url, outcome, original, similarity, hamming, copies, words, action,
    changed, unchanged, replaces, abandoned, digest, reason, bytes, status, referer, depth, latency, waited, read, store,
    probes, candidates, difference, rejected_url, rejected_similarity, rejected_by, apart, process
FROM places;

-- name: unread_lines
-- Lines that are cut off, foreign, or have an outcome that this version doesn't know.
SELECT count(*) AS lines FROM lines WHERE coalesce(outcome, wall, skipped, volatile, "end", known::VARCHAR,
    crawldedup_journal::VARCHAR, withdrawn::VARCHAR, ended) IS NULL;

-- name: evidence
SELECT url, outcome, original, digest, referer, depth FROM pages ORDER BY moment, number;

-- name: withdrawn_rules
SELECT withdrawn FROM lines WHERE withdrawn IS NOT NULL LIMIT 2000;
