"""The documentation site: README.md, docs/ and the docstrings as pages that load nothing from other machines.

`make docs` runs `python -m docs_site.stage`, which writes the Markdown of every page and the settings into build/docs, and
then the site generator, which also reports dead links. Reading order: `pages` (the page of each document), `dialect`
(changes to a document), `api` and `commands` (the reference pages), `stage`; on the built pages, `publish`. Only
`griffe_extension` and `docstrings` run inside the generator. Every sentence of the site is elsewhere in the repository.
"""
