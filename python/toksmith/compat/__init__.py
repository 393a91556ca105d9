"""Drop-in adapters: the interfaces of other libraries, run by the engine of this one.

`toksmith.compat.tiktoken`, `toksmith.compat.minbpe`, `toksmith.compat.tutorial` and `toksmith.compat.transformers` are
imported by name, each on its own; none needs the library whose interface it has, except `transformers`, whose classes it extends.
"""
