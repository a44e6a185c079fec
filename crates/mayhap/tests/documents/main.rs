//! The documents compared with the workspace.

/// Licences, sources and versions of dependencies.
mod dependencies;
/// Links between documents, and their examples.
mod links;
/// Lists of files.
mod maps;
