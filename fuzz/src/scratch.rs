//! A file for targets that need one.

use std::path::PathBuf;
use std::sync::LazyLock;

/// The path of a file of this process, in the folder for temporary files, which `run.sh` makes in
/// memory.
pub fn scratch() -> &'static PathBuf {
    static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
        let name = format!("mayhap-fuzz-{}", std::process::id());
        std::env::temp_dir().join(name)
    });
    &PATH
}
