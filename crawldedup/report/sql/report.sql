-- name: make_clusters
-- A page that replaces the kept one inherits its duplicates, including those of pages that the kept one had replaced.
-- In the view, it is the original, and the former one is its duplicate.
CREATE TABLE renamed AS WITH RECURSIVE replaced AS (
    SELECT original AS former, arg_max(url, moment) AS kept FROM pages
    WHERE replaces AND original IS NOT NULL AND original <> url GROUP BY original
), chains AS (
    SELECT former, kept, 1 AS step FROM replaced UNION ALL SELECT chains.former, replaced.kept, step + 1
    FROM chains JOIN replaced ON replaced.former = chains.kept WHERE replaced.kept <> chains.former AND step < 20
) SELECT former, arg_max(kept, step) AS kept FROM chains GROUP BY former;
CREATE VIEW copies AS SELECT * FROM (
    SELECT pages.* REPLACE (
        if(replaces, original, url) AS url, if(replaces, url, original) AS original,
        if(replaces, 'replaced', action) AS action, if(replaces, NULL, referer) AS referer
    ), coalesce(renamed.kept, pages.original) AS kept
    FROM pages LEFT JOIN renamed ON former = pages.original WHERE is_copy(outcome) AND pages.original IS NOT NULL
) WHERE url <> kept OR original = kept;
CREATE TABLE kept_pages AS SELECT kept, count(*) AS copies, count(*) FILTER (outcome = 'near') AS near,
    count(*) FILTER (outcome = 'exact') AS exact, min(similarity) AS lowest, coalesce(sum(bytes), 0) AS bytes,
    median(words)::INTEGER AS words
FROM copies GROUP BY kept;

-- name: clusters
-- The largest clusters with their least similar members, because a wrong one would be among these.
WITH biggest AS (SELECT * FROM kept_pages ORDER BY copies DESC, kept LIMIT 50), chosen AS (
    SELECT unnest(min_by(number, coalesce(similarity, 1), 20)) AS number, copies.kept
    FROM copies JOIN biggest USING (kept) GROUP BY copies.kept
), members AS (
    SELECT kept, member(url, original, outcome, similarity, action, referer, difference, by_view) AS member
    FROM copies JOIN chosen USING (number, kept)
)
SELECT biggest.*, exact / copies AS share_exact, members FROM biggest JOIN (
    SELECT kept, list(member ORDER BY member.similarity, member.url) AS members FROM members GROUP BY kept
) USING (kept) ORDER BY copies DESC, kept;

-- name: doubtful
-- Clusters of pages, none of which has the text of another one: siblings in a template look like this if they are short
-- or make up much of a crawl.
SELECT kept, copies, words, url AS example FROM (
    SELECT kept_pages.kept, any_value(kept_pages.copies) AS copies, any_value(kept_pages.words) AS words,
        arg_min(copies.url, (copies.similarity, copies.url)) AS url
    FROM kept_pages JOIN copies USING (kept)
    WHERE kept_pages.exact = 0 AND (
        kept_pages.copies >= $copies AND kept_pages.words <= $words
        OR kept_pages.copies >= $few AND kept_pages.copies >= $share * (SELECT count(*) FROM pages WHERE is_judged(outcome))
    ) GROUP BY kept_pages.kept
) ORDER BY copies DESC, kept LIMIT 20;

-- name: make_firsts
-- Pages that were kept apart by nothing but their texts or links, and hashes of their nearest pages. URLs are long, so
-- they are compared by 64 bits.
CREATE TABLE firsts AS SELECT hash(url) AS page, min(hash(rejected_url)) AS first FROM pages
WHERE is_hardly_apart(outcome, rejected_by) AND rejected_url <> '' AND rejected_url <> url GROUP BY page;

-- name: count_links
-- Pages whose nearest page was kept apart from another page.
SELECT count(*) AS links FROM firsts JOIN firsts AS further ON further.page = firsts.first;

-- name: shorten_links
-- Each page may be nearest to the one before it. Each step halves the length of chains.
CREATE OR REPLACE TABLE firsts AS SELECT firsts.page, coalesce(further.first, firsts.first) AS first
FROM firsts LEFT JOIN firsts AS further ON further.page = firsts.first;

-- name: alike
-- Pages that many others differ from only in texts or links.
WITH largest AS (SELECT first, count(*) AS pages FROM firsts GROUP BY first ORDER BY pages DESC, first LIMIT 20)
SELECT min(rejected_url) AS url, any_value(largest.pages) AS pages
FROM (SELECT rejected_url, hash(rejected_url) AS first FROM pages WHERE is_hardly_apart(outcome, rejected_by))
JOIN largest USING (first) GROUP BY first ORDER BY pages DESC, url;

-- name: totals
SELECT unnest(counted(outcome, rejected_by)), (SELECT count(*) FROM kept_pages) AS clusters,
    (SELECT count(*) FROM places JOIN sites AS originals ON originals.origin = origin_of(original)
        WHERE is_copy(outcome) AND originals.site <> places.site) AS across_sites,
    count(*) FILTER (replaces) AS replaced, count(*) FILTER (changed) AS changed,
    count(*) FILTER (outcome = 'revisit' AND action IN ('dropped', 'items_dropped')) AS unwanted,
    count(*) FILTER (abandoned) AS abandoned, coalesce(sum(bytes), 0) AS bytes,
    coalesce(sum(bytes) FILTER (is_copy(outcome)), 0) AS duplicate_bytes,
    coalesce(sum(latency) FILTER (is_copy(outcome)), 0) AS duplicate_seconds,
    coalesce(histogram(action) FILTER (action <> ''), MAP {}) AS actions
FROM pages;

-- name: ends
SELECT max("end") AS "end", max(moment) AS last FROM lines GROUP BY process ORDER BY process;

-- name: reasons
SELECT outcome, coalesce(reason, '') AS reason, count(*) AS pages
FROM pages WHERE outcome IN ('skipped', 'error') GROUP BY ALL ORDER BY pages DESC LIMIT 40;

-- name: refusals
-- The statuses that servers sent instead of pages, the place with most of them, and a page that links there.
WITH answers AS (
    SELECT TRY_CAST(regexp_extract(reason, '^http_(\d+)$', 1) AS INTEGER) AS status, site || pattern AS place, url, referer,
        number
    FROM places WHERE outcome = 'skipped'
), counted_places AS (
    SELECT status, place, count(*) AS pages, arg_min({'url': url, 'referer': coalesce(referer, '')}, number) AS example
    FROM answers WHERE status >= 400 GROUP BY status, place
)
SELECT status, sum(pages)::BIGINT AS pages, arg_max(place, (pages, place)) AS place, max(pages) AS there,
    unnest(arg_max(example, (pages, place)))
FROM counted_places GROUP BY status ORDER BY pages DESC, status LIMIT 20;

-- name: shells
-- Sites whose pages a script has yet to fill.
SELECT site, count(*) AS pages, min(url) AS url FROM places WHERE outcome = 'skipped' AND reason = 'shell'
GROUP BY site ORDER BY pages DESC, site LIMIT 20;

-- name: walls
-- In a fleet, several crawlers report each wall. The place has more than half of the pages that read like it, or is
-- empty.
WITH named AS (
    SELECT wall AS url, coalesce(max(share), 0) AS share, coalesce(arg_max("window", share), 0) AS "window",
        min(moment) AS seconds
    FROM lines WHERE wall IS NOT NULL GROUP BY wall ORDER BY seconds LIMIT 20
), alike AS (
    SELECT if(is_copy(outcome), original, rejected_url) AS url, site || pattern AS place, count(*) AS pages FROM places
    WHERE is_copy(outcome) OR is_hardly_apart(outcome, rejected_by) GROUP BY ALL
), at_most AS (
    SELECT url, if(2 * max(pages) > sum(pages), arg_max(place, pages), '') AS place
    FROM alike SEMI JOIN named USING (url) GROUP BY url
)
SELECT named.*, coalesce(place, '') AS place FROM named LEFT JOIN at_most USING (url) ORDER BY seconds;

-- name: savings
-- Pages that were downloaded after all, or anyway, are not saved downloads.
SELECT coalesce(rule, '') AS rule, count(DISTINCT page) AS downloads
FROM (SELECT rule, hash(skipped) AS page FROM lines WHERE skipped IS NOT NULL AND NOT is_over_budget(rule))
ANTI JOIN (SELECT hash(url) AS page FROM pages) USING (page)
GROUP BY ALL ORDER BY downloads DESC, 1 LIMIT 40;

-- name: rules_in_use
SELECT DISTINCT rule FROM lines WHERE skipped IS NOT NULL AND rule IS NOT NULL AND NOT is_over_budget(rule) LIMIT 1000;

-- name: over_budget
-- Whether these pages are copies is not known.
SELECT substr(rule, 11) AS pattern, count(DISTINCT page) AS downloads
FROM (SELECT rule, hash(skipped) AS page FROM lines WHERE skipped IS NOT NULL AND is_over_budget(rule))
ANTI JOIN (SELECT hash(url) AS page FROM pages) USING (page)
GROUP BY ALL ORDER BY downloads DESC, 1 LIMIT 40;

-- name: withdrawn
SELECT DISTINCT rule FROM lines WHERE withdrawn IS NOT NULL AND rule <> '' ORDER BY rule LIMIT 40;

-- name: ended
-- URL patterns that have ended because their last pages brought nothing new, with all of their pages and the requests
-- that were not made. Each URL belongs to a pattern, and to a folder with all patterns below it.
WITH places_ended AS (
    SELECT ended AS pattern, max(pages) AS pages, min(moment) AS since FROM lines WHERE ended IS NOT NULL GROUP BY ended
    ORDER BY since, pattern LIMIT 1000
), origins AS (SELECT DISTINCT origin_of(pattern) AS origin FROM places_ended), met AS (
    SELECT unnest(budget_places_of(url)) AS pattern, outcome, rejected_by FROM pages
    WHERE outcome IS NOT NULL AND origin_of(url) IN (FROM origins)
), fetched_there AS (
    SELECT pattern, count(*) AS fetched,
        count(*) FILTER (outcome = 'new' AND NOT is_hardly_apart(outcome, rejected_by)) AS new
    FROM met SEMI JOIN places_ended USING (pattern) GROUP BY pattern
), unmade AS (
    SELECT DISTINCT hash(skipped) AS page, skipped AS url FROM lines WHERE skipped IS NOT NULL AND is_over_budget(rule)
), not_made AS (
    SELECT unnest(budget_places_of(url)) AS pattern FROM unmade ANTI JOIN (SELECT hash(url) AS page FROM pages) USING (page)
), skipped_there AS (
    SELECT pattern, count(*) AS skipped FROM not_made SEMI JOIN places_ended USING (pattern) GROUP BY pattern
)
SELECT pattern, pages, coalesce(fetched, 0) AS fetched, coalesce(new, 0) AS new, coalesce(skipped, 0) AS skipped
FROM places_ended LEFT JOIN fetched_there USING (pattern) LEFT JOIN skipped_there USING (pattern)
ORDER BY since, pattern;

-- name: count_ended
SELECT count(*) AS patterns FROM lines WHERE ended IS NOT NULL;

-- name: volatile
SELECT DISTINCT volatile AS line FROM lines WHERE volatile IS NOT NULL ORDER BY line LIMIT 40;

-- name: index
SELECT min(known) FILTER (crawldedup_journal IS NOT NULL) AS known_before, arg_max(known, moment) AS known_after,
    arg_max(index_bytes, moment) AS bytes FROM lines;

-- name: times
SELECT * FROM (SELECT unnest([
    spread('wait for the verdict', waited), spread('reading the page', read), spread('asking the store', store),
    spread('download', latency)
], recursive := true) FROM pages) WHERE most IS NOT NULL;

-- name: work
SELECT * FROM (SELECT unnest([
    spread('probes', probes), spread('candidates compared', candidates)
], recursive := true) FROM pages) WHERE most IS NOT NULL;

-- name: stats
-- The stats at the ends of all processes: the sum of counts, and the largest of maxima.
SELECT key AS name, arg_max(value ->> '$', moment) FILTER (type = 'VARCHAR') AS text,
    if(regexp_matches(key, 'max|largest'), max(number), sum(number)) AS number
FROM (
    SELECT moment, key, type, value, if(abs(TRY_CAST(value AS DOUBLE)) < 1e18, value::DOUBLE, NULL) AS number
    FROM (SELECT moment, stats FROM lines WHERE json_type(stats) = 'OBJECT'), json_each(stats)
) GROUP BY key HAVING text IS NOT NULL OR number IS NOT NULL ORDER BY key;

-- name: moments
-- `rate` is the number of checked pages per minute. The last step may be short.
SELECT slot * $step AS seconds, unnest(counted(outcome, rejected_by)), arg_max(known, moment) AS known,
    60 * count(*) FILTER (is_judged(outcome) OR outcome = 'revisit')
        / if(slot = $last, greatest($last_step, $step / 4), $step) AS rate
FROM (SELECT unnest(range($last + 1)) AS slot) LEFT JOIN (
    SELECT floor(moment / $step)::INTEGER AS slot, if(url IS NULL, NULL, outcome) AS outcome, rejected_by, known, moment
    FROM lines
) USING (slot) GROUP BY slot ORDER BY slot;

-- name: make_explained
-- Copies that URL rules rewrite to their originals or to other copies. A crawl with the rules would not fetch them.
CREATE TABLE explained AS SELECT number FROM pages
WHERE $has_rules AND is_copy(outcome) AND original IS NOT NULL AND is_explained(url, original);

-- name: copied_patterns
-- Patterns of pages that are mostly copies which no rule explains.
SELECT site, pattern AS name, count(*) AS pages, count(*) - count(*) FILTER (is_copy(outcome)) AS kept
FROM places WHERE is_judged(outcome) GROUP BY site, pattern
HAVING count(*) >= $least AND count(*) FILTER (is_copy(outcome) AND number NOT IN (FROM explained)) >= $share * count(*)
ORDER BY pages DESC, site, name LIMIT $most;

-- name: make_places
-- `recent` is the share of new pages among the last judged ones, `since_new` is the number of judged pages after the
-- last one with its own text, and `originals` is the number of pages that the copies repeat. In a trap, these are five
-- copies each on average. Pages that hardly differ from the first one of their kind count as its copies. Copies that
-- URL rules explain aren't a sign of a trap.
CREATE MACRO places_by(by_pattern) AS TABLE
WITH named AS (
    SELECT *, if(by_pattern, pattern, '') AS name, is_hardly_apart(outcome, rejected_by) AS is_hardly,
        number IN (FROM explained) AS is_explained
    FROM places
), biggest AS MATERIALIZED (
    SELECT site, name, unnest(counted(outcome, rejected_by)), coalesce(sum(bytes), 0) AS bytes,
        max(moment) FILTER (outcome IN ('new', 'revisit') AND NOT is_hardly) AS last_own,
        count(*) FILTER (is_explained) AS explained
    FROM named GROUP BY site, name ORDER BY count(*) DESC, site, name LIMIT 200
), judged AS (
    SELECT site, name, outcome, is_hardly, is_explained, moment, hash(if(is_hardly, rejected_url, original)) AS nearest,
        if(is_hardly, rejected_url, original) IS NULL AS is_alone
    FROM named WHERE is_judged(outcome)
), lately AS (
    SELECT site, name, list_avg(max_by((outcome = 'new' AND NOT is_hardly)::INTEGER, moment, 100)) AS recent,
        count(*) FILTER (moment > coalesce(last_own, -1)) AS since_new,
        count(*) FILTER (moment > coalesce(last_own, -1) AND NOT is_explained) AS unexplained,
        approx_count_distinct(if(is_alone, NULL, coalesce(first, nearest))) AS originals
    FROM judged JOIN biggest USING (site, name) LEFT JOIN firsts ON firsts.page = nearest GROUP BY ALL
), complete AS (
    SELECT biggest.* EXCLUDE (last_own), recent, coalesce(since_new, 0) AS since_new,
        coalesce(unexplained, 0) AS unexplained, coalesce(originals, 0) AS originals, 0 AS "values" FROM biggest LEFT JOIN lately USING (site, name)
)
SELECT * EXCLUDE (unexplained), if(name = '', '', trap(name, checked - explained,
    duplicates + counts.thin + hardly_apart - explained, unexplained,
    originals * 5 > duplicates + counts.thin + hardly_apart)) AS trap
FROM complete ORDER BY responses DESC, site, name;
CREATE TABLE patterns AS SELECT * FROM places_by(true);
-- If several pages have the same value, it is a filter or a view. If each page has a different value, it is a trap.
-- For a parameter, it isn't known when the last page with its own text came: one in twenty may have one.
CREATE TABLE parameters AS WITH pairs AS (
    SELECT site, outcome, rejected_by, bytes, number IN (FROM explained) AS is_explained,
        unnest(parameters_of(url)) AS pair
    FROM places WHERE contains(url, '?')
), named AS (
    -- A query like that of a frameset, ?java/util/List.html, is the address of another page.
    SELECT site, outcome, rejected_by, bytes, is_explained,
        if(is_path, '{path}', left(split_part(pair, '=', 1), 60)) AS name,
        if(is_path, pair, split_part(pair, '=', 2)) AS value
    FROM (SELECT *, NOT contains(pair, '=') AND regexp_matches(pair, '/|\.x?html?$') AS is_path FROM pairs)
), biggest AS (
    SELECT site, name, unnest(counted(outcome, rejected_by)), coalesce(sum(bytes), 0) AS bytes, NULL AS recent,
        0 AS since_new, 0 AS originals, count(*) FILTER (is_explained) AS explained,
        least(count(*), approx_count_distinct(value)) AS "values",
        avg(regexp_full_match(value, '\d{4}-?\d{1,2}(-?\d{1,2})?')::INTEGER) > 0.5
            OR regexp_full_match(lower(name), 'date|day|month|year|week|ical|tribe-bar-date')
            -- Without dates, they name a place in a list, or where a visitor comes from. A calendar has dates.
            OR regexp_full_match(lower(name), 'from|to|start|end')
                AND avg(regexp_full_match(value, '\d{1,4}[-/.]\d{1,2}([-/.]\d{1,4})?.*|1\d{9}(\d{3})?')::INTEGER) > 0.5
            AS is_date,
        avg(regexp_full_match(value, '[0-9a-fA-F-]{16,}')::INTEGER) > 0.5 AS is_id
    FROM named GROUP BY site, name ORDER BY count(*) DESC, site, name LIMIT 200
), kinds AS (SELECT *, if(is_id, '{id}', if(is_date, '{date}', name)) AS kind FROM biggest)
SELECT * EXCLUDE (is_date, is_id, kind), if("values" > greatest(50, judged // 2) OR is_date,
    trap(kind, checked - explained, duplicates + counts.thin + hardly_apart - explained,
        judged - explained - 20 * (counts.new - hardly_apart + counts.revisit), false), '') AS trap
FROM kinds ORDER BY responses DESC, site, name;

-- name: sites
SELECT * FROM places_by(false) ORDER BY responses DESC, site, name;

-- name: patterns
SELECT * FROM patterns ORDER BY responses DESC, site, name;

-- name: parameters
SELECT * FROM parameters ORDER BY responses DESC, site, name;

-- name: stale
-- Places without new pages, traps first.
SELECT * FROM (
    SELECT * FROM patterns WHERE since_new >= 50
    UNION ALL BY NAME SELECT * REPLACE (
        CASE name WHEN '' THEN '?(no name)=' WHEN '{path}' THEN '?{path}' ELSE concat('?', name, '=') END AS name
    )
    FROM parameters WHERE trap <> ''
) ORDER BY trap = '', since_new DESC, responses DESC, site, name LIMIT 200;

-- name: bins
-- Starts one bin below the limit, so the limit doesn't look like the axis.
WITH near AS (
    SELECT floor(greatest(0.5, least(similarity, 0.9999)) * 100 + 1e-9)::INTEGER AS slot, count(*) AS pages
    FROM pages WHERE outcome = 'near' AND similarity IS NOT NULL GROUP BY slot
), bounds AS (SELECT least(min(slot), floor($limit * 100)::INTEGER - 1) AS first FROM near HAVING count(*) > 0)
SELECT slot / 100 AS low, (slot + 1) / 100 AS high, coalesce(pages, 0) AS pages
FROM (SELECT unnest(range(first, 100)) AS slot FROM bounds) LEFT JOIN near USING (slot) ORDER BY slot;

-- name: least_alike
SELECT unnest(member(url, original, outcome, similarity, action, referer, difference, by_view))
FROM pages WHERE outcome = 'near' AND similarity IS NOT NULL ORDER BY similarity, number LIMIT 20;

-- name: what_if
-- The pages that a stricter limit would keep, and the number of nearest pages that a looser one would drop.
SELECT if($is_looser, NULL, count(*) FILTER (outcome = 'near' AND similarity < $limit)) AS kept,
    if($is_looser AND count(rejected_by) > 0, count(*) FILTER (rejected_by = 'similarity'
        AND rejected_similarity >= $limit), NULL) AS dropped
FROM pages;

-- name: below
-- New pages just below the limit, first those whose URLs only differ in their queries. Pages that a mark keeps apart
-- may be above it, and are in `apart`.
WITH rejected AS (
    SELECT site, pattern AS name, rejected_similarity AS similarity, coalesce(rejected_by, '') AS cause,
        split_part(url, '?', 1) = split_part(rejected_url, '?', 1) AS by_query,
        {'url': url, 'nearest': rejected_url, 'difference': coalesce(difference, '')} AS example
    FROM places WHERE outcome = 'new' AND rejected_url <> '' AND rejected_similarity IS NOT NULL
        AND NOT is_apart(outcome, coalesce(rejected_by, ''))
)
SELECT site, name, count(*) AS pages, count(*) FILTER (by_query) AS by_query, max(similarity) AS highest,
    arg_max(cause, by_query::INTEGER + similarity) AS cause,
    arg_max(example, by_query::INTEGER + similarity) AS example
FROM rejected GROUP BY site, name ORDER BY max(by_query) DESC, pages DESC, site, name LIMIT 200;

-- name: apart_kinds
SELECT rejected_by AS kind, count(*) AS pages, count(*) FILTER (rejected_similarity >= $same_text) AS same_text
FROM pages WHERE is_apart(outcome, rejected_by) GROUP BY kind ORDER BY pages DESC, kind;

-- name: apart
-- The pages that were kept apart, by pattern and mark, with the most similar pair, if possible one that names its
-- marks. `judged` is the number of all pages of the pattern, and `origin` is empty if they are on several hosts.
-- `confirmed` is the number of pages with a copy at another path: their marks agreed, so they don't change with every
-- load.
WITH confirmed AS (
    SELECT DISTINCT kept AS url FROM copies WHERE split_part(url, '?', 1) <> split_part(kept, '?', 1)
), apart AS (
    SELECT site, pattern AS name, rejected_by AS kind, coalesce(rejected_similarity, 0) AS similarity, origin, number,
        url IN (FROM confirmed) AS is_confirmed,
        {'url': url, 'nearest': coalesce(rejected_url, ''), 'reason': coalesce(apart, '')} AS example
    FROM places WHERE is_apart(outcome, rejected_by)
), biggest AS (
    SELECT site, name, kind, count(*) AS pages, count(*) FILTER (similarity >= $same_text) AS same_text,
        count(*) FILTER (is_confirmed) AS confirmed,
        if(min(origin) = max(origin), min(origin), '') AS origin,
        arg_max(example, (example.reason <> '', similarity, -number)) AS example
    FROM apart GROUP BY ALL ORDER BY pages DESC, site, name, kind LIMIT 200
)
SELECT biggest.*, judged FROM biggest JOIN (
    SELECT site, pattern AS name, count(*) AS judged FROM places WHERE is_judged(outcome) GROUP BY ALL
) USING (site, name) ORDER BY pages DESC, site, name, kind;

-- name: variants
-- Parameters with the same text for several values, because they may show different pictures. Those that name a view,
-- a campaign or an action don't, and may be in only one of the two URLs. Neither do those that URL rules explain.
WITH copies AS (
    SELECT site, original, parameters_of(url) AS own, parameters_of(original) AS others
    FROM places WHERE outcome = 'exact' AND split_part(url, '?', 1) = split_part(original, '?', 1)
        AND number NOT IN (FROM explained)
), changes AS (
    SELECT site, original, list_filter(
        list_filter(own, lambda each: NOT list_contains(others, each))
            || list_filter(others, lambda each: NOT list_contains(own, each)),
        lambda each: NOT regexp_matches(each, $views)) AS changed FROM copies
), named AS (
    SELECT site, original, split_part(changed[1], '=', 1) AS name, unnest(changed) AS value FROM changes
    WHERE len(changed) IN (1, 2) AND split_part(changed[1], '=', 1) = split_part(changed[-1], '=', 1)
)
SELECT site, name, count(DISTINCT value) AS "values", count(DISTINCT original) AS pages FROM named GROUP BY ALL
HAVING "values" BETWEEN 2 AND 20 AND pages > 1 ORDER BY pages DESC, site, name LIMIT 200;

-- name: make_visited
-- A page that was seen again counts in its last state.
CREATE TABLE visited AS SELECT page, number, is_copy(outcome) AS is_copy, if($by_text, digest, NULL) AS digest, site,
    coalesce(changed, false) AS has_changed
FROM (SELECT page_at(url) AS page, arg_max(number, moment) AS number FROM pages
    WHERE outcome NOT IN ('skipped', 'error') GROUP BY page) JOIN places USING (number);

-- name: make_changes
-- For each `page`, `number` is its last line in this crawl, or `earlier` that in the earlier crawl.
CREATE TABLE changes AS SELECT page, now.number AS number, earlier.number AS earlier,
    coalesce(now.site, earlier.site) AS site,
    CASE WHEN now.page IS NULL AND earlier.page IN (SELECT page_at(skipped) FROM lines WHERE skipped IS NOT NULL)
        THEN 'skipped'
    WHEN now.page IS NULL THEN
        if(earlier.digest IN (SELECT digest FROM visited WHERE digest IS NOT NULL), 'moved', 'gone')
    WHEN now.is_copy AND NOT coalesce(earlier.is_copy, false) THEN 'duplicated'
    WHEN earlier.page IS NULL THEN 'new'
    WHEN now.has_changed OR now.digest <> earlier.digest THEN 'changed' ELSE 'same' END AS change
FROM visited AS now FULL JOIN former.visited AS earlier USING (page);
CREATE MACRO changed(change) AS {
    'new': count(*) FILTER (change = 'new'), 'changed': count(*) FILTER (change = 'changed'),
    'same': count(*) FILTER (change = 'same'), 'duplicated': count(*) FILTER (change = 'duplicated'),
    'moved': count(*) FILTER (change = 'moved'), 'skipped': count(*) FILTER (change = 'skipped'),
    'gone': count(*) FILTER (change = 'gone')
};

-- name: all_changes
SELECT '' AS site, unnest(changed(change)) FROM changes;

-- name: changes_of_sites
SELECT site, unnest(changed(change)) FROM changes GROUP BY site ORDER BY count(*) DESC, site LIMIT 200;

-- name: changed_pages
WITH chosen AS (
    SELECT change, unnest(min(coalesce(number, earlier), 20)) AS line, earlier IS NOT NULL AND number IS NULL AS was
    FROM changes WHERE change <> 'same' GROUP BY change, was
)
SELECT change, url FROM chosen JOIN pages ON number = line WHERE NOT was
UNION ALL SELECT change, url FROM chosen JOIN former.pages ON number = line WHERE was
ORDER BY change, url;

-- name: rows
SELECT make_timestamp((($started + moment) * 1000000)::BIGINT) AS time, * EXCLUDE (number, moment) FROM verdicts;

-- name: compared_rows
SELECT if(outcome IN ('skipped', 'error'), 'not checked', change) AS change,
    make_timestamp((($started + moment) * 1000000)::BIGINT) AS time, verdicts.* EXCLUDE (number, moment)
FROM verdicts LEFT JOIN (SELECT page, change FROM changes WHERE number IS NOT NULL) ON page = hash(url)
UNION ALL BY NAME SELECT change, * EXCLUDE (number, moment, change)
FROM former.verdicts JOIN (SELECT earlier AS number, change FROM changes WHERE number IS NULL) USING (number);

-- name: all_columns
*;

-- name: safe_columns
-- Spreadsheets run a cell that begins like a formula, some also after spaces or with full-width letters. In CSV, such a
-- text begins with an apostrophe, and control characters are replaced. The other formats have the recorded texts.
regexp_replace(regexp_replace(COLUMNS('(.*)')::VARCHAR, '[\x00-\x1f\x7f-\x9f]', chr(65533), 'g'),
    '^(\s*[=+\-@|＝＋－＠])', '''\1') AS '\1';
