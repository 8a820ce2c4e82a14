-- parts: layout, spread_guard, records, search, spread_reading
-- The pages whose keys lie in the ranges of a question. KEYS: prefix. ARGV: profile, a question.
-- Answers {'found', number of filings so far, pages}.

return {'found', meta.next, look(read_question())}
