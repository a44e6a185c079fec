//! `mayhap` with its default features and no others: what needs another feature is refused by its name.

#[cfg(test)]
mod tests {
    use std::path::Path;

    use mayhap::hash::MessageDigest;
    use mayhap::{Bloom, Error, Scheme, Shape, file};

    /// Returns whether it is refused with a message that says how to get it.
    fn is_refused<T>(result: mayhap::Result<T>) -> bool {
        let Some(error) = result.err() else {
            return false;
        };
        let text = error.to_string();
        matches!(error, Error::Feature { feature, .. } if text.contains(feature))
    }

    #[test]
    fn a_salted_filter_is_refused_without_the_digests() {
        let shape = Shape::new(1000, 5).expect("valid");

        for digest in [
            MessageDigest::Md5,
            MessageDigest::Sha1,
            MessageDigest::Sha256,
        ] {
            assert!(is_refused(Bloom::new(shape, Scheme::Salted(digest))));
        }
    }

    #[test]
    fn a_file_of_a_salted_filter_is_recognised_and_refused_without_the_digests() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/native/v1");

        for name in ["md5", "sha1", "sha256"] {
            let path = folder.join(format!("bloom-salted-{name}.mayhap"));
            assert!(path.exists(), "{}", path.display());
            assert!(is_refused(file::open(&path, None)), "{name}");
        }
    }
}
