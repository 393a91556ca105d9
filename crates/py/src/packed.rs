//! `PackedFile`: unpacks a file without the GIL.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyEOFError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use toksmith_core::count::unpack::PackedFile as CorePackedFile;
use toksmith_guard::guarded;

/// An open packed file.
#[pyclass(frozen, module = "toksmith._core")]
pub struct PackedFile(Mutex<CorePackedFile>);

#[guarded]
#[pymethods]
impl PackedFile {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        // An error of the system becomes the same exception as with `open`.
        Ok(Self(Mutex::new(py.detach(|| CorePackedFile::open(&path))?)))
    }

    /// The next bytes, at most `size`; fewer only at the end.
    fn read<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        let mut filled = 0;
        let bytes = PyBytes::new_with(py, size, |buffer| {
            let read = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).fill(buffer));
            filled = read.map_err(to_py)?;
            Ok(())
        })?;
        if filled == size { Ok(bytes) } else { Ok(PyBytes::new(py, &bytes.as_bytes()[..filled])) }
    }
}

fn to_py(problem: io::Error) -> PyErr {
    match problem.kind() {
        io::ErrorKind::UnexpectedEof => PyEOFError::new_err("the file is cut short: it ends inside of packed data"),
        _ if problem.raw_os_error().is_some() => problem.into(),
        _ => PyOSError::new_err(problem.to_string()),
    }
}
