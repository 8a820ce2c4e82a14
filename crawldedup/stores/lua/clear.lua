-- Begin the index again, empty. KEYS: prefix. Answers the epoch from now on. Who is at work stays known, for crawlers go
-- on in the empty index; the keys of earlier epochs are left to be removed.

call('HDEL', META, 'profile', 'order', 'pages', 'next', 'depth', 'split', 'oldest', 'sweep')
return call('HINCRBY', META, 'epoch', 1)
