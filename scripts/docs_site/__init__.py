"""The documentation site: README.md, docs/ and the docstrings as pages that load nothing from other machines.

`make docs` runs `python -m docs_site.stage`, which writes the Markdown of every page and the settings into build/docs,
and then the site generator. Reading order: `pages` (which document is which page), `dialect` and `links` (what changes in
a document), `api` and `commands` (the pages of the references), `stage`. On the built pages: `dead_links`, `publish`.
Only `docstrings` runs inside the generator. Left out: any text; each sentence of the site is in the repository.
"""
