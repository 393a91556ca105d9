//! `Memory`: read-only memory of arrays.
//!
//! An array over this memory is read-only, and no flag of numpy makes it writable, because the memory itself never
//! gives out writable buffers.
#![allow(unsafe_code, reason = "pyo3 has no safe interface for objects that give their memory out")]

use std::ffi::c_int;

use numpy::{Element, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyOverflowError;
use pyo3::ffi;
use pyo3::prelude::*;
use toksmith_guard::guarded;

/// Read-only memory of numbers.
#[pyclass(frozen, module = "toksmith._core")]
pub struct Memory {
    words: Words,
    bytes: usize,
}

/// Numbers of any type, aligned to their size.
enum Words {
    Half(Box<[u32]>),
    Whole(Box<[u64]>),
}

#[guarded]
#[pymethods]
impl Memory {
    /// A copy of the bytes.
    #[new]
    #[allow(clippy::needless_pass_by_value)]
    fn new(bytes: PyReadonlyArray1<'_, u8>) -> PyResult<Self> {
        let bytes = bytes.as_slice()?;
        let (whole, rest) = bytes.as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let mut words = Vec::with_capacity(whole.len() + 1);
        words.extend(whole.iter().map(|&word| u64::from_ne_bytes(word)));
        words.push(u64::from_ne_bytes(last));
        Ok(Self { words: Words::Whole(words.into()), bytes: bytes.len() })
    }

    /// # Safety
    /// `view` is a place for a `Py_buffer`: Python calls this for the slot `bf_getbuffer`.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let memory = slf.get();
        let first = match &memory.words {
            Words::Half(words) => words.as_ptr().cast_mut().cast(),
            Words::Whole(words) => words.as_ptr().cast_mut().cast(),
        };
        let bytes = isize::try_from(memory.bytes).map_err(|_| PyOverflowError::new_err("the memory is too large"))?;
        // SAFETY: the interpreter is attached, and `view` is a place for the result. The memory has `bytes` bytes, and
        // lives and stays where it is as long as the object, which the view gets a reference to. A view for writing is
        // refused.
        let status = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), first, bytes, 1, flags) };
        if status < 0 { Err(PyErr::fetch(slf.py())) } else { Ok(()) }
    }
}

/// A read-only array of these numbers.
pub fn constant(py: Python<'_>, numbers: Vec<u32>) -> PyResult<Bound<'_, PyArray1<u32>>> {
    let bytes = size_of_val(&*numbers);
    let memory = Memory { words: Words::Half(numbers.into()), bytes };
    let array = py.import("numpy")?.call_method1("frombuffer", (memory, u32::get_dtype(py)))?;
    Ok(array.cast_into()?)
}
