"""The web pages, and what they post."""
