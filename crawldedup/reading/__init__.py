"""From a page of HTML to the text that is compared."""
