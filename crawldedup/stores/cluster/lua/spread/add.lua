-- parts: layout, spread_guard, records, writing, spread_filing
-- File keys of pages. KEYS: prefix. ARGV: profile, number of tables, entries. Answers {'filed'}.

file_entries(ARGV[3], tonumber(ARGV[2]))
return {'filed'}
