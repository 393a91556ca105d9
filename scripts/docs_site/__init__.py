"""The documentation site: README.md, docs/ and the docstrings as pages that load nothing from other machines.

`make docs` runs `python -m docs_site.stage`, which writes the Markdown of every page and the settings into build/docs, and
then the site generator, which also names dead links. Reading order: `pages` (which document is which page), `dialect` (what
changes in a document), `api` and `commands` (the pages of the references), `stage`; on the built pages, `publish`. Only
`griffe_extension` and `docstrings` run inside the generator. Left out: any text; each sentence of the site is in the repository.
"""
