"""Commands of the ``scrapy`` program."""
