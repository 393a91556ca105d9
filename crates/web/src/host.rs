//! The functions of JavaScript.

#[cfg(target_family = "wasm")]
#[allow(unsafe_code)]
mod imports {
    #[link(wasm_import_module = "toksmith")]
    unsafe extern "C" {
        /// Gets the new merges: the address of four numbers for each, and their number. Returns whether to continue.
        pub safe fn report(rows: *const f64, count: usize) -> u32;
        /// Gets the message of a panic, and does not return.
        pub safe fn fail(message: *const u8, bytes: usize);
    }
}

/// Outside of a module, where only tests run: a training continues, and the panic itself has its message.
#[cfg(not(target_family = "wasm"))]
mod imports {
    pub fn report(_: *const f64, _: usize) -> u32 {
        1
    }

    pub fn fail(_: *const u8, _: usize) {}
}

/// Reports new merges: the two ids, that of the result and the count of each. Returns whether to continue.
pub fn report(rows: &[f64]) -> bool {
    imports::report(rows.as_ptr(), rows.len()) != 0
}

/// Tells of a panic.
pub fn fail(message: &str) {
    imports::fail(message.as_ptr(), message.len());
}
