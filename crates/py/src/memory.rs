//! `Memory`: read-only memory of arrays.
//!
//! An array over this memory is read-only, and no flag of numpy makes it writable, because the memory itself never
//! gives out writable buffers. The array is made at first use: a program that only encodes texts imports no numpy.
#![allow(unsafe_code, reason = "pyo3 has no safe interface for objects that give their memory out")]

use std::ffi::c_int;

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyList;
use toksmith_guard::guarded;

/// Read-only memory of numbers.
#[pyclass(frozen, module = "toksmith._core")]
pub struct Memory(Words);

/// Numbers of any type, aligned to their size.
enum Words {
    Half(Box<[u32]>),
    Whole(Box<[u64]>),
}

#[guarded]
#[pymethods]
impl Memory {
    /// A copy of the numbers: a list or an array of uint32, or an array of uint64.
    #[new]
    fn new(numbers: &Bound<'_, PyAny>) -> PyResult<Self> {
        if numbers.is_instance_of::<PyList>() {
            return Ok(numbers.extract::<Vec<u32>>()?.into());
        }
        if let Ok(numbers) = numbers.cast::<PyArray1<u32>>() {
            return Ok(numbers.try_readonly()?.as_slice()?.to_vec().into());
        }
        Ok(numbers.cast::<PyArray1<u64>>()?.try_readonly()?.as_slice()?.to_vec().into())
    }

    /// # Safety
    /// `view` is a place for a `Py_buffer`: Python calls this for the slot `bf_getbuffer`.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let (first, bytes) = match &slf.get().0 {
            Words::Half(words) => (words.as_ptr().cast_mut().cast(), size_of_val(&**words)),
            Words::Whole(words) => (words.as_ptr().cast_mut().cast(), size_of_val(&**words)),
        };
        let bytes = isize::try_from(bytes).map_err(|_| PyOverflowError::new_err("the memory is too large"))?;
        // SAFETY: the interpreter is attached, and `view` is a place for the result. The memory has `bytes` bytes, and
        // lives and stays where it is as long as the object, which the view gets a reference to. A view for writing is
        // refused.
        let status = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), first, bytes, 1, flags) };
        if status < 0 { Err(PyErr::fetch(slf.py())) } else { Ok(()) }
    }
}

impl Memory {
    /// The numbers of a table of uint32.
    pub fn as_slice(&self) -> PyResult<&[u32]> {
        match &self.0 {
            Words::Half(words) => Ok(words),
            Words::Whole(_) => Err(PyTypeError::new_err("expected memory of uint32")),
        }
    }
}

impl From<Vec<u32>> for Memory {
    fn from(numbers: Vec<u32>) -> Self {
        Self(Words::Half(numbers.into()))
    }
}

impl From<Vec<u64>> for Memory {
    fn from(numbers: Vec<u64>) -> Self {
        Self(Words::Whole(numbers.into()))
    }
}
