-- parts: layout, spread_guard, records, writing, home_filing, home_removing, retention, search
-- Remember a page that nothing was found for; it is undecided until it is confirmed. KEYS: prefix. ARGV: profile, a
-- question, ARGV[8]: most pages (0: no limit), own number, number of the first crawler, ARGV[9]: token of this check.
-- Answers {'admitted', pages, number (4 bytes), what was removed..}; {'counted', pages, record} if a fellow has delivered
-- the same page of this URL; {'undecided', pages}; {'again', pages} if the URL is known by now; or {'full', pages}.

local question = read_question()
local max_pages, crawler, first_crawler = struct.unpack('>I4I4I4', ARGV[8])
local own_page, own = page_with_url(question.url_key)
if own and age_mark(own, question.refresh) >= question.oldest then
  local reason, _, token = filing_of(own_page)
  if reason == ADMITTED and token == ARGV[9] then return {'admitted', meta.pages, pack_number(own_page)} end
  if is_undecided(own_page, ARGV[9]) then return {'undecided', meta.pages} end
  if crawler_of(own) == crawler or crawler_of(own) < first_crawler then return {'again', meta.pages} end
  if judge(question, own) then
    local updated = counted(own, question.now, question.url_key, false)
    note_record(own_page, updated)
    return {'counted', meta.pages, updated}
  end
end
if meta.next >= MOST_PAGES then return {'full', meta.pages} end

local page = add('', head_of(question.now, question.now, 0, 0, crawler) .. question.body)
call('HSET', META, 'pages', meta.pages, 'next', meta.next)
expect_filing(page, ADMITTED, ARGV[9])
if own then remove_page(own_page, own) end
grow(0, 2)
if question.oldest > 0 and page % 4 == 0 then sweep(16, question.oldest, question.refresh, 0) end
if max_pages > 0 then evict(max_pages, 2) end
return {'admitted', meta.pages, pack_number(page), unpack(removed)}
