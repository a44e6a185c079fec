//! Passes on what Python this is built for, such as one without a global lock.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
}
