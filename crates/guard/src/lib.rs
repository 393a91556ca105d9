//! `#[guarded]`: runs the body of a function, or of every function of an `impl`, inside `crate::guard::guard`.
//!
//! Each `#[pyfunction]` and each `#[pymethods]` has it, so that a new method is guarded automatically. The guard
//! accepts a `PyResult`; a function that returns another type does not compile.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Guards the item; see the crate.
#[proc_macro_attribute]
pub fn guarded(_: TokenStream, item: TokenStream) -> TokenStream {
    let is_impl = item.clone().into_iter().any(|token| is_word(&token, "impl"));
    if !is_impl {
        return with_guarded_bodies(item);
    }
    let each = item.into_iter().map(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => braced(with_guarded_bodies(group.stream())),
        token => token,
    });
    each.collect()
}

/// The functions, each with its body inside the guard: the first braces after `fn`.
fn with_guarded_bodies(functions: TokenStream) -> TokenStream {
    let mut in_signature = false;
    let each = functions.into_iter().map(|token| match token {
        TokenTree::Group(group) if in_signature && group.delimiter() == Delimiter::Brace => {
            in_signature = false;
            guarded_body(group)
        }
        token => {
            in_signature |= is_word(&token, "fn");
            token
        }
    });
    each.collect()
}

fn guarded_body(body: Group) -> TokenTree {
    let mut closure: TokenStream = "move ||".parse().unwrap_or_default();
    closure.extend([TokenTree::Group(body)]);
    let mut call: TokenStream = "crate::guard::guard".parse().unwrap_or_default();
    call.extend([TokenTree::Group(Group::new(Delimiter::Parenthesis, closure))]);
    braced(call)
}

fn braced(stream: TokenStream) -> TokenTree {
    TokenTree::Group(Group::new(Delimiter::Brace, stream))
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident.to_string() == word)
}
