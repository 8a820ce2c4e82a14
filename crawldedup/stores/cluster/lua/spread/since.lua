-- parts: layout, spread_guard, records, search, spread_reading
-- The pages that were filed of late and whose keys the rule does not refuse. KEYS: prefix. ARGV: profile, a question,
-- ARGV[8]: number of filings when it was last asked. Answers {'found', number of filings so far, pages}.

return {'found', meta.next, filed_since(read_question(), tonumber(ARGV[8]))}
